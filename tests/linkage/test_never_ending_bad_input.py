"""Bad input of never-ending linkage is refused, and nothing is lost."""

import pytest

from everlearn import LASVM, NeverEndingLearner
from everlearn.errors import InputError, StoreError
from everlearn.linkage import Blocking, PairFeatures, Tokens
from everlearn.linkage.never_ending import NeverEndingLinker
from linkage.never_ending_helpers import PEOPLE, opened, people, some_authors

# ------------------------------------------------------------------------------------------------- bad input


def test_ids_that_are_known_are_refused_or_skipped():
    with people() as linker:
        linker.add(PEOPLE[:3])
        with pytest.raises(InputError, match="Duplicate id 'c'") as caught:
            linker.add(PEOPLE[2:])
        assert caught.value.code == "duplicate_id"
        assert len(linker.clusters()) == 3
        assert linker.add(PEOPLE[2:], duplicates="skip").ids == ["d", "e", "f"]
        assert linker.add(PEOPLE, duplicates="skip").ids == []
        with pytest.raises(ValueError, match="'error' or 'skip', got 'keep'"):
            linker.add(PEOPLE, duplicates="keep")
        with pytest.raises(ValueError, match="must be distinct, but 1 of them repeat"):
            linker.add([{"id": "x", "name": "X", "city": "Y"}] * 2)


@pytest.mark.parametrize("missing", ["", " ", None, float("nan")])
@pytest.mark.parametrize("duplicates", ["error", "skip"])
def test_missing_ids_are_refused_and_not_taken_for_repeats(missing, duplicates):
    rows = [{"id": given, "name": "A", "city": "B"} for given in ("x", missing, missing)]
    with people() as linker:
        for part in (rows, rows[1:2]):
            with pytest.raises(ValueError, match="Some records have no id in column 'id'"):
                linker.add(part, duplicates=duplicates)
        assert linker.clusters() == {}
        assert linker.add(rows, duplicates=duplicates, id=False).ids == [0, 1, 2]


@pytest.mark.parametrize("duplicates", ["error", "skip"])
def test_a_list_is_no_id(duplicates):
    with people() as linker:
        with pytest.raises(ValueError, match=r"'id' has \[1\], which cannot be an id"):
            linker.add([{"id": [1], "name": "A", "city": "B"}], duplicates=duplicates)
        assert linker.clusters() == {}


def test_records_without_ids_are_numbered_on():
    with people() as linker:
        assert linker.add([{"name": "A", "city": "B"}] * 3).ids == [0, 1, 2]
        assert linker.add([{"name": "A", "city": "B"}] * 2).ids == [3, 4]


def test_records_with_a_missing_field_and_empty_ones_are_alone():
    with people() as linker:
        linker.add(PEOPLE)
        with pytest.raises(ValueError, match="missing column: 'city'"):
            linker.add([{"id": "z", "name": "Nobody"}])
        assert linker.add([{"id": "z", "name": "", "city": None}]).pairs == 0
        assert linker.add([]).ids == []


def test_a_large_block_is_refused_sampled_or_dropped_in_words():
    rows = [{"name": f"N{at}", "city": "Rome"} for at in range(40)]
    with NeverEndingLinker.open(":memory:", blocking=Blocking("city", max_block_size=30)) as linker:
        linker.add(rows[:30])
        with pytest.raises(
            ValueError, match=r"31 records the key 'rome', more than max_block_size=30: use a finer"
        ):
            linker.add(rows[30:31])
        assert len(linker.clusters()) == 30
    sampling = Blocking("city", max_block_size=10, large_blocks="sample")
    compared = pytest.warns(UserWarning, match="each new record is compared with 5 of them")
    with NeverEndingLinker.open(":memory:", blocking=sampling) as linker, compared:
        assert 100 < linker.add(rows).pairs < 200
    with NeverEndingLinker.open(":memory:", blocking=Blocking(Tokens("city"), max_block_size=10)) as linker:
        assert linker.add(rows[:9]).pairs == 36
        assert linker.add(rows[9:10]).pairs == 9
        assert linker.add(rows[10:]).pairs == 0
        assert linker.add([{"name": "N", "city": "Rome"}]).pairs == 0


def test_settings_that_are_not_those_of_the_store_are_refused(tmp_path):
    store = tmp_path / "store"
    with NeverEndingLinker.open(store, {"name": "name", "city": "category"}) as linker:
        linker.add(PEOPLE)
    with NeverEndingLinker.open(store, {"name": None, "city": "category"}):
        pass
    with pytest.raises(InputError, match=r"schema=.* is not that of the store"):
        NeverEndingLinker.open(store, {"name": "text", "city": "category"})
    with pytest.raises(InputError, match=r"blocking=.* is not that of the store"):
        NeverEndingLinker.open(store, blocking=Blocking("name"))
    with pytest.raises(ValueError, match="depend on all records"):
        NeverEndingLinker.open(store, features=PairFeatures("thesis"))
    with pytest.raises(ValueError, match="clustering"):
        NeverEndingLinker.open(store, clustering="k-means")
    with pytest.raises(StoreError, match="No store at"):
        NeverEndingLinker.open(tmp_path / "other", create=False)


def test_a_kind_that_does_not_exist_is_refused_before_a_store_is_made(tmp_path):
    with pytest.raises(ValueError, match="kind 'nome' for 'name'; the kinds are name, text"):
        NeverEndingLinker.open(tmp_path / "people.everlearn", {"name": "nome"})
    assert not list(tmp_path.iterdir())


def test_a_store_of_rows_is_refused(tmp_path):
    with NeverEndingLearner.open(tmp_path / "rows", LASVM()) as learner:
        learner.step([[0.0], [1.0]])
    with pytest.raises(InputError, match="no pairs of records"):
        NeverEndingLinker.open(tmp_path / "rows", create=False)


def test_answers_about_what_is_not_there_are_refused():
    with people() as linker:
        linker.add(PEOPLE)
        with pytest.raises(InputError, match="No record with the id 'x'"):
            linker.answer("a", "x", True)
        with pytest.raises(InputError, match="is one record"):
            linker.answer("a", "a", True)
        with pytest.raises(InputError, match="no answer for 'a' and 'c'"):
            linker.answer("a", "c", None)
        with pytest.raises(InputError, match="No record with the id 'x'"):
            linker.forget(["a", "x"])
        assert len(linker.clusters()) == 6
        linker.forget([])


def test_a_question_that_somebody_cannot_answer_is_not_asked_again(tmp_path):
    with people(tmp_path / "people.everlearn") as linker:
        linker.add(PEOPLE)
        n_asked = 0
        while questions := linker.ask(2):
            n_asked += len(questions)
            assert n_asked < 100
            for question in questions:
                linker.tell(question.id, None, by="Ada")
        assert n_asked == linker.status()["open_questions"] > 0
        kinds = {answer.kind for _, answer in linker.learner.given_answers()}
        assert kinds == {"skip"}
    with people(tmp_path / "people.everlearn") as linker:  # somebody else may know
        assert linker.ask(1)


@pytest.mark.parametrize("settled", ["told", "labeled"])
def test_questions_that_were_answered_after_all_open_no_others(settled):
    table, person = some_authors()
    with opened() as linker:
        linker.add(table)
        unknown = []
        for _ in range(8):
            unknown += linker.ask(1)
            linker.tell(unknown[-1].id, None)
        for question in unknown:
            same = bool(person[question.left_id] == person[question.right_id])
            if settled == "told":
                linker.tell(question.id, same)
            else:
                linker.learner.label([question.id], ["same" if same else "different"], by="Ada")
        n_open = linker.status()["open_questions"]
        linker.ask(1)
        assert linker.status()["open_questions"] <= n_open + 1
