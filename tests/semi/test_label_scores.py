"""SubmodS3VM beside the thesis: label scores from an SVM, and rho by cross-validation."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from everlearn import QPS3VM, SubmodS3VM
from everlearn._base.kernels import Linear, kernel_named
from everlearn.semi import _label_scores, _rho
from everlearn.semi._label_scores import label_scores
from everlearn.semi._rho import RHOS, choose_rho
from everlearn.semi._space import Space
from reference.hidden_labels import hits, label, svm_scores
from reference.pessimistic_splits import draw_labeled, only
from reference.s3vm import scale_rows
from semi.semi_helpers import clouds, gram


def crossed(n, seed):
    """Two clouds far apart, and two classes across both of them: clusters mislead."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = 0.5 * rng.standard_normal((n, 2))
    X[:, 0] += 4 * rng.choice([-1, 1], n)
    X[:, 1] += y
    return X, y


def partly(n=120, labels=30, seed=0, make=clouds):
    X, y = make(n, seed)
    return X, y, only(y, draw_labeled(y, labels, np.random.default_rng(seed)))


# --- label scores -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
@pytest.mark.parametrize("labels", [2, 6, 40])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_label_scores_are_those_of_an_svm(kernel, labels, C):
    X, _y, known = partly(labels=labels)
    K = rbf_kernel(X, gamma=0.3) if kernel == "rbf" else gram(X)
    L, U = np.flatnonzero(known), np.flatnonzero(known == 0)
    space = Space(K, None) if kernel == "precomputed" else Space(X, kernel_named(kernel, gamma=0.3))
    found = label_scores(space, U, L, known[L], "svm", C)
    np.testing.assert_allclose(found, svm_scores(K, known, C), atol=1e-4 * np.abs(found).max())
    plain = SVC(C=C, kernel="precomputed").fit(K[np.ix_(L, L)], known[L]).decision_function(K[np.ix_(U, L)])
    assert np.corrcoef(found, plain)[0, 1] > 0.9999
    sums = K[np.ix_(U, L)] @ known[L]
    assert np.mean(np.abs(found - found.mean())) == pytest.approx(np.mean(np.abs(sums - sums.mean())))
    np.testing.assert_allclose(label_scores(space, U, L, known[L], "similarity", C), sums)


def test_with_few_labels_the_svm_is_the_sums():
    X, _y, known = partly(labels=4)
    X = scale_rows(X)
    L, U = np.flatnonzero(known), np.flatnonzero(known == 0)
    found = [label_scores(Space(X, Linear()), U, L, known[L], how, 0.01) for how in ("svm", "similarity")]
    np.testing.assert_allclose(found[0] - found[0].mean(), found[1] - found[1].mean(), atol=1e-9)


def test_one_class_and_equal_rows_are_scored_by_sums():
    X, _y, known = partly()
    space, U = Space(X, Linear()), np.flatnonzero(known == 0)
    for L in (np.flatnonzero(known > 0), np.flatnonzero(known < 0)):
        found = label_scores(space, U, L, known[L], "svm", 1.0)
        np.testing.assert_allclose(found, space.weighted_sums(U, L, known[L]), rtol=1e-12)
    same = Space(np.ones((5, 2)), Linear())
    found = label_scores(same, np.arange(2, 5), np.arange(2), np.array([1.0, -1.0]), "svm", 1.0)
    np.testing.assert_array_equal(found, np.zeros(3))


def test_one_class_against_the_rest_where_there_are_many():
    X, digit = load_digits(n_class=4, return_X_y=True)
    space, L, U = Space(scale_rows(X), Linear()), np.arange(60), np.arange(60, 300)
    members = np.eye(5)[digit[L]]  # nobody is in the last one
    found = label_scores(space, U, L, members, "svm", 1.0)
    for c in range(4):
        machine = SVC(kernel="linear", tol=1e-6).fit(space.X[L], digit[L] == c)
        assert np.corrcoef(found[:, c], machine.decision_function(space.X[U]))[0, 1] > 0.9999
    np.testing.assert_array_equal(found[:, 4], np.zeros(240))


def test_of_very_many_labels_some_are_taken(monkeypatch):
    X, _y, known = partly(labels=60)
    L, U, space = np.flatnonzero(known), np.flatnonzero(known == 0), Space(X, Linear())
    everything = label_scores(space, U, L, known[L], "svm", 1.0)
    monkeypatch.setattr(_label_scores, "_MAX_LABELS", 20)
    some = label_scores(space, U, L, known[L], "svm", 1.0)
    assert np.any(some != everything)
    assert np.corrcoef(some, everything)[0, 1] > 0.9


@pytest.mark.parametrize("rows", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("rho", [0.0, 0.3, 2.0])
def test_labels_are_those_of_the_plain_version(rows, rho):
    X, _y, known = partly()
    clf = SubmodS3VM(
        rho=rho,
        kernel="linear",
        scaling="none",
        solver="fast",
        unlabeled=0,
        positive_fraction=0.5,
        estimator=None,
    )
    np.testing.assert_array_equal(clf.fit(rows(X), known).transduction_, label(gram(X), known, 45, rho))


# --- rho ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [clouds, crossed])
@pytest.mark.parametrize("labels", [10, 40, 100])
def test_rho_is_the_one_that_finds_most_hidden_labels(make, labels):
    X, _y, known = partly(200, labels, 1, make)
    X = scale_rows(X)
    L, numbers, U = np.flatnonzero(known), (known[known != 0] > 0).astype(int), np.flatnonzero(known == 0)
    clf = SubmodS3VM(kernel="linear", positive_fraction=0.5)
    seen = []

    def problem(space, shown, numbers, wanted, sizes):
        seen.append(len(shown))
        return clf._problem(space, shown, numbers, wanted, sizes)

    found = choose_rho(
        Space(X, Linear()), L, numbers, U, np.array([0.5, 0.5]), problem, np.random.RandomState(5)
    )
    repeats, folds = {10: 3, 40: 3, 100: 1}[labels], min(5, np.bincount(numbers).min())
    assert len(seen) == repeats * folds
    assert min(seen) >= labels * (folds - 1) // folds - 1
    again = np.random.RandomState(5)
    states = [again.randint(2**31 - 1) for _ in range(repeats)]
    right = [hits(gram(X), known, 0.5, rho, folds, states) for rho in RHOS]
    assert found == RHOS[int(np.argmax(right))]


def test_clusters_that_are_classes_are_trusted_and_others_are_not():
    X, y, known = partly(400, 8, 0)
    clf = SubmodS3VM(unlabeled=0, positive_fraction=0.5, random_state=0).fit(X, known)
    assert clf.rho_ == 1.0
    X, y = crossed(600, 0)
    known = only(y, draw_labeled(y, 60, np.random.default_rng(0)))
    settings = {
        "kernel": "linear",
        "scaling": "none",
        "unlabeled": 0,
        "positive_fraction": 0.5,
        "random_state": 0,
    }
    chosen = SubmodS3VM(**settings).fit(X, known)
    assert chosen.rho_ < 1.0
    fixed = SubmodS3VM(rho=1.0, **settings).fit(X, known)
    right = [np.mean(clf.transduction_ == y) for clf in (chosen, fixed)]
    assert right[0] > 0.93
    assert right[0] > right[1] + 0.2


def test_without_two_labels_of_each_class_rho_is_one():
    X, y = clouds(60, 0)
    for labels in (1, 2, 3):
        known = only(y, draw_labeled(y, labels, np.random.default_rng(0)) if labels > 1 else [0])
        clf = SubmodS3VM(unlabeled=0, positive_fraction={-1.0: 0.5, 1.0: 0.5}).fit(X, known)
        assert clf.rho_ == 1.0
    assert SubmodS3VM(rho=0.25, unlabeled=0, positive_fraction=0.5).fit(X, only(y, range(10))).rho_ == 0.25
    assert SubmodS3VM().fit(X, y).rho_ == 1.0  # nothing to find


def test_rho_is_chosen_from_samples_of_many_rows(monkeypatch):
    X, _y, known = partly(400, 100)
    settings = {"unlabeled": 0, "positive_fraction": 0.5, "random_state": 0, "estimator": None}
    monkeypatch.setattr(_rho, "_MAX_ROWS", 50)
    monkeypatch.setattr(_rho, "_MAX_LABELS", 30)
    sizes = []
    matrix = Space.matrix
    monkeypatch.setattr(Space, "matrix", lambda self, rows: (sizes.append(len(rows)), matrix(self, rows))[1])
    for cls in (SubmodS3VM, QPS3VM):
        sizes.clear()
        assert cls(**settings).fit(X, known).rho_ in RHOS
        assert sizes[0] == 80


def test_rho_for_many_classes():
    X, digit = load_digits(n_class=3, return_X_y=True)
    known = np.where(np.arange(len(X)) < 60, digit, -1)
    clf = SubmodS3VM(unlabeled=-1, random_state=0, estimator=None).fit(X, known)
    assert clf.rho_ in RHOS
    assert np.mean(clf.transduction_ == digit) > 0.94
