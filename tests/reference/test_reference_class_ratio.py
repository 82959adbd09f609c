"""The NumPy estimate of the share of positives: what depth is, when it is reliable, and how far it is off."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from property_helpers import property_test
from reference.class_ratio import (
    Ratio,
    depths,
    estimate_ratio,
    is_reliable,
    labeled_share,
    smooth,
    squared_norm,
)
from reference.pessimistic_splits import draw_labeled, only
from reference.s3vm import from_matrix, from_rows, scale_rows
from semi.semi_helpers import HAVE_DATA, clouds, digits, gram, load, quarters, spread


def estimates(X, y, labels, splits=5, rows=350, **options):
    """The estimate, the truth and the share among the labels, on several splits."""
    for seed in range(splits):
        random = np.random.default_rng(seed)
        chosen = random.permutation(len(y))[:rows]
        known = only(y[chosen], draw_labeled(y[chosen], labels, random))
        problem = from_rows(X[chosen], known)
        truth = np.mean(y[chosen][problem.rows] > 0)
        yield estimate_ratio(gram(X[chosen]), problem, known, **options), truth, labeled_share(known)


# --- depth -------------------------------------------------------------------------------------------------


@property_test(150)
@given(quarters(st.integers(1, 12)))
def test_depth_is_the_climb_to_the_lower_of_both_sides(v):
    for k, depth in enumerate(depths(v)):
        assert depth == min(max(v[: k + 1]), max(v[k:])) - v[k]
        assert depth >= 0
    assert depths(v)[0] == depths(v)[-1] == 0


def test_low_ends_are_no_minimum():
    v = np.array([0.0, 2, 5, 4, 1.5, 3, 6, 2, 0])
    assert np.argmax(depths(v)) == 4  # while v itself is lowest at the ends
    assert depths(v).max() == 3.5
    assert not depths(np.array([1.0, 2, 3, 2, 1])).any()


def test_single_spikes_are_smoothed_away():
    np.testing.assert_array_equal(smooth(np.array([1.0, 9, 1, 1, -9, 1])), [1, 1, 1, 1, 1, 1])
    np.testing.assert_array_equal(smooth(np.array([1.0, 9])), [1, 9])


def test_the_squared_norm_is_that_of_the_weights():
    X, y = clouds(40, 0)
    machine = SVC(kernel="linear", tol=1e-8).fit(X, y)
    assert squared_norm(gram(X), y, 1.0) == pytest.approx(np.sum(machine.coef_**2), rel=1e-3)


# --- how far off -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "most"), [(0.3, 0.05), (0.5, 0.05)])
def test_separate_clouds(share, most):
    X, y = clouds(400, 1, features=10, apart=2.5, share=share)
    found = list(estimates(scale_rows(X, "center"), y, 6))
    assert np.mean([abs(estimate.r - truth) for estimate, truth, _ in found]) < most
    assert all(estimate.reliable for estimate, _, _ in found)


def test_digits():
    X, y = digits()
    errors = [(abs(estimate.r - truth), abs(share - truth)) for estimate, truth, share in estimates(X, y, 4)]
    estimated, labeled = np.mean(errors, axis=0)
    assert estimated < min(labeled, 0.1)


if HAVE_DATA:

    def test_wisconsin_breast_cancer():
        X, y = load("breast_cancer_wisconsin")
        found = list(estimates(spread(X, 0, 1), -y, 4, finer=False))
        assert np.mean([abs(estimate.r - truth) for estimate, truth, _ in found]) < 0.03


@property_test(20)
@given(st.integers(0, 10**6), st.integers(3, 25))
def test_estimates_are_shares_that_depend_on_known_labels_only(seed, n):
    X, y = clouds(n + 4, seed)
    y[:2] = [1, -1]
    known = only(y, range(4))
    estimate = estimate_ratio(gram(X), from_matrix(gram(X), known), known)
    assert 0 < estimate.r < 1
    assert estimate.depth >= 0
    k = estimate.r * n
    assert not (estimate.reliable and (min(k, n - k) < 9.5 or estimate.depth == 0))
    if estimate.depth == 0:
        assert estimate == Ratio(labeled_share(known), 0, False)


def test_the_second_look_is_finer_than_the_grid():
    errors = []
    for seed in range(6):
        X, y = clouds(204, seed, apart=6.0, share=0.37)
        known = only(y, range(6))
        problem = from_rows(X, known)
        truth = np.count_nonzero(y[problem.rows] > 0)
        found = [estimate_ratio(gram(X), problem, known, finer=finer).r for finer in (False, True)]
        errors.append(np.abs(198 * np.array(found) - truth))
    coarse, fine = np.mean(errors, axis=0)
    assert fine < 1 < coarse


@pytest.mark.parametrize(
    ("k", "depth", "reliable"),
    [(50, 0.5, True), (50, 0.49, False), (10, 9.0, True), (9, 9.0, False), (90, 9.0, True), (91, 9.0, False)],
)
def test_shallow_dips_and_rare_classes_are_unreliable(k, depth, reliable):
    assert is_reliable(k, 100, depth, 10.0) is reliable


def test_few_positives_are_never_reliable():
    X, y = clouds(200, 3, apart=6.0, share=0.5)
    rows = np.r_[np.flatnonzero(y > 0)[:7], np.flatnonzero(y < 0)[:90]]
    X, y = X[rows], y[rows]
    for signs in (y, -y):
        known = only(signs, [0, 1, 7, 8])
        estimate = estimate_ratio(gram(X), from_rows(X, known), known)
        assert not estimate.reliable or 10 <= estimate.r * 93 <= 83


@pytest.mark.parametrize("label", [1.0, -1.0])
def test_with_labels_of_one_class_nothing_is_estimated(label):
    X, y = clouds(30, 0)
    known = only(np.full(30, label), range(3))
    share = 4 / 5 if label > 0 else 1 / 5
    assert estimate_ratio(gram(X), from_rows(X, known), known) == Ratio(share, 0, False)
    assert estimate_ratio(gram(X), from_rows(X, 0 * y), 0 * y) == Ratio(0.5, 0, False)
