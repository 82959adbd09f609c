"""class_weight="balanced" in a stream: running label counts, for every kernel learner with partial_fit."""

import inspect
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from sklearn.utils import compute_class_weight

import everlearn
from everlearn import IDSVM, LASVM, load, save
from everlearn._base.learner import KernelLearner, balanced_weights
from property_helpers import property_test


def has_class_weight(cls):
    return (
        inspect.isclass(cls)
        and issubclass(cls, KernelLearner)  # a committee that trains its experts anew has weights of its own
        and hasattr(cls, "partial_fit")
        and "class_weight" in inspect.signature(cls).parameters
    )


LEARNERS = [getattr(everlearn, name) for name in everlearn.__all__]
LEARNERS = [cls for cls in LEARNERS if has_class_weight(cls)]
all_learners = pytest.mark.parametrize("cls", LEARNERS, ids=lambda cls: cls.__name__)


def stream(n=120, seed=0, classes=3, share=0.15):
    """Overlapping Gaussian classes; the last one is rare."""
    random = np.random.default_rng(seed)
    shares = np.append(np.full(classes - 1, (1 - share) / (classes - 1)), share)
    y = random.choice(classes, n, p=shares)
    y[:classes] = np.arange(classes)
    return random.normal(0, 1, (n, 4)) + y[:, np.newaxis], y


def make(cls, **options):
    params = inspect.signature(cls).parameters
    options = {"random_state": 0, "gamma": 0.3} | options
    return cls(**{name: value for name, value in options.items() if name in params})


def blocks(length, cuts):
    edges = sorted({0, length, *(cut for cut in cuts if cut < length)})
    return [slice(a, b) for a, b in pairwise(edges)]


def weights_by_hand(y, cuts, sample_weight=None):
    """The weight of every row: scikit-learn's formula on the labels of its block and of those before."""
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    found = np.empty(len(y))
    for block in blocks(len(y), cuts):
        seen = y[: block.stop][weight[: block.stop] > 0]
        present = np.unique(seen)
        values = dict(zip(present, compute_class_weight("balanced", classes=present, y=seen), strict=True))
        found[block] = [values.get(label, 1.0) for label in y[block]]
    return found * weight


def decisions(model, X):
    return model.decision_function(X)


def test_the_learners_that_must_have_it_are_tested():
    assert {cls.__name__ for cls in LEARNERS} >= {
        "LASVM", "IDSVM", "LocalSVM", "OnlineSVMR", "LASVMG", "LASVMI", "LASVMNC", "FullSVM", "KernelPA",
        "NORMA", "Projectron", "Forgetron", "RBP", "KernelPerceptron", "AveragedKernelPerceptron",
    }  # fmt: skip


@all_learners
@pytest.mark.parametrize("sparing", [False, True], ids=["plain", "rows of weight 0"])
def test_balanced_weights_are_those_of_the_labels_seen_so_far(cls, sparing):
    """Bit for bit the learner that gets the same weights as sample weights."""
    X, y = stream()
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], len(y)) if sparing else np.ones(len(y))
    cuts = (4, 5, 30, 31, 77)
    by_hand = weights_by_hand(y, cuts, weight)
    model, twin = make(cls, class_weight="balanced"), make(cls)
    for block in blocks(len(y), cuts):
        model.partial_fit(X[block], y[block], classes=[0, 1, 2], sample_weight=weight[block])
        twin.partial_fit(X[block], y[block], classes=[0, 1, 2], sample_weight=by_hand[block])
    np.testing.assert_array_equal(decisions(model, X), decisions(twin, X))
    plain = make(cls)
    for block in blocks(len(y), cuts):
        plain.partial_fit(X[block], y[block], classes=[0, 1, 2], sample_weight=weight[block])
    assert not np.array_equal(decisions(model, X), decisions(plain, X))


@all_learners
def test_partial_fit_goes_on_counting_after_fit(cls):
    X, y = stream()
    model = make(cls, class_weight="balanced").fit(X[:80], y[:80])
    twin = make(cls).fit(X[:80], y[:80], sample_weight=weights_by_hand(y[:80], ()))
    np.testing.assert_array_equal(decisions(model, X), decisions(twin, X))
    model.partial_fit(X[80:], y[80:])
    twin.partial_fit(X[80:], y[80:], sample_weight=weights_by_hand(y, (80,))[80:])
    np.testing.assert_array_equal(decisions(model, X), decisions(twin, X))
    model.fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])  # another fit counts from zero
    twin.fit(X[:50], y[:50], sample_weight=weights_by_hand(y[:50], ()))
    twin.partial_fit(X[50:], y[50:], sample_weight=weights_by_hand(y, (50,))[50:])
    np.testing.assert_array_equal(decisions(model, X), decisions(twin, X))


@all_learners
def test_counts_are_saved(cls, tmp_path):
    X, y = stream()
    model = make(cls, class_weight="balanced").partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    for each in (model, loaded):
        each.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(decisions(model, X), decisions(loaded, X))


@all_learners
def test_refused_rows_are_not_counted(cls):
    X, y = stream()
    first, rest = (X[:60], y[:60]), (X[60:], y[60:])
    model = make(cls, class_weight="balanced").partial_fit(*first, classes=[0, 1, 2])
    untouched = make(cls, class_weight="balanced").partial_fit(*first, classes=[0, 1, 2])
    for bad, labels, weight, words in (
        (rest[0][:, :2], rest[1], None, "features"),
        (rest[0] * np.nan, rest[1], None, "NaN"),
        (rest[0], rest[1] + 7, None, "not in classes"),
        (rest[0], rest[1], -np.ones(60), "[Nn]egative"),
    ):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(bad, labels, sample_weight=weight)
    model.partial_fit(*rest, sample_weight=np.zeros(60))  # nothing is learned: nothing is counted
    untouched.partial_fit(*rest, sample_weight=np.zeros(60))
    np.testing.assert_array_equal(model._label_counts, np.bincount(y[:60]))
    np.testing.assert_array_equal(
        decisions(model.partial_fit(*rest), X), decisions(untouched.partial_fit(*rest), X)
    )


def test_rows_that_the_kernel_refuses_are_not_counted():
    """A kernel that is not positive semi-definite is found out after the rows were accepted."""
    X, y = stream(40, classes=2)
    K = rbf_kernel(X, gamma=0.5)
    K[30:, 30:] *= -1
    model = IDSVM(kernel="precomputed", class_weight="balanced").partial_fit(K[:20], y[:20], classes=[0, 1])
    with pytest.raises(ValueError, match="not positive semi-definite"):
        model.partial_fit(K[20:], y[20:])
    np.testing.assert_array_equal(model._label_counts, np.bincount(y[:20]))


@property_test(60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, 2.5])), min_size=2, max_size=40),
    st.lists(st.integers(1, 39), max_size=8),
)
def test_counts_do_not_depend_on_the_blocks(labeled, cuts):
    y = np.array([label for label, _ in labeled])
    weight = np.array([value for _, value in labeled])
    X = np.random.default_rng(0).normal(size=(len(y), 2))
    model = LASVM(gamma=0.3, class_weight="balanced")
    for block in blocks(len(y), cuts):
        model.partial_fit(X[block], y[block], classes=range(4), sample_weight=weight[block])
        counts = np.bincount(y[: block.stop][weight[: block.stop] > 0], minlength=4)
        np.testing.assert_array_equal(model._label_counts, counts)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=50))
def test_weights_from_counts_are_those_from_labels(labels):
    present = np.unique(labels)
    ours = balanced_weights(np.bincount(labels, minlength=5))[present]
    np.testing.assert_array_equal(ours, compute_class_weight("balanced", classes=present, y=labels))


# --- the exact machine ------------------------------------------------------------------------------------


def exact(X, y, costs):
    return SVC(C=1.0, gamma=0.3, tol=1e-7).fit(X, y, sample_weight=costs)


def test_blocks_of_the_exact_machine_are_the_svm_with_their_costs():
    X, y = stream(100, classes=2)
    cuts = (10, 40)
    model = IDSVM(gamma=0.3, class_weight="balanced")
    for block in blocks(len(y), cuts):
        model.partial_fit(X[block], y[block], classes=[0, 1])
    by_hand = exact(X, y, weights_by_hand(y, cuts))
    np.testing.assert_allclose(decisions(model, X), by_hand.decision_function(X), rtol=0, atol=1e-5)


def test_relabeled_rows_change_the_counts_and_their_costs():
    """A row that changes its class has the cost of a row of that class; the others keep theirs."""
    X, y = stream(80, classes=2)
    model = IDSVM(gamma=0.3, class_weight="balanced").fit(X, y)
    rows = np.flatnonzero(y == 0)[:4]
    turned = y.copy()
    turned[rows] = 1
    before, after = weights_by_hand(y, ()), weights_by_hand(turned, ())
    costs = np.where(np.isin(np.arange(80), rows), after, before)
    model.relabel(rows, turned[rows])
    by_hand = exact(X, turned, costs).decision_function(X)
    np.testing.assert_allclose(decisions(model, X), by_hand, rtol=0, atol=1e-5)
    np.testing.assert_array_equal(model._label_counts, np.bincount(turned))
    model.relabel(rows, y[rows])  # and back
    np.testing.assert_allclose(
        decisions(model, X), exact(X, y, before).decision_function(X), rtol=0, atol=1e-5
    )


def test_a_class_that_has_not_come_yet_may_be_relabeled_to():
    X, y = stream(60, classes=2)
    model = IDSVM(gamma=0.3, class_weight="balanced").partial_fit(X, y, classes=[0, 1, 2])
    model.relabel([0], [2])
    assert model._label_counts[2] == 1
    assert np.isfinite(decisions(model, X)).all()
