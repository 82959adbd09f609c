"""Terminal: a person who types, in a process of its own with a real standard input."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from everlearn.query import Terminal
from everlearn.query.terminal import _features

SCRIPT = """
import sys
from everlearn import LASVM, ActiveLearner, query
from svm.lasvm_helpers import two_clouds

X, y = two_clouds(60)
oracle = query.Terminal(["ham", "spam", "spim"], show=lambda number, row: f"text of row {number}")
loop = ActiveLearner(LASVM(gamma=0.5), query.Margin(random_state=0), random_state=0)
loop.run(X, oracle, classes=oracle.classes, batch_size=4, reask_unknown=False)
print()
print([record["label"] for record in loop.history])
print(loop.stop_reason)
"""


def typed(text):
    folder = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {folder!r})\n{SCRIPT}"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_person_answers():
    out = typed("ham\nspam\nh\nsp\n\nspi\n?\nquit\n")
    labels, stopped = out.splitlines()[-2:]
    assert labels == "['ham', 'spam', 'ham', 'spim']"
    assert stopped == "the person at the terminal quit"
    assert "Question 1, row" in out
    assert "text of row" in out
    assert "'sp' could be spam or spim." in out
    assert "ham / spam / spim (? = don't know, q = quit): " in out


def test_the_end_of_the_input_keeps_what_was_answered():
    labels, stopped = typed("ham\nspam\n").splitlines()[-2:]
    assert labels == "['ham', 'spam']"
    assert stopped == "the input ended"


@pytest.mark.parametrize(
    "classes", [["a"], ["a", "a"], ["a", "?"], ["quit", "b"], ["q", "b"], ["", "b"], [1, "1"]]
)
def test_classes_that_cannot_be_typed(classes):
    with pytest.raises(ValueError, match="with different names"):
        Terminal(classes)


def test_features_of_a_row():
    assert _features(np.array([[1.5, 2.0]])) == "  0: 1.5\n  1: 2"
    assert _features(pd.DataFrame({"age": [31], "town": ["Rome"]})) == "  age: 31\n  town: Rome"
    assert _features(sparse.csr_matrix([[0, 0, 2.5]])) == "  2: 2.5"
    assert _features(np.zeros((1, 30))).endswith("  and 18 more")


def test_nothing_in_a_row_or_a_class_acts_on_the_terminal(monkeypatch, capsys):
    prompts, answers = [], iter(["b\\x1b"])
    monkeypatch.setattr("builtins.input", lambda prompt: prompts.append(prompt) or next(answers))
    row = pd.DataFrame({"to\x1bwn\n": ["Ro\u202eme"]})
    assert Terminal(["a\u200b", "b\x1b"])([0], row) == ["b\x1b"]  # typed as it is shown
    shown = capsys.readouterr().out + prompts[0]
    assert "to\\x1bwn\\x0a: Ro\\u202eme" in shown
    assert "a\\u200b / b\\x1b (" in shown
    Terminal(["a", "b"], show=lambda number, row: "one\ntwo\x07")  # free text may have lines
    assert not {"\x1b", "\u202e", "\u200b"} & set(shown)
