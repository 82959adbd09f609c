"""The NumPy exact SVM against published figures, its invariants, and `SVC`.

Figures: breast cancer (Wisconsin, diagnostic), columns standardized, rows in the given order, RBF kernel.
"""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from property_helpers import property_test
from reference.idsvm import ReferenceIDSVM, StuckError
from svm.idsvm_helpers import batch, happen, kkt_interval, problems, rbf, stories

JITTERS = (1e-9, 1e-7, 1e-5, 1e-3)


def check(model):
    """What holds between calls."""
    outside = np.setdiff1d(np.arange(len(model.y)), model.S)
    theta, lo, hi, known = model.theta[outside], model.lo[outside], model.hi[outside], model.known[outside]
    assert model.violation() < 1e-7
    assert abs(model.theta.sum()) < 1e-9
    assert np.all((model.lo <= model.theta) & (model.theta <= model.hi))
    assert np.all(np.where(known, (theta == lo) | (theta == hi), theta == 0))
    assert set(model.S) <= set(model.rows)
    assert np.all(abs(model.u[model.S]) < 1e-7)
    assert not model.S or np.any((model.lo < model.theta) & (model.theta < model.hi))


def learned(K, y, C, rows):
    """A machine that has learned the rows in this order."""
    model = ReferenceIDSVM(K, y, C)
    for i in rows:
        model.add(i)
    return model


def lived(story):
    """A machine that has lived through a story."""
    K, y, C, events = story
    model = ReferenceIDSVM(K, y, C)
    for event in events:
        happen(model, event)
    return model


# --- figures -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wdbc():
    X, y = load_breast_cancer(return_X_y=True)
    return rbf((X - X.mean(axis=0)) / X.std(axis=0), 1 / 30), np.where(y == 1, 1.0, -1.0)


@pytest.fixture(scope="module")
def first_120(wdbc):
    K, y = wdbc
    return learned(K, y, 1.0, range(120))


def norm(model):
    return model.theta @ model.K @ model.theta


def at_cost(model):
    return np.sum(abs(model.theta) == model.C)


def test_the_first_120_rows(wdbc, first_120):
    assert first_120.dual() == pytest.approx(21.92407216, abs=1e-6)
    assert first_120.b == pytest.approx(-0.45484045, abs=1e-6)
    assert norm(first_120) == pytest.approx(23.93528381, abs=1e-5)
    assert (len(first_120.S), at_cost(first_120)) == (29, 21)
    assert first_120.n_fallbacks == 0
    theta, b = batch(*wdbc, np.ones(569), range(120))
    np.testing.assert_allclose(first_120.decision(first_120.K), wdbc[0] @ theta + b, rtol=0, atol=1e-5)


def test_leave_one_out_figures(first_120):
    margins = first_120.leave_one_out()
    assert (margins < 0).sum() == 9
    assert margins.sum() == pytest.approx(128.8715, abs=1e-3)


def test_the_second_half_alone(first_120):
    model = first_120.copy()
    for i in range(60):
        model.remove(i)
    assert model.dual() == pytest.approx(15.48354382, abs=1e-6)
    assert model.b == pytest.approx(-0.07950085, abs=1e-6)
    assert (len(model.S), at_cost(model)) == (19, 15)
    check(model)


# --- invariants --------------------------------------------------------------------------------------------


@property_test(100)
@given(stories())
def test_every_event_keeps_the_conditions(story):
    K, y, C, events = story
    model = ReferenceIDSVM(K, y, C)
    for event in events:
        happen(model, event)
        check(model)
    assert model.n_fallbacks == 0


@property_test(100)
@given(stories(jitters=JITTERS))
def test_nearly_repeated_rows_keep_the_conditions(story):
    """The single precision of `SVC` cannot tell such rows apart; but its solution must not be better."""
    K, y, C, events = story
    model = ReferenceIDSVM(K, y, C)
    for event in events:
        happen(model, event)
        check(model)
    assert model.n_fallbacks == 0
    if len(set(model.y[model.rows])) == 2:
        theta, _ = batch(K, model.y, model.C, model.rows, tol=1e-6)
        dual = model.y @ theta - 0.5 * theta @ K @ theta
        assert model.dual() >= dual - 1e-8 * (1 + abs(dual))


@property_test(100)
@given(stories(single=True))
def test_the_same_as_a_batch_solver(story):
    """Given the same kernel values, `SVC` at tol = 1e-9 was within 2e-8 on 400 problems, so was b."""
    model = lived(story)
    K, y, C, rows = model.K, model.y, model.C, model.rows
    if len(set(y[rows])) < 2:
        assert not model.theta.any()
        assert all(model.decision(K[rows]) * y[rows] >= 1 - 1e-9)
        return
    theta, b = batch(K, y, C, rows)
    np.testing.assert_allclose(model.decision(K) - model.b, K @ theta, rtol=0, atol=1e-6)
    assert model.b == pytest.approx(b, abs=1e-6)
    low, high = kkt_interval(K, y, C, model.theta, rows)
    assert low - 1e-6 <= model.b <= high + 1e-6


@property_test(60)
@given(problems(), st.data())
def test_added_and_forgotten_is_as_if_it_had_never_come(problem, data):
    K, y, C = problem
    guest = data.draw(st.integers(0, len(y) - 1))
    model = learned(K, y, C, [i for i in range(len(y)) if i != guest])
    f, dual, b = model.decision(K), model.dual(), model.b
    model.add(guest).remove(guest)
    np.testing.assert_allclose(model.decision(K), f, rtol=0, atol=1e-8)
    assert model.dual() == pytest.approx(dual, rel=1e-9, abs=1e-9)
    assert model.b == pytest.approx(b, abs=1e-8)


@property_test(60)
@given(problems(distinct=True), st.data())
def test_distinct_rows_get_their_coefficients_back(problem, data):
    """With rows repeated coefficients are not unique: only their sum at a place is."""
    K, y, C = problem
    guest = data.draw(st.integers(0, len(y) - 1))
    model = learned(K, y, C, [i for i in range(len(y)) if i != guest])
    theta = model.theta.copy()
    np.testing.assert_allclose(model.add(guest).remove(guest).theta, theta, rtol=0, atol=1e-8)


@property_test(60)
@given(problems(), st.data())
def test_the_order_of_arrival_does_not_matter(problem, data):
    K, y, C = problem
    order = data.draw(st.permutations(range(len(y))))
    one, other = learned(K, y, C, range(len(y))), learned(K, y, C, order)
    np.testing.assert_allclose(one.decision(K), other.decision(K), rtol=0, atol=1e-7)


@property_test(30)
@given(problems())
def test_leave_one_out_is_retraining(problem):
    K, y, C = problem
    model = learned(K, y, C, range(len(y)))
    theta, steps = model.theta.copy(), model.n_steps
    margins = model.leave_one_out()
    np.testing.assert_array_equal(model.theta, theta)
    assert model.n_steps == steps
    rest = [learned(K, y, C, [j for j in range(len(y)) if j != i]) for i in range(len(y))]
    expected = [y[i] * rest[i].decision(K[i]) for i in range(len(y))]
    np.testing.assert_allclose(margins, expected, rtol=0, atol=1e-7)


@property_test(40)
@given(problems())
def test_the_objective_rises_with_every_row_and_falls_with_every_one_forgotten(problem):
    K, y, C = problem
    model, duals = ReferenceIDSVM(K, y, C), [0.0]
    for act in (model.add, model.remove):
        for i in range(len(y)):
            act(i)
            duals.append(model.dual())
    slack = 1e-9 * (1 + max(duals))
    assert np.all(np.diff(duals[: len(y) + 1]) >= -slack)
    assert np.all(np.diff(duals[len(y) :]) <= slack)
    assert not model.theta.any()
    assert (model.b, model.S, len(model.rows)) == (0, [], 0)


@property_test(40)
@given(problems(), st.data())
def test_a_flipped_row_and_a_new_cost_are_as_if_they_had_always_been(problem, data):
    K, y, C = problem
    model = learned(K, y, C, range(len(y)))
    flips = data.draw(st.lists(st.integers(0, len(y) - 1), max_size=4, unique=True))
    for i in flips:
        model.flip(i)
        model.set_C(i, 3.0)
    other = learned(K, model.y, model.C, range(len(y)))
    np.testing.assert_array_equal(model.y[flips], -y[flips])
    np.testing.assert_array_equal(model.C[flips], 3)
    np.testing.assert_allclose(model.decision(K), other.decision(K), rtol=0, atol=1e-7)
    assert norm(model) == pytest.approx(norm(other), rel=1e-7, abs=1e-7)


@property_test(80)
@given(problems(jitters=(0.0, *JITTERS)), st.data())
def test_any_start_leads_to_the_same_place(problem, data):
    K, y, C = problem
    shares = st.sampled_from([0.0, 0.3, 1.0])
    guess = y * C * data.draw(st.lists(shares, min_size=len(y), max_size=len(y)))
    sums = guess[y > 0].sum(), -guess[y < 0].sum()
    guess *= np.where(y > 0, min(sums) / (sums[0] or 1), min(sums) / (sums[1] or 1))
    model = ReferenceIDSVM(K, y, C).start_from(guess)
    check(model)
    exact = learned(K, y, C, range(len(y)))
    assert model.dual() == pytest.approx(exact.dual(), rel=1e-8, abs=1e-8)
    assert model.n_fallbacks == 0


def test_a_good_start_saves_steps(wdbc, first_120):
    K, y = wdbc
    model = ReferenceIDSVM(K, y).start_from(first_120.theta, range(120))
    assert model.n_steps == 0
    np.testing.assert_allclose(model.theta, first_120.theta, rtol=0, atol=1e-12)
    assert model.b == pytest.approx(first_120.b, abs=1e-12)
    theta, _ = batch(K, y, np.ones(569), range(150), tol=1e-3)
    assert ReferenceIDSVM(K, y).start_from(theta, range(150)).n_steps < 20


@property_test(30)
@given(stories())
def test_saved_and_loaded_it_goes_on_bit_for_bit(story):
    K, y, C, events = story
    model = lived((K, y, C, events[: len(events) // 2]))
    other = pickle.loads(pickle.dumps(model))
    for event in events[len(events) // 2 :]:
        happen(model, event)
        happen(other, event)
    np.testing.assert_array_equal(model.theta, other.theta)
    assert model.b == other.b


# --- edge cases --------------------------------------------------------------------------------------------


def test_one_class_only():
    K = rbf(np.arange(4.0)[:, None], 1.0)
    model = learned(K, [1, 1, 1, -1], 5.0, [0, 1, 2])
    assert (model.b, model.S) == (1.0, [])
    model.add(3)
    assert model.theta.any()
    model.remove(3)
    assert not model.theta.any()
    assert all(model.decision(K[:3]) >= 1 - 1e-12)
    for i in (0, 1, 2):
        model.remove(i)
    assert len(model.rows) == len(model.S) == model.b == 0
    assert learned(K, [-1, 1, 1, 1], 5.0, [0]).b == -1


def test_contradicting_rows_end_at_their_bounds():
    for C in (0.01, 1.0, 1e6):
        model = learned(np.ones((2, 2)), [1, -1], C, [0, 1])
        np.testing.assert_array_equal(model.theta, [C, -C])
        assert model.b == 0
        np.testing.assert_array_equal(model.remove(0).theta, [0, 0])
        assert model.b == -1


def test_rows_in_the_plane_keep_s_at_three():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = np.sign(X[:, 0] + 0.5 * rng.standard_normal(60))
    model = ReferenceIDSVM(X @ X.T, y, 10.0)
    for i in range(60):
        model.add(i)
        assert len(model.S) <= 3
        check(model)
    assert model.n_fallbacks == 0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("jitter", [1e-8, 3e-6, 1e-4])
def test_a_row_that_s_nearly_spans_must_not_be_left_alone(kernel, jitter):
    """Within 1e-12 of the hull of S its u may still change by 1e-6 a unit of θ: at C = 1000 by 1e-3."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.uniform(-2, 2, (12, 2)), 4, axis=0) + jitter * rng.standard_normal((48, 2))
    y = np.sign(X[:, 0] * X[:, 1]) * np.where(rng.random(48) < 0.15, -1, 1)
    model = ReferenceIDSVM(X @ X.T if kernel == "linear" else rbf(X, 0.5), y, 1000.0)
    for i in range(48):
        check(model.add(i))
    for i in range(24):
        check(model.remove(i))
    assert model.n_fallbacks == 0


@pytest.mark.parametrize(("seed", "jitter", "degree"), [(368, 1e-9, 2), (368, 1e-8, 1), (389, 1e-9, 1)])
def test_rows_that_change_places_do_not_do_so_for_ever(seed, jitter, degree):
    """A row that depends on S stays there once a member has made room: else it is asked for ever."""
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.integers(-3, 4, (4, 2)), 3, axis=0) + jitter * rng.standard_normal((12, 2))
    y = rng.choice([-1.0, 1.0], 12)
    model = ReferenceIDSVM((degree - 1 + X @ X.T) ** degree, y)
    for i in range(12):
        check(model.add(i))
    assert model.n_fallbacks == 0


@pytest.mark.parametrize(("act", "before", "after"), [("add", 60, 61), ("remove", 61, 60)])
def test_who_is_stuck_solves_from_scratch_and_counts_it(wdbc, act, before, after, monkeypatch):
    K, y = wdbc
    model, exact = (learned(K, y, 1.0, range(n)) for n in (before, after))
    assert abs(learned(K, y, 1.0, range(61)).theta[60]) == 1.0
    step, calls = ReferenceIDSVM.step, []

    def stuck(self, *arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise StuckError
        return step(self, *arguments)

    monkeypatch.setattr(ReferenceIDSVM, "step", stuck)
    getattr(model, act)(60)
    assert model.n_fallbacks == 1
    check(model)
    np.testing.assert_allclose(model.decision(K), exact.decision(K), rtol=0, atol=1e-7)
    model.add(100).remove(3)
    check(model)
    assert model.n_fallbacks == 1


def test_from_scratch_no_path_is_followed(wdbc, monkeypatch):
    K, y = wdbc
    model = learned(K, y, 1.0, range(60))

    def stuck(*_):
        raise StuckError

    exact = learned(K, y, 1.0, range(61)).decision(K)
    monkeypatch.setattr(ReferenceIDSVM, "step", stuck)
    check(model.add(60))
    np.testing.assert_allclose(model.decision(K), exact, rtol=0, atol=1e-7)
    monkeypatch.setattr(ReferenceIDSVM, "solve_cold", stuck)
    with pytest.raises(StuckError):
        model.remove(60)
