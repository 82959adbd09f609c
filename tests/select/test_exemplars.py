"""Exemplars: the figures, the plain version, what the weights mean, the next batch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from everlearn import Exemplars
from everlearn._base.kernels import NAMES, kernel_named
from everlearn._submodular.choice import Choice, Similarities
from everlearn._submodular.geometry import Geometry, least_similarity
from everlearn.select._convex import project
from everlearn.select._weights import default_weights
from property_helpers import property_test
from reference.exemplars import Weights, choice_of_exemplars, exemplars
from reference.exemplars import default_weights as plain_weights
from reference.qp_s3vm import ascend as plain_ascend
from reference.qp_s3vm import project as plain_project
from semi.semi_helpers import clouds, digits, gram, matrices, partly, quarters, rows_and_labels

LINEAR = {"kernel": "linear", "scaling": "none"}


# --- figures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("M", "greedy", "bound", "rounded"),
    [(20, 5612.630187, 5612.630265, 5612.630187), (36, 9533.024428, 9533.123725, 9533.073742)],
)
def test_digits(M, greedy, bound, rounded, convert):
    X, y = digits()
    y, X = partly(y, [0, 1, 2, 3]), convert(X)
    taken = Exemplars(M, weights=(1, 1, 1), **LINEAR).fit(X, y)
    assert taken.indices_[:6].tolist() == [268, 189, 67, 60, 35, 54]
    assert taken.objective_ == pytest.approx(greedy, abs=1e-4)
    assert taken.bound_ is None
    if M == 36:
        assert taken.n_evaluations_ == pytest.approx(1548, rel=0.02)
    convex = Exemplars(M, method="qp", weights=(1, 1, 1), **LINEAR).fit(X, y)
    assert convex.bound_ == pytest.approx(bound, abs=1e-3)
    assert convex.objective_ == pytest.approx(rounded, abs=1e-3)
    assert convex.bound_ >= max(taken.objective_, convex.objective_)


# --- the plain version -------------------------------------------------------------------------------------


def blocks(K, y):
    """K between unlabeled rows, and from labeled to unlabeled ones."""
    U, L = np.flatnonzero(np.isnan(y)), np.flatnonzero(~np.isnan(y))
    return U, K[np.ix_(U, U)], K[np.ix_(L, U)]


@property_test(60)
@given(
    st.integers(0, 10**6), st.integers(0, 20), st.integers(0, 6), st.sampled_from(["linear", "rbf", "poly"])
)
def test_greedy_is_that_of_the_plain_version(seed, M, labeled, kernel):
    """Of all rows but two, those two tie if λ2 = 0 and M = n: so not as many."""
    X, y = rows_and_labels(seed, 30, labeled)
    K = {"linear": gram(X), "rbf": rbf_kernel(X, gamma=0.3), "poly": polynomial_kernel(X, X, 3, 0.3, 0.5)}
    found = Exemplars(M, kernel=kernel, gamma=0.3, coef0=0.5, scaling="none").fit(X, y)
    U, K_UU, K_LU = blocks(K[kernel], y)
    assert found.indices_.tolist() == U[exemplars(K_UU, K_LU, M)].tolist()
    choice, _ = choice_of_exemplars(K_UU, K_LU, plain_weights(min(M, len(U)), len(U)))
    assert found.objective_ == pytest.approx(choice.value(np.searchsorted(U, found.indices_)), abs=1e-7)
    assert found.kept_.tolist() == sorted([*np.flatnonzero(~np.isnan(y)), *found.indices_])
    stored = Exemplars(M, kernel="precomputed").fit(K[kernel], y)
    assert stored.indices_.tolist() == found.indices_.tolist()


@property_test(30)
@given(st.integers(0, 10**6), st.integers(1, 20))
def test_the_next_batch_counts_as_in_the_plain_version(seed, M):
    X, y = rows_and_labels(seed, 30)
    N = clouds(12, seed + 1, features=3)[0]
    found = Exemplars(M, kernel="rbf", gamma=0.3, scaling="none").fit(X, y, N)
    U, K_UU, K_LU = blocks(rbf_kernel(X, gamma=0.3), y)
    assert (
        found.indices_.tolist() == U[exemplars(K_UU, K_LU, M, K_NU=rbf_kernel(N, X[U], gamma=0.3))].tolist()
    )
    stored = Exemplars(M, kernel="precomputed").fit(rbf_kernel(X, gamma=0.3), y, rbf_kernel(N, X, gamma=0.3))
    assert stored.indices_.tolist() == found.indices_.tolist()


@property_test(40)
@given(matrices(2, 8, psd=True), st.data())
def test_the_convex_form_bounds_every_choice_and_is_solved(K, data):
    n, M = len(K), data.draw(st.integers(0, len(K)))
    found = Exemplars(M, method="qp", kernel="precomputed").fit(K)
    choice, _ = choice_of_exemplars(K, K[:0], plain_weights(M, n))
    assert found.bound_ >= choice.value(choice.best(M)) - 1e-9
    assert found.objective_ <= found.bound_ + 1e-9
    assert found.objective_ == pytest.approx(choice.value(found.indices_), abs=1e-9)
    _, value, room = plain_ascend(choice, M, tol=1e-9)
    assert value - 1e-7 * (1 + abs(value)) <= found.bound_ <= value + room + 1e-6 * (1 + abs(value))


def test_the_convex_form_with_kernels_on_rows():
    X, y = rows_and_labels(3, 60)
    U, K_UU, K_LU = blocks(rbf_kernel(X, gamma=0.3), y)
    found = Exemplars(15, method="qp", kernel="rbf", gamma=0.3, scaling="none").fit(X, y)
    choice, _ = choice_of_exemplars(K_UU, K_LU, plain_weights(15, len(U)))
    _, value, room = plain_ascend(choice, 15)
    assert found.bound_ == pytest.approx(value + room, rel=1e-6)
    rounded = choice.value(exemplars(K_UU, K_LU, 15, by="qp"))
    greedy = choice.value(exemplars(K_UU, K_LU, 15))
    assert found.objective_ == pytest.approx(max(rounded, greedy), rel=1e-9)
    assert found.n_evaluations_ > len(U)


def test_equal_fractions_do_not_choose():
    """Herding: the mean itself, all fractions the same, solves the convex form, and rounds to any rows."""
    X, _ = make_moons(100, noise=0.1, random_state=0)
    options = {"kernel": "rbf", "gamma": 5.0, "weights": (1, 0, 2 * 10 / 100)}
    by_qp, by_greedy = (Exemplars(10, method=method, **options).fit(X) for method in ("qp", "greedy"))
    assert by_qp.objective_ >= by_greedy.objective_
    assert by_qp.bound_ == pytest.approx(
        (10 / 100) ** 2
        * Geometry.of(X, by_qp).similarities(Geometry.of(X, by_qp).scaled(X)).times(np.ones(100)).sum()
    )


@property_test(100)
@given(quarters(6, -12, 12), st.integers(0, 6))
def test_projection(v, k):
    np.testing.assert_allclose(project(v, k), plain_project(v, k), atol=1e-12)
    assert project(v, k).sum() == pytest.approx(k, abs=1e-9)


@pytest.mark.parametrize("sizes", [(10, 100, 0), (80, 100, 0), (80, 100, 50), (0, 0, 0), (3, 0, 4)])
def test_default_weights(sizes):
    assert default_weights(*sizes) == plain_weights(*sizes)


# --- bounds on similarities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize(
    ("degree", "coef0", "shift"), [(3, 0.5, 0.0), (2, -1.0, 0.0), (3, -2.0, 4.0), (1, 0, 9)]
)
def test_no_similarity_is_below_the_bound(kernel, degree, coef0, shift, convert, monkeypatch):
    X = np.random.default_rng(0).standard_normal((80, 3)) + shift
    K = Similarities(convert(X), kernel_named(kernel, 0.2, coef0, degree))
    values = K.block(np.arange(80), np.arange(80))
    least = values[~np.eye(80, dtype=bool)].min()
    assert least_similarity(K) == pytest.approx(least, abs=1e-9 * np.abs(values).max())
    monkeypatch.setattr("everlearn._submodular.geometry._EXACT_ROWS", 0)
    assert least_similarity(K) <= least


@pytest.mark.parametrize("kernel", NAMES)
def test_a_loose_bound_gives_the_same_rows(kernel, monkeypatch):
    X, y = rows_and_labels(0, 200)
    tight = Exemplars(60, kernel=kernel, coef0=-0.5).fit(X, y)
    monkeypatch.setattr("everlearn._submodular.geometry._EXACT_ROWS", 0)
    loose = Exemplars(60, kernel=kernel, coef0=-0.5).fit(X, y)
    assert loose.indices_.tolist() == tight.indices_.tolist()
    assert loose.n_evaluations_ >= tight.n_evaluations_
    K = Geometry.of(X, tight)
    rows = K.scaled(X)[np.isnan(y)]
    plain = Choice(K.similarities(rows), tight._choice(X, *sides(y), None).w, -1.0, 1e6).greedy(60)
    assert np.flatnonzero(np.isnan(y))[plain.order].tolist() == tight.indices_.tolist()


def sides(y):
    return np.flatnonzero(np.isnan(y)), np.flatnonzero(~np.isnan(y))


# --- what they mean ----------------------------------------------------------------------------------------


def test_herding_brings_means_together():
    """λ2 = 0 and λ3 = 2M/n: F is a constant minus M² times the discrepancy to all rows."""
    X, _ = make_moons(300, noise=0.1, random_state=0)
    K = rbf_kernel(X, gamma=5.0)

    def apart(rows):
        e = np.isin(np.arange(300), rows) / len(rows) - 1 / 300
        return e @ K @ e

    found = Exemplars(30, kernel="rbf", gamma=5.0, scaling="none", weights=(1, 0, 60 / 300)).fit(X)
    assert apart(found.indices_) == pytest.approx(K.mean() - found.objective_ / 30**2, abs=1e-9)
    drawn = [apart(np.random.default_rng(seed).permutation(300)[:30]) for seed in range(20)]
    assert apart(found.indices_) < min(drawn) / 5


@pytest.mark.parametrize("gamma", [0.1, 0.5, 1.0])
def test_exemplars_lie_where_the_next_batch_is(gamma):
    """60 rows and a label in one place, 4 rows in another, where the next batch is dense."""
    rng = np.random.default_rng(0)
    X = (
        np.r_[0.0, np.zeros(60), np.full(4, 5.0)][:, None]
        + 0.3 * np.r_[[[0.0]], rng.standard_normal((64, 1))]
    )
    N = 5 + 0.3 * rng.standard_normal((40, 1))
    y = [1.0] + [None] * 64
    rule = Exemplars(6, kernel="rbf", gamma=gamma, scaling="none")
    assert np.count_nonzero(rule.fit(X, y).indices_ > 60) <= 1
    assert np.count_nonzero(rule.fit(X, y, N).indices_ > 60) >= 2
    assert rule.weights_ == default_weights(6, 64, 40)
    assert np.count_nonzero(rule.fit(X, y, N[:0]).indices_ > 60) <= 1


def test_the_first_are_the_answer_for_fewer():
    X, y = rows_and_labels(1, 100)
    many = Exemplars(50, weights=(1, 1, 1)).fit(X, y).indices_
    for k in (0, 1, 20):
        assert Exemplars(k, weights=(1, 1, 1)).fit(X, y).indices_.tolist() == many[:k].tolist()


@property_test(30)
@given(st.integers(0, 10**6))
def test_permuted_rows_permute_the_choice(seed):
    X, y = rows_and_labels(seed, 40)
    order = np.random.default_rng(seed).permutation(40)
    first, other = Exemplars(8, gamma=0.4).fit(X, y), Exemplars(8, gamma=0.4).fit(X[order], y[order])
    assert order[other.indices_].tolist() == first.indices_.tolist()


def test_which_label_it_is_makes_no_difference():
    X, y = rows_and_labels(2)
    words = np.where(np.isnan(y), None, "a")
    assert Exemplars(9).fit(X, y).kept_.tolist() == Exemplars(9).fit(X, words).kept_.tolist()


def test_landmarks():
    X, y = rows_and_labels(4, 80)
    exact = Exemplars(12, kernel="rbf").fit(X, y)
    for m in (80, 200):  # all rows are landmarks: the kernel itself
        near = Exemplars(12, kernel="rbf", n_components=m).fit(X, y)
        assert near.indices_.tolist() == exact.indices_.tolist()
        assert near.objective_ == pytest.approx(exact.objective_, rel=1e-8)
    rough = Exemplars(12, kernel="rbf", n_components=20).fit(X, y, X[:30])
    assert rough.indices_.shape == (12,)
    U, K_UU, K_LU = blocks(
        rbf_kernel(Geometry.of(X, exact).scaled(X), gamma=Geometry.of(X, exact).kernel.gamma), y
    )
    choice, _ = choice_of_exemplars(K_UU, K_LU, Weights(*exact.weights_))
    rows = np.searchsorted(U, Exemplars(12, kernel="rbf", n_components=20).fit(X, y).indices_)
    assert choice.value(rows) > 0.98 * exact.objective_
