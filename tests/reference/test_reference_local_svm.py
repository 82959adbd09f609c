"""The NumPy local SVM: against `SVC` where everything is near, and what holds wherever it looks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from property_helpers import property_test
from reference.local_svm import ReferenceLocalSVM
from svm.idsvm_helpers import batch, rbf

NEIGHBORHOODS = st.sampled_from([0.0, 0.5, 1.0, 2.0, np.inf, "grow"])
COSTS = st.sampled_from([0.1, 1.0, 10.0])


@st.composite
def clouds(draw):
    """Two clouds that overlap, some rows repeated with either label: kernel matrix (σ = 1) and labels."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    n, distance = draw(st.integers(2, 40)), draw(st.sampled_from([0.0, 1.0, 3.0]))
    y = np.where(rng.random(n) < draw(st.sampled_from([0.5, 0.9])), 1.0, -1.0)
    X = rng.standard_normal((n, 2)) + distance * y[:, None]
    repeated = rng.integers(0, n, size=draw(st.integers(0, 5)))
    X, y = np.vstack([X, X[repeated]]), np.append(y, y[repeated] * rng.choice([-1, 1], len(repeated)))
    return rbf(X, 0.5), y


def e(model):
    return model.y - model.K @ model.theta


def free(model):
    return [i for i in model.rows if model.lo[i] < model.theta[i] < model.hi[i]]


@property_test(60)
@given(clouds(), COSTS)
def test_with_everything_near_it_is_retraining(cloud, C):
    K, y = cloud
    model = ReferenceLocalSVM(K, y, C, neighborhood=np.inf, max_violation=np.inf)
    for i in range(len(y)):
        N = model.add(i)
        assert len(N) in (0, i + 1)
        assert model.violation(model.rows) <= 2e-3
    assert model.n_full == 0
    if len(set(y)) == 2:
        theta, _ = batch(K, y, C * np.ones(len(y)), range(len(y)))
        dual = y @ theta - 0.5 * theta @ K @ theta
        assert 0 <= (dual - model.dual() + 1e-6) / dual < 1e-3


@property_test(100)
@given(clouds(), COSTS, NEIGHBORHOODS, st.sampled_from([0, 3, 50]))
def test_what_every_update_keeps(cloud, C, neighborhood, n_nearest):
    """The box, Σ θ = 0, θ outside N; N is c and its nearest rows, enough of them and a partner."""
    K, y = cloud
    model = ReferenceLocalSVM(K, y, C, neighborhood, n_nearest, max_violation=np.inf)
    for c in range(len(y)):
        theta, b = model.theta.copy(), model.b
        content = c > 0 and y[c] * model.decision(K[c]) >= 1
        partners = theta > model.lo if y[c] > 0 else theta < model.hi
        N = list(model.add(c))
        assert model.rows == list(range(c + 1))
        assert (N == []) == content
        if content:
            np.testing.assert_array_equal(model.theta, theta)
            assert model.b == b
            continue
        outside = np.setdiff1d(np.arange(len(y)), N)
        np.testing.assert_array_equal(model.theta[outside], theta[outside])
        assert N[0] == c
        rest = np.setdiff1d(np.arange(c), N)
        assert K[c, N].min() >= K[c, rest].max(initial=0)
        assert any(partners[i] for i in N[1:]) or not any(partners[:c])
        if neighborhood != "grow":
            assert len(N) >= min(n_nearest, c + 1)
            assert np.all(np.sqrt(-2 * np.log(K[c, rest])) > neighborhood)
        assert np.all((model.lo <= model.theta) & (model.theta <= model.hi))
        assert abs(model.theta.sum()) < 1e-12 * len(y) * C
        up, down = (
            [i for i in N if model.theta[i] < model.hi[i]],
            [i for i in N if model.theta[i] > model.lo[i]],
        )
        assert e(model)[up].max(initial=-np.inf) - e(model)[down].min(initial=np.inf) <= 1e-3 + 1e-9


@property_test(40)
@given(clouds(), NEIGHBORHOODS)
def test_the_bias_is_that_of_all_free_rows_wherever_they_are(cloud, neighborhood):
    K, y = cloud
    model = ReferenceLocalSVM(K, y, 1.0, neighborhood, n_nearest=0, max_violation=np.inf)
    for c in range(len(y)):
        if len(model.add(c)) and free(model):
            assert model.b == pytest.approx(e(model)[free(model)].mean(), abs=1e-12)


def test_without_free_rows_the_bias_is_in_the_middle():
    K = np.array([[1, 1e-9], [1e-9, 1]])
    model = ReferenceLocalSVM(K, [1, -1], 0.25)
    model.add(0)
    assert model.b == 1
    model.add(1)
    np.testing.assert_array_equal(model.theta, [0.25, -0.25])
    assert model.b == pytest.approx(0, abs=1e-12)


def test_a_row_far_from_all_others_still_finds_a_partner():
    """Nearest are two rows of its own label that cannot give anything; the third can."""
    X = np.array([[0.0], [0.3], [8.0], [8.1], [9.0]])
    y = np.array([1.0, -1, 1, 1, 1])
    model = ReferenceLocalSVM(rbf(X, 0.5), y, 100.0, neighborhood=1.5, n_nearest=0, max_violation=np.inf)
    for i in range(2):
        model.add(i)
    model.rows += [2, 3]
    model.b -= 5  # so that the last is not content
    assert list(model.add(4)) == [4, 3, 2, 1]
    assert model.theta[4] > 0


def test_a_full_pass_after_so_many_updates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2))
    y = np.where(X[:, 0] + rng.standard_normal(120) > 0, 1.0, -1.0)
    model = ReferenceLocalSVM(rbf(X, 0.5), y, 1.0, 0.3, n_nearest=5, full_every=7, max_violation=np.inf)
    updates = 0
    for i in range(120):
        updates += len(model.add(i)) > 0
        assert model.n_full == updates // 7
        if model.since_full == 0 and model.n_full:
            assert model.violation(model.rows) <= 1e-3
    assert updates > 60


def test_a_full_pass_where_a_violation_is_found():
    """With all rows sampled nothing beyond the limit is left outside N; with none it is."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 2))
    y = np.where(X[:, 0] + rng.standard_normal(100) > 0, 1.0, -1.0)
    worst = {}
    for n_sampled in (0, 2000):
        model = ReferenceLocalSVM(rbf(X, 0.5), y, 1.0, 0.3, n_nearest=5, n_sampled=n_sampled)
        worst[n_sampled] = 0.0
        for i in range(100):
            N = model.add(i)
            outside = [j for j in model.rows if j not in N]
            worst[n_sampled] = max(worst[n_sampled], model.violation(outside) if len(N) else 0)
        assert (model.n_full > 0) == (n_sampled > 0)
    assert worst[0] > 0.2
    assert worst[2000] <= 0.1


@pytest.fixture(scope="module")
def digits():
    """Digits 3 and 8 (357 rows), standardized, σ = √32; `SVC` on the first three fifths, and its dual."""
    X, digit = load_digits(return_X_y=True)
    of_two = np.isin(digit, [3, 8])
    X, y = X[of_two], np.where(digit[of_two] == 8, 1.0, -1.0)
    K = rbf((X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1), 1 / 64)
    theta, _ = batch(K, y, np.ones(len(y)), range(214))
    return K, y, y @ theta - 0.5 * theta @ K @ theta


@pytest.mark.parametrize(
    ("neighborhood", "gap", "accuracy", "rows"),
    [(1.0, 0.172, 93.7, 5), (2.0, 0.016, 95.8, 109), ("grow", 0.037, 96.5, 12)],
)
def test_figures_of_digits_learned_locally(digits, neighborhood, gap, accuracy, rows):
    """A fifth is learned at once, two fifths one by one, no full pass; `SVC` has 95.8 % of the rest right."""
    K, y, dual = digits
    model = ReferenceLocalSVM(K, y, 1.0, neighborhood, n_nearest=0, full_every=np.inf, max_violation=np.inf)
    model.rows = list(range(71))
    model.finish()
    sizes = [len(N) for N in map(model.add, range(71, 214)) if len(N)]
    assert 1 - model.dual() / dual == pytest.approx(gap, abs=5e-4)
    assert 100 * np.mean(np.sign(model.decision(K[214:])) == y[214:]) == pytest.approx(accuracy, abs=0.05)
    assert np.mean(sizes) == pytest.approx(rows, abs=0.5)
    assert model.n_full == 1
