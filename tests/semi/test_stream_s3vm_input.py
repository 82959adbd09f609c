"""StreamS3VM: batches of every kind, what it is worth, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from everlearn import LASVM, StreamS3VM, SubmodS3VM
from reference.s3vm import scale_rows
from semi.semi_helpers import clouds, digits
from semi.stream_helpers import PLAIN, missing, same_state, stream_of

# --- batches of every kind ---------------------------------------------------------------------------------


def test_an_empty_batch_changes_nothing():
    X, y = clouds(20, 0)
    model = stream_of()
    model.partial_fit(X[:0], y[:0])
    assert set(vars(model)) == set(model.get_params(deep=False))
    model.partial_fit(X[:10], y[:10]).partial_fit(X[10:])
    before = dict(vars(model))
    model.partial_fit(X[:0], [])
    assert vars(model) == before


def test_batches_without_labels_and_of_any_size():
    X, y = clouds(100, 4, apart=3.0)
    model = StreamS3VM(SubmodS3VM(positive_fraction=0.5), random_state=0)
    for a, b in ((0, 30), (30, 31), (31, 90), (90, 100)):
        model.partial_fit(X[a:b], y[a:b] if a == 0 else None)
    assert np.mean(model.transduction_ == y[90:]) > 0.8
    assert model.score(X, y) > 0.95


def test_formats_give_the_same_labels():
    X, y = clouds(60, 5)
    known = missing(y * (np.arange(60) % 4 == 0))
    frame = pd.DataFrame(X, columns=list("abcde"))
    forms = {
        "dense": lambda rows: X[rows],
        "frame": lambda rows: frame.iloc[rows],
        "list": lambda rows: X[rows].tolist(),
        "float32": lambda rows: X[rows].astype(np.float32).astype(np.float64),
        "csr": lambda rows: sparse.csr_matrix(X[rows]),
        "mixed": lambda rows: X[rows] if rows[0] == 0 else sparse.csc_array(X[rows]),
    }
    found = {}
    for name, form in forms.items():
        model = StreamS3VM(SubmodS3VM(**PLAIN), random_state=0)
        labels = []
        for rows in np.split(np.arange(60), 3):
            model.partial_fit(form(rows), known[rows])
            labels += model.transduction_.tolist()
        found[name] = labels, model.n_stored_, sparse.issparse(model.summary_[0])
    assert found["csr"][2]
    for name in ("frame", "list", "csr", "mixed"):
        assert found[name][:2] == found["dense"][:2]
    assert found["dense"][2] == found["mixed"][2] is False
    model = StreamS3VM(SubmodS3VM(**PLAIN)).fit(frame, known)
    assert list(model.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[list("edcba")], known)


def test_classes_may_come_later():
    X, y = clouds(90, 6, apart=4.0)
    X[60:, 1] += 9
    names = np.where(y > 0, 5.0, 3.0)
    names[60:] = 4.0
    model = StreamS3VM(random_state=0)
    model.partial_fit(X[:30], np.where(y[:30] > 0, names[:30], np.nan))
    assert model.one_class_
    assert model.classes_.tolist() == [5]
    assert set(model.predict(X)) == {5.0}
    model.partial_fit(X[30:60], np.where(np.arange(30) < 8, names[30:60], np.nan))
    assert not model.one_class_
    assert model.classes_.tolist() == [3, 5]
    model.partial_fit(X[60:], np.where(np.arange(30) < 8, names[60:], np.nan))
    assert model.classes_.tolist() == [3, 4, 5]
    known = [label for label in model.summary_[1] if label is not None]
    assert set(known) == {3.0, 5.0}
    assert model.score(X, names) > 0.75
    assert model.decision_function(X).shape == (90, 3)


def test_named_classes():
    X, y = clouds(40, 7)
    one = stream_of(estimator="auto", s3vm=SubmodS3VM(**PLAIN | {"positive_fraction": None}))
    one.partial_fit(X, np.where(y > 0, 1, np.nan), classes=[0, 1])
    assert one.one_class_
    np.testing.assert_array_equal(one.decision_function(X), 1)
    three = stream_of(estimator="auto", s3vm=SubmodS3VM(**PLAIN | {"positive_fraction": None}))
    three.partial_fit(X, np.where(y > 0, 1, np.nan), classes=[0, 1, 2])
    np.testing.assert_array_equal(three.decision_function(X)[:, [0, 2]], -np.inf)
    half = stream_of(estimator="auto").partial_fit(X, np.where(y > 0, 1, np.nan)[::-1], classes=[0, 1])
    assert set(half.transduction_) == {0.0, 1.0}  # the share is given, the other class is named
    with pytest.raises(ValueError, match=r"y has labels that are not in classes: 7"):
        stream_of().partial_fit(X, np.full(40, 7), classes=[0, 1])


def test_online_the_rule_learns_what_came_after():
    X, y = clouds(40, 8, apart=3.0)
    model = StreamS3VM(SubmodS3VM(**PLAIN), mode="online", random_state=0).partial_fit(X, y)
    assert all(label is None for label in model.transduction_)
    assert model.score(X, y) > 0.95
    other = StreamS3VM(SubmodS3VM(**PLAIN), mode="online", random_state=0).partial_fit(X, -y)
    assert other.score(X, y) < 0.05


def test_another_rule_and_none():
    X, y = clouds(40, 9, apart=3.0)
    known = missing(y * (np.arange(40) < 10))
    for rule in (LASVM(gamma=0.1), LogisticRegression()):
        model = StreamS3VM(SubmodS3VM(**PLAIN), estimator=rule).fit(X, known)
        assert type(model.estimator_) is type(rule)
        assert model.score(X, y) > 0.9
    model = StreamS3VM(SubmodS3VM(**PLAIN), estimator=None).fit(X, known)
    assert model.estimator_ is None
    with pytest.raises(ValueError, match="no classifier for new rows"):
        model.predict(X)


def test_fit_begins_anew():
    X, y = clouds(40, 10)
    model = stream_of().partial_fit(X, y).fit(X[:20], missing(y[:20] * (np.arange(20) < 5)))
    fresh = stream_of().fit(X[:20], missing(y[:20] * (np.arange(20) < 5)))
    same_state(model, fresh)
    assert model.n_batches_ == 1
    with pytest.raises(ValueError, match="no label at all"):
        model.fit(X, [None] * 40)
    same_state(model, fresh)


# --- what it is worth --------------------------------------------------------------------------------------


def run(X, y, batches=8, seed=0, **options):
    """Two labels a batch: mean accuracy on rows whose label was not given (online: on all), and the model."""
    model = StreamS3VM(random_state=0, **options)
    random, right = np.random.default_rng(seed), []
    for rows in np.array_split(np.arange(len(y)), batches):
        told = np.isin(np.arange(len(rows)), random.permutation(len(rows))[:2])
        model.partial_fit(X[rows], np.where(told, y[rows], np.nan), classes=[-1, 1])
        if model.transduction_[0] is not None:
            counted = ~told | (model.mode == "online")
            right.append(np.mean((model.transduction_ == y[rows])[counted]))
    return 100 * np.mean(right), model


@pytest.mark.parametrize("mode", ["incremental", "online"])
def test_a_tolerant_summary_is_small_and_costs_next_to_nothing(mode):
    X, y = clouds(480, 0, features=20, apart=1.2)
    X, s3vm = scale_rows(X, "keep"), SubmodS3VM(**PLAIN | {"positive_fraction": float(np.mean(y > 0))})
    strict, exact = run(X, y, mode=mode, max_disagreement=0.0, s3vm=s3vm)
    tolerant, rough = run(X, y, mode=mode, s3vm=s3vm)
    assert strict > 75
    assert tolerant == pytest.approx(strict, abs=3)
    few, many = (np.mean([r["exemplars"] for r in model.history_[1:]]) for model in (rough, exact))
    assert few < many / 2
    assert sum(r["trials"] for r in rough.history_) < sum(r["trials"] for r in exact.history_) / 2
    assert max(r["disagreement"] for r in rough.history_) <= 0.05


def test_shares_are_estimated_when_nobody_knows_them():
    X, y = clouds(240, 2, apart=4.0, share=0.3)
    accuracy, model = run(X, y, batches=4, s3vm=SubmodS3VM(kernel="linear"))
    assert accuracy > 85
    assert model.positive_fraction_ == pytest.approx(0.3, abs=0.1)


def test_digits_in_constant_memory():
    X, y = digits(columns="keep")
    order = np.random.default_rng(0).permutation(len(y))
    accuracy, model = run(
        X[order], y[order], batches=6, memory_rows=130, s3vm=SubmodS3VM(positive_fraction=0.5)
    )
    assert accuracy > 80
    assert model.score(X, y) > 0.85
    assert model.n_stored_ <= 130


@pytest.mark.parametrize("use_next_batch", [False, True])
def test_exemplars_may_look_ahead(use_next_batch):
    """60 rows and a label in one place, 4 rows in another, where the next batch is."""
    rng = np.random.default_rng(0)
    X = np.r_[np.zeros(61), np.full(4, 5.0)][:, None] + 0.3 * rng.standard_normal((65, 1))
    s3vm = SubmodS3VM(**PLAIN | {"kernel": "rbf"}, gamma=0.5)
    model = stream_of(s3vm, max_exemplars=6, max_disagreement=1.0, use_next_batch=use_next_batch)
    model.partial_fit(X, [1.0] + [None] * 64, classes=[-1, 1])
    model.partial_fit(5 + 0.3 * rng.standard_normal((40, 1)))
    there = np.count_nonzero(model.summary_[0] > 2.5)
    assert there >= 2 if use_next_batch else there <= 1


def test_narrow_kernels_go_on_from_a_summary():
    X, target = make_moons(400, noise=0.08, random_state=0)
    y = np.where(target == 1, 1.0, -1.0)
    s3vm = SubmodS3VM(kernel="rbf", gamma=20.0, scaling="none", positive_fraction=0.5)
    model = StreamS3VM(s3vm, max_disagreement=0.05, random_state=0)
    known = np.where(np.arange(200) % 20 == 0, y[:200], np.nan)
    model.partial_fit(X[:200], known).partial_fit(X[200:300]).partial_fit(X[300:])
    assert np.mean(model.transduction_ == y[300:]) > 0.85


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"s3vm": LASVM()}, "'s3vm' of StreamS3VM must be None or a SubmodS3VM or QPS3VM"),
        ({"s3vm": SubmodS3VM(kernel="precomputed")}, "'s3vm'"),
        ({"mode": "batch"}, "'mode' of StreamS3VM must be one of 'incremental', 'online', got 'batch'"),
        ({"max_disagreement": 1.5}, "'max_disagreement' of StreamS3VM must be a number from 0 to 1, got 1.5"),
        ({"max_disagreement": -0.1}, "'max_disagreement'"),
        ({"max_exemplars": -1}, "'max_exemplars'"),
        ({"max_labeled_per_class": 0}, "'max_labeled_per_class'"),
        ({"memory_rows": 1}, "'memory_rows'"),
        ({"use_next_batch": 1}, "'use_next_batch'"),
        ({"estimator": 3}, "'estimator'"),
    ],
)
def test_bad_parameters(params, words):
    X, y = clouds(10, 0)
    for learn in ("fit", "partial_fit"):
        with pytest.raises(ValueError, match=words):
            getattr(StreamS3VM(**params), learn)(X, y)


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        (np.full((3, 5), np.nan), [1, 1, 1], "NaN"),
        (np.ones((3, 4)), [1, 1, 1], "features"),
        (np.ones((3, 5)), [1, 1], "inconsistent"),
        (np.ones((3, 5)), ["a", "b", "a"], "earlier labels were such as"),
        (np.ones((3, 5)), [[1, 2]] * 3, "1d array"),
        (np.ones((3, 5)), [0.5, 1.5, 2.5], "continuous"),
        (np.ones((21, 5)), None, "allows batches of half as many"),
    ],
)
def test_bad_batches_leave_it_as_it_was(X, y, words):
    rows, labels = clouds(20, 0)
    model = stream_of(memory_rows=40, estimator="auto").partial_fit(rows, labels)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=words):
        model.partial_fit(X, y)
    assert vars(model) == before
    with pytest.raises(ValueError, match=words):
        model.fit(X, y) if words not in ("features", "earlier labels were such as") else model.partial_fit(
            X, y
        )
    assert vars(model) == before
    np.testing.assert_array_equal(clone(model).fit(rows, labels).predict(rows), model.predict(rows))
