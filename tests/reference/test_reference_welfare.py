"""The NumPy labels of many classes: two classes are the binary problem, sizes, refinement, digits."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from property_helpers import property_test
from reference.s3vm import choice_of_positives, from_matrix, scale_rows
from reference.welfare import (
    class_sizes,
    label_sums,
    transduce_classes,
    welfare_greedy,
    welfare_linearize,
    welfare_value,
)
from semi.semi_helpers import WEIGHTS, gram, matrices, partly_labeled, quarters, subsets


@st.composite
def partitions(draw, high=7, **kinds):
    """Similarities, label scores of each class, and sizes."""
    K, Q = draw(matrices(1, high, **kinds)), draw(st.integers(1, 3))
    cuts = sorted(draw(st.lists(st.integers(0, len(K)), min_size=Q - 1, max_size=Q - 1)))
    return K, draw(quarters((Q, len(K)))), np.diff([0, *cuts, len(K)])


@property_test(60)
@given(partly_labeled(high=6), WEIGHTS, WEIGHTS)
def test_with_two_classes_it_is_the_binary_objective_but_for_a_constant(problem, C, Cs):
    X, y = problem
    K, L, U = gram(X), np.flatnonzero(y), np.flatnonzero(y == 0)
    binary = choice_of_positives(from_matrix(K, y), C, Cs)
    s = label_sums(K[np.ix_(L, U)], (y[L] > 0).astype(int), 2, means=False)
    apart = set()
    for A in subsets(len(U)):
        labels = np.isin(np.arange(len(U)), A).astype(int)
        apart.add(welfare_value(K[np.ix_(U, U)], s, labels, C, Cs) - binary.value(A))
    assert len(apart) == 1


@property_test(100)
@given(partitions(), WEIGHTS, WEIGHTS)
def test_sizes_are_kept_and_refinement_never_lowers(problem, C, Cs):
    K, s, sizes = problem
    labels = welfare_greedy(K, s, sizes, C, Cs)
    refined = welfare_linearize(K, s, labels, sizes, C, Cs)
    for found in (labels, refined):
        np.testing.assert_array_equal(np.bincount(found, minlength=len(sizes)), sizes)
    assert welfare_value(K, s, refined, C, Cs) >= welfare_value(K, s, labels, C, Cs)


@property_test(30)
@given(partitions(high=6), WEIGHTS)
def test_each_step_takes_the_best_pair(problem, Cs):
    """The gains are differences of W plus terms of the sizes alone; the third of the best is guaranteed."""
    K, s, sizes = problem
    n, d = len(K), max(K.max(), 0)
    room, chosen = np.array(sizes), {}

    def W(labels):
        rows = sorted(labels)
        value = C2 * sum(K[i, j] for i in rows for j in rows if labels[i] == labels[j])
        return value + Cs * sum(s[labels[j], j] for j in rows)

    C2 = Cs**2 / 4
    for _ in range(n):
        rises = {}
        for j in set(range(n)) - set(chosen):
            for c in np.flatnonzero(room):
                size = list(chosen.values()).count(c)
                rises[j, c] = W(chosen | {j: c}) - W(chosen) - C2 * d * 2 * size
        j, c = min(rises, key=lambda pair: (-rises[pair], pair))
        chosen[j] = c
        room[c] -= 1
    np.testing.assert_array_equal(welfare_greedy(K, s, sizes, 1.0, Cs), [chosen[j] for j in range(n)])


@property_test(30)
@given(partitions(high=6, signed=False), WEIGHTS)
def test_greedy_has_a_third_of_the_best_of_the_submodular_welfare(problem, Cs):
    """Class values are lifted by terms of the size that make them monotone and submodular."""
    K, s, sizes = problem
    n, d = len(K), K.max()
    lift = Cs**2 / 4 * d * 2 * n + Cs * np.abs(s).max(initial=0)

    def lifted(labels):
        counts = np.bincount(labels, minlength=len(sizes))
        return welfare_value(K, s, labels, 1.0, Cs) + lift * n - Cs**2 / 4 * d * np.sum(counts**2)

    seats = np.repeat(np.arange(len(sizes)), sizes)
    best = max(lifted(np.array(labels)) for labels in set(permutations(seats)))
    assert lifted(welfare_greedy(K, s, sizes, 1.0, Cs)) >= best / 3 - 1e-9


@pytest.mark.parametrize(
    ("classes", "wanted"), [((0, 1, 2), (82.0, 89.7, 94.7)), ((1, 3, 8), (73.4, 78.2, 79.8))]
)
def test_digits(classes, wanted):
    """Nearest class mean, welfare, welfare with three times the weight, each at least as good as measured."""
    X, target = load_digits(return_X_y=True)
    found = []
    for seed in range(5):
        random = np.random.default_rng(seed)
        rows = random.permutation(np.flatnonzero(np.isin(target, classes)))[:600]
        K, y, Q = gram(scale_rows(X[rows], "center")), np.searchsorted(classes, target[rows]), len(classes)
        L = np.concatenate([random.permutation(np.flatnonzero(y == c))[:2] for c in range(Q)])
        known = np.where(np.isin(np.arange(len(y)), L), y, -1)
        U = known < 0
        sizes = np.bincount(y[U], minlength=Q)
        nearest = np.argmax(label_sums(K[np.ix_(L, U)], y[L], Q), axis=0)
        labels = [transduce_classes(K, known, Q, sizes, rho=rho, refine=False)[U] for rho in (1, 3)]
        found.append([np.mean(guess == y[U]) for guess in (nearest, *labels)])
    means = 100 * np.mean(found, axis=0)
    assert np.all(means >= np.array(wanted) - 2)
    assert means[0] < means[1] < means[2] + 1


# --- edge cases --------------------------------------------------------------------------------------------


def test_given_labels_stay_and_none_given_none_found():
    rng = np.random.default_rng(0)
    K, y = gram(rng.standard_normal((12, 3))), np.array([0, 1, 2, 2, *[-1] * 8])
    for sizes in (None, [8, 0, 0], [2, 3, 3]):
        labels = transduce_classes(K, y, 3, sizes)
        np.testing.assert_array_equal(labels[:4], y[:4])
        assert np.all(labels >= 0)
        if sizes:
            np.testing.assert_array_equal(np.bincount(labels[4:], minlength=3), sizes)
    assert np.all(transduce_classes(K, np.full(12, -1), 3) == -1)
    np.testing.assert_array_equal(transduce_classes(K, np.arange(12) % 3, 3), np.arange(12) % 3)


@property_test(60)
@given(st.lists(st.integers(0, 3), max_size=9), st.integers(0, 20))
def test_sizes_follow_the_labels_and_sum_to_all(labels, n):
    sizes = class_sizes(np.array(labels, int), 4, n)
    assert sizes.sum() == n
    wanted = n * (np.bincount(np.array(labels, int), minlength=4) + 1) / (len(labels) + 4)
    assert np.all(np.abs(sizes - wanted) < 1)


def test_without_its_last_term_the_first_class_would_take_all():
    """Two pairs of rows, alike within and across: each label keeps its own."""
    K = np.array([[1, 0.9, 0.8, 0.8], [0.9, 1, 0.8, 0.8], [0.8, 0.8, 1, 0.9], [0.8, 0.8, 0.9, 1]])
    s = np.array([[0.5, 0.45, 0.4, 0.4], [0.4, 0.4, 0.45, 0.45]])
    np.testing.assert_array_equal(welfare_greedy(K, s, [4, 4], 1.0, 1.0), [0, 0, 1, 1])


def test_a_class_without_a_label_scores_zero():
    s = label_sums(np.ones((2, 3)), np.array([0, 0]), 2)
    np.testing.assert_array_equal(s, [[1, 1, 1], [0, 0, 0]])
    np.testing.assert_array_equal(label_sums(np.ones((2, 3)), np.array([0, 0]), 2, means=False)[0], [2, 2, 2])
