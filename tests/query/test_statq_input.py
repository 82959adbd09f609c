"""StatQSVM, IncrSVM and QuerySVM: odd rows, several classes, formats, saving, refusals."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import everlearn
from everlearn import LASVM, IncrSVM, QuerySVM, StatQSVM
from everlearn.query._chunk_learner import ChunkRun
from everlearn.query.statq import even_root
from query.statq_helpers import EXACT, LEARNERS, VARIANTS, lasvm
from reference import statq as twin
from reference.test_reference_statq import clouds
from svm.lasvm_helpers import assert_same, three_clouds, two_clouds

# ------------------------------------------------------------------------------------------------- edge cases


@pytest.mark.parametrize("name", VARIANTS)
def test_a_chunk_of_all_rows_is_the_batch_machine(name):
    X, y = clouds(80, 9)
    model = clone(VARIANTS[name]).set_params(estimator=EXACT, chunk_size=500, random_state=0).fit(X, y)
    first = clone(model).set_params(max_iter=0).fit(X, y)
    batch = clone(EXACT).fit(X, y)
    np.testing.assert_array_equal(first.support_, np.sort(batch.support_))
    np.testing.assert_allclose(model.decision_function(X), batch.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("learner", LEARNERS)
def test_one_class_is_an_error(learner):
    with pytest.raises(ValueError, match="y has 1 class, 1"):
        learner().fit([[0.0], [1.0]], [1, 1])


@pytest.mark.parametrize("name", VARIANTS)
def test_a_rare_class_is_found(name):
    X, y = clouds(2_000, 10)
    y[:] = -1
    y[[500, 1500]] = 1
    X[[500, 1500], 0] += 6
    model = clone(VARIANTS[name]).set_params(chunk_size=3, max_iter=2, random_state=0).fit(X, y)
    assert 500 in model.used_ or 1500 in model.used_
    assert set(y[model.support_]) == {-1, 1}
    assert model.n_examined_ > 100  # looking for it was not free


@pytest.mark.parametrize("name", VARIANTS)
def test_duplicate_rows(name):
    X, y = clouds(60, 11)
    X, y = np.repeat(X, 4, axis=0), np.repeat(y, 4)
    model = clone(VARIANTS[name]).set_params(chunk_size=20, random_state=0).fit(X, y)
    assert len(np.unique(model.support_)) == len(model.support_)
    assert model.score(X, y) > 0.7


def test_even_root():
    assert [even_root(m) for m in range(1, 200)] == [twin.even_root(m) for m in range(1, 200)]


# ------------------------------------------------------------------------------------------- classes, formats


@pytest.mark.parametrize("name", VARIANTS)
def test_several_classes(name):
    X, y = three_clouds(900)
    model = clone(VARIANTS[name]).set_params(chunk_size=40, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (900, 3)
    assert set(y[model.support_]) == set(model.classes_) == {"ash", "oak", "yew"}
    assert model.score(X, y) > 0.7
    assert model.n_examined_ <= 900


def test_with_several_classes_rows_outside_every_margin_change_nothing():
    X, y = three_clouds(600)
    run = ChunkRun(X, y, np.unique(y, return_inverse=True)[1], 60, lasvm(tol=1e-7), np.random.RandomState(0))
    run.solve(run.draw_first())
    rows = np.arange(600)
    before = run.scores(rows)
    outside = np.flatnonzero(run.margins(rows, before) > 1 + 1e-5)
    assert len(outside) > 10
    run.solve(np.union1d(run.support, outside))
    np.testing.assert_allclose(run.scores(rows), before, atol=1e-3)


@pytest.mark.parametrize("name", VARIANTS)
def test_formats(name):
    X, y = two_clouds(300)
    X[np.abs(X) < 0.3] = 0
    model = clone(VARIANTS[name]).set_params(chunk_size=20, max_iter=5, random_state=0)
    wanted = clone(model).fit(X, y)
    words = np.array(["no", "yes"])[y]
    for rows in (pd.DataFrame(X, columns=list("abcd")), pl.DataFrame(X, schema=list("abcd")), X.tolist()):
        other = clone(model).fit(rows, words)
        np.testing.assert_array_equal(other.support_, wanted.support_)
        np.testing.assert_array_equal(other.predict(rows) == "yes", wanted.predict(X) == 1)
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix):
        other = clone(model).fit(kind(X), y)
        np.testing.assert_array_equal(other.support_, wanted.support_)
        np.testing.assert_allclose(other.decision_function(kind(X)), wanted.decision_function(X), atol=1e-6)
    single = clone(model).fit(X.astype(np.float32), y)
    assert single.score(X, y) == pytest.approx(wanted.score(X, y), abs=0.05)


def test_parameters_of_the_estimator_count():
    X, y = two_clouds(400)
    heavy = StatQSVM(lasvm(class_weight={0: 1, 1: 20}, tol=1e-3), chunk_size=40, random_state=0).fit(X, y)
    assert (
        heavy.predict(X).mean()
        > StatQSVM(lasvm(), chunk_size=40, random_state=0).fit(X, y).predict(X).mean() + 0.1
    )
    curved = QuerySVM(LASVM(gamma=0.5), random_state=0).set_params(estimator__C=3.0)
    assert curved.fit(X, y).estimator_.C == 3
    assert curved.estimator.random_state is None
    assert isinstance(curved.estimator_.random_state, int)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_same_seed_gives_the_same_fit(name):
    X, y = clouds(300, 12)
    model = clone(VARIANTS[name]).set_params(chunk_size=20, random_state=5)
    a, b = (clone(model).fit(X, y)._get_state() for _ in range(2))
    assert_same(a["fitted"], b["fitted"])
    other = clone(model).set_params(random_state=6).fit(X, y)
    assert other.history_ != a["fitted"]["history_"] or not np.array_equal(other.used_, a["fitted"]["used_"])


# -------------------------------------------------------------------------------------------- save and refuse


@pytest.mark.parametrize("fitted", [True, False])
@pytest.mark.parametrize("estimator", [None, LASVM(gamma=0.5, class_weight={1: 2.0})])
@pytest.mark.parametrize("name", VARIANTS)
def test_saved_and_loaded(name, estimator, fitted, tmp_path):
    X, y = two_clouds(200)
    model = clone(VARIANTS[name]).set_params(estimator=estimator, chunk_size=20, max_iter=4, random_state=0)
    if fitted:
        model.fit(pd.DataFrame(X, columns=list("abcd")), y)
    everlearn.save(model, tmp_path / "model")
    again = everlearn.load(tmp_path / "model")
    assert_same(again._get_state(), model._get_state())
    assert again.get_params().keys() == model.get_params().keys()
    if fitted:
        rows = pd.DataFrame(X, columns=list("abcd"))
        np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
        assert again.stop_reason_ == model.stop_reason_
        assert again.n_used_ == model.n_used_


def test_a_foreign_estimator_can_be_pickled_but_not_saved(tmp_path):
    X, y = two_clouds(200)
    model = StatQSVM(SVC(kernel="linear"), chunk_size=20, max_iter=3, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="A SVC cannot be saved without pickle"):
        everlearn.save(model, tmp_path / "model")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


REFUSED = [
    (StatQSVM(chunk_size=1), ValueError, "'chunk_size' of StatQSVM must be None or an integer from 2"),
    (StatQSVM(max_iter=-2), ValueError, "'max_iter'"),
    (StatQSVM(threshold=-0.1), ValueError, "'threshold'"),
    (StatQSVM(criterion="c"), ValueError, "'criterion'"),
    (StatQSVM(robust="yes"), ValueError, "'robust'"),
    (StatQSVM(sampling="linear"), ValueError, "'sampling'"),
    (StatQSVM(confidence_fraction=0), ValueError, "'confidence_fraction'"),
    (StatQSVM(confidence_fraction=1.5), ValueError, "'confidence_fraction'"),
    (QuerySVM(keep="none"), ValueError, "'keep'"),
    (IncrSVM("svc"), ValueError, "'estimator' of IncrSVM must be None or a classifier"),
    (IncrSVM(SVC), ValueError, "'estimator'"),
    (IncrSVM(LogisticRegression()), TypeError, "LogisticRegression has no support_"),
    (QuerySVM(SVC(kernel="precomputed")), ValueError, "kernel='precomputed'"),
    (QuerySVM(random_state="seed"), ValueError, "seed"),
    (StatQSVM(LASVM(C=-1)), ValueError, "'C' of LASVM"),
]


@pytest.mark.parametrize(("model", "error", "words"), REFUSED)
def test_bad_parameters_are_refused_and_change_nothing(model, error, words):
    X, y = two_clouds(60)
    good = type(model)(random_state=0).fit(X, y)
    before = deepcopy(good._get_state()["fitted"])
    good.set_params(**model.get_params(deep=False))
    with pytest.raises(error, match=words):
        good.fit(X[:, :2], y)
    known = vars(good)
    assert_same({name: known[name] for name in before}, before)


@pytest.mark.parametrize("learner", LEARNERS)
def test_machines_of_pairs_are_refused_for_several_classes(learner):
    X, y = three_clouds(90)
    with pytest.raises(ValueError, match="3 classes, and SVC is one-vs-one"):
        learner(SVC()).fit(X, y)
