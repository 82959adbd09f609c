"""The compiled choice of rows against its NumPy twin: order, gains, evaluations, whatever K comes from."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

from everlearn._base.kernels import NAMES, RBF, kernel_named
from everlearn._submodular.choice import Choice, Similarities, StoredSimilarities
from everlearn.semi._space import Space
from property_helpers import property_test
from reference.similarities import Linear
from reference.submodular import Choice as TwinChoice
from reference.welfare import welfare_greedy
from semi.semi_helpers import WEIGHTS, clouds, gram, matrices, quarters

KERNELS = {name: kernel_named(name, 0.3, 0.1, 2).options for name in NAMES if name != "linear"}


def bound(K, q):
    """2 q K_ij at most, i and j different."""
    return float(np.max(2 * q * K[~np.eye(len(K), dtype=bool)], initial=-np.inf if len(K) > 1 else 0))


@st.composite
def linear_choices(draw):
    n, d = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    return draw(quarters((n, d))), draw(quarters(n)), draw(WEIGHTS) * draw(st.sampled_from([-1, 1]))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@property_test(150)
@given(problem=linear_choices(), more=st.sampled_from([0.0, 0.25, 8.0]))
def test_linear_order_and_gains_with_ties(form, problem, more):
    X, w, q = problem
    h, n = bound(gram(X), q) + more, len(w)
    path = Choice(Similarities(form(X)), w, q, h).greedy(n)
    twin = TwinChoice(Linear(X), w, q).lazy(n, h)
    plain = TwinChoice(gram(X), w, q).plain(n)
    assert list(path.order) == twin.order == plain.order
    np.testing.assert_array_equal(path.gains, twin.gains)
    assert path.evaluations == twin.evaluations <= plain.evaluations


@pytest.mark.parametrize("q", [0.02, -0.5])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_kernels_on_demand(form, kernel, q):
    X, _ = clouds(80, 1, features=4)
    K = pairwise_kernels(X, metric=kernel, **KERNELS[kernel])
    w = np.random.default_rng(2).standard_normal(80)
    h = bound(K, q)
    path = Choice(Similarities(form(X), kernel_named(kernel, **KERNELS[kernel])), w, q, h).greedy(50)
    twin = TwinChoice(K, w, q).lazy(50, h)
    assert list(path.order) == twin.order
    np.testing.assert_allclose(path.gains, twin.gains, rtol=1e-9)
    assert path.evaluations == twin.evaluations


@pytest.mark.parametrize("kernel", ["linear", *KERNELS])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_sums_blocks_and_diagonals(form, kernel):
    X, _ = clouds(60, 3, features=4)
    K = pairwise_kernels(X, metric=kernel, **KERNELS.get(kernel, {}))
    ours = Similarities(form(X), kernel_named(kernel, **KERNELS.get(kernel, {})), n_jobs=2)
    weights = np.random.default_rng(4).standard_normal((60, 3))
    np.testing.assert_allclose(ours.times(weights), K @ weights, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        ours.times(weights[:, 0], form(X)[:7]), K[:7] @ weights[:, 0], rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(ours.block(np.arange(5), np.arange(3, 9)), K[:5, 3:9], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours.diagonal, K.diagonal(), rtol=1e-9)
    assert ours.least <= K.min() + 1e-12


@pytest.mark.parametrize("source", ["dense", "sparse", "matrix", "rbf"])
def test_groups(source):
    """Several sets at once: the welfare form."""
    X, _ = clouds(90, 5, features=4)
    K = pairwise_kernels(X, metric="rbf", gamma=0.2) if source == "rbf" else gram(X)
    s = np.random.default_rng(6).standard_normal((3, 90))
    sizes, C, Cs = [20, 40, 30], 1.0, 0.1
    ours = {
        "dense": lambda: Similarities(X),
        "sparse": lambda: Similarities(sparse.csr_matrix(X)),
        "matrix": lambda: StoredSimilarities(K),
        "rbf": lambda: Similarities(X, RBF(gamma=0.2)),
    }[source]()
    base = C * Cs * s.T + Cs**2 / 4 * K.diagonal()[:, None]
    path = ours.greedy(base, Cs**2 / 2, Cs**2 / 2 * max(0.0, K.max()), sizes)
    labels = np.full(90, -1)
    labels[path.order] = path.groups
    np.testing.assert_array_equal(labels, welfare_greedy(K, s, sizes, C, Cs))


@property_test(100)
@given(linear_choices())
def test_stored_similarities_are_the_same_problem(problem):
    X, w, q = problem
    h, n = bound(gram(X), q), len(w)
    stored, rows = Choice(StoredSimilarities(gram(X)), w, q, h), Choice(Similarities(X), w, q, h)
    np.testing.assert_array_equal(stored.greedy(n).order, rows.greedy(n).order)
    for k in range(n + 1):
        A = stored.greedy(k).order
        assert stored.value(A) == rows.value(A) == TwinChoice(gram(X), w, q).value(A)
        np.testing.assert_array_equal(stored.linearize(np.sort(A), k), rows.linearize(np.sort(A), k))


@property_test(150)
@given(linear_choices(), st.data())
def test_swaps_that_skip_what_cannot_win_end_where_all_swaps_do(problem, data):
    X, w, q = problem
    k = data.draw(st.integers(0, len(w)))
    A = np.sort(np.array(data.draw(st.permutations(range(len(w))))[:k], dtype=int))
    twin = TwinChoice(gram(X), w, q).swap(A)
    for K in (Similarities(X), StoredSimilarities(gram(X))):
        np.testing.assert_array_equal(Choice(K, w, q, 0.0).swap(A), twin)


@property_test(60)
@given(linear_choices())
def test_complement_and_two_sides(problem):
    X, w, q = problem
    q = abs(q)
    n = len(w)
    choice = Choice(Similarities(X), w, q, max(0.0, bound(gram(X), q)))
    rest = [np.setdiff1d(np.arange(n), np.arange(k)) for k in range(n + 1)]
    constants = {choice.value(np.arange(k)) - choice.complement().value(rest[k]) for k in range(n + 1)}
    assert max(constants) - min(constants) <= 1e-9
    for k in range(n + 1):
        both, _ = choice.two_sided(k)
        assert len(both) == k
        assert choice.value(both) >= choice.value(np.sort(choice.greedy(k).order)) - 1e-12


def test_the_path_goes_on_from_call_to_call(monkeypatch):
    X, _ = clouds(70, 7)
    w = np.random.default_rng(8).standard_normal(70)
    whole = Choice(Similarities(X), w, 0.1, 10.0).greedy(70)
    monkeypatch.setattr("everlearn._submodular.choice._PICKS_PER_CALL", 9)
    pieces = Choice(Similarities(X), w, 0.1, 10.0).greedy(70)
    np.testing.assert_array_equal(whole.order, pieces.order)
    assert whole.evaluations == pieces.evaluations
    assert list(Choice(Similarities(X), w, 0.1, 10.0).greedy(13).order) == list(whole.order[:13])


@property_test(60)
@given(linear_choices())
def test_gains_are_differences_of_the_objective(problem):
    X, w, q = problem
    choice = Choice(Similarities(X), w, q, bound(gram(X), q))
    path = choice.greedy(len(w))
    values = [choice.value(path.order[:k]) for k in range(len(w) + 1)]
    np.testing.assert_array_equal(path.gains, np.diff(values))


@property_test(40)
@given(matrices(2, 7, signed=False), st.data())
def test_greedy_has_its_share_of_the_best(K, data):
    """With the constants that make the objective of labels monotone and submodular."""
    n, labels = len(K), data.draw(st.integers(1, 3))
    s = data.draw(quarters(n, -4, 4))
    d = max(K.max(), np.abs(s).max() / labels)  # no label adds more than the largest similarity
    choice = Choice(StoredSimilarities(K), s - K.sum(1) / 2, 0.5, K.max())
    for k in range(1, n):
        constants = (1.5 * n + labels) * d * k - d * k**2 / 2
        best = max(choice.value(np.array(A)) for A in combinations(range(n), k)) + constants
        assert choice.value(choice.greedy(k).order) + constants >= (1 - 1 / np.e) * best - 1e-9


@pytest.mark.parametrize("kernel", ["linear", *KERNELS])
def test_no_similarity_is_above_the_bound(kernel):
    """Laziness rests on it: too low a bound gives a wrong order without a word."""
    X = np.vstack([clouds(50, 9, features=4)[0]] * 2)  # duplicates are as similar as can be
    for coef0 in (0.0, 1.0, -1.0):
        settings = KERNELS.get(kernel, {}) | ({"coef0": coef0} if kernel in ("poly", "sigmoid") else {})
        space = Space(X, kernel_named(kernel, **settings))
        K = pairwise_kernels(X, metric=kernel, **settings)
        assert space.among(np.arange(100)).highest >= K.max() - 1e-9
    matrix = Space(gram(X), None)
    assert matrix.among(np.arange(100)).highest == gram(X).max()
