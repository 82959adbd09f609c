"""History: what is printed, drawn and made a table is what happened."""

import matplotlib
import pytest

from query.test_active import loop
from svm.lasvm_helpers import two_clouds

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def run():
    X, y = two_clouds(300)
    return loop().run(X[:200], y[:200], 24, initial_labels=1, test=(X[200:], y[200:]), score_every=5)


def test_as_a_data_frame(run):
    frame = run.history.to_pandas()
    assert len(frame) == 26
    assert list(frame["label"]) == [r["label"] for r in run.history]
    assert list(frame["chosen_by"][:2]) == ["initial", "initial"]


def test_scores_come_at_their_interval_and_at_the_end(run):
    labels, scores = run.history.scores()
    assert labels == [5, 10, 15, 20, 25, 26]
    assert scores[-1] == run.history[-1]["score"]
    assert all(0 <= score <= 1 for score in scores)


def test_counts_by_class(run):
    counts = run.history.label_counts()
    assert sum(counts.values()) == 26
    assert counts[0] == sum(r["label"] == 0 for r in run.history)


def test_in_print(run):
    lines = str(run.history).splitlines()
    assert lines[0].split() == [
        "n_labels",
        "row",
        "label",
        "chosen_by",
        "correct",
        "margin",
        "free_margin",
        "n_support",
        "score",
    ]
    assert len(lines) == 13
    assert lines[1].split()[3:6] == ["initial", "-", "-"]
    assert lines[-1].startswith("26 labels: ")
    assert str(loop().history) == "No labels yet."


def test_as_a_drawing(run):
    ax = run.history.plot(label="margin")
    (line,) = ax.get_lines()
    assert list(line.get_xdata()) == [5, 10, 15, 20, 25, 26]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("labels", "score")
    X, y = two_clouds(50)
    unscored = loop().run(X, y, 10).history
    assert unscored.plot().get_ylabel() == "support vectors"
