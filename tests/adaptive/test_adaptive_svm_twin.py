"""AdaptiveSVM equals a plain twin that refits scikit-learn's SVC on every window, after every block.

The twin solves to 1e-6. The SVMs here are solved to 1e-6, too, with kernel values in single precision, whose
errors are summed over support vectors with coefficients up to C = 10: votes agree to 1e-3. A weight depends
on a loss that sums up differences of votes, so that weights agree to 5e-3. With the tolerance as it comes,
decision values of SVMs are off by its size, and votes by up to half of it for each class.

Rows have weights that are all different. With equal ones, all coefficients may be at their bounds, and then
the intercept of an SVM is any number in an interval, for SVC and for the SVMs here.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from adaptive.adaptive_helpers import as_sparse, blobs, swap
from everlearn import AdaptiveSVM
from everlearn.adaptive import Expert, _voters
from everlearn.adaptive.experts import DEFAULT
from reference.adaptive_svm import ReferenceAdaptiveSVM

SMALL = [
    Expert("linear", C=1.0),
    Expert("rbf", gamma=0.3, C=3.0),
    Expert("rbf", window=12),
    Expert("no-change"),
]


@pytest.fixture
def exact(monkeypatch):
    monkeypatch.setattr(_voters, "_TAU", 1e-6)


def pair(experts=SMALL, *, scaling="standard", tol=1e-6, **params):
    learner = AdaptiveSVM(experts=experts, scaling=scaling, **params)
    known = DEFAULT if isinstance(experts, str) else experts
    return learner, ReferenceAdaptiveSVM(known, scaling=scaling == "standard", tol=tol, **params)


def uneven(n):
    return np.random.default_rng(n).uniform(0.8, 1.3, n)


def votes_of(learner, X):
    """Votes from decision values: a quarter of the log-odds, or half the logarithm of each vote."""
    scores = learner.decision_function(X)
    if scores.ndim == 2:
        return np.exp(2 * scores)
    chance = 1 / (1 + np.exp(-4 * scores))
    return np.column_stack([1 - chance, chance])


def agree(learner, twin, X, votes=1e-3, weights=5e-3):
    np.testing.assert_array_equal(learner.classes_, twin.classes)
    np.testing.assert_array_equal(learner.ids_, twin.ids)
    if len(twin.classes) > 1:
        np.testing.assert_allclose(votes_of(learner, X), twin.votes(X), rtol=0, atol=votes)
    np.testing.assert_allclose(learner.weights_, twin.weights, rtol=0, atol=weights)


def stream(learner, twin, X, y, sizes, weight=None, convert=lambda X: X, **tolerance):
    """Learn blocks of these sizes by turns, and compare after each of them."""
    weight = uneven(len(y)) if weight is None else weight
    start, turn = 0, 0
    while start < len(y):
        block = slice(start, start + sizes[turn % len(sizes)])
        learner.partial_fit(convert(X[block]), y[block], sample_weight=weight[block])
        twin.partial_fit(X[block], y[block].tolist(), weight[block])
        agree(learner, twin, X[:: max(1, len(X) // 40)], **tolerance)
        start, turn = block.stop, turn + 1


@pytest.mark.parametrize("sizes", [[1], [7], [1, 30, 4]], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_and_weights_after_every_block(exact, n_classes, sizes):
    X, y = blobs(75, n_classes)
    stream(*pair(), X, y, sizes)


def test_the_default_committee(exact):
    X, y = swap(130, 70)
    stream(*pair("auto"), X, y, [13])


def test_the_default_committee_at_its_own_tolerance():
    X, y = blobs(160, 3, features=6)
    tau = _voters._TAU
    stream(*pair("auto", tol=1e-4), X, y, [40], votes=2 * tau, weights=5 * tau)


def test_a_table_of_real_measurements_as_a_stream(exact):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    stream(*pair(), X[order], y[order], [10])


@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_dense_rows_with_and_without_scaling(exact, scaling):
    X, y = blobs(60, 2)
    stream(*pair(scaling=scaling), X * 3 + 1, y, [6])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("features", [4, 120])
def test_sparse_rows(exact, n_classes, features):
    X, y = blobs(60, n_classes, features=features)
    X[np.random.default_rng(1).random(X.shape) < 0.9] = 0
    learner, _ = pair()
    _, twin = pair(scaling="none")  # sparse rows are taken as they are
    stream(learner, twin, X, y, [6], convert=as_sparse)


def test_classes_that_come_late(exact):
    X, y = blobs(90, 4)
    y[:60] = np.minimum(y[:60], 2)
    y[:30] = np.minimum(y[:30], 1)
    y[:15] = 1
    names = np.array(["m", "z", "a", "k"])[y]  # new ones come before, between and behind the others
    stream(*pair(), X, names, [5])


@pytest.mark.parametrize("class_weight", ["balanced", {0: 0.3, 1: 2.0, 2: 1.0}, {2: 5.0}], ids=str)
def test_sample_and_class_weights(exact, class_weight):
    X, y = blobs(70, 3)
    weight = uneven(70) * np.random.default_rng(2).choice([0.0, 0.25, 1.0, 3.0], len(y))
    weight[:3] = 1.0
    learner, twin = pair(class_weight=class_weight)
    start = 0
    for size in (9, 1, 20, 25, 15):
        block = slice(start, start + size)
        ids = np.arange(start, start + size)
        learner.partial_fit(X[block], y[block], sample_weight=weight[block])
        twin.partial_fit(X[block], y[block].tolist(), weight[block], ids)
        agree(learner, twin, X)
        start += size


def test_a_class_of_weight_zero_is_learned_by_no_svm(exact):
    X, y = blobs(60, 2)
    learner = AdaptiveSVM(experts=[Expert("linear")], class_weight={0: 0.0}).partial_fit(X, y)
    assert (learner.predict(X) == 1).all()


@pytest.mark.parametrize("max_rows", [2, 9, 20])
def test_old_rows_are_dropped(exact, max_rows):
    X, y = blobs(80, 3)
    stream(*pair(max_rows=max_rows), X, y, [1, 6, 17])
    assert (
        max_rows <= pair(max_rows=max_rows)[0].partial_fit(X, y).n_kept_ <= max_rows + max(max_rows // 10, 1)
    )


@pytest.mark.parametrize(
    "params",
    [{"fading_factor": 0.5}, {"fading_factor": 1.0, "fixed_share": 0.3}, {"learning_rate": 0.2}],
    ids=str,
)
def test_parameters_of_the_vote(exact, params):
    X, y = swap(80, 45)
    stream(*pair(**params), X, y, [8])


def test_forgetting_and_learning_by_turns(exact):
    X, y = blobs(90, 3)
    learner, twin = pair(max_rows=40)
    random, weight = np.random.default_rng(3), uneven(90)
    for start in range(0, 90, 9):
        block = slice(start, start + 9)
        learner.partial_fit(X[block], y[block], sample_weight=weight[block])
        twin.partial_fit(X[block], y[block].tolist(), weight[block], np.arange(start, start + 9))
        gone = random.choice(learner.ids_, 4, replace=False)
        learner.forget(gone)
        twin.forget(gone.tolist())
        agree(learner, twin, X)
