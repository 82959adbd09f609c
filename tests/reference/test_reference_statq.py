"""The NumPy chunk learners against brute force, what can be proved of them, and published figures."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from reference.statq import confidence, distance, even_root, first_chunk, incr, query, statq, svc


def clouds(n, seed, apart=1.0, features=3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.standard_normal((n, features))
    X[:, 0] += apart * y
    return X, y


def objective(f, X, y, w2):
    """The soft-margin objective, C = 1."""
    return 0.5 * w2 + np.maximum(0, 1 - y * f(X)).sum()


# --- the two formulas --------------------------------------------------------------------------------------


def test_confidence_by_hand():
    T, y = np.array([[-2.0], [-1.0], [1.0], [2.0], [3.0]]), np.array([-1, -1, 1, 1, 1])
    assert confidence(np.array([[0.0]]), T, y, 2) == 1
    assert confidence(np.array([[0.0]]), T, y, 3) == pytest.approx(2 / 3, abs=1e-15)  # of ties the first row
    assert confidence(np.array([[0.0], [3.0]]), T, y, 2) == 0.5
    assert confidence(np.zeros((9, 1)), T, y) == pytest.approx(2 / 3, abs=1e-15)  # k = 3
    assert confidence(np.zeros((2, 1)), T, y) == 0  # k = 1


def test_distance_by_hand():
    assert distance(np.array([[0.0, 0], [1, 0]]), np.array([[0.0, 0]])) == 1.5
    assert distance(np.array([[0.0], [4]]), np.array([[1.0], [2]])) == 1.5 + 1.5 + 2


def test_even_root():
    assert [even_root(m) for m in (1, 2, 3, 9, 16, 25, 61, 1800)] == [1, 2, 2, 2, 4, 4, 8, 42]


# --- what can be proved ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_rows_outside_the_margin_change_nothing(seed):
    X, y = clouds(300, seed)
    rows = np.arange(40)
    S, f = svc(X, y, rows)
    outside = np.flatnonzero(y * f(X) > 1 + 1e-6)
    assert len(outside) > 50
    _, after = svc(X, y, np.union1d(S, outside))
    np.testing.assert_allclose(after(X), f(X), atol=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_support_vectors_alone_give_the_same_machine(seed):
    X, y = clouds(100, seed)
    S, f = svc(X, y, np.arange(100))
    again, after = svc(X, y, S)
    np.testing.assert_allclose(after(X), f(X), atol=1e-5)
    assert set(again) <= set(S)


def test_no_confidence_is_a_trap():
    """With T of one class c is 0, and the machine stays what it is for ever."""
    X, y = clouds(300, 1)
    y[np.random.RandomState(3).permutation(300)[:30]] = 1  # T, drawn first
    course = list(statq(X, y, 15, 8, np.random.RandomState(3), robust=False))
    assert len(course) == 9
    assert [entry[4] for entry in course[1:]] == [0] * 8
    assert len(course[-1][2]) > 60  # rows were used, to no effect
    for _, f, *_ in course:
        np.testing.assert_allclose(f(X), course[0][1](X), atol=1e-5)


@pytest.mark.parametrize("robust", [True, False])
def test_invariants_of_a_course(robust):
    X, y = clouds(400, 2)
    before = (set(), set())
    for S, _, used, examined, c, p_nm, size in statq(X, y, 20, 10, np.random.RandomState(0), robust=robust):
        assert set(y[S]) == {-1, 1}
        assert set(S) <= used <= examined
        assert before[0] <= used
        assert before[1] <= examined
        assert c is None or 0 <= c <= 1
        assert 0 <= p_nm <= size <= 20
        before = used, examined


@pytest.mark.parametrize("loop", [statq, incr, query])
def test_a_chunk_of_all_rows_is_the_batch_machine(loop):
    X, y = clouds(60, 3)
    _, f, *_ = next(loop(X, y, 60, 5, np.random.RandomState(0)))
    np.testing.assert_allclose(f(X), svc(X, y, np.arange(60))[1](X), atol=1e-9)


def test_the_objective_on_more_rows_is_not_lower():
    X, y = clouds(200, 4)
    S, _ = svc(X, y, np.arange(30))
    rows = np.union1d(S, np.arange(30, 60))

    def least(rows):
        machine = SVC(kernel="linear", tol=1e-9).fit(X[rows], y[rows])
        return objective(machine.decision_function, X[rows], y[rows], float(np.sum(machine.coef_**2)))

    assert least(rows) >= least(S) - 1e-6


def test_the_first_chunk_has_both_classes_and_counts_what_it_read():
    y = np.full(200, -1)
    y[:4] = 1
    Q, read = first_chunk(y, 10, np.random.RandomState(0))
    assert set(y[Q]) == {-1, 1}
    assert len(Q) == 10 < len(read)


def test_queries_end_when_the_margin_is_empty():
    X, y = clouds(300, 5, apart=4.0)
    *_, last = query(X, y, 10, 1000, np.random.RandomState(0))
    rest = np.setdiff1d(np.arange(300), list(last[2]))
    assert len(rest) > 0
    assert np.abs(last[1](X[rest])).min() >= 1


# --- figures -----------------------------------------------------------------------------------------------

CANCER = {  # accuracy and its SD, D, share used, share examined, support vectors
    "Batch": (96.62, 1.71, 0, 1, 1, 55),
    "Incr": (96.47, 1.58, 0.83, 1, 1, 52),
    "Query, keep all": (97.21, 1.29, 1.09, 0.109, 0.109, 40),
    "Query, keep sv": (97.35, 1.16, 1.07, 0.126, 0.126, 40),
    "StatQ, c p_nm/p": (95.88, 1.67, 1.77, 0.626, 0.792, 16),
    "StatQ, p_nm/p": (95.74, 1.29, 2.13, 0.051, 0.058, 8),
    "StatQ robust": (95.74, 2.64, 1.56, 0.642, 0.794, 21),
}
LOOPS = {
    "Incr": lambda *rows, random: incr(*rows, 26, 24, random),
    "Query, keep all": lambda *rows, random: query(*rows, 26, 600, random),
    "Query, keep sv": lambda *rows, random: query(*rows, 26, 600, random, keep="sv"),
    "StatQ, c p_nm/p": lambda *rows, random: statq(*rows, 26, 24, random, robust=False),
    "StatQ, p_nm/p": lambda *rows, random: statq(*rows, 26, 24, random, robust=False, stopping="p"),
    "StatQ robust": lambda *rows, random: statq(*rows, 26, 24, random),
}


def cancer(seed):
    """Wisconsin breast cancer, the original: training rows and test rows in [0, 1], 90 % and 10 %."""
    with np.load(Path(os.environ["EVERLEARN_DATA"]) / "breast_cancer_wisconsin.npz") as file:
        X, y = (file["X"].astype(float) - 1) / 9, np.where(file["y"] == 1, 1, -1)
    order = np.random.RandomState(seed).permutation(len(y))
    train, test = order[68:], order[:68]
    return X[train], y[train], X[test], y[test]


@pytest.mark.parametrize("name", list(LOOPS))
def cancer_figures(name):
    runs = []
    for seed in range(10):
        X, y, X_test, y_test = cancer(seed)
        batch, _ = svc(X, y, np.arange(len(y)))
        *course, last = LOOPS[name](X, y, random=np.random.RandomState(seed))
        S, f, used, examined = last[:4]
        if course and course[-1][2] == used:  # the figures leave out what the walk that ends a course reads
            examined = course[-1][3]
        accuracy = 100 * np.mean((f(X_test) > 0) == (y_test > 0))
        D = distance(X[S], X[batch])
        runs.append([accuracy, D, len(used) / len(y), len(examined) / len(y), len(S)])
    accuracy, D, used, examined, size = np.mean(runs, axis=0)
    wanted = CANCER[name]
    assert accuracy == pytest.approx(wanted[0], abs=1.5 * wanted[1])
    spread = np.std(runs, axis=0)
    assert pytest.approx(wanted[2], abs=max(0.25, 1.5 * spread[1])) == D
    assert used == pytest.approx(wanted[3], abs=max(0.02, 1.5 * spread[2]))
    assert examined == pytest.approx(wanted[4], abs=max(0.02, 1.5 * spread[3]))
    assert size == pytest.approx(wanted[5], abs=max(4, 1.5 * spread[4]))


if os.environ.get("EVERLEARN_DATA"):  # the set is not shipped
    test_cancer = cancer_figures
