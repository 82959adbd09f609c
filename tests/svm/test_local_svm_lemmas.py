"""How far a new row is felt: the lemmas behind local updates, on random triangles of c and two members of S.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapter VI. The
kernel is exp(−t² / 2σ²); of the distances X_c1, X_c2, X_12 are made n = X_c2 / X_c1, A = (X_12² − X_c2² −
X_c1²) / 2X_c1² and B = exp(−(n² − 1) X_c1² / 2σ²). The second lemma is wrong as it is printed: here is
what is true instead.
"""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from property_helpers import property_test
from reference.idsvm import ReferenceIDSVM
from svm.idsvm_helpers import rbf

SIDES, ANGLES = st.floats(0.05, 4), st.floats(0.05, np.pi - 0.05)


def triangle(side_1, side_2, angle):
    """Rows 1, 2 and c, which is at the origin."""
    return np.array([[side_1, 0], [side_2 * np.cos(angle), side_2 * np.sin(angle)], [0, 0]])


def ratios(X, sigma):
    """A, B and n."""
    X_c1, X_c2, X_12 = cdist(X, X)[[2, 2, 0], [0, 1, 1]]
    n = X_c2 / X_c1
    return (X_12**2 - X_c2**2 - X_c1**2) / (2 * X_c1**2), np.exp(-(n**2 - 1) * X_c1**2 / (2 * sigma**2)), n


def h(t, sigma):
    """The slope of the kernel, but for 1 / σ²."""
    return t * np.exp(-(t**2) / (2 * sigma**2))


def shares(X, sigma, labels=None):
    """By how much the coefficients of all rows but the last follow that of the last."""
    model = ReferenceIDSVM(rbf(X, 1 / (2 * sigma**2)), labels or [1] * len(X))
    model.S = list(range(len(X) - 1))
    return model.rates(len(X) - 1, 1)[1]


@property_test(200)
@given(SIDES, SIDES, ANGLES, st.floats(0.3, 3))
def test_the_closer_of_two_members_follows_more(side_1, side_2, angle, sigma):
    """dθ_1 − dθ_2 = −(K_c1 − K_c2) / (1 − K_12), and dθ_1 + dθ_2 = −1."""
    X = triangle(side_1, side_2, angle)
    K = rbf(X, 1 / (2 * sigma**2))
    assume(abs(K[2, 0] - K[2, 1]) > 1e-9)
    first, second = shares(X, sigma)
    difference = (K[2, 0] - K[2, 1]) / (1 - K[0, 1])
    assert first == pytest.approx(-(1 + difference) / 2, rel=1e-9, abs=1e-9)
    assert second == pytest.approx(-(1 - difference) / 2, rel=1e-9, abs=1e-9)
    assert (abs(first) > abs(second)) == (side_1 < side_2)


@property_test(200)
@given(SIDES, SIDES, ANGLES, st.floats(0.3, 3))
def test_the_identity_behind_the_second_lemma(side_1, side_2, angle, sigma):
    """R = (1 + AB) / (nB + A/n); |A| ≤ n, so |R| > 1 where nB < 1, which is where h(X_c1) > h(X_c2)."""
    A, B, n = ratios(triangle(side_1, side_2, angle), sigma)
    over, under = 1 + A * B, n * B + A / n
    assert abs(A) <= n * (1 + 1e-12)
    identity = (1 - (n * B) ** 2) * (1 - (A / n) ** 2)
    assert over**2 - under**2 == pytest.approx(identity, rel=1e-7, abs=1e-9 * (over**2 + under**2))
    assume(abs(n * B - 1) > 1e-6)
    assert (abs(over) > abs(under)) == (n * B < 1) == (h(side_1, sigma) > h(side_2, sigma))


@property_test(100)
@given(SIDES, SIDES, ANGLES)
def test_r_compares_two_ways_of_moving_the_new_row(side_1, side_2, angle):
    """The share of row 1 changes R times as fast where c moves toward 1 as where it moves toward 2."""
    X, step = triangle(side_1, side_2, angle), 1e-5
    assume(np.linalg.norm(X[0] - X[1]) > 0.3)
    A, B, n = ratios(X, 1.0)

    def slope(toward):
        move = step * X[toward] / np.linalg.norm(X[toward])
        ahead, behind = (shares(np.vstack([X[:2], sign * move]), 1.0)[0] for sign in (1, -1))
        return (ahead - behind) / (2 * step)

    K_12 = rbf(X, 0.5)[0, 1]
    unit = -h(side_1, 1.0) / (2 * (1 - K_12))
    assert slope(0) == pytest.approx(unit * (1 + A * B), rel=1e-5, abs=1e-7)
    assert slope(1) == pytest.approx(-unit * (n * B + A / n), rel=1e-5, abs=1e-7)


@property_test(100)
@given(st.floats(0.05, 4), st.floats(1.01, 10), ANGLES)
def test_the_second_lemma_holds_beyond_sigma_and_fails_within(side, n, angle):
    """Row 1 is the closer. Whatever n is, the least X_c2 / σ is above 1: to be beyond σ is not enough."""
    A, B, _ = ratios(triangle(side, n * side, angle), 1.0)
    bound = np.sqrt(2 * n**2 * np.log(n) / (n**2 - 1))
    assert bound > 1
    assume(abs(n * side - bound) > 1e-6)
    holds = abs(1 + A * B) > abs(n * B + A / n)
    assert holds == (n * side > bound)
    assert holds or side < 1
    assert not holds or n * side > 1


def test_the_counterexample_to_the_second_lemma():
    """X_c2 is beyond σ, and R is below 1 all the same."""
    A, B, n = ratios(triangle(0.15, 1.5, np.pi / 2), 1.0)
    assert abs(A) < 1e-12
    assert n * B == pytest.approx(10 * np.exp(-99 * 0.15**2 / 2))
    assert abs((1 + A * B) / (n * B + A / n)) == pytest.approx(0.3046, abs=1e-4)


@pytest.mark.parametrize("members", [2, 5, 20])
def test_far_from_everything_a_row_moves_all_members_alike(members):
    """Σ θ = 0: what is felt decays to 1 / |S|, not to 0."""
    X = 100.0 * np.arange(members + 1)[:, None]
    labels = [1, -1] * (members + 1)
    np.testing.assert_allclose(shares(X, 1.0, labels[: members + 1]), -1 / members, rtol=1e-12)
