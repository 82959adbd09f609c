"""Oracles: scikit-learn's recall, and for PRBEP the mean over every order of the tied rows."""

import doctest
from itertools import pairwise, permutations
from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import recall_score

from everlearn import metrics
from everlearn.metrics import g_means, prbep, sensitivity, specificity

unhurried = settings(deadline=None)  # a busy machine is no failure
signs = st.sampled_from([-1, 1])
label_pairs = st.lists(st.tuples(signs, signs), min_size=1, max_size=30)
# Few distinct scores, so that ties are the rule.
scored_labels = st.lists(st.tuples(signs, st.integers(-3, 3)), min_size=1, max_size=30)
few_scored_labels = st.lists(st.tuples(signs, st.integers(0, 2)), min_size=1, max_size=6)


def columns(pairs):
    first, second = zip(*pairs, strict=True)
    return np.array(first), np.array(second)


def same(a, b):
    return a == pytest.approx(b, abs=1e-12, nan_ok=True)


def prbep_by_brute_force(y, score):
    """Mean precision of the P first rows over all orders of the rows that respect the score."""
    n_positive = np.count_nonzero(y == 1)
    precisions = [
        np.mean(y[list(order[:n_positive])] == 1)
        for order in permutations(range(len(y)))
        if all(score[a] >= score[b] for a, b in pairwise(order))
    ]
    return float(np.mean(precisions))


# --- sensitivity, specificity, g-means ----------------------------------------------------------------------


def test_confusion_matrix_worked_by_hand():
    y_true = [1] * 8 + [-1] * 12
    y_pred = [1] * 6 + [-1] * 2 + [-1] * 9 + [1] * 3  # TP 6, FN 2, TN 9, FP 3
    assert sensitivity(y_true, y_pred) == 6 / 8
    assert specificity(y_true, y_pred) == 9 / 12
    assert g_means(y_true, y_pred) == pytest.approx(sqrt(6 / 8 * 9 / 12))


@unhurried
@given(label_pairs)
def test_binary_measures_are_recalls_of_scikit_learn(pairs):
    y_true, y_pred = columns(pairs)
    recall = {
        label: recall_score(y_true, y_pred, pos_label=label) if label in y_true else np.nan
        for label in (-1, 1)
    }
    assert same(sensitivity(y_true, y_pred), recall[1])
    assert same(specificity(y_true, y_pred), recall[-1])
    assert same(g_means(y_true, y_pred), sqrt(recall[1] * recall[-1]))


@unhurried
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40))
def test_multiclass_g_means_is_the_geometric_mean_of_the_recalls_of_the_classes_present(pairs):
    y_true, y_pred = columns(pairs)
    present = np.unique(y_true)
    recalls = recall_score(y_true, y_pred, labels=present, average=None, zero_division=0)
    expected = np.prod(recalls) ** (1 / len(present)) if len(present) > 1 else np.nan
    assert same(g_means(y_true, y_pred), expected)


@unhurried
@given(label_pairs, st.randoms())
def test_row_order_does_not_matter_to_the_label_measures(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    for measure in (sensitivity, specificity, g_means):
        assert same(measure(*columns(pairs)), measure(*columns(shuffled)))


@unhurried
@given(label_pairs)
def test_swapping_the_positive_label_swaps_sensitivity_and_specificity(pairs):
    y_true, y_pred = columns(pairs)
    assert same(sensitivity(y_true, y_pred), specificity(-y_true, -y_pred))
    assert same(sensitivity(y_true, y_pred, pos_label=-1), specificity(y_true, y_pred))
    assert same(g_means(y_true, y_pred), g_means(-y_true, -y_pred))


def test_a_class_without_example_gives_nan():
    assert isnan(sensitivity([-1, -1], [-1, 1]))
    assert specificity([-1, -1], [-1, 1]) == 0.5
    assert isnan(specificity([1, 1], [1, -1]))
    assert isnan(g_means([1, 1], [1, -1]))
    assert isnan(g_means([1, 1], [1, 1]))
    assert isnan(sensitivity([0, 0], [0, 0]))


def test_g_means_is_zero_when_a_class_is_lost_and_does_not_underflow_with_many_classes():
    assert g_means([0, 0, 1], [0, 0, 0]) == 0.0
    classes = np.repeat(np.arange(400), 10)
    predicted = classes.copy()
    predicted[np.arange(4000) % 10 > 0] = -1  # one of ten right in every class; 0.1 ** 400 underflows
    assert g_means(classes, predicted) == pytest.approx(0.1)


def test_g_means_counts_an_unknown_prediction_as_a_mistake():
    assert g_means([1, 1, 2, 2], [1, 3, 2, 2]) == pytest.approx(sqrt(0.5))


@pytest.mark.parametrize(
    ("negative", "positive"),
    [(0, 1), (-1, 1), (False, True), (1.0, 2.0), ("ham", "spam"), (np.int8(-1), np.int8(1))],
)
@pytest.mark.parametrize("container", [list, np.array, lambda values: np.array(values, dtype=object)])
def test_any_two_labels_in_any_container(negative, positive, container):
    y_true = container([positive, positive, positive, negative])
    y_pred = container([positive, negative, positive, negative])
    assert sensitivity(y_true, y_pred, pos_label=positive) == pytest.approx(2 / 3)
    assert specificity(y_true, y_pred, pos_label=positive) == 1.0
    assert g_means(y_true, y_pred) == pytest.approx(sqrt(2 / 3))
    assert prbep(y_true, [3, 1, 2, 0], pos_label=positive) == 1.0


def test_results_are_python_floats():
    for value in (
        sensitivity([1, -1], [1, -1]),
        specificity([1, -1], [1, -1]),
        g_means([1, -1], [1, -1]),
        prbep([1, -1], [1.0, 0.0]),
    ):
        assert type(value) is float
        assert value == 1.0


# --- PRBEP --------------------------------------------------------------------------------------------------


@unhurried
@given(few_scored_labels)
def test_prbep_is_the_mean_over_all_orders_of_the_tied_rows(pairs):
    y, score = columns(pairs)
    if (y == 1).any():
        assert same(prbep(y, score), prbep_by_brute_force(y, score))
    else:
        assert isnan(prbep(y, score))


def test_prbep_worked_by_hand():
    # P = 3: two positives above the cut, one place for three tied rows with one positive.
    y = [1, 1, -1, 1, -1, -1]
    score = [5, 4, 3, 3, 3, 1]
    assert prbep(y, score) == pytest.approx((2 + 1 / 3) / 3)


@unhurried
@given(scored_labels, st.randoms())
def test_row_order_does_not_matter_to_prbep(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    assert prbep(*columns(pairs)) == pytest.approx(prbep(*columns(shuffled)), rel=0, abs=0, nan_ok=True)


@unhurried
@given(scored_labels)
def test_increasing_transforms_of_the_score_do_not_matter_to_prbep(pairs):
    y, score = columns(pairs)
    for transformed in (3 * score - 7, np.exp(score), np.arctan(score), score.astype(np.float32), score**3):
        assert same(prbep(y, transformed), prbep(y, score))


@unhurried
@given(st.integers(1, 20), st.integers(0, 20), st.randoms())
def test_prbep_of_a_perfect_and_of_a_reversed_ranking(n_positive, n_negative, random):
    y = [1] * n_positive + [-1] * n_negative
    random.shuffle(y)
    score = np.array(y) + np.linspace(0, 0.5, len(y))
    assert prbep(y, score) == 1.0
    assert prbep(y, -score) == pytest.approx(max(n_positive - n_negative, 0) / n_positive)


@unhurried
@given(st.lists(signs, min_size=1, max_size=40), st.sampled_from([0, 0.1, -1e300, np.inf]))
def test_prbep_of_a_constant_score_is_the_share_of_positives(y, constant):
    score = np.full(len(y), constant)
    expected = np.mean(np.array(y) == 1) if 1 in y else np.nan
    assert same(prbep(y, score), expected)


def test_prbep_without_positives_is_nan():
    assert isnan(prbep([-1, -1], [0.1, 0.2]))
    assert isnan(prbep([0], [1.0]))


def test_prbep_takes_infinite_and_integer_scores_as_they_are():
    assert prbep([1, -1, 1], [np.inf, -np.inf, 0.0]) == 1.0
    assert prbep([1, -1], [2**53 + 1, 2**53]) == 1.0  # would tie as float64
    assert prbep([1, -1], np.array([200, 100], dtype=np.uint8)) == 1.0
    assert prbep([1, -1], np.array([0.5, 0.25], dtype=object)) == 1.0


# --- mistakes of the caller ---------------------------------------------------------------------------------

LABEL_MEASURES = [sensitivity, specificity, g_means]


@pytest.mark.parametrize("measure", LABEL_MEASURES)
def test_bad_label_input(measure):
    with pytest.raises(ValueError, match="y_true and y_pred must have the same length, got 3 and 2"):
        measure([1, -1, 1], [1, -1])
    with pytest.raises(ValueError, match="y_true is empty; pass at least one row"):
        measure([], [])
    with pytest.raises(
        ValueError, match=r"y_pred must be one-dimensional, got shape \(2, 1\); pass one label"
    ):
        measure([1, -1], [[1], [-1]])
    with pytest.raises(ValueError, match=r"y_true must be one-dimensional, got shape \(\)"):
        measure(1, 1)
    with pytest.raises(ValueError, match=r"y_pred contains NaN \(first in row 1\); drop or impute"):
        measure([1, -1], [1, np.nan])
    with pytest.raises(
        ValueError, match="y_true must contain only numbers or only strings, got NoneType, int"
    ):
        measure([1, None], [1, -1])
    with pytest.raises(ValueError, match="y_true must contain numbers or strings, got complex128"):
        measure([1j, 1], [1, -1])
    with pytest.raises(
        ValueError, match="both contain numbers or both contain strings, got labels such as 'a' and 1"
    ):
        measure(["a", "b"], [1, -1])


@pytest.mark.parametrize("measure", [sensitivity, specificity])
def test_binary_measures_refuse_more_than_two_classes(measure):
    expected = rf"{measure.__name__} is for two classes, but the labels are \[0, 1, 2\]; .* or use g_means"
    with pytest.raises(ValueError, match=expected):
        measure([0, 1, 2], [0, 1, 1])
    with pytest.raises(ValueError, match=expected):
        measure([0, 1, 1], [0, 1, 2])
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 20 in all\]"):
        measure(range(20), range(20))


@pytest.mark.parametrize("measure", [sensitivity, specificity, prbep])
def test_pos_label_must_be_one_of_two_labels(measure):
    with pytest.raises(
        ValueError, match=r"pos_label=1 is not among the labels \[0, 2\]; set pos_label to the label"
    ):
        measure([0, 2], [0, 2])
    with pytest.raises(ValueError, match=r"pos_label=1 is not among the labels \['ham', 'spam'\]"):
        measure(["ham", "spam"], [0, 1] if measure is prbep else ["ham", "spam"])
    with pytest.raises(ValueError, match=r"pos_label=1 is not among the labels \['ham'\]"):
        measure(["ham"], [0.5] if measure is prbep else ["ham"])
    with pytest.raises(ValueError, match=r"pos_label='spam' is not among the labels \[0, 1\]"):
        measure([0, 1], [0, 1], pos_label="spam")
    with pytest.raises(TypeError, match=r"pos_label must be a single label, a number or a string, got \[1\]"):
        measure([0, 1], [0, 1], pos_label=[1])


def test_bad_scores():
    with pytest.raises(ValueError, match="y_true and y_score must have the same length, got 2 and 3"):
        prbep([1, -1], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"y_score contains NaN \(first in row 1\)"):
        prbep([1, -1], [0.1, np.nan])
    with pytest.raises(ValueError, match=r"y_score must be one-dimensional, .*column of the positive class"):
        prbep([1, -1], [[0.1, 0.9], [0.8, 0.2]])
    with pytest.raises(ValueError, match="y_score must contain numbers, got <U4"):
        prbep([1, -1], ["high", "low"])
    with pytest.raises(ValueError, match="y_true is empty"):
        prbep([], [])
    with pytest.raises(
        ValueError, match=r"prbep is for two classes, but the labels are \[0, 1, 2\]; make them binary"
    ):
        prbep([0, 1, 2], [0.1, 0.2, 0.3])


def test_inputs_are_not_changed():
    y, score = np.array([1, -1, 1, -1]), np.array([0.3, 0.4, 0.1, 0.2])
    y_before, score_before = y.copy(), score.copy()
    prbep(y, score)
    g_means(y, y)
    np.testing.assert_array_equal(y, y_before)
    np.testing.assert_array_equal(score, score_before)


def test_docstring_examples_run():
    outcomes = [doctest.testmod(module) for module in (metrics.classification, metrics.support_sets)]
    assert sum(outcome.attempted for outcome in outcomes) >= 2 * len(metrics.__all__)
    assert not any(outcome.failed for outcome in outcomes)
