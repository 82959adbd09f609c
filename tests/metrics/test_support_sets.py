"""Confidence and distance of sets of support vectors: brute force, invariants, formats, bad input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from everlearn.metrics import support_sets
from everlearn.metrics.support_sets import support_confidence, support_set_distance
from reference.statq import confidence, distance

EXACT = 1e-9
COORDINATES = st.integers(-40, 40).map(lambda number: number / 8)  # ties are frequent, arithmetic is exact


@st.composite
def sets(draw, features=3):
    """Two sets of rows, the second with labels."""
    rows = st.integers(1, 12)
    S = draw(arrays(float, (draw(rows), features), elements=COORDINATES))
    T = draw(arrays(float, (draw(rows), features), elements=COORDINATES))
    return S, T, draw(arrays(int, len(T), elements=st.sampled_from([-1, 1])))


def rotation(seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]


# ---------------------------------------------------------------------------------------------- confidence


@given(sets(), st.none() | st.integers(1, 15))
def test_confidence_is_that_of_brute_force(given_sets, k):
    S, T, y = given_sets
    wanted = confidence(S, T, y, k)
    assert support_confidence(S, T, y, k) == pytest.approx(wanted, abs=EXACT)
    as_csr = support_confidence(sparse.csr_matrix(S), sparse.csr_array(T), y, k)
    assert as_csr == pytest.approx(wanted, abs=EXACT)


@given(sets(), st.none() | st.integers(1, 15), st.randoms(use_true_random=False))
def test_invariants_of_confidence(given_sets, k, random):
    S, T, y = given_sets
    c = support_confidence(S, T, y, k)
    assert 0 <= c <= 1
    assert support_confidence(S, T, -y, k) == c
    assert support_confidence(S, T, np.where(y > 0, "yew", "ash"), k) == c
    assert support_confidence(S + 2.5, T + 2.5, y, k) == c
    assert support_confidence(S[random.sample(range(len(S)), len(S))], T, y, k) == pytest.approx(c, abs=EXACT)
    assert support_confidence(S, T, np.ones(len(T)), k) == 0
    assert support_confidence(S, T, y, 1) == 0


@pytest.mark.parametrize("seed", range(10))
def test_a_rotation_does_not_change_confidence(seed):
    rng = np.random.default_rng(seed)
    S, T = rng.standard_normal((20, 3)), rng.standard_normal((50, 3))
    y, turn = np.where(rng.random(50) < 0.5, 1, -1), rotation(seed)
    assert support_confidence(S @ turn, T @ turn, y) == support_confidence(S, T, y) > 0


@given(sets(), st.integers(1, 15))
def test_confidence_is_1_exactly_if_all_counts_are_balanced(given_sets, k):
    S, T, y = given_sets
    k = min(k, len(T))
    near = [np.argsort(((s - T) ** 2).sum(axis=1), kind="stable")[:k] for s in S]
    balanced = all(2 * np.sum(y[i] == 1) == k for i in near)
    assert (support_confidence(S, T, y, k) == 1) == balanced


def test_confidence_with_several_classes():
    T = np.array([[-1.0], [0.0], [1.0]])
    assert support_confidence([[0.0]], T, ["a", "b", "c"], k=3) == 1
    assert support_confidence([[0.0]], T, ["a", "a", "c"], k=3) == pytest.approx(2 / 3)  # of two classes
    assert support_confidence([[0.0], [5.0]], T, ["a", "b", "c"], k=2) == 0.75  # 3 / 2 of a half


def test_large_sets_are_cut_into_parts(monkeypatch):
    rng = np.random.default_rng(0)
    S, T, y = rng.standard_normal((30, 4)), rng.standard_normal((40, 4)), rng.integers(0, 2, 40)
    whole = support_confidence(S, T, y), support_set_distance(S, T)
    monkeypatch.setattr(support_sets, "_MAX_DISTANCES", 100)
    assert (support_confidence(S, T, y), support_set_distance(S, T)) == whole


# ------------------------------------------------------------------------------------------------ distance


@given(sets())
def test_distance_is_that_of_brute_force(given_sets):
    A, B, _ = given_sets
    assert support_set_distance(A, B) == pytest.approx(distance(A, B), abs=EXACT)
    as_csr = support_set_distance(sparse.csr_array(A), B)
    assert as_csr == pytest.approx(distance(A, B), abs=EXACT)


@given(sets(), st.integers(1, 100))
def test_invariants_of_distance(given_sets, scale):
    A, B, _ = given_sets
    apart = support_set_distance(A, B)
    nearest = np.sqrt(((A[:, np.newaxis] - B) ** 2).sum(axis=2))
    assert apart >= max(nearest.min(axis=0).max(), nearest.min(axis=1).max())
    assert support_set_distance(B, A) == pytest.approx(apart, abs=EXACT)
    assert support_set_distance(A, np.vstack([A, A[:1]])) == 0
    assert support_set_distance(scale * A, scale * B) == pytest.approx(scale * apart, rel=EXACT)
    assert (apart == 0) == ({*map(tuple, A.tolist())} == {*map(tuple, B.tolist())})


def test_equal_sparse_sets_have_no_distance():
    A = sparse.random(50, 300, density=0.1, random_state=0, format="csr")
    A.data += 1e4
    assert support_set_distance(A, A[::-1]) == 0


def test_frames_and_single_precision():
    A, B = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.5]])
    wanted = support_set_distance(A, B)
    assert support_set_distance(pd.DataFrame(A), pd.DataFrame(B)) == wanted
    assert support_set_distance(A.astype(np.float32), B.tolist()) == wanted


# ------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("A", "B", "words"),
    [
        ([[1.0, 2.0]], [[1.0]], "A and B must have the same number of features, got 2 and 1"),
        (np.zeros((0, 2)), [[1.0, 2.0]], "0 sample"),
        ([[np.nan]], [[1.0]], "A contains NaN"),
        ([[1.0]], [1.0], "Expected 2D array"),
    ],
)
def test_bad_sets_are_refused(A, B, words):
    with pytest.raises(ValueError, match=words):
        support_set_distance(A, B)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_bad_k_is_refused(k):
    with pytest.raises(ValueError, match="k must be a positive integer or None, got"):
        support_confidence([[1.0]], [[1.0], [2.0]], [0, 1], k)


def test_labels_must_match():
    with pytest.raises(ValueError, match="T and y_T must have the same length, got 2 and 3"):
        support_confidence([[1.0]], [[1.0], [2.0]], [0, 1, 0])
