"""Data that is legal and awkward: offsets, tiny and huge numbers, repeated rows, constant features."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

from everlearn import LASVM
from everlearn._base.kernels import NAMES
from svm.lasvm_helpers import assert_same, coefficients, in_blocks, learned, two_clouds


def wide(X):
    """The same rows with so many empty features that they are stored sparse."""
    return np.hstack([X, np.zeros((len(X), 20 * X.shape[1]))])


def shifted(offset, dtype, features=6):
    """Rows near an offset, and the very same rows near zero."""
    X, y = two_clouds(300, features, apart=1.2)
    far = (X + offset).astype(dtype)
    return far, (far.astype(np.float64) - offset).astype(dtype), y


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, wide, lambda X: sparse.csr_matrix(wide(X))])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [1e4, -3e3])
def test_an_rbf_kernel_does_not_see_an_offset(offset, dtype, form):
    far, near, y = shifted(offset, dtype)
    if form is not np.asarray and form is not sparse.csr_matrix:
        near = wide(near)
    options = {"gamma": 0.2, "epochs": 5, "random_state": 0}
    there = LASVM(**options).fit(form(far), y)
    here = LASVM(**options).fit(near, y)
    np.testing.assert_allclose(there.decision_function(form(far)), here.decision_function(near), atol=0.01)
    rows = there.support_vectors_
    rows = rows.toarray() if sparse.issparse(rows) else rows
    np.testing.assert_array_equal(rows[:, :6], far[there.support_])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 50])
def test_an_rbf_kernel_does_not_see_an_offset_online(size, dtype):
    far, near, y = shifted(1e4, dtype)
    there, here = (in_blocks(LASVM(gamma=0.2), X, y, size, [0, 1]).finish() for X in (far, near))
    assert there.score(far, y) == pytest.approx(here.score(near, y), abs=0.02)
    exact = SVC(gamma=0.2).fit(near, y)
    assert there.score(far, y) == pytest.approx(exact.score(near, y), abs=0.03)
    np.testing.assert_array_equal(there.support_vectors_, far[there.support_])


@pytest.mark.parametrize("offset", [100, 1e3, 1e4])
def test_a_linear_kernel_finds_the_same_boundary_behind_an_offset(offset):
    # The coefficients sum to zero, so that an offset changes the bias and nothing else.
    far, near, y = shifted(offset, np.float64)
    options = {"kernel": "linear", "epochs": 5, "random_state": 0}
    there = LASVM(**options).fit(far, y)
    here = LASVM(**options).fit(near, y)
    assert np.mean(there.predict(far) == here.predict(near)) > 0.98
    by_hand = far @ there.support_vectors_.T @ there.dual_coef_[0] + there.intercept_[0]
    np.testing.assert_allclose(there.decision_function(far), by_hand, rtol=0, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("factor", [2.0**-27, 2.0**-60, 2.0**20])
def test_gamma_scale_makes_the_unit_irrelevant(factor, dtype):
    # About 1e-8, 1e-18 and 1e6; multiplying by a power of 2 is exact.
    X, y = two_clouds(300)
    X = X.astype(dtype)
    plain = LASVM(epochs=5, random_state=0).fit(X, y)
    other = LASVM(epochs=5, random_state=0).fit(X * dtype(factor), y)
    np.testing.assert_allclose(
        other.decision_function(X * dtype(factor)), plain.decision_function(X), rtol=0, atol=0.01
    )


def test_one_tiny_feature_among_ordinary_ones():
    X, y = two_clouds(300)
    with_tiny = np.hstack([X, 1e-8 * np.random.default_rng(1).standard_normal((300, 1))])
    plain = LASVM(gamma=0.2, epochs=5, random_state=0).fit(X, y).decision_function(X)
    other = LASVM(gamma=0.2, epochs=5, random_state=0).fit(with_tiny, y).decision_function(with_tiny)
    np.testing.assert_allclose(other, plain, rtol=0, atol=0.01)


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_any_size_make_a_finite_model_or_a_clear_refusal(kernel, dtype):
    X, y = two_clouds(120, 3)
    outcomes = set()
    for exponent in (-300, -150, -30, -18, 0, 8, 12, 17, 30, 60, 150, 200, 300):
        if exponent > np.log10(np.finfo(dtype).max) - 2:
            continue
        rows = (X * 10.0**exponent).astype(dtype)
        model = LASVM(kernel=kernel, random_state=0, finishing=None)
        try:
            model.fit(rows, y)
        except ValueError as error:
            outcomes.add("refused" if "scale the features" in str(error) else str(error))
        else:
            assert np.isfinite(model.decision_function(rows)).all()
            assert np.isfinite(model.dual_coef_).all()
            outcomes.add("learned")
    assert outcomes == {"refused", "learned"}


def test_huge_rows_are_refused_by_predict_and_moderate_ones_are_not():
    X, y = two_clouds()
    model = LASVM(kernel="poly", degree=3, gamma=1.0, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"scale the features.*smaller degree"):
        model.predict(X * 1e14)
    assert np.isfinite(model.decision_function(X * 1e3)).all()
    far_away = LASVM(random_state=0).fit(X, y)
    np.testing.assert_allclose(far_away.decision_function(X * 1e100), far_away.intercept_[0])
    huge_gamma = LASVM(gamma=1e300, random_state=0).fit(X, y)
    assert huge_gamma.score(X, y) == 1.0  # every row is an island
    tiny_gamma = LASVM(gamma=1e-300, random_state=0).fit(X, y)
    assert np.ptp(tiny_gamma.decision_function(X)) == pytest.approx(0, abs=1e-6)


# Repeated rows.


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_repeated_rows_of_equal_label_are_one_row_of_their_weight(kernel):
    X, y = two_clouds(80)
    options = {"kernel": kernel, "gamma": 0.3, "tol": 1e-5, "epochs": 10, "random_state": 0}
    twice = LASVM(**options).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    heavy = LASVM(**options).fit(X, y, sample_weight=np.full(80, 2.0))
    np.testing.assert_allclose(twice.decision_function(X), heavy.decision_function(X), rtol=0, atol=1e-3)


def test_a_row_with_both_labels_goes_to_the_box():
    model = LASVM(C=3, random_state=0).fit([[1.0, 2.0], [1.0, 2.0]], [0, 1])
    assert coefficients(model, 2)[0].tolist() == [-3, 3]
    assert np.isfinite(model.decision_function([[1.0, 2.0]])).all()
    X, y = two_clouds(60)
    both = np.vstack([X, X])
    model = LASVM(C=3, gamma=0.3, epochs=3, random_state=0).fit(both, np.concatenate([y, 1 - y]))
    scores = model.decision_function(X)
    assert np.ptp(scores) < 2e-3
    assert np.all(np.abs(scores) < 1.001)  # between the two margins any constant is as good
    np.testing.assert_allclose(np.abs(coefficients(model, 120)), 3, rtol=0, atol=1e-9)


def test_one_row_over_and_over():
    model = LASVM(C=3)
    for label in [0, 0, 0, 1, 0, 1, 1, 1] * 20:
        model.partial_fit([[1.0, 2.0]], [label], classes=[0, 1])
    model.finish()
    assert np.isfinite(model.decision_function([[1.0, 2.0], [3.0, 4.0]])).all()
    assert abs(model.dual_coef_.sum()) < 1e-9
    assert np.all(np.abs(model.dual_coef_) == 3)


# Features that tell nothing.


@pytest.mark.parametrize("value", [0.0, 1.0, 1e4])
@pytest.mark.parametrize("kernel", NAMES)
def test_constant_rows_predict_the_majority(kernel, value):
    y = np.array([0, 1, 1, 0, 1] * 8)
    model = LASVM(kernel=kernel, random_state=0).fit(np.full((40, 3), value), y)
    assert set(model.predict(np.full((3, 3), value))) == {1}
    alpha = coefficients(model, 40)[0]
    assert np.all((alpha == 0) | (np.abs(alpha) == 1))


def test_a_constant_feature_beside_others_does_not_matter():
    X, y = two_clouds(200)
    constant = np.hstack([X, np.full((200, 1), 7.0)])
    options = {"gamma": 0.3, "epochs": 5, "random_state": 0}
    plain = LASVM(**options).fit(X, y).decision_function(X)
    np.testing.assert_allclose(
        LASVM(**options).fit(constant, y).decision_function(constant), plain, atol=5e-3
    )


# Finishing where rounding leaves a coefficient one bit away from its bound.


@pytest.mark.parametrize(
    ("n", "C", "gamma", "seed"),
    [(10, 0.3, 0.1, 419), (20, 1.0, 0.1, 481), (20, 0.3, 1.0, 601), (40, 1.0, 0.1, 192), (40, 0.1, 5.0, 399)],
)
def test_finishing_does_not_stop_before_the_optimum(n, C, gamma, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 2)), rng.integers(0, 2, n)
    y[:2] = 0, 1
    model = LASVM(C=C, gamma=gamma).partial_fit(X, y, classes=[0, 1]).finish()  # a warning is an error here
    assert learned(model)["delta"][0] <= 1e-3
    before = learned(model)
    assert_same(learned(model.finish()), before)
