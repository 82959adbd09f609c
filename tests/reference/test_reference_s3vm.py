"""The NumPy labels for unlabeled rows: figures, symmetries, formats, edge cases."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

from property_helpers import property_test
from reference.pessimistic_splits import draw_labeled, only, pessimistic_splits
from reference.qp_s3vm import qp_s3vm
from reference.s3vm import (
    choice_of_positives,
    count_positives,
    default_weight,
    from_matrix,
    from_rows,
    linear_rule,
    scale_rows,
    transduce,
)
from reference.submodular import largest
from semi.semi_helpers import (
    HAVE_DATA,
    WEIGHTS,
    breast_cancer,
    clouds,
    digits,
    gram,
    load,
    partly_labeled,
    spread,
)

METHODS = ["greedy", "two-sided", "fast"]
RATIOS = st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0])

# --- figures -----------------------------------------------------------------------------------------------

CASES = {  # rows, labels, labeled rows, k, first picks, D, evaluations plain and lazy
    "breast cancer": (
        breast_cancer,
        [0, 1, 19, 20],
        355,
        [515, 206, 249, 390, 422, 226, 46, 153],
        9.25577127,
        (137_740, 3_260),
    ),
    "digits": (
        digits,
        [0, 1, 2, 3],
        181,
        [119, 114, 236, 242, 112, 146, 225, 38],
        -4.84353587,
        (47_603, 1_762),
    ),
}
ACCURACIES = [  # case, rule, accuracy, tolerance
    ("breast cancer", "greedy", 0.9257, 0.004),
    ("breast cancer", "labels", 0.9292, 0.004),
    ("breast cancer", "SVM+r", 0.9292, 0.004),
    ("breast cancer", "SVM", 0.9310, 0.004),
    ("digits", "greedy", 0.9150, 0.006),
    ("digits", "labels", 0.9037, 0.006),
    ("digits", "SVM", 0.8895, 0.006),
]
FORMS = {
    "dense": from_rows,
    "sparse": lambda X, y: from_rows(sparse.csr_matrix(X), y),
    "matrix": lambda X, y: from_matrix(gram(X), y),
}


def supervised(X, y, known, k, rule):
    """The SVM on the labeled rows alone; "SVM+r" takes its k largest decision values as positive."""
    L, U = np.flatnonzero(known), np.flatnonzero(known == 0)
    f = SVC(kernel="linear").fit(X[L], y[L]).decision_function(X[U])
    return np.where(np.isin(np.arange(len(U)), largest(f, k)) if rule == "SVM+r" else f > 0, 1, -1)


def accuracy(X, y, known, rule, rho=1.0):
    """On the unlabeled rows, given their true share of positives."""
    U = np.flatnonzero(known == 0)
    r = np.mean(y[U] > 0)
    if rule.startswith("SVM"):
        found = supervised(X, y, known, count_positives(r, len(U)), rule)
    else:
        found = transduce(from_rows(X, known), known, r, rule, Cs=default_weight(known, rho))[U]
    return np.mean(found == y[U])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case", CASES)
def test_figures(case, form):
    data, L, k, first, D, (plain, lazy) = CASES[case]
    X, y = data()
    known = only(y, L)
    problem, Cs = FORMS[form](X, known), default_weight(known)
    n = len(problem.rows)
    assert count_positives(np.mean(y[problem.rows] > 0), n) == k
    choice = choice_of_positives(problem, 1.0, Cs)
    path, slow = choice.lazy(k, Cs**2), choice.plain(k)
    assert list(problem.rows[path.order[:8]]) == first
    assert path.order == slow.order
    assert slow.evaluations == plain
    assert path.evaluations == pytest.approx(lazy, rel=0.02)
    refined = choice.linearize(path.order, k)
    best = qp_s3vm(problem, k, 1.0, Cs, np.random.default_rng(0))
    for A in (path.order, refined, best, choice.two_sided(k, Cs**2)):
        assert choice.value(A) == pytest.approx(D, abs=1e-6)


@pytest.mark.parametrize(("case", "rule", "wanted", "tolerance"), ACCURACIES)
def test_accuracies(case, rule, wanted, tolerance):
    X, y = CASES[case][0]()
    assert accuracy(X, y, only(y, CASES[case][1]), rule) == pytest.approx(wanted, abs=tolerance)


TABLE = [  # data, labels, rule, C* over its default, accuracy: the mean of other random splits
    ("breast cancer", 4, "SVM+r", 1, 88.7),
    ("breast cancer", 4, "labels", 1, 89.5),
    ("breast cancer", 4, "greedy", 1, 91.8),
    ("breast cancer", 4, "greedy", 3, 83.7),
    ("breast cancer", 4, "greedy", 100, 26.7),
    ("digits 3/8", 4, "labels", 1, 89.3),
    ("digits 3/8", 4, "greedy", 1, 92.3),
    ("digits 3/8", 4, "greedy", 10, 10.1),
    ("digits 1/7", 4, "labels", 1, 92.6),
    ("digits 1/7", 4, "greedy", 1, 97.6),
    ("digits 1/7", 4, "greedy", 100, 90.3),
    ("g50c", 5, "labels", 1, 80.0),
    ("g50c", 5, "greedy", 1, 88.7),
    ("g50c", 5, "greedy", 3, 93.8),
    ("g50c", 5, "greedy", 100, 5.3),
]
if not HAVE_DATA:
    TABLE = [row for row in TABLE if row[0] != "g50c"]


@pytest.mark.parametrize(("name", "labels", "rule", "rho", "wanted"), TABLE)
def test_random_splits(name, labels, rule, rho, wanted):
    """Other splits than those measured: 25 of them agree within 5 points."""
    X, y = {
        "breast cancer": breast_cancer,
        "digits 3/8": digits,
        "digits 1/7": lambda: digits(1, 7),
        "g50c": lambda: (scale_rows(load("ssl_g50c")[0], "keep"), load("ssl_g50c")[1]),
    }[name]()
    random = np.random.default_rng(0)
    found = [accuracy(X, y, only(y, draw_labeled(y, labels, random)), rule, rho) for _ in range(25)]
    assert 100 * np.mean(found) == pytest.approx(wanted, abs=5)


if HAVE_DATA:

    def test_refinement_on_the_worst_splits_of_the_wisconsin_breast_cancer():
        """One-sided greedy begins with isolated rows of the wrong class; either refinement repairs it."""
        X, y = load("breast_cancer_wisconsin")
        X, y, found = scale_rows(spread(X, -1, 1), "keep"), -y, []
        for split in pessimistic_splits(X, y, 4, np.random.default_rng(0)):
            known = only(y, split.labeled)
            found.append([accuracy(X, y, known, rule) for rule in ("greedy", "two-sided")])
        greedy, refined = 100 * np.mean(found, axis=0)
        assert greedy < 70
        assert refined == pytest.approx(96.7, abs=1)

    @pytest.mark.parametrize(("n", "saved"), [(1_000, 98.96), (4_000, 99.49)])
    def test_evaluations_saved_on_a9a(n, saved):
        X, y = load("a9a")
        rows = np.random.default_rng(0).permutation(len(y))[: n + 10]
        X, y = scale_rows(X[rows]), y[rows]
        known = only(y, range(10))
        k = count_positives(np.mean(y[10:] > 0), n)
        path = choice_of_positives(from_rows(X, known), 1.0, 1e-3).lazy(k, 1e-6)
        assert 100 * (1 - path.evaluations / (k * n - k * (k - 1) / 2)) == pytest.approx(saved, abs=0.2)


# --- symmetries and formats --------------------------------------------------------------------------------


@property_test(100)
@given(partly_labeled(), RATIOS, st.sampled_from([*METHODS, "exact"]))
def test_given_labels_stay_and_the_count_is_kept(problem, r, method):
    X, y = problem
    n = np.count_nonzero(y == 0)
    for both in (True, False):
        labels = transduce(from_rows(X, y), y, r, method, both=both)
        np.testing.assert_array_equal(labels[y != 0], y[y != 0])
        assert set(labels) <= {-1, 1}
        assert np.count_nonzero(labels[y == 0] > 0) == count_positives(r, n, both)


@property_test(100)
@given(partly_labeled(), RATIOS, st.sampled_from([0.25, 4.0]), st.sampled_from([-1.0, 2.0]))
def test_scales_and_shifts_change_no_label(problem, r, scale, shift):
    X, y = problem
    K, C, Cs = gram(X), 1.0, 0.5
    labels = transduce(from_matrix(K, y), y, r, "greedy", C, Cs)
    np.testing.assert_array_equal(transduce(from_matrix(scale * K, y), y, r, "greedy", C, Cs), labels)
    np.testing.assert_array_equal(transduce(from_matrix(K, y), y, r, "greedy", scale * C, scale * Cs), labels)
    np.testing.assert_array_equal(transduce(from_matrix(K + shift, y), y, r, "greedy", C, Cs), labels)


@property_test(100)
@given(partly_labeled(), WEIGHTS)
def test_negatives_under_negated_labels_are_the_complement(problem, Cs):
    X, y = problem
    choice, other = (choice_of_positives(from_rows(X, labels), 1.0, Cs) for labels in (y, -y))
    np.testing.assert_array_equal(choice.complement().w, other.w)


@property_test(60)
@given(st.integers(0, 10**6), st.integers(5, 40), RATIOS, st.sampled_from(METHODS))
def test_dense_and_sparse_rows_and_their_matrix_agree(seed, n, r, method):
    X, y = clouds(n, seed)
    known = only(y, range(4))
    labels = [transduce(form(X, known), known, r, method) for form in FORMS.values()]
    np.testing.assert_array_equal(labels[1], labels[0])
    np.testing.assert_array_equal(labels[2], labels[0])
    order = np.random.default_rng(seed).permutation(n)
    np.testing.assert_array_equal(
        transduce(from_rows(X[order], known[order]), known[order], r, method), labels[0][order]
    )


@property_test(60)
@given(st.integers(0, 10**6), st.integers(6, 14), st.sampled_from([0.3, 0.5]))
def test_two_sided_is_no_worse_than_greedy_and_no_better_than_the_best_of_small_problems(seed, n, r):
    X, y = clouds(n, seed)
    known = only(y, range(4))
    problem = from_rows(X, known)
    choice = choice_of_positives(problem, 1.0, default_weight(known))

    def value(method):
        return choice.value(np.flatnonzero(transduce(problem, known, r, method)[problem.rows] > 0))

    assert value("greedy") - 1e-9 <= value("two-sided") <= value("exact") + 1e-9
    assert value("fast") <= value("exact") + 1e-9


@property_test(60)
@given(st.integers(0, 10**6), st.integers(6, 60))
def test_at_rest_the_positives_are_what_the_linear_rule_ranks_first(seed, n):
    X, y = clouds(n, seed)
    known = only(y, range(4))
    labels = transduce(from_rows(X, known), known, 0.4, "fast")
    U = np.flatnonzero(known == 0)
    scores = X[U] @ linear_rule(X, known, labels, 1.0, default_weight(known))
    np.testing.assert_array_equal(
        np.flatnonzero(labels[U] > 0), largest(scores, count_positives(0.4, len(U)))
    )


# --- preparation -------------------------------------------------------------------------------------------


def test_rows_are_scaled_to_length_one():
    X = np.array([[3.0, 4.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    np.testing.assert_allclose(scale_rows(X[:, :2], "keep"), [[0.6, 0.8], [0, 0], [1, 0]])
    np.testing.assert_allclose(
        scale_rows(sparse.csr_matrix(X[:, :2])).toarray(), [[0.6, 0.8], [0, 0], [1, 0]]
    )
    centered, standard = scale_rows(X, "center", unit=False), scale_rows(X, unit=False)
    np.testing.assert_allclose(centered, X - X.mean(0))
    np.testing.assert_allclose(standard.std(0), [1, 1, 0])
    np.testing.assert_allclose(np.linalg.norm(scale_rows(X), axis=1), 1)


@pytest.mark.parametrize(
    ("r", "n", "both", "k"),
    [
        (0.5, 5, True, 3),
        (0.5, 3, True, 2),
        (0.1, 5, True, 1),
        (0.0, 5, True, 1),
        (1.0, 5, True, 4),
        (0.0, 5, False, 0),
        (1.0, 5, False, 5),
        (0.4, 1, True, 0),
        (0.5, 1, True, 1),
        (0.5, 0, True, 0),
    ],
)
def test_counts_are_rounded_half_up(r, n, both, k):
    assert count_positives(r, n, both) == k


def test_the_default_weight_gives_labels_and_clusters_equal_weight():
    y = np.array([1.0, -1, 1, 0, 0, 0, 0, 0, 0])
    Cs = default_weight(y, C=3.0)
    assert 3.0 * Cs * 3 == pytest.approx(Cs**2 * 6 / 2)
    assert default_weight(y, rho=2) == 2 * default_weight(y)


# --- edge cases --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_without_a_label_there_is_no_answer(method):
    X, y = clouds(6, 0)
    assert not transduce(from_rows(X, 0 * y), 0 * y, 0.5, method).any()


@pytest.mark.parametrize("method", METHODS)
def test_without_an_unlabeled_row_there_is_nothing_to_do(method):
    X, y = clouds(6, 0)
    np.testing.assert_array_equal(transduce(from_rows(X, y), y, 0.5, method), y)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("label", [1.0, -1.0])
def test_labels_of_one_class_rank_the_rest(method, label):
    X, y = clouds(60, 2, apart=3.0)
    known = only(y, np.flatnonzero(y == label)[:2])
    U = known == 0
    labels = transduce(from_rows(X, known), known, np.mean(y[U] > 0), method)
    assert np.mean(labels[U] == y[U]) > 0.9


def test_duplicates_may_be_parted_and_the_first_comes_first():
    X, y = np.array([[1.0], [-1.0], [0.5], [0.5], [0.5]]), np.array([1.0, -1, 0, 0, 0])
    np.testing.assert_array_equal(transduce(from_rows(X, y), y, 0.4, "greedy"), [1, -1, 1, -1, -1])


def test_balanced_labels_weigh_the_same():
    X, y = np.array([[1.0], [1.0], [1.0], [-2.0], [0.5]]), np.array([1.0, 1, 1, -1, 0])
    assert from_rows(X, y).s[0] == 0.5 * 5
    assert from_rows(X, y, balance=True).s[0] == 0.5 * (3 * 4 / 6 + 2 * 4 / 2)
    np.testing.assert_array_equal(from_matrix(gram(X), y, balance=True).s, from_rows(X, y, balance=True).s)


def test_a_cluster_takes_its_far_end_along():
    """A chain from the positive label leads past the place where the label scores have the other sign."""
    K = np.array(
        [[0, 0, 1, 0, 0], [0, 0, 0.1, 0.3, 1], [1, 0.1, 1, 1, 0], [0, 0.3, 1, 1, 0], [0, 1, 0, 0, 1]]
    )
    y = np.array([1.0, -1, 0, 0, 0])
    assert transduce(from_matrix(K, y), y, 2 / 3, "exact")[3] == 1
    for method in METHODS:
        assert transduce(from_matrix(K, y), y, 2 / 3, method, Cs=1.0)[3] == 1
    assert from_matrix(K, y).s[1] < 0


def test_numbers_that_are_none_are_refused():
    X, y = clouds(6, 0)
    X[5, 0] = np.nan
    known = only(y, range(3))
    with pytest.raises(ValueError, match="finite"):
        transduce(from_rows(X, known), known, 0.5)
