"""The widget for notebooks, by its Python side: buttons are clicked, no browser is needed."""

import sys

import pytest

from everlearn import LASVM, ActiveLearner, NeverEndingLearner, query
from everlearn.notebook import QuestionWidget
from stream.stream_helpers import xor

X, Y = xor(60)


@pytest.fixture
def learner():
    with NeverEndingLearner.open(":memory:", LASVM(gamma=2.0), label_rate=0.1, random_state=0) as found:
        names = [("no", "yes")[y] if at < 40 else None for at, y in enumerate(Y)]
        found.step(X, names, ids=[f"r{at}" for at in range(60)])
        yield found


def buttons(widget):
    """All buttons by their names."""
    rows = [*widget.children[1].children, *widget.children[2].children]
    return {button.description: button for button in rows if hasattr(button, "click")}


def shown(widget):
    return widget.children[0].value


def test_answers_by_buttons(learner):
    widget = QuestionWidget(learner, 3, by="Ada")
    first = widget.question.id
    assert f"row {first}" in shown(widget)
    assert "Question 1 of 3" in shown(widget)
    assert list(buttons(widget)) == ["no", "yes", "Skip", "Undo", "Answer"]
    assert buttons(widget)["Undo"].disabled
    buttons(widget)["yes"].click()
    assert [(a.by, a.label) for a in learner.answers([first])[first]] == [("Ada", "yes")]
    assert widget.question.id != first
    assert "1 answered" in widget.children[3].value


def test_skip_undo_and_the_end(learner):
    before = learner.status()["labels"]
    widget = QuestionWidget(learner, 2)
    first = widget.question.id
    buttons(widget)["no"].click()
    buttons(widget)["Skip"].click()
    assert widget.question is None
    assert "No more questions" in shown(widget)
    assert buttons(widget)["yes"].disabled
    with pytest.raises(ValueError, match="no question left"):
        widget.answer("yes")
    buttons(widget)["Undo"].click()  # past the skipped one
    assert widget.question.id == first
    assert widget.answered == []
    assert learner.status()["labels"] == before


def test_a_new_class(learner):
    widget = QuestionWidget(learner, 2)
    widget.children[2].children[2].value = "maybe"
    buttons(widget)["Answer"].click()
    assert learner.status()["classes"] == ["maybe", "no", "yes"]
    assert "maybe" in buttons(widget)
    assert "sure" in buttons(QuestionWidget(learner, 1, classes=["sure"]))


def test_what_is_shown_is_escaped(learner):
    assert "&lt;b&gt;" in shown(QuestionWidget(learner, 1, show=lambda row: {"<b>": "x"}))
    assert "a &amp; b\n&lt;i&gt;" in shown(QuestionWidget(learner, 1, show=lambda row: "a & b\n<i>"))

    class Frame:
        def _repr_html_(self):
            return "<u>frame</u>"

    assert "<u>frame</u>" in shown(QuestionWidget(learner, 1, show=lambda row: Frame()))


def test_no_questions():
    with NeverEndingLearner.open(":memory:", LASVM()) as empty:
        widget = QuestionWidget(empty)
        assert widget.question is None
        assert "No questions" in shown(widget)


def test_an_active_learner():
    loop = ActiveLearner(LASVM(gamma=2.0), query.Margin(random_state=0), random_state=0).start(X, [0, 1])
    for _ in range(4):
        widget = QuestionWidget(loop, 1)
        assert widget.question.reason
        buttons(widget)[str(Y[widget.question.id])].click()
        assert buttons(widget)["Undo"].disabled
    assert len(loop.history) == 4


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    for name in ("everlearn.notebook", "everlearn.notebook.question_widget"):
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match=r"everlearn\[notebook\]"):
        import everlearn.notebook  # noqa: F401


def test_status_and_history_as_tables(learner):
    html = learner._repr_html_()
    assert '<td style="text-align:left">60</td>' in html
    assert "LASVM" in html
    loop = ActiveLearner(LASVM(gamma=2.0), query.Margin(random_state=0), random_state=0)
    assert loop.history._repr_html_() == "<p>No labels yet.</p>"
    loop.start(X, [0, 1]).tell([0, 1, 2], Y[:3])
    assert "<th>chosen_by</th>" in loop.history._repr_html_()
    learner.close()
    assert "closed" in learner._repr_html_()
