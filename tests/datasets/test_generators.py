"""Moments and error rates known from the definitions; bounds are about five standard errors wide."""

import doctest
import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest, norm, uniform

from everlearn import datasets
from everlearn.datasets import (
    generators,
    make_banana,
    make_checkerboard,
    make_gaussians,
    make_sliced_cube,
    make_two_moons,
    make_twonorm,
    make_waveform,
)
from property_helpers import property_test

N_FEATURES = {
    make_banana: 2,
    make_checkerboard: 2,
    make_gaussians: 2,
    make_sliced_cube: 3,
    make_two_moons: 2,
    make_twonorm: 20,
    make_waveform: 21,
}
GENERATORS = list(N_FEATURES)
NOISY_FEATURES = [make_banana, make_two_moons, make_twonorm, make_waveform]

every_generator = pytest.mark.parametrize("make", GENERATORS)


def error(predicted_positive, y):
    return np.mean(predicted_positive != (y == 1))


# --- the contract that all share ----------------------------------------------------------------------------


def test_the_list_of_generators_is_complete():
    exported = {getattr(datasets, name) for name in datasets.__all__ if name.startswith("make_")}
    others = {datasets.make_fraud_stream, datasets.make_author_records}  # with files of their own
    assert exported - others == set(GENERATORS)


@every_generator
def test_shape_and_dtype(make):
    X, y = make(50, random_state=0)
    assert X.shape == (50, N_FEATURES[make])
    assert X.dtype == np.float64
    assert y.shape == (50,)
    assert y.dtype == np.int64
    assert set(y) == ({1, 2, 3} if make is make_waveform else {-1, 1})
    assert len(make()[0]) == 1000
    assert make(1, random_state=0)[0].shape == (1, N_FEATURES[make])


@every_generator
def test_everything_but_the_number_of_rows_is_by_keyword(make):
    parameters = list(inspect.signature(make).parameters.values())
    assert [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY] == ["n_samples"]


@every_generator
def test_random_state(make):
    X, y = make(40, random_state=7)
    for seed in (7, np.int64(7), np.random.default_rng(7)):
        X_again, y_again = make(40, random_state=seed)
        np.testing.assert_array_equal(X_again, X)
        np.testing.assert_array_equal(y_again, y)
    assert not np.array_equal(make(40, random_state=8)[0], X)
    assert not np.array_equal(make(40)[0], make(40)[0])


@every_generator
@pytest.mark.parametrize("source", [np.random.default_rng, np.random.RandomState])
def test_a_generator_goes_on_from_where_it_is(make, source):
    one, other = source(3), source(3)
    first, second = make(20, random_state=one)[0], make(20, random_state=one)[0]
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(make(20, random_state=other)[0], first)
    np.testing.assert_array_equal(make(20, random_state=other)[0], second)


@every_generator
def test_the_global_random_state_is_left_alone(make):
    np.random.seed(0)  # noqa: NPY002
    expected = np.random.RandomState(0).random_sample()
    make(10)
    assert np.random.random_sample() == expected  # noqa: NPY002


@every_generator
@given(n=st.integers(2, 200), ratio=st.floats(0.01, 100))
@property_test(25)
def test_imbalance_ratio_fixes_the_number_of_positives(make, n, ratio):
    _, y = make(n, imbalance_ratio=ratio, random_state=0)
    assert np.count_nonzero(y == 1) == np.clip(round(n / (1 + ratio)), 1, n - 1)


@every_generator
def test_imbalanced_rows_are_in_random_order(make):
    _, y = make(3000, imbalance_ratio=2, random_state=0)
    assert abs(np.flatnonzero(y == 1).mean() / 3000 - 0.5) < 5 * 0.29 / np.sqrt(1000)


@every_generator
@pytest.mark.parametrize("ratio", [None, 5])
def test_label_noise_changes_the_share_of_labels_and_nothing_else(make, ratio):
    X, y = make(400, imbalance_ratio=ratio, random_state=5)
    X_noisy, y_noisy = make(400, imbalance_ratio=ratio, label_noise=0.15, random_state=5)
    np.testing.assert_array_equal(X_noisy, X)
    assert np.count_nonzero(y_noisy != y) == 60
    assert set(y_noisy) == set(y)
    assert np.count_nonzero(make(400, label_noise=1, random_state=5)[1] == make(400, random_state=5)[1]) == 0


@every_generator
def test_classes_are_balanced_by_default(make):
    _, y = make(20_000, random_state=1)
    share = 1 / 3 if make is make_waveform else 1 / 2
    for label in np.unique(y):
        assert abs(np.mean(y == label) - share) < 5 * 0.5 / np.sqrt(20_000)


@every_generator
def test_rows_are_independent_of_their_place(make):
    X, y = make(4000, random_state=2)
    halves = X[:2000], X[2000:]
    spread = X.std(axis=0) * np.sqrt(2 / 2000)
    assert (np.abs(halves[0].mean(axis=0) - halves[1].mean(axis=0)) < 5 * spread).all()
    assert abs(np.mean(y[1:] == y[:-1]) - np.mean([np.mean(y == label) for label in np.unique(y)])) < 0.05


# --- each distribution --------------------------------------------------------------------------------------


def waves():
    """The three waves, written out."""
    v1 = [0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0]
    v2 = [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0]
    v3 = [0, 1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    return np.array([v1, v2, v3])


@pytest.mark.parametrize(("label", "first", "second"), [(1, 0, 1), (2, 0, 2), (3, 1, 2)])
def test_waveform_class_means_and_covariances(label, first, second):
    X, y = make_waveform(30_000, random_state=0)
    rows = X[y == label]
    one, other = waves()[first], waves()[second]
    np.testing.assert_allclose(rows.mean(axis=0), (one + other) / 2, atol=5 * 2.0 / np.sqrt(len(rows)))
    covariance = np.outer(one - other, one - other) / 12 + np.eye(21)  # u has variance 1/12
    np.testing.assert_allclose(np.cov(rows.T), covariance, atol=0.2)


def test_waveform_without_noise_is_on_the_segment_between_two_waves():
    X, y = make_waveform(200, noise=0, random_state=0)
    pairs = {1: (0, 1), 2: (0, 2), 3: (1, 2)}
    for row, label in zip(X, y, strict=True):
        one, other = waves()[list(pairs[label])]
        u = (row - other) @ (one - other) / ((one - other) @ (one - other))
        assert 0 <= u <= 1
        np.testing.assert_allclose(row, u * one + (1 - u) * other, atol=1e-12)


def test_binary_waveform_is_class_one_against_the_rest():
    X, y = make_waveform(300, random_state=4)
    X_binary, y_binary = make_waveform(300, binary=True, random_state=4)
    np.testing.assert_array_equal(X_binary, X)
    np.testing.assert_array_equal(y_binary, np.where(y == 1, 1, -1))
    assert set(make_waveform(300, binary=True, label_noise=0.5, random_state=4)[1]) == {-1, 1}


def test_imbalance_leaves_the_other_two_waveform_classes_alike():
    _, y = make_waveform(10_000, imbalance_ratio=9, random_state=0)
    assert np.count_nonzero(y == 1) == 1000
    assert abs(np.count_nonzero(y == 2) - 4500) < 5 * np.sqrt(9000 / 4)


def test_wrong_waveform_labels_are_the_other_two_classes_alike():
    clean = make_waveform(6000, random_state=0)[1]
    wrong = make_waveform(6000, label_noise=1, random_state=0)[1]
    for label in (1, 2, 3):
        others = wrong[clean == label]
        for other in {1, 2, 3} - {label}:
            assert abs(np.mean(others == other) - 0.5) < 5 * 0.5 / np.sqrt(len(others))


@pytest.mark.parametrize(("n_features", "noise"), [(20, 1.0), (20, 2.0), (2, 1.0), (1, 1.0)])
def test_twonorm_bayes_error(n_features, noise):
    X, y = make_twonorm(40_000, n_features=n_features, noise=noise, random_state=0)
    expected = norm.cdf(-2 / noise)  # 0.0228 for unit noise
    measured = error(X.sum(axis=1) > 0, y)
    assert abs(measured - expected) < 5 * np.sqrt(expected * (1 - expected) / 40_000)


def test_twonorm_moments():
    X, y = make_twonorm(20_000, random_state=0)
    for label in (-1, 1):
        rows = X[y == label]
        np.testing.assert_allclose(rows.mean(axis=0), label * 2 / np.sqrt(20), atol=5 / np.sqrt(len(rows)))
        np.testing.assert_allclose(np.cov(rows.T), np.eye(20), atol=0.08)


def test_gaussians_moments_and_bayes_accuracy():
    X, y = make_gaussians(60_000, random_state=0)
    for label, mean, variance in ((1, [0, 0], 1), (-1, [2, 0], 4)):
        rows = X[y == label]
        np.testing.assert_allclose(rows.mean(axis=0), mean, atol=5 * np.sqrt(variance / len(rows)))
        np.testing.assert_allclose(np.cov(rows.T), variance * np.eye(2), atol=0.05 * variance)
    narrow = norm.logpdf(X).sum(axis=1)
    wide = norm.logpdf(X, loc=[2, 0], scale=2).sum(axis=1)
    assert abs(error(narrow > wide, y) - (1 - 0.8151)) < 5 * 0.39 / np.sqrt(60_000)


def test_banana_without_noise_lies_on_two_arcs():
    X, y = make_banana(2000, noise=0, random_state=0)
    arc = y[:, None] * X - 3 / 8  # both bananas turned onto the same arc
    np.testing.assert_allclose(np.hypot(*arc.T), 1, atol=1e-12)
    angle = np.mod(np.arctan2(arc[:, 0], arc[:, 1]), 2 * np.pi)
    for label in (-1, 1):
        assert kstest(angle[y == label], uniform(np.pi / 8, 5 * np.pi / 4).cdf).pvalue > 1e-4


def test_bananas_interlock_but_can_be_told_apart():
    X, y = make_banana(2000, random_state=0)
    away = np.linalg.norm(X[:, None] - X[None, ::4], axis=2)
    away[np.arange(0, 2000, 4), np.arange(500)] = np.inf
    assert np.mean(y[::4][away.argmin(axis=1)] != y) < 0.05  # nearest neighbor
    design = np.column_stack([X, np.ones(2000)])
    linear = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert error(linear > 0, y) > 0.1


def test_two_moons_without_noise_lie_on_two_half_circles():
    X, y = make_two_moons(1000, noise=0, random_state=0)
    upper, lower = X[y == 1], X[y == -1] - [1, 0.5]
    np.testing.assert_allclose(np.hypot(*upper.T), 1, atol=1e-12)
    np.testing.assert_allclose(np.hypot(*lower.T), 1, atol=1e-12)
    for angle in (np.arctan2(upper[:, 1], upper[:, 0]), np.arctan2(-lower[:, 1], -lower[:, 0])):
        assert kstest(angle, uniform(0, np.pi).cdf).pvalue > 1e-4


@pytest.mark.parametrize("make", NOISY_FEATURES)
def test_noise_is_the_standard_deviation_of_what_is_added(make):
    quiet, _ = make(5000, noise=0, random_state=3)
    added = make(5000, noise=0.5, random_state=3)[0] - quiet
    assert kstest(added.ravel() / 0.5, norm.cdf).pvalue > 1e-4


@pytest.mark.parametrize("n_cells", [2, 3, 4, 7])
@pytest.mark.parametrize("ratio", [None, 3])
def test_checkerboard_colors_and_uniform_cells(n_cells, ratio):
    X, y = make_checkerboard(20_000, n_cells=n_cells, imbalance_ratio=ratio, random_state=0)
    assert X.min() >= 0
    assert X.max() < 1
    cell = np.floor(n_cells * X).astype(int)
    white = cell.sum(axis=1) % 2 == 0
    np.testing.assert_array_equal(white, y == 1)
    if ratio is None:
        n_white = (n_cells**2 + 1) // 2
        assert abs(white.mean() - n_white / n_cells**2) < 5 * 0.5 / np.sqrt(20_000)
    for color in (True, False):
        number = (cell[:, 0] * n_cells + cell[:, 1])[white == color]
        counts = np.bincount(number)
        counts = counts[counts > 0]
        assert len(counts) == (n_cells**2 + color) // 2
        assert (np.abs(counts - counts.mean()) < 5 * np.sqrt(counts.mean())).all()
    within = n_cells * X - cell
    assert kstest(within.ravel(), uniform.cdf).pvalue > 1e-4


@pytest.mark.parametrize(("n_slices", "gap"), [(2, 0.2), (3, 0.1), (5, 0.0), (2, 0.99)])
def test_sliced_cube(n_slices, gap):
    X, y = make_sliced_cube(5000, n_features=4, n_slices=n_slices, gap=gap, random_state=0)
    assert X.shape == (5000, 4)
    thickness = (1 - gap * (n_slices - 1)) / n_slices
    starts = np.arange(n_slices) * (thickness + gap)
    part = np.searchsorted(starts, X[:, 0], side="right") - 1
    depth = (X[:, 0] - starts[part]) / thickness
    assert (depth >= -1e-9).all()
    assert (depth <= 1 + 1e-9).all()
    np.testing.assert_array_equal(y, np.where(part % 2 == 0, 1, -1))
    counts = np.bincount(part, minlength=n_slices)
    assert (np.abs(counts - 5000 / n_slices) < 5 * np.sqrt(5000 / n_slices)).all()
    for column in (depth, *X[:, 1:].T):
        assert kstest(column, uniform.cdf).pvalue > 1e-4


# --- mistakes of the caller ---------------------------------------------------------------------------------


@every_generator
def test_bad_input_to_any_generator(make):
    with pytest.raises(ValueError, match="n_samples must be at least 1, got 0"):
        make(0)
    with pytest.raises(TypeError, match=r"n_samples must be an integer, got 10.0 of type float"):
        make(10.0)
    with pytest.raises(TypeError, match="n_samples must be an integer, got True of type bool"):
        make(True)
    with pytest.raises(ValueError, match="random_state must be at least 0, got -1"):
        make(10, random_state=-1)
    with pytest.raises(TypeError, match="random_state must be an integer, got 'seed' of type str"):
        make(10, random_state="seed")
    for share in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match=f"label_noise must be a fraction between 0 and 1, got {share}"):
            make(10, label_noise=share)
    for ratio in (0, -2, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"imbalance_ratio must be positive and finite, got {ratio}"):
            make(10, imbalance_ratio=ratio)
    with pytest.raises(TypeError, match="imbalance_ratio must be a number, got '4' of type str"):
        make(10, imbalance_ratio="4")
    with pytest.raises(ValueError, match="imbalance_ratio needs a row of each class, got n_samples=1; set"):
        make(1, imbalance_ratio=2)


@pytest.mark.parametrize("make", NOISY_FEATURES)
def test_bad_noise(make):
    for noise in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match=f"noise must be finite and not negative, got {noise}"):
            make(10, noise=noise)


def test_bad_geometry():
    with pytest.raises(ValueError, match="n_features must be at least 1, got 0"):
        make_twonorm(10, n_features=0)
    with pytest.raises(ValueError, match="n_cells must be at least 2, got 1"):
        make_checkerboard(10, n_cells=1)
    with pytest.raises(ValueError, match="n_slices must be at least 2, got 1"):
        make_sliced_cube(10, n_slices=1)
    with pytest.raises(
        ValueError, match=r"gap must be at least 0 and less than 1 / \(n_slices - 1\) = 0.5, got 0.5"
    ):
        make_sliced_cube(10, n_slices=3, gap=0.5)
    with pytest.raises(ValueError, match=r"gap must be at least 0 and less than .* = 1, got -0.1"):
        make_sliced_cube(10, gap=-0.1)


def test_docstring_examples_run():
    outcome = doctest.testmod(generators)
    assert outcome.attempted >= 3 * len(GENERATORS)
    assert outcome.failed == 0
