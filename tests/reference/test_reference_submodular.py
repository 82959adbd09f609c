"""The NumPy choice of rows: greedy and its lazy form, refinement, symmetries, set functions, edge cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from property_helpers import property_test
from reference.similarities import Linear, OnDemand, Stored, nystroem
from reference.submodular import Choice, largest
from semi.semi_helpers import gram, matrices, quarters, subsets

FACTORS = st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 1.0])


@st.composite
def choices(draw, high=8, q=FACTORS, **kinds):
    K = draw(matrices(high=high, **kinds))
    return Choice(K, draw(quarters(len(K))), draw(q)), draw(st.integers(0, len(K)))


def by_hand(choice, A):
    """F, one pair at a time."""
    K = choice.K.K
    return sum(choice.w[j] for j in A) + choice.q * sum(K[i, j] for i in A for j in A)


def pair_bound(choice):
    """The least h."""
    K = choice.K.K
    return max((2 * choice.q * K[i, j] for i in range(len(K)) for j in range(i)), default=0.0)


def untied(n, seed, features=4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, features)), rng.standard_normal(n)


SEEDS = st.integers(0, 10**6)

# --- greedy ------------------------------------------------------------------------------------------------


@property_test(200)
@given(choices())
def test_gains_are_differences_of_the_value(problem):
    choice, k = problem
    for path in (choice.plain(k), choice.lazy(k, pair_bound(choice))):
        for taken, (m, gain) in enumerate(zip(path.order, path.gains, strict=True)):
            before = path.order[:taken]
            rises = {i: by_hand(choice, [*before, i]) - by_hand(choice, before) for i in choice.rest(before)}
            assert gain == rises[m] == max(rises.values())
            assert m == min(i for i, rise in rises.items() if rise == gain)
        assert choice.value(path.order) == by_hand(choice, path.order)


@property_test(200)
@given(choices(high=12), st.sampled_from([0.0, 0.25, 7.0]))
def test_lazy_is_plain_with_any_bound_that_holds(problem, more):
    choice, k = problem
    plain, lazy = choice.plain(k), choice.lazy(k, pair_bound(choice) + more)
    assert (lazy.order, lazy.gains) == (plain.order, plain.gains)
    n = len(choice.w)
    assert n * (k > 0) + max(k - 1, 0) <= lazy.evaluations <= plain.evaluations == k * n - k * (k - 1) / 2


@property_test(150)
@given(SEEDS, st.integers(2, 40), st.sampled_from([-1.0, 1.0]), st.integers(1, 4))
def test_lazy_is_plain_where_rounding_decides(seed, n, q, copies):
    """Rows of length 1, each several times: bounds are attained, and gains tie but for their last bits."""
    X, w = untied(n, seed)
    X = np.repeat(X / np.linalg.norm(X, axis=1, keepdims=True), copies, axis=0)
    choice = Choice(gram(X), np.repeat(w, copies), q)
    plain, lazy = choice.plain(len(X)), choice.lazy(len(X), pair_bound(choice))
    assert (lazy.order, lazy.gains) == (plain.order, plain.gains)


@property_test(100)
@given(SEEDS, st.sampled_from([-0.5, 0.5]))
def test_lazy_is_plain_where_linear_terms_differ_in_their_last_bits(seed, q):
    """All rows alike: every bound is attained, and rounded differently from the gain it bounds."""
    rng = np.random.default_rng(seed)
    alike = rng.random()
    choice = Choice(np.full((8, 8), alike), 1 + 2.0**-52 * rng.integers(0, 6, 8), q)
    assert choice.lazy(8, 2 * q * alike).order == choice.plain(8).order


def test_a_tighter_bound_is_cheaper():
    X, w = untied(200, 0)
    choice = Choice(gram(X), w, 0.01)
    h = pair_bound(choice)
    costs = [choice.lazy(50, factor * h).evaluations for factor in (1, 2, 8, 1e6)]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1] == choice.plain(50).evaluations


def test_a_bound_that_does_not_hold_is_found_out():
    """The similarity of a pair that is above what `h` says hides the better row."""
    K = np.eye(3)
    K[0, 2] = K[2, 0] = 5.0
    choice = Choice(K, [3.0, 2.0, 1.0], 0.5)
    assert choice.plain(2).order == choice.lazy(2, 5.0).order == [0, 2]
    assert choice.lazy(2, 0.0).order == [0, 1]


@property_test(100)
@given(choices())
def test_shorter_paths_are_prefixes(problem):
    choice, k = problem
    longest, path = (choice.lazy(size, pair_bound(choice)) for size in (len(choice.w), k))
    assert (path.order, path.gains) == (longest.order[:k], longest.gains[:k])


@property_test(100)
@given(SEEDS, st.integers(1, 30), st.sampled_from([-1.0, 1.0]))
def test_rows_in_another_order_are_the_same_rows(seed, n, q):
    X, w = untied(n, seed)
    order = np.random.default_rng(seed).permutation(n)
    path, other = (Choice(gram(X[rows]), w[rows], q).plain(n).order for rows in (np.arange(n), order))
    assert list(order[other]) == path


# --- similarities ------------------------------------------------------------------------------------------


@property_test(100)
@given(SEEDS, st.integers(1, 30), st.sampled_from([-0.5, 0.5]), st.integers(1, 9))
def test_stored_on_demand_dense_and_sparse_rows_agree(seed, n, q, block):
    X, w = untied(n, seed)
    X[np.abs(X) < 0.5] = 0
    demand = OnDemand(lambda A, B: A @ B.T, X, block)
    kinds = [
        Stored(gram(X)),
        demand,
        Linear(X),
        Linear(sparse.csr_matrix(X)),
        Linear(nystroem(gram(X), gram(X))),
    ]
    choices = [Choice(K, w, q) for K in kinds]
    p = np.random.default_rng(seed).random(n)
    h = 2 * abs(q) * kinds[0].diagonal().max(initial=0)
    first = choices[0].plain(n)
    for choice in choices:
        np.testing.assert_allclose(choice.K.diagonal(), kinds[0].diagonal(), atol=1e-9)
        np.testing.assert_allclose(choice.slope(p), choices[0].slope(p), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(choice.K.block([0], range(n)), gram(X)[:1], atol=1e-9)
        for path in (choice.lazy(n, h), choice.plain(n)):
            assert path.order == first.order
            np.testing.assert_allclose(path.gains, first.gains, rtol=1e-9, atol=1e-9)


def test_on_demand_computes_no_pair_twice():
    X, w = untied(60, 3)
    demand = OnDemand(lambda A, B: A @ B.T, X)
    choice = Choice(demand, w, 0.5)
    demand.computed = 0
    choice.lazy(60, gram(X).max())
    assert demand.computed <= 60 * 59


# --- symmetries --------------------------------------------------------------------------------------------


@property_test(150)
@given(choices(), st.sampled_from([-2.0, 0.5, 3.0]), st.sampled_from([0.25, 4.0]))
def test_a_shift_moves_all_sets_of_a_size_alike_and_a_scale_stretches(problem, shift, scale):
    """With the linear term of exemplars and labels, w = v + c K 1, which shifts along."""
    choice, k = problem
    K, v, q = choice.K.K, choice.w, choice.q

    def path(K, v):
        return Choice(K, v - q * K.sum(1), q).plain(k)

    assert path(K + shift, v).order == path(K, v).order
    assert path(scale * K, scale * v).order == path(K, v).order
    np.testing.assert_array_equal(path(scale * K, scale * v).gains, scale * np.array(path(K, v).gains))


@property_test(150)
@given(choices(high=7))
def test_leaving_out_the_complement_is_the_same_problem(problem):
    choice, _ = problem
    other = choice.complement()
    apart = {other.value(choice.rest(A)) - choice.value(A) for A in subsets(len(choice.w))}
    assert len(apart) == 1
    np.testing.assert_array_equal(other.complement().w, choice.w)


# --- refinement --------------------------------------------------------------------------------------------


@property_test(200)
@given(choices(high=10), st.randoms(use_true_random=False))
def test_refinement_never_lowers_the_value_and_keeps_the_size(problem, random):
    choice, k = problem
    A = random.sample(range(len(choice.w)), k)
    linearized, swapped = choice.linearize(A, k), choice.swap(A)
    for new in (linearized, swapped):
        assert len(set(new)) == len(new) == k
        assert choice.value(new) >= choice.value(A)
    for i in swapped:
        for j in choice.rest(swapped):
            other = [*np.setdiff1d(swapped, i), j]
            assert choice.value(other) <= choice.value(swapped) + 1e-9
    h = pair_bound(choice)
    assert choice.value(choice.two_sided(k, h)) >= choice.value(choice.lazy(k, h).order)


@property_test(150)
@given(choices(high=8, q=st.sampled_from([0.5, 1.0]), psd=True), st.data())
def test_with_a_psd_matrix_linearizing_ends_above_where_it_started(problem, data):
    """Also from fractions: some set is as good as any of them."""
    choice, k = problem
    n = len(choice.w)
    weights = data.draw(quarters(n, 0, 4))
    p = weights / weights.max(initial=1)
    p = np.clip(p * k / max(p.sum(), 1), 0, 1)
    p += (k - p.sum()) * (1 - p) / max((1 - p).sum(), 1e-9)  # 0 ≤ p ≤ 1, Σ p = k
    A = choice.linearize(p, k)
    assert len(A) == k
    assert choice.value(A) >= choice.w @ p + choice.q * p @ choice.K.K @ p - 1e-9
    slope = choice.slope(np.isin(np.arange(n), A))  # at rest: no row left out has a larger slope
    assert min(slope[A], default=np.inf) >= max(slope[choice.rest(A)], default=-np.inf) - 1e-9


@property_test(60)
@given(choices(high=8))
def test_no_method_beats_trying_all(problem):
    choice, k = problem
    best = choice.value(choice.best(k))
    assert best == max(by_hand(choice, A) for A in subsets(len(choice.w)) if len(A) == k)
    h = pair_bound(choice)
    for A in (choice.lazy(k, h).order, choice.two_sided(k, h), choice.two_sided(k, h, swaps=True)):
        assert choice.value(A) <= best


# --- the set functions of the thesis -----------------------------------------------------------------------


def monotone_and_submodular(f, n, difference=None):
    """f({}) = 0, gains ≥ 0 and falling; `difference` is by how much the gain of m falls when q joins."""
    value = {frozenset(A): f(A) for A in subsets(n)}
    assert value[frozenset()] == 0
    for A in value:
        gain = {m: value[A | {m}] - value[A] for m in range(n) if m not in A}
        assert all(rise >= -1e-9 for rise in gain.values())
        for q in gain:
            for m in set(gain) - {q}:
                fall = gain[m] - (value[A | {q, m}] - value[A | {q}])
                assert fall >= -1e-9
                assert difference is None or fall == pytest.approx(difference(q, m))


@property_test(60)
@given(matrices(2, 6), st.data())
def test_labels_become_submodular_by_terms_of_the_size_alone(K, data):
    """S(A) = D(A) + (c C*² n + C C* l) d |A| − C*²/2 d |A|² ; c = 3/2 for |K| ≤ d, 1 − 1/(2n) for K ≥ 0."""
    n, d, C, Cs = len(K), max(np.abs(K).max(), 0.25), 1.0, 0.5
    y = np.array(data.draw(st.lists(st.sampled_from([-1.0, 1.0]), max_size=3)))
    weights = data.draw(quarters((len(y), n), -4 if K.min() < 0 else 0, 4))
    K_LU = np.clip(weights, -d, d)
    w = C * Cs * (y @ K_LU) - Cs**2 / 2 * K.sum(1)
    c = 1.5 if K.min() < 0 else 1 - 1 / (2 * n)
    choice = Choice(K, w, Cs**2 / 2)

    def S(A):
        return choice.value(A) + (c * Cs**2 * n + C * Cs * len(y)) * d * len(A) - Cs**2 / 2 * d * len(A) ** 2

    monotone_and_submodular(S, n, lambda q, m: Cs**2 * (d - K[q, m]))
    for k in range(n + 1):  # the guarantee of greedy holds for S, whatever it is worth for D
        greedy, best = choice.plain(k).order, choice.best(k)
        assert S(greedy) >= (1 - 1 / np.e) * S(best) - 1e-9


def test_the_constant_for_similarities_above_zero_is_the_least():
    """Rows like none but themselves and no label: the last row gains nothing."""
    n, d, Cs = 5, 1.0, 1.0
    choice = Choice(d * np.eye(n), np.full(n, -(Cs**2) / 2 * d), Cs**2 / 2)
    c = (1 - 1 / (2 * n)) * Cs**2 * n * d
    S = [choice.value(range(k)) + c * k - Cs**2 / 2 * d * k**2 for k in range(n + 1)]
    assert S[n] - S[n - 1] == pytest.approx(0)


@property_test(60)
@given(matrices(2, 6, signed=False), st.data())
def test_exemplars_and_questions_are_submodular_as_they_are(K, data):
    n, d, apart, other, dense = len(K), max(K.max(), 0.25), 1.0, 0.5, 0.25
    K_LU = np.clip(data.draw(quarters((2, n), 0, 4)), 0, d)
    exemplars = Choice(K, other * K_LU.sum(0) + dense * K.sum(1), -apart)
    s = np.array([1, -1]) @ K_LU
    questions = Choice(K, -other * np.abs(s) - dense * K.sum(1), -apart)
    lift = apart * d * (2 * n - 1)

    def difference(q, m):
        return 2 * apart * K[q, m]

    monotone_and_submodular(lambda A: exemplars.value(A) + lift * len(A), n, difference)
    lift += other * d * 2 + dense * n * d
    monotone_and_submodular(lambda A: questions.value(A) + lift * len(A), n, difference)


# --- edge cases --------------------------------------------------------------------------------------------


def test_nothing_to_choose():
    for n, k in ((0, 0), (3, 0)):
        choice = Choice(np.eye(n), np.ones(n), 1.0)
        assert choice.plain(k) == choice.lazy(k, 2.0) == ([], [], 0)
        assert not len(choice.linearize([], k))
        assert not len(choice.swap([]))
        assert not len(choice.two_sided(k, 2.0))
    everything = Choice(np.eye(3), [1.0, 3.0, 2.0], 1.0)
    assert list(everything.two_sided(3, 2.0)) == [0, 1, 2]
    assert everything.lazy(3, 2.0).order == [1, 2, 0]


def test_ties_go_to_the_lowest_index():
    for q in (-1.0, 0.0, 1.0):
        choice = Choice(np.ones((5, 5)), np.zeros(5), q)
        assert choice.plain(3).order == choice.lazy(3, 2 * q).order == [0, 1, 2]
        assert list(choice.best(3)) == [0, 1, 2]
    assert list(largest([1.0, 2.0, 2.0, 2.0, 0.0], 2)) == [1, 2]


def test_without_a_psd_matrix_linearizing_does_not_cycle():
    choice = Choice([[0.0, 1.0], [1.0, 0.0]], [0.0, 0.0], -1.0)
    assert list(choice.linearize([0], 1)) == [0]
    bipartite = Choice(np.array([[0, -1], [-1, 0.0]]), [0.0, 0.0], 1.0)
    assert list(bipartite.linearize([1], 1)) == [1]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(bad):
    with pytest.raises(ValueError, match="finite"):
        Choice(np.eye(2), [0.0, bad], 1.0)
    with pytest.raises(ValueError, match="finite"):
        Choice(np.diag([1.0, bad]), [0.0, 0.0], 1.0)
