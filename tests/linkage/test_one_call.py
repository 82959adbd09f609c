import pandas as pd
import pytest

from everlearn.datasets import make_author_records
from everlearn.linkage import AuthorName, Blocking, b_cubed_scores, link


def test_one_call_links_a_table():
    table, person = make_author_records({"J. Smith": (60, 8), "K. Tanaka": (40, 6)}, scale=1, random_state=1)
    found = link(pd.DataFrame(table), oracle=person, max_labels=100)
    assert b_cubed_scores(person, found.clusters).f1 > 0.75


def test_one_call_links_two_tables_of_strings():
    names = [
        f"{first} {last}"
        for first in ("anna", "bert", "carl", "dora")
        for last in ("lee", "ray", "poe", "orr")
    ]
    left = [{"who": name, "city": f"town {i % 5}"} for i, name in enumerate(names)]
    right = [{"who": name.replace("a", "e", 1), "city": f"Town {i % 5}"} for i, name in enumerate(names)]
    truth = list(range(16))
    found = link(left, right, oracle=(truth, truth), max_labels=40, blocking=Blocking("city"))
    assert b_cubed_scores(truth * 2, found.clusters).f1 > 0.8


def test_a_record_of_one_table_has_all_its_repeats_in_the_other():
    names = [f"{first} {last}" for first in ("anna", "bert", "carl") for last in ("lee", "ray", "poe", "orr")]
    left = [{"who": name, "city": f"town {i % 4}"} for i, name in enumerate(names)]
    right = [
        {"who": spelled, "city": f"Town {i % 4}"}
        for i, name in enumerate(names)
        for spelled in (name.upper(), name.replace("a", "e", 1), name + "s")
    ]
    truth = list(range(12)), [i for i in range(12) for _ in range(3)]
    found = link(left, right, oracle=truth, max_labels=40, blocking=Blocking("city"))
    assert b_cubed_scores([*truth[0], *truth[1]], found.clusters).f1 > 0.9
    assert len(found.matches) > 30


def test_non_latin_scripts_and_empty_names():
    names = ["王 小明", "王 小明", "Иван Петров", "иван петров", "", "", "محمد علي", "محمد علي"]
    table = {
        "name": names * 3,
        "city": ["北京", "北京", "Москва", "Москва", "x", "y", "القاهرة", "القاهرة"] * 3,
    }
    truth = [0, 0, 1, 1, 2, 3, 4, 4] * 3
    found = link(table, oracle=truth, max_labels=60)
    assert b_cubed_scores(truth, found.clusters).precision == 1
    assert b_cubed_scores(truth, found.clusters).recall > 0.6


def test_a_schema_that_names_a_missing_column_is_refused():
    with pytest.raises(ValueError, match="schema names a missing column: 'nam'"):
        link({"name": ["a", "b"]}, oracle=[0, 1], schema={"nam": "name"})


def test_a_large_block_is_refused():
    with pytest.raises(ValueError, match=r"3,000 records the key 'smith\|j'"):
        link({"name": ["J. Smith"] * 3000}, oracle=[0] * 3000, blocking=Blocking(AuthorName()))
