"""The NumPy exemplars and questions: figures, what the weights mean, the next batch, edge cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

from property_helpers import property_test
from reference.exemplars import Weights, choice_of_exemplars, default_weights, exemplars, keep_labeled
from reference.qp_s3vm import ascend
from reference.questions import choice_of_questions, questions
from reference.questions import default_weights as question_weights
from reference.submodular import largest
from semi.semi_helpers import digits, gram, matrices, quarters

ONES = Weights(1.0, 1.0, 1.0)


def digits_matrices():
    """The first 4 rows are labeled: their labels, similarities to the others, and of the others."""
    X, y = digits()
    K = gram(X)
    return y[:4], K[:4, 4:], K[4:, 4:]


# --- figures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("M", "greedy", "bound", "rounded", "evaluations"),
    [
        (20, 5612.630187, 5612.630265, 5612.630187, None),
        (36, 9533.024428, 9533.123725, 9533.073742, (1548, 2389, 3999)),
    ],
)
def test_exemplars_of_digits(M, greedy, bound, rounded, evaluations):
    _, K_LU, K_UU = digits_matrices()
    choice, h = choice_of_exemplars(K_UU, K_LU, ONES)
    path = choice.lazy(M, h)
    assert [4 + m for m in path.order[:6]] == [268, 189, 67, 60, 35, 54]
    assert choice.value(path.order) == pytest.approx(greedy, abs=1e-4)
    p, value, room = ascend(choice, M)
    assert value == pytest.approx(bound, abs=1e-3)
    assert room < 1e-3
    assert choice.value(largest(p, M)) == pytest.approx(rounded, abs=1e-3)
    assert exemplars(K_UU, K_LU, M, ONES) == path.order
    assert exemplars(K_UU, K_LU, M, ONES, by="qp") == list(largest(p, M))
    if evaluations:  # h as it is, for K ≥ 0 in general, and of a term −λ1 d |E|² that is not needed
        assert (path.evaluations, *(choice.lazy(M, h).evaluations for h in (0, 2))) == evaluations
        assert choice.plain(M).evaluations == 12_078


def test_questions_on_digits():
    y, K_LU, K_UU = digits_matrices()
    choice, h = choice_of_questions(K_UU, y @ K_LU, (1, 10, 0.11331445))
    order = choice.lazy(20, h).order
    assert [4 + m for m in order[:6]] == [159, 313, 292, 20, 228, 126]
    assert choice.value(order) == pytest.approx(-864.775588, abs=1e-4)
    assert questions(K_UU, K_LU, y, 20, (1, 10, 0.11331445)) == order
    assert question_weights(20, 4) == (1, 10, 0)


def test_a_needless_term_makes_the_bounds_useless():
    X, _ = make_moons(1000, noise=0.1, random_state=0)
    K = rbf_kernel(X, gamma=20)
    choice, h = choice_of_exemplars(K, K[:0], Weights(1, 0, 1))
    paths = choice.lazy(100, h), choice.lazy(100, 0.0), choice.lazy(100, 2.0)
    assert paths[0].order == paths[1].order == paths[2].order
    assert paths[0].evaluations <= paths[1].evaluations < 95_050 / 10
    assert paths[2].evaluations > 5 * paths[1].evaluations


# --- what they mean ----------------------------------------------------------------------------------------


@property_test(100)
@given(matrices(2, 8, psd=True), st.data())
def test_without_labels_and_by_twice_their_share_exemplars_minimize_the_discrepancy(K, data):
    """‖mean over U − mean over E‖² = mean(K) − F(E)/M² for every E of M rows."""
    n, M = len(K), data.draw(st.integers(1, len(K)))
    choice, _ = choice_of_exemplars(K, K[:0], Weights(1, 0, 2 * M / n))
    E = np.array(data.draw(st.permutations(range(n)))[:M])
    u, e = np.full(n, 1 / n), np.isin(np.arange(n), E) / M
    assert (u - e) @ K @ (u - e) == pytest.approx(K.mean() - choice.value(E) / M**2, abs=1e-9)


@property_test(60)
@given(matrices(2, 8, psd=True, signed=False), st.data())
def test_the_qp_bounds_every_summary(K, data):
    n, M = len(K), data.draw(st.integers(1, len(K)))
    K_LU = data.draw(quarters((2, n), 0, 4))
    choice, h = choice_of_exemplars(K, K_LU, default_weights(M, n))
    _, value, room = ascend(choice, M, tol=1e-8)
    assert value + room >= choice.value(choice.best(M)) - 1e-9
    assert choice.lazy(M, h).order == choice.plain(M).order


def test_the_default_meets_herding_at_half_of_the_rows():
    assert default_weights(10, 100) == (1, 1, 1, 0)
    assert default_weights(50, 100) == (1, 1, 1, 0)
    assert default_weights(80, 100) == (1, 1.6, 1.6, 0)
    assert default_weights(80, 100, 50) == (1, 1.6, 0.8, 0.8 * 2)
    assert default_weights(80, 100, 50, theta=0.25) == pytest.approx((1, 1.6, 1.2, 0.4 * 2))


@property_test(60)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_the_next_batch_counts_as_in_the_mixture(seed, M):
    """λ2 = 0 and M ≤ n/2 times herding: the discrepancy to half of this batch and half of the next."""
    rng = np.random.default_rng(seed)
    X, N = rng.standard_normal((12, 2)), rng.standard_normal((5, 2))
    K = rbf_kernel(np.vstack([X, N]), gamma=0.5)
    base = 2 * M / 12
    choice, _ = choice_of_exemplars(
        K[:12, :12], K[:0, :12], Weights(1, 0, base / 2, base / 2 * 12 / 5), K[12:, :12]
    )
    mixture = np.r_[np.full(12, 1 / 24), np.full(5, 1 / 10)]
    E = rng.permutation(12)[:M]
    e = np.isin(np.arange(17), E) / M
    apart = mixture @ K @ mixture - choice.value(E) / M**2
    assert (mixture - e) @ K @ (mixture - e) == pytest.approx(apart, abs=1e-9)


@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0])
def test_exemplars_lie_where_the_next_batch_is(gamma):
    """60 rows and a label in one place, 4 rows in another, where the next batch is dense."""
    rng = np.random.default_rng(0)
    X = np.r_[np.zeros(60), np.full(4, 5.0)][:, None] + 0.3 * rng.standard_normal((64, 1))
    N = 5 + 0.3 * rng.standard_normal((40, 1))
    K, K_LU, K_NU = (rbf_kernel(A, X, gamma=gamma) for A in (X, np.zeros((1, 1)), N))
    there = [sum(j >= 60 for j in exemplars(K, K_LU, 6, K_NU=batch)) for batch in (None, K_NU)]
    assert there[0] <= 1
    assert there[1] >= 2


def test_questions_are_unlike_each_other_and_between_the_labels():
    X = np.array([[-2.0], [-1.9], [0.05], [0.06], [2.0], [0.4]])
    K_LU, K_UU = rbf_kernel([[-2.0], [2.0]], X, gamma=0.3), rbf_kernel(X, gamma=5.0)
    assert questions(K_UU, K_LU, [-1, 1], 2) == [2, 5]
    assert questions(K_UU, K_LU, [-1, 1], 2, (0.0, 1.0, 0.0)) == [2, 3]  # smallest |s| alone


# --- edge cases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["greedy", "qp"])
def test_no_rows_no_exemplars_all_rows_all(by):
    K = np.eye(3)
    assert exemplars(K[:0, :0], K[:0, :0], 2) == []
    assert exemplars(K, K[:0], 0, by=by) == []
    assert sorted(exemplars(K, K[:0], 7, by=by)) == [0, 1, 2]
    assert questions(K[:1, :1], K[:0, :1], [], 5) == [0]


def test_negative_similarities_bound_from_above():
    rng = np.random.default_rng(0)
    K = gram(rng.standard_normal((30, 2)))
    choice, h = choice_of_exemplars(K, K[:3], ONES)
    assert h == -2 * (K - 99 * -np.eye(30)).min() > 0
    assert choice.lazy(20, h).order == choice.plain(20).order


def test_labeled_rows_are_kept_by_class():
    X = np.array([[0.0], [0.1], [5.0], [0.05], [-3.0]])
    y = np.array([1, 1, 1, 1, -1])
    kept = keep_labeled(rbf_kernel(X, gamma=1.0), y, 2)
    assert 4 in kept
    assert len(kept) == 3
    assert keep_labeled(rbf_kernel(X), y, 9) == [0, 1, 2, 3, 4]
    assert keep_labeled(np.zeros((0, 0)), y[:0], 2) == []
