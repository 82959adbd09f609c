"""Labels of any kind, classes that turn up late, and input that prequential scores refuse."""

import math

import numpy as np
import pytest

from everlearn.evaluate.prequential import Prequential
from state_helpers import same_bits

SPANS = ("window", "fading", "total")


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([1, 0, 1, 1], [1, 1, None, 1]),
        (np.array([1, 0, 1, 1]), np.array([1, 1, np.nan, 1])),
        ([True, False, True, True], np.array([True, True, None, True], dtype=object)),
        (["yes", "no", "yes", "yes"], ["yes", "yes", None, "yes"]),
        (np.array(["yes", "no", "yes", "yes"]), np.array(["yes", "yes", None, "yes"], dtype=object)),
        (np.array([2.5, -1.0, 2.5, 2.5]), [2.5, 2.5, math.nan, 2.5]),
    ],
)
def test_labels_of_any_kind(y, p):
    evaluation = Prequential()
    evaluation.update(y, p, [2.0, 1.0, 9.0, 3.0])
    found = evaluation.scores()["total"]
    assert (found["n"], found["abstained"], found["accuracy"], found["auc"]) == (3, 1, 2 / 3, 1.0)
    classes, matrix = evaluation.confusion("total")
    assert classes.tolist() == sorted(set(np.asarray(y).tolist()))
    assert matrix.tolist() == [[0, 1], [0, 2]]


def test_classes_are_sorted_as_scikit_learn_does():
    evaluation = Prequential()
    evaluation.update([10, 9], [9, 9], [1.0, -1.0])
    assert evaluation.classes.tolist() == [9, 10]
    assert evaluation.scores()["window"]["auc"] == 1.0
    evaluation.update([2, -1], [2, 2])
    assert evaluation.classes.tolist() == np.unique([10, 9, 2, -1]).tolist()
    evaluation.update(["10", "9"], [2, 2])
    assert evaluation.classes.tolist() == [-1, 2, 9, 10, "10", "9"]


def test_a_class_may_turn_up_at_any_time():
    evaluation = Prequential(classes=["m", "k"])
    evaluation.update(["k", "m"], ["k", "k"], [1.0, -1.0])
    assert evaluation.scores()["window"]["auc"] == 1.0  # the number speaks for the second class, "k"
    evaluation.update(["a", "z"], ["m", "a"], [0.0, 0.5])
    classes, matrix = evaluation.confusion()
    assert classes.tolist() == ["m", "k", "a", "z"]
    assert matrix.tolist() == [[0, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert evaluation.scores()["window"]["auc"] == 1.0  # "m" and "k" against the rest, by the same number
    assert evaluation.scores()["window"]["per_class"]["z"] == pytest.approx(
        {"recall": 0.0, "precision": math.nan, "support": 1}, nan_ok=True
    )


def test_decision_values_of_other_classes_take_no_part():
    evaluation = Prequential()
    evaluation.update(["a", "b"], ["a", "b"], [-1.0, 1.0])
    assert evaluation.scores()["window"]["auc"] == 1.0
    evaluation.update(["c"], ["a"], [0.0])
    assert math.isnan(evaluation.scores()["window"]["auc"])  # what a number for two classes says of three
    evaluation.update(["a", "b", "c"], ["a"] * 3, np.eye(3))
    assert evaluation.scores()["window"]["auc"] == 1.0
    evaluation.update(["a"], ["a"], [None])
    assert evaluation.scores()["window"]["auc"] == 1.0


def test_nothing_seen_is_nan():
    for evaluation in (Prequential(), Prequential(classes=[0, 1])):
        evaluation.update([], [])
        found = evaluation.scores()
        assert (found["total"]["n"], found["window"]["abstained"]) == (0, 0)
        for span in SPANS:
            assert all(math.isnan(found[span][key]) for key in ("accuracy", "g_means", "mcc", "auc"))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((["a", None], ["a", "a"]), ValueError, "y_true is unknown in row 1"),
        (([1.0, math.nan], [1, 1]), ValueError, "y_true is unknown in row 1"),
        ((["new"], ["a", "a"]), ValueError, "y_pred and y_true must have the same length, got 2 and 1"),
        ((["new", "b"], ["a", "a"], [1.0]), ValueError, "for each of the 2 rows"),
        ((["new", "b"], ["a", "a"], [[1.0], [1.0, 2.0]]), ValueError, "rows of one length"),
        ((["new", object()], ["a", "a"]), TypeError, "y_true must contain one label per row"),
        (([["new"]], ["a"]), TypeError, "y_true must contain one label per row"),
        (("new", "new"), TypeError, "wrap a single value in a list"),
        ((np.array(3), [3]), TypeError, "wrap a single value in a list"),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(arguments, error, words):
    evaluation = Prequential()
    evaluation.update(["a", "b"], ["a", "b"])
    state = evaluation.state()
    with pytest.raises(error, match=words):
        evaluation.update(*arguments)
    assert same_bits(evaluation.state(), state)
    evaluation.update(["new"], ["new"])
    unbothered = Prequential.from_state(state)
    unbothered.update(["new"], ["new"])
    assert same_bits(evaluation.state(), unbothered.state())


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"window": 0}, "'window' of Prequential must be an integer from 1"),
        ({"fading_factor": 0.0}, "'fading_factor' of Prequential must be a number above 0, at most 1"),
        ({"fading_factor": 1.5}, "got 1.5"),
        ({"classes": ["a", "a"]}, "distinct labels"),
        ({"classes": [1, None]}, "distinct labels"),
    ],
)
def test_bad_parameters_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        Prequential(**parameters)
    with pytest.raises(ValueError, match="which must be one of 'window', 'fading', 'total', got 'all'"):
        Prequential().confusion("all")
