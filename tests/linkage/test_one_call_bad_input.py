"""Tables as people have them: every stage refuses in words, or copes."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from everlearn.datasets import make_author_records
from everlearn.linkage import (
    ActiveLinker,
    Blocking,
    MinHash,
    Pairs,
    PairwiseLinker,
    Phonetic,
    Records,
    default_blocking,
    link,
)

PEOPLE = {
    "name": ["Ann Lee", "Anne Lee", "Bob Ray", "Bob Rae", "Cy Orr", "Cy Or"],
    "city": ["Rome", "Rome", "Oslo", "Oslo", "Bern", "Bern"],
}
TRUTH = np.array([0, 0, 1, 1, 2, 2])


def test_empty_names_are_compared_by_nothing_and_stay_alone():
    table = {name: [*column, "", "", None] for name, column in PEOPLE.items()}
    found = link(table, oracle=np.array([*TRUTH, 3, 4, 5]), max_labels=10)
    assert_array_equal(found.clusters[6:], [3, 4, 5])
    assert not np.isin(
        [6, 7, 8], np.concatenate([found.predictions.pairs.left, found.predictions.pairs.right])
    ).any()


def test_names_that_are_empty_everywhere_are_refused_in_words():
    with pytest.raises(ValueError, match="0 candidate pairs: no two records share a key"):
        link({"name": ["", "", ""]}, oracle=[0, 1, 2])


def test_identical_records_are_one_cluster_with_few_answers():
    table = {name: column * 5 for name, column in PEOPLE.items()}
    found = link(table, oracle=np.tile(TRUTH, 5), max_labels=30)
    for person in range(6):
        assert len(set(found.clusters[person::6].tolist())) == 1


def test_records_that_are_all_identical_are_one_cluster():
    linker = PairwiseLinker(blocking=Blocking("name")).prepare({"name": ["Ann Lee"] * 10})
    loop = ActiveLinker(linker, random_state=0).run(
        {"name": ["Ann Lee"] * 10}, oracle=np.zeros(10), max_labels=20
    )
    assert loop.n_answers <= 9  # the others follow


@pytest.mark.parametrize("ids", [["a", "b", "a", "c", "d", "e"], [1, 2, 2, 2, 3, 1]])
def test_ids_that_repeat_are_refused_with_one_of_them(ids):
    with pytest.raises(ValueError, match=r"must be distinct, but \d of them repeat, such as .*id=False"):
        link({"id": ids, **PEOPLE}, oracle=TRUTH)


def test_a_block_of_20000_records_is_refused_or_sampled_in_words():
    records = Records({"city": ["Rome"] * 20_000})
    with pytest.raises(ValueError, match=r"20,000 records the key 'rome', more than max_block_size=2,000"):
        Blocking("city").pairs(records)
    with pytest.warns(UserWarning, match=r"4,950 random pairs of each are compared"):
        pairs = Blocking("city", max_block_size=100, large_blocks="sample").pairs(records)
    assert 4_000 < len(pairs) <= 4_950
    report = default_blocking(records).report(records)
    assert report.pairs == 0
    assert "dropped 1 keys that more than 100 records share" in report.notes[0]


def test_labels_that_contradict_are_told_and_learned():
    pairs = Pairs(np.array([0, 1, 0, 0]), np.array([1, 2, 2, 3]))
    with pytest.warns(
        UserWarning, match="1 labels contradict others, such as 0 ≠ 2 contradicts 0 = 1, 1 = 2"
    ):
        linker = PairwiseLinker().fit(PEOPLE, pairs=pairs, y=[1, 1, 0, 0])
    assert len(linker.contradictions_) == 1


@pytest.mark.parametrize(
    ("names", "cities"),
    [
        (
            ["王小明", "王小明", "李雷", "李雷", "韩梅梅", "韩梅梅"],
            ["北京", "北京市", "上海", "上海市", "广州", "广州市"],
        ),
        (
            ["Иван Жданов", "Иван Жданав", "Нина Щукина", "Нина Щукена", "Юлия Бойко", "Юлiя Бойко"],
            ["Москва"] * 6,
        ),
        (["محمد علي", "محمّد علي", "سارة حسن", "سارة حسان", "يوسف عمر", "يوسف عمرو"], ["القاهرة"] * 6),
    ],
)
def test_non_latin_scripts_are_compared(names, cities):
    found = link(
        {"name": names, "city": cities},
        oracle=TRUTH,
        max_labels=15,
        blocking=Blocking("city", MinHash("name", 20, 1), Phonetic("name")),
    )
    assert_array_equal(found.clusters, TRUTH)


@pytest.mark.parametrize("schema", [{"surname": "name"}, {"name": "name", "town": None}])
def test_a_schema_that_names_a_missing_column_is_refused_with_the_columns(schema):
    with pytest.raises(ValueError, match=r"missing column: '(surname|town)'; the columns are name, city"):
        link(PEOPLE, schema=schema, oracle=TRUTH)


def test_an_unknown_kind_is_refused_with_the_kinds():
    with pytest.raises(ValueError, match="kind 'words' for 'name'; the kinds are name, text"):
        link(PEOPLE, schema={"name": "words"}, oracle=TRUTH)


# ------------------------------------------------------------------------------------------------ two tables

LEFT = {"First name": PEOPLE["name"], "city": PEOPLE["city"]}


def in_two(left, right, **options):
    return link(left, right, oracle=(TRUTH, TRUTH), max_labels=12, blocking=Blocking("city"), **options)


def test_names_of_columns_may_differ_in_case_spaces_and_underscores():
    found = in_two(LEFT, {"CITY": PEOPLE["city"], "first_name": PEOPLE["name"]})
    assert list(found.right.schema) == ["First name", "city"]
    assert_array_equal(found.left_clusters, found.right_clusters)


def test_columns_with_other_names_are_named():
    right = {"who": PEOPLE["name"], "town": PEOPLE["city"]}
    found = in_two(LEFT, right, columns={"who": "First name", "town": "city"})
    assert found.right[3] == found.left[3]
    assert_array_equal(found.left_clusters, found.right_clusters)
    with pytest.raises(
        ValueError, match=r"table as keys \(who, town\) and those of the first as values \(First name, city"
    ):
        in_two(LEFT, right, columns={"whom": "First name"})
    with pytest.raises(
        ValueError,
        match=r"no column in common: left has First name, city; right has who, town.*columns=\{'who'",
    ):
        in_two(LEFT, right)
    with pytest.raises(ValueError, match=r"right has no column 'city'; its columns are who, town"):
        in_two(LEFT, right, schema={"city": None})


def test_columns_of_one_table_alone_are_not_compared_and_that_is_said():
    right = {"id": range(10, 16), "city": PEOPLE["city"], "phone": ["1"] * 6}
    with pytest.warns(
        UserWarning, match=r"Compared are city; not First name \(only in left\) and phone \(only in right"
    ):
        found = in_two(LEFT, right)
    assert list(found.left.schema) == list(found.right.schema) == ["city"]
    assert found.right.ids == list(range(10, 16))


# --------------------------------------------------------------------------------------------------- answers


def test_answers_for_other_records_than_there_are_are_refused():
    with pytest.raises(ValueError, match="oracle has 2 entities, but left has 6 records"):
        link(PEOPLE, oracle=[0, 1])
    with pytest.raises(ValueError, match="oracle has 5 entities, but right has 6 records"):
        link(PEOPLE, PEOPLE, oracle=(TRUTH, TRUTH[:5]))
    with pytest.raises(ValueError, match=r"oracle must be a pair of arrays.* got 6 values"):
        link(PEOPLE, PEOPLE, oracle=TRUTH)


def test_an_answer_that_is_no_answer_is_refused():
    with pytest.raises(ValueError, match="must be True, False, or None if that is unknown, got 'yes'"):
        link(PEOPLE, oracle=lambda question: "yes")


@pytest.mark.parametrize("options", [{"max_labels": 0}, {"oracle": lambda question: None}])
def test_without_an_answer_every_record_is_alone(options):
    found = link(PEOPLE, **({"oracle": TRUTH} | options))
    assert_array_equal(found.clusters, np.arange(6))


def test_records_are_together_or_apart_as_the_answers_say():
    table = {name: column * 3 for name, column in PEOPLE.items()}
    odd = np.random.default_rng(0).integers(3, size=18)  # nothing that could be learned
    given = []
    found = link(
        table,
        oracle=lambda question: (
            given.append((question.left_id, question.right_id))
            or bool(odd[question.left_id] == odd[question.right_id])
        ),
        max_labels=25,
    )
    assert len(given) > 15  # the others follow
    for a, b in given:
        assert (found.clusters[a] == found.clusters[b]) == (odd[a] == odd[b])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"oracle": None}, "oracle must be a function that answers questions, or the entity .* got None"),
        ({"oracle": "yes"}, "oracle must be .* got 'yes'"),
        ({"schema": ["name"]}, r"schema must be a dict such as .* got \['name'\]"),
        ({"blocking": "name"}, r"blocking must be a Blocking, such as Blocking\('city'\), got 'name'"),
    ],
)
def test_arguments_of_another_type_are_refused_in_words(options, message):
    with pytest.raises(TypeError, match=message):
        link({"name": ["Ann Lee", "Anne Lee"]}, **{"oracle": [0, 0], **options})


def test_columns_of_one_name_are_refused():
    table = pd.DataFrame([["Ann", "Lee"], ["Ann", "Ley"]], columns=["name", "name"])
    with pytest.raises(ValueError, match="data has several columns called 'name': rename all but one"):
        link(table, oracle=[0, 0])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "left has no records"),
        ({"id": [1, 2]}, "left has no fields to compare"),
        ([("Ann", "Rome")], "a sequence of dicts, got list of tuple"),
        (["Ann", "Bob"], "a sequence of dicts, got list of str"),
    ],
)
def test_tables_without_records_are_refused(table, message):
    with pytest.raises((TypeError, ValueError), match=message):
        link(table, oracle=[])


def test_two_equal_records_are_one_after_one_answer():
    assert_array_equal(link([{"name": "Ann Lee"}] * 2, oracle=[0, 0]).clusters, [0, 0])
    with pytest.raises(ValueError, match="max_labels must be an integer from 0, got -1"):
        link(PEOPLE, oracle=TRUTH, max_labels=-1)


def test_an_oracle_that_never_knows_is_not_asked_about_the_whole_pool():
    table, _ = make_author_records(scale=0.05, random_state=0)
    asked = []
    words = "answered None to 30 questions in a row, after 0 answers"
    with pytest.warns(UserWarning, match=words) as by_link:
        found = link(table, oracle=asked.append)
    with pytest.warns(UserWarning, match=words) as by_run:
        ActiveLinker().run(table, oracle=lambda question: None)
    assert [warning.filename for warning in (*by_link, *by_run)] == [__file__] * 2
    assert len(asked) == 30
    assert len(set(found.clusters)) == len(table)


def test_an_oracle_that_often_does_not_know_is_asked_on():
    table, person = make_author_records(scale=0.05, random_state=0)
    n_asked = 0

    def sometimes(question):
        nonlocal n_asked
        n_asked += 1
        return None if n_asked % 8 else person[question.left_id] == person[question.right_id]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        link(table, oracle=sometimes, max_labels=15)
    assert n_asked == 8 * 15
