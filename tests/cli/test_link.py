"""Records at the command line: linked, asked about, exported, forgotten."""

import csv
import json
import re

import pytest

from cli.cli_helpers import everlearn
from everlearn.linkage import NeverEndingLinker
from everlearn.serve.service import LearningService

PEOPLE = """id,name,born,city
1,Ann Lee,1980-02-01,Rome
2,Anne Lee,1980-02-01,Rome
3,Bob Ray,1975-07-30,Oslo
4,Bob Rae,1975-07-30,Oslo
5,=1+1,1991-11-11,Rome
6,Rob Ray,,Oslo
"""
SCHEMA = ("--schema", "name=name,born=date,city=category", "--block", "exact:city")


@pytest.fixture
def store(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    store = tmp_path / "people.everlearn"
    out = everlearn("link", tmp_path / "people.csv", "--store", store, *SCHEMA).stdout
    assert "Added 6 records of" in out
    assert "compared 6 pairs." in out
    assert "Fields: name (name), born (date), city (category)." in out
    assert "6 records in 6 clusters; 0 labels" in out
    assert f"Next: everlearn ask {store}" in out
    return store


def exported(store):
    """The clusters, as groups of ids."""
    groups = {}
    for line in csv.DictReader(everlearn("link", "export", store).stdout.splitlines()):
        groups.setdefault(line["cluster"], []).append(line["id"])
    return sorted(groups.values())


def test_ask_says_when_more_answers_are_of_no_use(tmp_path):
    words = ["Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel", "Ivy", "Juniper"]
    lines = [f"{2 * n + k},{word} Mill{'s' * k},Rome" for n, word in enumerate(words) for k in (0, 1)]
    (tmp_path / "mills.csv").write_text("\n".join(["id,name,city", *lines]) + "\n")
    store = tmp_path / "mills.everlearn"
    everlearn("link", tmp_path / "mills.csv", "--store", store, "--block", "exact:city")
    with NeverEndingLinker.open(store) as linker:
        for n in range(0, 16, 2):
            linker.answer(str(n), str(n + 1), True)
            linker.answer(str(n), str(n + 2), False)
    out = everlearn("ask", store, "-n", 3, input="different\n" * 3).stdout
    assert "20 are needed to tell" in out
    with NeverEndingLinker.open(store) as linker:
        for n in range(1, 18, 2):
            for more in (2, 4, 6):
                if n + more < 20:
                    linker.answer(str(n), str(n + more), False)
                    linker.link()
    out = everlearn("ask", store, "-n", 1, input="different\n").stdout
    assert "You can stop: The last" in out
    assert "labels changed the clusters of 0.0 % of the linked records, at most 1 %." in out


def test_two_tables_with_other_names_of_columns(tmp_path):
    (tmp_path / "left.csv").write_text("id,Full Name,City\na,Ann Lee,Rome\nb,Bob Ray,Rome\n")
    (tmp_path / "right.csv").write_text("id,full_name,town\nx,Anne Lee,Rome\ny,Bob Rae,Rome\n")
    store = tmp_path / "both.everlearn"
    given = ("--store", store, "--table")
    out = everlearn("link", tmp_path / "left.csv", *given, "left", "--block", "exact:City").stdout
    assert "Added 2 records" in out
    assert "compared 0 pairs" in out
    out = everlearn("link", tmp_path / "right.csv", *given, "right", "--rename", "town=City").stdout
    assert "compared 4 pairs" in out
    everlearn("link", "answer", store, "a", "x", "same")
    assert exported(store) == [["a", "x"], ["b"], ["y"]]
    failed = everlearn("link", tmp_path / "right.csv", "--store", store, code=1)
    assert "must be 'left' or 'right' in a store of two tables, got None" in failed.stderr


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "id,name\n1,Ann\n1,Bob\n",
            (),
            r"ids of column 'id' must be distinct, but 1 of them repeat, such as '1'",
        ),
        ("id,name\n1,Ann\n", ("--schema", "nam=name"), r"missing column: 'nam'; the columns are id, name"),
        ("id,name\n1,Ann\n", ("--block", "exact:nam"), r"no field 'nam'; the fields are name"),
        ("id,name\n1,Ann\n", ("--id", "number"), r"id='number' names a missing column"),
        ("id,name\n1,Ann\n", ("--rename", "nam=name"), r"keys \(id, name\)"),
        ("id,name\n", (), r"has a header, but no rows"),
        (
            "id,name\n" + "".join(f"{n},Ann\n" for n in range(2001)),
            ("--block", "exact:name"),
            r"gives 2,001 records of \S+ and the store the key 'ann', more than --max-block 2,000",
        ),
    ],
)
def test_bad_records_are_refused_in_words(tmp_path, content, options, message):
    (tmp_path / "bad.csv").write_text(content)
    out = everlearn(
        "link", tmp_path / "bad.csv", "--store", tmp_path / "s", "--batch-size", 5000, *options, code=1
    )
    assert re.search(message, " ".join(out.stderr.split()))


def test_empty_names_and_other_scripts_are_linked(tmp_path):
    rows = ["1,王小明", "2,王小明", "3,", "4,", "5,Иван Жданов", "6,Иван Жданав", "7,محمد علي", "8,محمّد علي"]
    (tmp_path / "names.csv").write_text("id,name\n" + "\n".join(rows) + "\n", encoding="utf-8")
    out = everlearn("link", tmp_path / "names.csv", "--store", tmp_path / "s").stdout
    assert "8 records in 8 clusters" in out
    out = everlearn("ask", tmp_path / "s", input="same\n" * 10).stdout
    assert "Иван Жданов  Иван Жданав" in out
    assert exported(tmp_path / "s") == [["1", "2"], ["3"], ["4"], ["5", "6"], ["7", "8"]]


def test_ask_shows_both_records_with_differences_marked(store):
    out = everlearn("ask", store, "-n", 6, "--by", "Ada", input="q\n").stdout
    assert "Question 1 of 6" in out
    block = out[out.index("Question 1") : out.index("why")].splitlines()[1:-1]
    assert next(line.split()[:2] for line in block if line.startswith("≠")) == ["≠", "id"]
    city = next(line for line in block if "city" in line)
    assert not city.startswith("≠")
    assert city.split() in (["city", "Rome", "Rome"], ["city", "Oslo", "Oslo"])
    assert "class [1: different  2: same]" in out


def test_answers_link_records_and_nothing_that_follows_is_asked(store):
    everlearn("link", "answer", store, 1, 2, "same")
    everlearn("link", "answer", store, 3, 4, "same")
    everlearn("link", "answer", store, 2, 5, "different")
    out = everlearn("ask", store, "-n", 6, input="different\n" * 6).stdout
    assert out.count("Question") == 1  # 1 and 5 follow, and one of the two about 6
    assert "1 answered, 0 open." in out
    assert "6 records in 4 clusters; 6 labels (2 same, 4 different)." in out
    assert exported(store) == [["1", "2"], ["3", "4"], ["5"], ["6"]]


def test_an_answer_is_undone(store):
    out = everlearn("ask", store, "-n", 1, "--by", "Ada", input="same\nu\n?\n").stdout
    assert "Withdrew the answer" in out
    assert "0 answered" in out
    assert exported(store) == [["1"], ["2"], ["3"], ["4"], ["5"], ["6"]]


def test_export_and_journal(store, tmp_path):
    everlearn("link", "answer", store, 1, 2, "same", "--by", "Ada")
    everlearn("link", "answer", store, 1, 2, "withdraw")
    lines = everlearn("link", "journal", store).stdout.splitlines()
    assert lines[0].endswith("merge 0, 1 -> 0: answer 1 = 2")
    assert lines[1].endswith("answer 1 = 2 was withdrawn")
    assert everlearn("link", "journal", store, "--after", 1).stdout.splitlines() == lines[1:]
    out = everlearn("link", "export", store, "--out", tmp_path / "out.csv")
    assert "Wrote 6 records" in out.stderr
    assert (tmp_path / "out.csv").read_text().splitlines()[:2] == [
        "cluster,id,name,born,city",
        "0,1,Ann Lee,1980-02-01,Rome",
    ]
    assert ",'=1+1," in (tmp_path / "out.csv").read_text()  # no formula in a spreadsheet
    assert ",=1+1," in everlearn("link", "export", store, "--raw").stdout


def test_more_records_are_attached(store, tmp_path):
    more = tmp_path / "more.jsonl"
    rows = [
        {"id": "1", "name": "x", "born": "", "city": ""},
        {"id": "7", "name": "Ann Lee", "born": None, "city": "Rome"},
    ]
    more.write_text("".join(json.dumps(row) + "\n" for row in rows))
    error = everlearn("link", more, "--store", store, code=1).stderr
    assert "Duplicate id '1'" in error
    assert "--duplicate-ids skip" in error
    out = everlearn("link", more, "--store", store, "--duplicate-ids", "skip").stdout
    assert "Added 1 record of" in out
    assert "compared 3 pairs" in out
    assert "Skipped 1 record with an id that the store has." in out


def test_contradictions_are_shown(store):
    everlearn("link", "answer", store, 1, 2, "same")
    everlearn("link", "answer", store, 2, 5, "same")
    out = everlearn("link", "answer", store, 1, 5, "different").stdout
    assert "Contradiction: 1 ≠ 5 contradicts 1 = 2, 2 = 5." in out


def test_forget(store):
    error = everlearn("link", "forget", store, 3, code=1).stderr
    assert "pass --yes" in error
    assert "Forgot 1 record." in everlearn("link", "forget", store, 3, "--yes").stdout
    assert exported(store) == [["1"], ["2"], ["4"], ["5"], ["6"]]
    assert "No record with the id '3'" in everlearn("link", "forget", store, 3, "--yes", code=1).stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--schema", "nme=name"), "missing column: 'nme'; the columns are id, name, born, city"),
        (("--schema", "name=words"), "the kinds are name, text"),
        (("--schema", "name"), "must have the form name=name,born=date"),
        (("--block", "sounds:name"), "must have the form KEY:FIELD"),
        (("--id", "number"), "id='number' names a missing column"),
    ],
)
def test_bad_options(tmp_path, options, message):
    (tmp_path / "people.csv").write_text(PEOPLE)
    result = everlearn(
        "link",
        tmp_path / "people.csv",
        "--store",
        tmp_path / "s",
        *options,
        code=2 if "form" in message else 1,
    )
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_bad_files(tmp_path):
    assert "standard input" in everlearn("link", "-", "--store", tmp_path / "s", code=1).stderr
    (tmp_path / "kinds.json").write_text("[1]")
    (tmp_path / "people.csv").write_text(PEOPLE)
    kinds = ("--schema", tmp_path / "kinds.json")
    assert (
        "must hold an object"
        in everlearn("link", tmp_path / "people.csv", "--store", tmp_path / "s", *kinds, code=1).stderr
    )
    assert "No store at" in everlearn("link", "export", tmp_path / "none", code=1).stderr


def test_a_schema_file_and_ids_of_another_field(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE.replace("id,", "number,", 1))
    (tmp_path / "kinds.json").write_text('{"name": "name", "city": null}')
    options = (
        "--schema",
        tmp_path / "kinds.json",
        "--id",
        "number",
        "--clustering",
        "components",
        "--eps",
        0.3,
    )
    everlearn("link", tmp_path / "people.csv", "--store", tmp_path / "s", *options)
    with NeverEndingLinker.open(tmp_path / "s") as linker:
        assert list(linker.clusters()) == list("123456")
        assert list(linker.status()["schema"]) == ["name", "city"]


def test_the_labeling_page_shows_pairs_and_its_answers_link_records(store):
    service = LearningService(store)
    try:
        (question,) = service.lease_questions("Ada", 1).questions
        assert [field.name for field in question.pair.left] == ["id", "name", "born", "city"]
        assert {"id", "name"} <= set(question.pair.differs)
        assert "city" not in question.pair.differs
        assert service.classes() == ["different", "same"]
        service.learner.label([question.id], ["same"], by="Ada")
        pair = [question.pair.left[0].text, question.pair.right[0].text]
    finally:
        service.close()
    assert pair in exported(store)


@pytest.fixture
def town(tmp_path):
    """A file with 40 records of one city, and 2 of another."""
    lines = [f"{n},Person {n:02d},{'Rome' if n < 40 else 'Oslo'}" for n in range(42)]
    (tmp_path / "town.csv").write_text("\n".join(["id,name,city", *lines]) + "\n")
    return tmp_path / "town.csv"


@pytest.mark.parametrize("batch", ["1000", "10"])  # the block grows over several batches
def test_a_block_that_is_too_large_is_refused_before_anything_is_stored(tmp_path, town, batch):
    options = ("--block", "exact:city", "--max-block", 30, "--batch-size", batch)
    error = everlearn("link", town, "--store", tmp_path / "a.everlearn", *options, code=1).stderr
    assert "--block exact:city gives 40 records of" in error
    assert "the key 'rome', more than --max-block 30:" in error
    assert "--large-blocks sample" in error
    assert not list(tmp_path.glob("a.everlearn*"))


@pytest.mark.parametrize(("column", "field"), [("City", "city"), ("home town", "Home_Town")])
def test_a_large_block_of_a_column_with_a_similar_name_is_refused(tmp_path, column, field):
    lines = [f"{n},Person {n:02d},Rome" for n in range(40)]
    (tmp_path / "town.csv").write_text("\n".join([f"id,name,{column}", *lines]) + "\n")
    keys = ("--schema", f"name=name,{field}=text", "--block", f"exact:{field}", "--batch-size", "10")
    options = ("--store", tmp_path / "a.everlearn", *keys, "--max-block")
    error = everlearn("link", tmp_path / "town.csv", *options, 30, code=1).stderr
    assert f"--block exact:{field} gives 40 records" in error
    assert not list(tmp_path.glob("a.everlearn*"))
    assert "Added 40 records" in everlearn("link", tmp_path / "town.csv", *options, 40).stdout


def test_a_block_that_is_too_large_with_the_records_of_the_store_is_refused(tmp_path, town):
    store, more = tmp_path / "a.everlearn", tmp_path / "more.csv"
    everlearn("link", town, "--store", store, "--block", "exact:city", "--max-block", 45)
    lines = ["id,name,city", *(f"{n},Person {n:02d},Rome" for n in range(30, 50))]  # new from 42 on
    more.write_text("\n".join(lines) + "\n")
    options = ("--store", store, "--batch-size", 2, "--duplicate-ids", "skip")
    error = everlearn("link", more, *options, code=1).stderr
    assert "Exact(field='city') gives 48 records of" in error
    assert "more than --max-block 45" in error
    assert sum(map(len, exported(store))) == 42
    more.write_text("\n".join(lines[:-3]) + "\n")
    assert "Added 5 records" in everlearn("link", more, *options).stdout


def test_a_record_that_is_skipped_is_in_no_block(tmp_path):
    (tmp_path / "a.csv").write_text("id,name,city\n" + "1,Ann Lee,Rome\n" * 40)
    options = ("--block", "exact:city", "--max-block", 30, "--batch-size", 1, "--duplicate-ids", "skip")
    out = everlearn("link", tmp_path / "a.csv", "--store", tmp_path / "a.everlearn", *options).stdout
    assert "Added 1 record of" in out
    assert "Skipped 39 records" in out


@pytest.mark.parametrize("option", [("--max-block", 3), ("--large-blocks", "refuse")])
def test_limits_of_blocks_without_keys_are_refused(tmp_path, town, option):
    error = everlearn("link", town, "--store", tmp_path / "a.everlearn", *option, code=1).stderr
    assert f"{option[0]} without --block would do nothing" in error
    assert not list(tmp_path.glob("a.everlearn*"))


@pytest.mark.filterwarnings("default")
def test_a_block_that_is_too_large_is_sampled(tmp_path, town):
    options = ("--block", "exact:city", "--max-block", 10, "--large-blocks", "sample")
    result = everlearn("link", town, "--store", tmp_path / "a.everlearn", *options)
    assert "each new record is compared with 5 of them" in result.stderr
    n_pairs = int(re.search(r"compared (\d+) pairs", result.stdout)[1])
    assert 0 < n_pairs <= 40 * 5 + 1


def test_a_missing_file_makes_no_store(tmp_path):
    everlearn("link", tmp_path / "none.csv", "--store", tmp_path / "a.everlearn", code=1)
    assert not list(tmp_path.glob("a.everlearn*"))


def test_ids_that_repeat_in_a_file_are_refused_skipped_or_left_out(tmp_path):
    source = tmp_path / "twice.csv"
    source.write_text("id,name\n1,Ann Lee\n1,Bob Ray\n2,Anne Lee\n")
    error = everlearn("link", source, "--store", tmp_path / "a.everlearn", code=1).stderr
    assert "1 of them repeat, such as '1'" in error
    assert "--id none" in error
    store = tmp_path / "b.everlearn"
    out = everlearn("link", source, "--store", store, "--duplicate-ids", "skip").stdout
    assert "Added 2 records" in out
    assert "Skipped 1 record with an id that the store has." in out
    assert exported(store) == [["1"], ["2"]]
    store = tmp_path / "c.everlearn"
    assert "Added 3 records" in everlearn("link", source, "--store", store, "--id", "none").stdout


@pytest.mark.parametrize("known", ["error", "skip"])
def test_records_without_an_id_are_refused_not_lost(tmp_path, known):
    source = tmp_path / "missing.csv"
    source.write_text("id,name\n1,Ann Lee\n,Bob Ray\n,Anne Lee\n")
    options = ("--store", tmp_path / "a.everlearn", "--duplicate-ids", known)
    error = everlearn("link", source, *options, code=1).stderr
    assert "Some records have no id in column 'id'" in error
    assert "--id none" in error
    out = everlearn("link", source, *options, "--id", "none").stdout
    assert "Added 3 records" in out
    assert "Skipped" not in out


def test_records_without_a_common_key_are_reported_and_not_asked_about(tmp_path):
    (tmp_path / "names.csv").write_text("id,name\n1,\n2,Ann\n3,Bob\n")
    store = tmp_path / "a.everlearn"
    for command in (("link", tmp_path / "names.csv", "--store", store), ("ask", store)):
        assert "No two records share a key" in " ".join(everlearn(*command).stdout.split())


def test_an_answer_about_a_pair_is_same_or_different(store):
    out = everlearn("ask", store, "-n", 1, input="maybe\n+\nperhaps\nsame\n").stdout
    assert "'maybe' is none of the classes" in out
    assert "'perhaps' is none of the classes" in out
    assert "new class" not in out
    assert "1 answered" in out
