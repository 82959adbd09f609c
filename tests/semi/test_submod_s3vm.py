"""SubmodS3VM with two classes: figures, the NumPy twin, symmetries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import LinearSVC

from everlearn import QPS3VM, SubmodS3VM
from everlearn._base.kernels import Linear
from everlearn._submodular.geometry import Geometry
from everlearn.semi._space import Space
from everlearn.semi._transduce import class_sizes, count_positives, signed, two_classes
from property_helpers import property_test
from reference.pessimistic_splits import draw_labeled, only
from reference.s3vm import count_positives as twin_count
from reference.s3vm import default_weight, from_matrix, from_rows, scale_rows, transduce, weighted
from semi.semi_helpers import THESIS, WEIGHTS, breast_cancer, clouds, digits, gram, partly_labeled


def hide(y, L):
    """The labels of the rows L; NaN for all others."""
    known = np.full(len(y), np.nan)
    known[L] = y[L]
    return known


def cancer():
    X, target = load_breast_cancer(return_X_y=True)
    return X, target.astype(float), [0, 1, 19, 20], "auto"


def threes_and_eights():
    X, target = load_digits(return_X_y=True)
    rows = (target == 3) | (target == 8)
    return X[rows], (target[rows] == 3).astype(float), [0, 1, 2, 3], "unit"


# --- figures -----------------------------------------------------------------------------------------------

CASES = {  # rows, k, first picks, D, evaluations, accuracy of greedy and of the labels alone, tolerance
    "breast cancer": (
        cancer,
        355,
        [515, 206, 249, 390, 422, 226, 46, 153],
        9.25577127,
        3_260,
        0.9257,
        0.9292,
        0.004,
    ),
    "digits": (
        threes_and_eights,
        181,
        [119, 114, 236, 242, 112, 146, 225, 38],
        -4.84353587,
        1_762,
        0.9150,
        0.9037,
        0.006,
    ),
}
FORMS = {
    "dense": lambda X: (X, "linear"),
    "sparse": lambda X: (sparse.csr_matrix(X), "linear"),
    "matrix": lambda X: (X @ X.T, "precomputed"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("learner", ["greedy", "two-sided", "fast", "QPS3VM"])
@pytest.mark.parametrize("case", CASES)
def test_figures(case, learner, form):
    data, k, _, D, evaluations, right, alone, tolerance = CASES[case]
    X, y, L, scaling = data()
    known = hide(y, L)
    U = np.isnan(known)
    settings = {"positive_fraction": float(np.mean(y[U])), "random_state": 0, **THESIS}
    if form == "dense":
        rows, kernel = X, "linear"
    else:
        rows, kernel = FORMS[form](scale_rows(X, "standardize" if scaling == "auto" else "keep"))
        scaling = "none"
    if learner == "QPS3VM":
        clf = QPS3VM(kernel=kernel, scaling=scaling, **settings)
    else:
        clf = SubmodS3VM(kernel=kernel, scaling=scaling, solver=learner, **settings)
    clf.fit(rows, known)
    assert np.sum(clf.transduction_[U] == 1) == k
    assert clf.objective_ == pytest.approx(D, abs=1e-6)
    assert np.mean(clf.transduction_[U] == y[U]) == pytest.approx(right, abs=tolerance)
    assert np.mean(clf.supervised_transduction_[U] == y[U]) == pytest.approx(alone, abs=tolerance)
    if learner == "greedy" and form != "matrix":
        assert clf.n_evaluations_ == pytest.approx(evaluations, rel=0.02)
    np.testing.assert_array_equal(clf.transduction_[L], y[L])


@pytest.mark.parametrize("case", CASES)
def test_first_picks(case):
    data, _, first, *_ = CASES[case]
    X, y, L, scaling = data()
    known = hide(y, L)
    U = np.flatnonzero(np.isnan(known))
    Z = scale_rows(X, "standardize" if scaling == "auto" else "keep")
    for kind in (np.asarray, sparse.csr_matrix):
        taken = []
        for size in range(1, 9):  # nested: one more with each
            space = Space(kind(Z), Linear())
            K, s = space.among(U), space.weighted_sums(U, np.array(L), 2 * y[L] - 1)
            found = two_classes(K, s, size, 1.0, 8 / len(U), K.highest, "greedy")
            taken.append(set(U[found.numbers == 1]))
        assert [(new - old).pop() for old, new in zip([set(), *taken], taken, strict=False)] == first


# --- against the twin --------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["greedy", "two-sided", "fast"])
@property_test(60)
@given(problem=partly_labeled(), C=WEIGHTS, rho=WEIGHTS, r=st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]))
def test_two_classes(solver, problem, C, rho, r):
    X, y = problem
    clf = SubmodS3VM(
        C, rho=rho, label_scores="similarity", kernel="linear", scaling="none", solver=solver, estimator=None,
        unlabeled=0,
        positive_fraction={-1: 1 - r, 1: r},
    )  # fmt: skip
    clf.fit(X, y.astype(int))
    k = count_positives(r, int(np.sum(y == 0)))
    assert np.sum(clf.transduction_[y == 0] == 1) == k
    np.testing.assert_array_equal(clf.transduction_[y != 0], y[y != 0])
    if 0 < r < 1:
        twin = transduce(from_rows(X, y), y, r, solver, C, default_weight(y, rho, C))
        np.testing.assert_array_equal(clf.transduction_, twin)
        alone = transduce(from_rows(X, y), y, r, "labels", C, default_weight(y, rho, C))
        np.testing.assert_array_equal(clf.supervised_transduction_, alone)


@pytest.mark.parametrize("solver", ["greedy", "two-sided", "fast"])
@pytest.mark.parametrize("balance", [False, True])
def test_rbf_with_and_without_a_matrix(solver, balance):
    X, y = clouds(120, 0, share=0.4)
    known = only(y, [*np.flatnonzero(y > 0)[:2], *np.flatnonzero(y < 0)[:5]])
    K = rbf_kernel(X, gamma=0.2)
    twin = transduce(from_matrix(K, known, balance), known, 0.4, solver)
    settings = {
        "solver": solver,
        "balance_classes": balance,
        "positive_fraction": 0.4,
        "unlabeled": 0,
        "estimator": None,
        **THESIS,
    }
    rows = SubmodS3VM(kernel="rbf", gamma=0.2, scaling="none", **settings).fit(X, known)
    matrix = SubmodS3VM(kernel="precomputed", **settings).fit(K, known)
    np.testing.assert_array_equal(rows.transduction_, twin)
    np.testing.assert_array_equal(matrix.transduction_, twin)
    assert rows.objective_ == pytest.approx(matrix.objective_)
    np.testing.assert_allclose(rows.scores_, matrix.scores_, rtol=1e-9, atol=1e-12)


def test_nystroem_with_every_row_as_a_landmark_is_the_kernel_itself():
    X, y = clouds(80, 1)
    known = hide(y, [*np.flatnonzero(y > 0)[:3], *np.flatnonzero(y < 0)[:3]])
    settings = {
        "kernel": "rbf",
        "gamma": 0.1,
        "positive_fraction": 0.5,
        "solver": "greedy",
        "random_state": 0,
    }
    settings |= THESIS
    exact = SubmodS3VM(**settings).fit(X, known)
    approximate = SubmodS3VM(n_components=500, **settings).fit(X, known)
    np.testing.assert_array_equal(approximate.transduction_, exact.transduction_)
    assert approximate.objective_ == pytest.approx(exact.objective_, abs=1e-8)
    assert isinstance(approximate.estimator_, LinearSVC)
    few = SubmodS3VM(n_components=15, **settings).fit(X, known)
    assert few.estimator_.n_features_in_ == 15
    assert few.score(X, y) > 0.85


# --- symmetries --------------------------------------------------------------------------------------------


def labels_of(X, known, **settings):
    settings = (
        THESIS | {"kernel": "linear", "positive_fraction": 0.4, "estimator": None, "unlabeled": 0} | settings
    )
    return SubmodS3VM(**settings).fit(X, known).transduction_


@pytest.mark.parametrize("solver", ["greedy", "two-sided", "fast"])
def test_symmetries(solver):
    X, y = clouds(100, 2)
    known = only(y, draw_labeled(y, 6, np.random.default_rng(0)))
    Z = scale_rows(X)
    base = labels_of(Z, known, solver=solver, scaling="none")
    turned = np.random.default_rng(1).permutation(100)
    np.testing.assert_array_equal(
        labels_of(Z[turned], known[turned], solver=solver, scaling="none"), base[turned]
    )
    np.testing.assert_array_equal(labels_of(3 * Z, known, solver=solver, scaling="none"), base)
    np.testing.assert_array_equal(labels_of(Z, known, solver=solver, scaling="none", C=50.0), base)
    for shift in (0.0, 5.0):
        shifted = labels_of(gram(Z) + shift, known, solver=solver, kernel="precomputed")
        np.testing.assert_array_equal(shifted, base)


def test_the_other_class_can_be_the_positive_one():
    X, y = clouds(100, 3)
    known = only(y, draw_labeled(y, 6, np.random.default_rng(0)))
    here = SubmodS3VM(kernel="linear", positive_fraction=0.4, unlabeled=0).fit(X, known)
    there = SubmodS3VM(kernel="linear", positive_fraction=0.6, unlabeled=0).fit(X, -known)
    np.testing.assert_array_equal(here.transduction_, -there.transduction_)


def test_two_sides_are_no_worse_than_one_and_refinement_helps():
    better = 0
    for seed in range(8):
        X, y = clouds(150, seed)
        known = only(y, draw_labeled(y, 4, np.random.default_rng(seed)))
        settings = {
            "kernel": "linear",
            "rho": 5.0,
            "positive_fraction": 0.5,
            "unlabeled": 0,
            "estimator": None,
        }
        D = [SubmodS3VM(solver=s, **settings).fit(X, known).objective_ for s in ("greedy", "two-sided")]
        assert D[1] >= D[0] - 1e-12
        better += D[1] > D[0] + 1e-9
    assert better > 0


def test_a_small_rho_is_the_labels_alone():
    X, y = clouds(100, 4)
    known = hide(y, draw_labeled(y, 6, np.random.default_rng(0)))
    for rho in (1e-9, 0):
        for cls in (SubmodS3VM, QPS3VM):
            clf = cls(rho=rho, positive_fraction=0.5).fit(X, known)
            np.testing.assert_array_equal(clf.transduction_, clf.supervised_transduction_)
    clf = SubmodS3VM(rho=1.0, positive_fraction=0.5).fit(X, known)
    assert np.any(clf.transduction_ != clf.supervised_transduction_)


@property_test(200)
@given(st.floats(0, 1), st.integers(1, 50))
def test_counts(r, n):
    k = count_positives(r, n)
    assert k == (twin_count(r, n) if 0 < r < 1 else round(r * n))
    sizes = class_sizes(np.array([1 - r, r / 2, r / 2]) + 1e-3, n)
    assert sizes.sum() == n
    assert (sizes >= 0).all()


# --- parts -------------------------------------------------------------------------------------------------


def test_weights_of_classes():
    y = np.array([1.0, 1, 1, -1, 0])
    numbers = (y[:4] > 0).astype(int)
    np.testing.assert_array_equal(signed(numbers, True), weighted(y, True)[:4])
    np.testing.assert_array_equal(signed(numbers, False), y[:4])


def test_helpers_of_the_twin_scale_as_the_learner_does():
    for (Z, _), (X, _, _, scaling) in zip(
        (breast_cancer(), digits()), (cancer(), threes_and_eights()), strict=True
    ):
        params = SubmodS3VM(kernel="linear", scaling=scaling)
        np.testing.assert_allclose(Geometry.of(X, params).scaled(X), Z, atol=1e-12)
