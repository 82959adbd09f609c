"""The reserve: dropped rows that `finish` and `forget` take back when the model needs them after all."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_wine
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from everlearn import LASVM, LASVMG, LASVMI, FullSVM, load, save
from everlearn._base.machine import Machine
from everlearn.datasets import make_banana, make_checkerboard
from property_helpers import property_test
from svm.lasvm_helpers import assert_same, snapshot

C, GAMMA = 10.0, 4.0


def noisy(n=600, seed=0, flipped=0.15):
    X, y = make_checkerboard(n, random_state=seed)
    return X, np.where(np.random.default_rng(seed).random(n) < flipped, -y, y)


def wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    flip = np.random.default_rng(1).random(len(y)) < 0.2
    return StandardScaler().fit_transform(X)[order], np.where(flip, (y + 1) % 3, y)[order]


def stream(model, X, y, block=50):
    for start in range(0, len(y), block):
        model.partial_fit(X[start : start + block], y[start : start + block], classes=np.unique(y))
    return model


def reserved(model):
    return np.asarray(model._machine.native.reserved_ids)


def exact(X, y, gamma=GAMMA):
    svc = SVC(C=C, gamma=gamma, tol=1e-6)
    return (svc if len(np.unique(y)) == 2 else OneVsRestClassifier(svc)).fit(X, y)


def assert_same_decisions(model, peer, X, atol=1e-2):
    np.testing.assert_allclose(model.decision_function(X), peer.decision_function(X), rtol=0, atol=atol)


# ------------------------------------------------------------------------------------------------- finishing


@pytest.mark.parametrize("form", [np.asarray, lambda X: X.astype(np.float32), sparse.csr_matrix])
@pytest.mark.parametrize(
    ("data", "gamma"), [(noisy, GAMMA), (wine, 0.05), (lambda: make_banana(500, random_state=2), 0.5)]
)
def test_a_stream_ends_with_the_exact_svm_while_the_reserve_holds_all_dropped_rows(data, gamma, form):
    X, y = data()
    peer = exact(X, y, gamma)
    model = stream(LASVM(C, gamma=gamma), form(X), y).finish()
    assert_same_decisions(model, peer, X)
    without = stream(LASVM(C, gamma=gamma, reserve=0), form(X), y).finish()
    assert np.abs(without.decision_function(X) - peer.decision_function(X)).max() > 0.05
    assert model.n_iter_ == len(y)  # a row that is learned again does not count twice


def test_without_a_bias_too():
    X, y = noisy()
    peer = FullSVM(C, gamma=GAMMA, tol=1e-4).fit(X, y)
    model = stream(LASVMG(C, gamma=GAMMA), X, y).finish()
    assert_same_decisions(model, peer, X, atol=3e-2)


def test_a_small_reserve_brings_a_stream_closer_to_the_exact_svm():
    X, y = noisy(3000)
    peer = exact(X, y).decision_function(X)

    def distance(size):
        model = stream(LASVM(C, gamma=GAMMA, reserve=size), X, y).finish()
        assert len(reserved(model)) <= size
        return np.mean((model.decision_function(X) > 0) != (peer > 0))

    none, small, large = distance(0), distance(300), distance(3000)
    assert large == 0
    assert small < 0.7 * none


def test_the_reserve_is_bounded_and_holds_no_row_of_the_model():
    X, y = make_banana(2000, random_state=0)
    model = LASVM(C, gamma=GAMMA, reserve=100)
    sizes = []
    for start in range(0, 2000, 40):
        model.partial_fit(X[start : start + 40], y[start : start + 40], classes=[-1, 1])
        sizes.append(len(reserved(model)))
        assert not np.isin(reserved(model), model._machine.native.ids).any()
    assert max(sizes) <= 100
    assert min(sizes[-20:]) >= 80
    model.set_params(reserve=10).partial_fit(X[:1], y[:1])
    assert len(reserved(model)) <= 10
    assert len(reserved(model.set_params(reserve=0).finish())) == 0


def test_of_many_dropped_rows_those_nearest_to_the_margin_stay():
    X, y = noisy(800)
    large = LASVM(C, gamma=GAMMA, finishing="kept", random_state=0, reserve=800).fit(X, y)
    small = LASVM(C, gamma=GAMMA, finishing="kept", random_state=0, reserve=60).fit(X, y)
    state = large._machine.native.reserve
    nearest = state["ids"][np.argsort(state["margins"])[:50]]
    assert np.isin(reserved(small), nearest).mean() > 0.7


def test_the_margins_are_those_at_the_time_and_up_to_date_after_finish():
    X, y = noisy(300)
    model = stream(LASVM(C, gamma=GAMMA), X, y, block=300)
    model.finish()
    state = model._machine.native.reserve
    ids = state["ids"]
    np.testing.assert_allclose(state["margins"], y[ids] * model.decision_function(X[ids]), rtol=0, atol=1e-3)
    assert (state["margins"] >= 1 - 1e-3).all()


def test_the_pass_of_the_paper_does_not_look_at_the_reserve():
    X, y = noisy()
    models = [LASVM(C, gamma=GAMMA, finishing="kept", random_state=0, reserve=size) for size in (0, 1000)]
    a, b = (model.fit(X, y) for model in models)
    np.testing.assert_array_equal(a.dual_coef_, b.dual_coef_)
    np.testing.assert_array_equal(a.support_, b.support_)


def test_callable_and_precomputed_kernels_have_no_reserve():
    X, y = noisy(200)
    model = stream(LASVM(C, kernel=lambda a, b: np.exp(-((a[:, None] - b) ** 2).sum(axis=2))), X, y).finish()
    assert len(reserved(model)) == 0


@pytest.mark.parametrize("jobs", [2])
def test_threads_change_nothing(jobs):
    X, y = wine()
    one = stream(LASVM(C, gamma=0.05), X, y).finish()
    several = stream(LASVM(C, gamma=0.05, n_jobs=jobs), X, y).finish()
    assert_same(snapshot(several)["machine"], snapshot(one)["machine"])


# ------------------------------------------------------------------------------------------------ forgetting


@pytest.mark.parametrize(("data", "gamma"), [(noisy, GAMMA), (wine, 0.05)])
def test_forgetting_takes_rows_back_that_the_model_needs_now(data, gamma):
    X, y = data()
    model = stream(LASVM(C, gamma=gamma), X, y).finish()
    gone = np.random.default_rng(0).choice(model.support_, len(model.support_) // 2, replace=False)
    before = set(reserved(model))
    model.forget(gone)
    assert before & set(model.support_)
    rest = np.setdiff1d(np.arange(len(y)), gone)
    assert_same_decisions(model, exact(X[rest], y[rest], gamma), X)


def test_after_fit_too():
    X, y = noisy()
    model = LASVM(C, gamma=GAMMA, random_state=0).fit(X, y)
    gone = model.support_[::2]
    model.forget(gone)
    rest = np.setdiff1d(np.arange(len(y)), gone)
    assert_same_decisions(model, exact(X[rest], y[rest]), X)


def test_a_row_in_the_reserve_can_be_forgotten_and_leaves_nothing():
    X, y = noisy()
    model = stream(LASVM(C, gamma=GAMMA), X, y)
    some = reserved(model)[::3]
    assert np.isin(some, model.stored_ids()).all()
    assert len(model.missing_ids(some)) == 0
    model.forget(some)
    assert not np.isin(some, model.stored_ids()).any()
    np.testing.assert_array_equal(model.missing_ids(some), some)
    with pytest.raises(ValueError, match="keeps no row with the id"):
        model.forget(some[:1])
    stored = model._machine.native.reserve["values"].reshape(-1, 2)
    given = X[some] - (model._machine.spec["center"] if len(model._machine.spec["center"]) else 0)
    assert not (np.abs(stored[:, None] - given).max(axis=2) < 1e-9).any()


def test_a_class_that_is_left_in_the_reserve_alone_comes_back():
    X, y = make_banana(400, random_state=0)
    model = stream(LASVM(C, gamma=0.5), X, y).finish()
    kept = np.asarray(model._machine.native.ids)
    model.forget(kept[y[kept] == 1])
    rest = np.setdiff1d(np.arange(400), kept[y[kept] == 1])
    assert (y[reserved(model)] == 1).any() or (y[model.support_] == 1).any()
    assert_same_decisions(model, exact(X[rest], y[rest], 0.5), X)


def test_when_the_whole_model_is_forgotten_the_reserve_takes_over():
    X, y = make_banana(400, random_state=0)
    model = stream(LASVM(C, gamma=0.5), X, y).finish()
    kept = np.asarray(model._machine.native.ids)
    model.forget(kept)
    rest = np.setdiff1d(np.arange(400), kept)
    assert_same_decisions(model, exact(X[rest], y[rest], 0.5), X)


def test_a_new_row_may_take_the_id_of_one_in_the_reserve():
    X, y = noisy()
    model = stream(LASVM(C, gamma=GAMMA), X, y)
    taken = reserved(model)[:1]
    model.partial_fit(X[:1] + 5, y[:1], ids=taken)
    assert np.count_nonzero(model.stored_ids() == taken[0]) == 1


def test_forgetting_the_center_moves_it_also_if_it_is_in_the_reserve():
    X, y = noisy(300)
    first = np.argmax(y * exact(X, y).decision_function(X))
    model = LASVM(C, gamma=GAMMA).partial_fit(X[first : first + 1], y[first : first + 1], classes=[-1, 1])
    stream(model, X, y).finish()
    np.testing.assert_array_equal(model._machine.spec["center"], X[first])
    assert 0 in reserved(model)
    scores, others = model.decision_function(X), np.sort(reserved(model))[1:]
    model.forget(0)
    assert np.abs(model._machine.spec["center"] - X[first]).max() > 0.01
    np.testing.assert_array_equal(np.sort(reserved(model)), others)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=0, atol=1e-5)


# ------------------------------------------------------------------------------------------------ saved state


@given(st.integers(0, 10**6), st.sampled_from([noisy, wine]), st.sampled_from([LASVM, LASVMG]), st.booleans())
@property_test(20)
def test_a_saved_learner_continues_bit_for_bit(tmp_path_factory, seed, data, learner, is_sparse):
    X, y = data()
    X = sparse.csr_matrix(X) if is_sparse else X
    random = np.random.default_rng(seed)
    middle = int(random.integers(60, 140))
    model = learner(C, gamma=0.5, reserve=int(random.integers(1, 60)))
    model.partial_fit(X[:middle], y[:middle], classes=np.unique(y), ids=1000 + np.arange(middle))
    path = tmp_path_factory.mktemp("saved") / "model"
    save(model, path)
    copy = load(path)
    assert_same(snapshot(copy), snapshot(model))
    for one in (model, copy):
        one.partial_fit(X[middle:178], y[middle:178], ids=2000 + np.arange(178 - middle))
        one.finish()
    assert_same(snapshot(copy), snapshot(model))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda reserve: reserve.update(ids=reserve["ids"][:-1]), "values must contain"),
        (lambda reserve: reserve["ids"].__setitem__(1, reserve["ids"][0]), "twice"),
        (lambda reserve: reserve["labels"].__setitem__(0, 7), "label 7"),
        (lambda reserve: reserve["costs"].__setitem__(0, -1.0), "cost"),
        (lambda reserve: reserve["costs"].__setitem__(0, np.nan), "finite|cost|number"),
        (lambda reserve: reserve["margins"].__setitem__(0, np.nan), "margin"),
        (lambda reserve: reserve["values"].__setitem__(0, np.inf), "finite"),
        (lambda reserve: reserve.update(ceiling=float("nan")), "margin"),
    ],
)
def test_a_damaged_reserve_is_refused(change, message):
    X, y = noisy()
    state = stream(LASVM(C, gamma=GAMMA), X, y)._machine.get_state()
    Machine.from_state(state)
    state["reserve"] = {
        key: value.copy() if hasattr(value, "copy") else value for key, value in state["reserve"].items()
    }
    change(state["reserve"])
    with pytest.raises(ValueError, match=message):
        Machine.from_state(state)


def test_a_reserve_with_an_id_of_the_model_or_too_many_rows_is_refused():
    X, y = noisy()
    state = stream(LASVM(C, gamma=GAMMA), X, y)._machine.get_state()
    ids = state["reserve"]["ids"].copy()
    ids[0] = state["native"]["ids"][0]
    with pytest.raises(ValueError, match="in use"):
        Machine.from_state(state | {"reserve": state["reserve"] | {"ids": ids}})
    with pytest.raises(ValueError, match="capacity"):
        Machine.from_state(state | {"parameters": state["parameters"] | {"reserve": 3}})


def test_rows_in_16_bits(tmp_path):
    X, y = noisy()
    model = stream(LASVM(C, gamma=GAMMA, row_dtype="float16"), X, y)
    save(model, tmp_path / "model")
    copy = load(tmp_path / "model")
    assert_same(snapshot(copy), snapshot(model))
    assert_same(snapshot(copy.finish()), snapshot(model.finish()))
    assert_same_decisions(model, exact(X.astype(np.float16).astype(float), y), X, atol=0.1)


def test_learners_without_a_reserve_have_none():
    X, y = noisy(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for learner in (LASVMI, FullSVM):
            model = stream(learner(C, gamma=GAMMA), X, y)
            assert "reserve" not in model._machine.get_state()
