"""Margin: known answers, ties, permutations, and the guarantee of 59 draws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from sklearn.naive_bayes import GaussianNB

from everlearn import LASVM
from everlearn.query import Margin, pool_size_for
from everlearn.query._pool import generator, sample
from query.query_helpers import Given, column
from svm.lasvm_helpers import two_clouds

scores = st.lists(st.integers(-4, 4), min_size=1, max_size=30)
FULL = Margin(pool_size=None)


def test_known_answers():
    X = column(3.0, -0.5, 0.2, -0.1, 4.0)
    np.testing.assert_array_equal(FULL.query(Given(), X), [3])
    np.testing.assert_array_equal(FULL.query(Given(), X, n=3), [1, 2, 3])
    np.testing.assert_array_equal(FULL.utilities(Given(), X), [-3.0, -0.5, -0.2, -0.1, -4.0])
    X = np.array([[0.0, 5.0, 1.0], [2.0, 2.5, -1.0], [9.0, 0.0, 8.6]])
    np.testing.assert_array_equal(FULL.query(Given(), X), [2])
    np.testing.assert_allclose(FULL.utilities(Given(), X), [-4.0, -0.5, -0.4])


def test_probabilities():
    X, y = two_clouds(200)
    model = GaussianNB().fit(X[:100], y[:100])
    p = model.predict_proba(X[100:])[:, 1]
    assert FULL.query(model, X[100:])[0] == np.argmin(np.abs(p - 0.5))


@given(scores)
def test_full_search_finds_the_smallest_and_the_first_of_equal_ones(f):
    worth = [abs(value) for value in f]
    assert FULL.query(Given(), column(*f))[0] == worth.index(min(worth))
    for n in (2, len(f)):
        best = sorted(range(len(f)), key=lambda row: (worth[row], row))[:n]
        assert FULL.query(Given(), column(*f), n).tolist() == sorted(best)


@given(hnp.arrays(float, st.integers(1, 25), elements=st.floats(-9, 9), unique=True), st.randoms())
def test_a_permuted_pool_gives_the_permuted_answer(f, random):
    f = f[np.unique(np.abs(f), return_index=True)[1]]  # without ties, which go by the order
    order = list(range(len(f)))
    random.shuffle(order)
    for n in (1, 3):
        asked = FULL.query(Given(), column(*f), n)
        permuted = FULL.query(Given(), column(*f[order]), n)
        assert {order[place] for place in permuted} == set(asked)


@given(scores, st.integers(1, 12), st.integers(0, 99), st.integers(0, 5))
def test_the_smallest_of_those_drawn_and_the_first_drawn_of_equal_ones(f, pool_size, seed, draw):
    strategy = Margin(pool_size=pool_size, random_state=seed)
    asked = strategy.query(Given(), column(*f), draw=draw)[0]
    drawn = range(len(f)) if pool_size >= len(f) else sample(generator(seed, draw), len(f), pool_size)
    best = None
    for row in drawn:
        if best is None or abs(f[row]) < abs(f[best]):
            best = row
    assert asked == best


class Counts(Given):
    """Notes how many rows it is asked to judge."""

    rows = 0

    def decision_function(self, X):
        self.rows += len(X)
        return super().decision_function(X)


@pytest.mark.parametrize(("pool_size", "looked_at"), [(59, 59), (7, 7), (None, 500), (500, 500), (501, 500)])
def test_only_drawn_rows_are_judged(pool_size, looked_at):
    model = Counts()
    Margin(pool_size=pool_size).query(model, np.zeros((500, 1)))
    assert model.rows == looked_at


def test_no_label_is_read():
    """There is no way to pass one, and what a fitted model has learned is all that counts."""
    X, y = two_clouds(200)
    model = LASVM(random_state=0).fit(X[:50], y[:50])
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        Margin().query(model, X[50:], y=y[50:])


# ---------------------------------------------------------------------------------------------- the number 59


def test_59():
    assert pool_size_for() == 59 == Margin().pool_size


@pytest.mark.parametrize(
    ("p", "eta", "size"),
    [(0.5, 0.5, 1), (0.5, 0.25, 2), (0.5, 0.125, 3), (0.1, 0.9**3, 3), (0.9, 0.5, 1), (0.01, 0.05, 299)],
)
def test_known_sizes(p, eta, size):
    assert pool_size_for(p, eta) == size


@given(st.floats(1e-4, 0.999), st.floats(1e-9, 0.999))
def test_the_size_is_the_smallest_that_will_do(p, eta):
    size = pool_size_for(p, eta)
    assert size >= 1
    assert size * math.log1p(-p) <= math.log(eta) * (1 - 1e-9)
    assert size == 1 or (size - 1) * math.log1p(-p) > math.log(eta) * (1 + 1e-9)


def test_the_best_of_59_is_among_the_best_5_percent():
    rounds, rows = 2000, 1000
    rng = np.random.default_rng(0)
    hits = 0
    for seed in range(rounds):
        f = rng.standard_normal(rows)
        asked = Margin(random_state=seed).query(Given(), column(*f))[0]
        hits += int((np.abs(f) < abs(f[asked])).sum() < 0.05 * rows)
    # With the guarantee, fewer hits than this come once in 10,000; the exact chance is that of 59 rows drawn
    # without replacement, and more hits than this come as rarely.
    assert hits >= stats.binom.ppf(1e-4, rounds, 0.95)
    exact = 1 - stats.hypergeom.pmf(0, rows, 50, 59)
    assert hits <= stats.binom.ppf(1 - 1e-4, rounds, exact)


@pytest.mark.parametrize("bad", [0, 1, -0.1, 1.5, np.nan, "x", None, True])
def test_shares_that_are_none(bad):
    with pytest.raises(
        ValueError, match=r"top_fraction must be a number between 0 and 1, both excluded, got"
    ):
        pool_size_for(top_fraction=bad)
    with pytest.raises(
        ValueError, match=r"failure_probability must be a number between 0 and 1, both excluded, got"
    ):
        pool_size_for(failure_probability=bad)


@pytest.mark.parametrize("bad", [0, -1, 2.5, "59", True])
def test_a_bad_pool_size(bad):
    words = r"'pool_size' of Margin must be None or an integer from 1 to 2147483647, got"
    with pytest.raises(ValueError, match=words):
        Margin(pool_size=bad).query(Given(), column(0.0))
