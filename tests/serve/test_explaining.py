"""Explanations: words and labeled rows that speak for and against a prediction, and who may see them."""

import pytest

from everlearn.errors import InputError
from everlearn.serve.service import AnswerIn, LearningService, RowIn, ServiceSettings
from serve.service_helpers import set_up, work

SPAM, HAM = ["free", "prize", "winner"], ["meeting", "agenda", "minutes"]


def texts(n):
    """Messages of which every second one is spam, by its words."""
    common = ["today", "please", "about", "your"]
    return [
        " ".join([(SPAM, HAM)[k % 2][(k // 2) % 3], common[k % 4], common[(k // 4) % 4], f"w{k}"])
        for k in range(n)
    ]


@pytest.fixture(scope="module")
def service():
    """Messages, half of which are labeled."""
    with LearningService(":memory:", ServiceSettings(blind=True)) as made:
        rows = "text\n" + "\n".join(texts(60)) + "\n"
        found = made.inspect_upload(rows.encode(), "messages.csv")
        made.set_up(found.upload, kinds={"text": "text"}, classes=["ham", "spam"])
        labels = [AnswerIn(k, "label", f"k{k}", ("spam", "ham")[k % 2]) for k in range(30)]
        made.answer("ann", labels)
        yield made


def marked(explanation):
    """The marked words and their weights."""
    return {
        field.text[start:end]: weight
        for field in explanation.fields
        for start, end, weight in field.highlights
    }


def test_words_are_marked_by_what_their_absence_changes(service):
    found = service.explain(0, "ann")
    assert found.prediction.label == "spam"
    weights = marked(found)
    assert weights["free"] == max(weights.values()) == 1.0
    assert set(weights) <= set(texts(1)[0].split())


def test_a_word_may_speak_against(service):
    service.answer("eve", [AnswerIn(31, "skip", "s")])
    (name,) = [p.id for p in service.add_rows([RowIn({"text": "free prize winner agenda"}, 900)]).predictions]
    service.answer("eve", [AnswerIn(name, "unsure", "u")])
    found = service.explain(str(name), "eve")
    weights = marked(found)
    assert found.prediction.label == "spam"
    assert weights["agenda"] < 0 < weights["prize"]


def test_labeled_rows_speak_and_never_the_row_itself(service):
    found = service.explain(2, "ann")
    assert 0 < len(found.evidence) <= 6
    assert 2 not in {item.id for item in found.evidence}
    assert all(item.of == "spam" for item in found.evidence)
    for side in ("for", "against"):
        assert len([item for item in found.evidence if item.speaks == side]) <= 3


def test_rows_with_an_id_of_their_own_are_explained():
    """A file with a column of ids: each row is predicted without one of its words, under no id."""
    with LearningService(":memory:", ServiceSettings(blind=False), random_state=0) as made:
        rows = "id,text\n" + "\n".join(f"m{k},{text}" for k, text in enumerate(texts(60))) + "\n"
        found = made.inspect_upload(rows.encode(), "messages.csv")
        made.set_up(found.upload, kinds={"id": "id", "text": "text"}, classes=["ham", "spam"])
        order = [*range(59, 29, -1)]  # labels come in another order than the rows
        made.answer("ann", [AnswerIn(f"m{k}", "label", f"k{k}", ("spam", "ham")[k % 2]) for k in order])
        for name in ("m0", "m1", "m58"):
            found = made.explain(name, "ann")
            label = found.prediction.label
            assert marked(found)
            assert {item.speaks for item in found.evidence} == {"for", "against"}
            speaking = [item for item in found.evidence if item.speaks == "for"]
            words = set(SPAM if label == "spam" else HAM)
            assert all(item.label == label for item in speaking)
            assert all(words & set(item.summary.replace(":", " ").split()) for item in speaking)


def test_a_blind_project_explains_after_the_answer_only(service):
    with pytest.raises(InputError) as error:
        service.explain(0, "bob")
    assert error.value.code == "blind"
    service.change_settings(ServiceSettings(blind=False))
    try:
        assert service.explain(0, "bob").prediction is not None
    finally:
        service.change_settings(ServiceSettings(blind=True))


def test_without_a_model_there_is_nothing_to_explain():
    with set_up(n=20, settings=ServiceSettings(blind=False)) as made:
        found = made.explain("r0", "ada")
    assert (found.prediction, found.evidence) == (None, [])
    assert [field.name for field in found.fields] == ["x", "z", "color"]


def test_rows_without_text_have_no_marks_and_three_classes_work():
    with set_up(n=60, settings=ServiceSettings(blind=False)) as made:
        work(made, "ada", 20)
        found = made.explain("r5", "ada")
        assert marked(found) == {}
        assert found.prediction is not None


def test_an_unknown_row(service):
    with pytest.raises(InputError) as error:
        service.explain("nothing", "ann")
    assert error.value.code == "unknown_id"
