"""ScoreHistory: columns of equal length in bounded memory, which go on after they were saved."""

from itertools import pairwise

import numpy as np
import pytest

from everlearn.evaluate import Prequential
from everlearn.evaluate.score_history import UNMEASURED, ScoreHistory


def filled(n, names=lambda i: ("rows", "accuracy")):
    history = ScoreHistory()
    for i in range(1, n + 1):
        history.add(dict.fromkeys(names(i), float(i)))
    return history


@pytest.mark.parametrize("n", [1, 2000, 2001, 4003, 30_000])
def test_of_long_streams_entries_at_similar_distances_are_kept(n):
    history = filled(n)
    rows = np.array([0, *history.columns["rows"]])
    assert min(n, 1000) < len(rows) <= 2001
    assert np.all(np.diff(rows) > 0)
    assert np.diff([*rows, n]).max() < 2 * history.stride


def test_a_column_that_comes_later_or_is_missing_has_gaps():
    history = filled(4, lambda i: ("rows", "auc") if i in (2, 3) else ("rows",))
    assert history.columns["rows"] == [1, 2, 3, 4]
    np.testing.assert_array_equal(history.columns["auc"], [np.nan, 2, 3, np.nan])


def scored(labels, window=10):
    """A history with the confusion matrices of batches of five rows, every second of them all wrong."""
    history, scores = ScoreHistory(), Prequential(window=window)
    for start in range(0, labels, 5):
        y = np.arange(start, start + 5) % 2
        scores.update(y, 1 - y if start % 10 else y)
        history.add_matrix(scores, 2 * (start + 5))
    return history, scores


def test_periods_cover_every_scored_row_once():
    history, scores = scored(90)
    found = history.periods(scores, 200)
    assert [(m["row_from"], m["row_to"]) for m in found] == [(0, 50), (50, 100), (100, 150), (150, 200)]
    assert [int(np.sum(m["matrix"])) for m in found] == [25, 25, 25, 15]
    assert all(m["classes"] == [0, 1] for m in found)
    np.testing.assert_array_equal(sum(m["matrix"] for m in found), scores.confusion("total")[1])


def test_a_few_labels_have_a_period_without_a_kept_matrix():
    history, scores = scored(5)
    assert history.matrices == []
    (period,) = history.periods(scores, 10)
    assert (period["row_from"], period["row_to"], np.sum(period["matrix"])) == (0, 10, 5)
    assert ScoreHistory().periods(Prequential(), 10) == []


def test_kept_matrices_are_bounded_and_their_periods_still_cover_every_row():
    history, scores = scored(5000)
    assert 12 <= len(history.matrices) <= 24
    found = history.periods(scores, 10_000)
    assert all(a["row_to"] == b["row_from"] for a, b in pairwise(found))
    np.testing.assert_array_equal(sum(m["matrix"] for m in found), scores.confusion("total")[1])


def test_a_class_that_comes_later_is_in_all_periods():
    history, scores = ScoreHistory(), Prequential()
    scores.update(["b"] * 25, ["b"] * 25)
    history.add_matrix(scores, 25)
    scores.update(["a"] * 3, ["b"] * 3)
    first, second = history.periods(scores, 28)
    assert first["classes"] == second["classes"] == ["a", "b"]
    np.testing.assert_array_equal(first["matrix"], [[0, 0], [0, 25]])
    np.testing.assert_array_equal(second["matrix"], [[0, 3], [0, 0]])


def test_the_present_is_one_more_entry_or_replaces_that_of_the_same_row():
    history = filled(3)
    later = history.until({"rows": 4.0, "labels": 9.0}, None)
    assert later["rows"] == [1, 2, 3, 4]
    np.testing.assert_array_equal(later["labels"], [np.nan] * 3 + [9])
    same = history.until({"rows": 3.0, "accuracy": 0.5}, None)
    assert (same["rows"], same["accuracy"]) == ([1, 2, 3], [1, 2, 0.5])
    assert history.columns["accuracy"] == [1, 2, 3]
    assert ScoreHistory().until({"rows": 1.0}, None) == {"rows": [1]}


@pytest.mark.parametrize("n", [0, 3, 2001, 5000])
def test_a_restored_history_goes_on_as_if_nothing_had_happened(n):
    whole, saved = filled(n), filled(n)
    saved.matrices = scored(90)[0].matrices
    restored = ScoreHistory.from_state(saved.state())
    assert restored.matrices == saved.matrices
    for history in (whole, restored):
        for i in range(n + 1, n + 1500):
            history.add({"rows": float(i), "accuracy": float(i)})
    assert restored.columns == whole.columns
    assert (restored.stride, restored.skipped) == (whole.stride, whole.skipped)


@pytest.mark.parametrize(
    "change",
    [
        {"stride": 0},
        {"stride": 1.5},
        {"skipped": -1},
        {"columns": {"rows": np.zeros(3), "auc": np.zeros(2)}},
        {"columns": {"rows": np.array(["a"])}},
        {"columns": []},
        {"matrices": [{"row_to": 1, "classes": ["a"], "matrix": [[1, 2]]}]},
        {"matrices": [{"row_to": "1", "classes": ["a"], "matrix": [[1]]}]},
    ],
    ids=str,
)
def test_a_forged_state_is_refused(change):
    with pytest.raises((ValueError, TypeError)):
        ScoreHistory.from_state(filled(3).state() | change)


def moments(n=150):
    """The scores after each label, as computed at once, and as an object that computes them later."""
    rng = np.random.default_rng(0)
    scores = Prequential(window=20)
    for i in range(n):
        y = rng.integers(2 if i < 100 else 3)  # the third class comes late
        guess = None if rng.random() < 0.1 else rng.integers(2)
        scores.update([y], [guess], rng.normal(size=1))
        yield scores.scores(), scores.now()


@pytest.mark.parametrize("read_every", [1, 7, 1000])
def test_the_scores_of_entries_are_those_of_their_moments(read_every):
    history, expected = ScoreHistory(), []
    for i, (found, now) in enumerate(moments()):
        history.add({"rows": i} | UNMEASURED, now)
        entry = [found["window"][name] for name in ("accuracy", "g_means", "mcc", "auc")]
        entry += [found["fading"][name] for name in ("accuracy", "g_means", "mcc", "auc")]
        entry += [found["baselines"][name]["window"]["accuracy"] for name in ("no_change", "majority")]
        expected.append(entry)
        if i % read_every == 0:
            assert len(history.columns["accuracy"]) == i + 1
    assert list(history.columns) == ["rows", *UNMEASURED]
    np.testing.assert_array_equal([history.columns[name] for name in UNMEASURED], np.transpose(expected))


def test_a_restored_history_measures_the_entries_that_were_not_read():
    whole, saved = ScoreHistory(), ScoreHistory()
    for i, (_, now) in enumerate(moments()):
        for history in (whole, saved):
            history.add({"rows": i} | UNMEASURED, now)
        if i == 70:
            saved = ScoreHistory.from_state(saved.state())
    for name, column in whole.columns.items():
        np.testing.assert_array_equal(saved.columns[name], column)


def test_skipped_entries_of_a_long_stream_need_no_numbers():
    history = filled(2001)
    assert not history.is_due()
    history.add({})
    assert history.is_due()
    assert len(history.columns["rows"]) == 1000
