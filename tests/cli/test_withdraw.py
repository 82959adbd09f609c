"""`everlearn withdraw`: labels are taken back."""

import pytest

from cli.cli_helpers import everlearn, failed, payments, ran, status_of, write_csv


@pytest.fixture
def store(tmp_path):
    path, store = write_csv(tmp_path / "s.csv", payments(100)), tmp_path / "s.everlearn"
    everlearn("run", path, "--store", store, "--label", "is_fraud", "--id", "number", "-q")
    return store


def test_labels_are_withdrawn(store, tmp_path):
    assert ran("withdraw", store, "p3", "p4") == "Withdrew the answers for 2 rows. 98 labels left.\n"
    (tmp_path / "ids.txt").write_text("p5\np6\n")
    ran("withdraw", store, "--ids-file", tmp_path / "ids.txt")
    assert (status_of(store)["labels"], status_of(store)["withdrawn"]) == (96, 4)


def test_all_or_none(store):
    before = status_of(store)
    assert "No row with the id 'x'" in failed("withdraw", store, "p3", "x")
    assert "No ids" in failed("withdraw", store)
    ran("withdraw", store, "p3")
    assert "No label to withdraw for id 'p3'" in failed("withdraw", store, "p4", "p3")
    assert status_of(store)["labels"] == before["labels"] - 1


def test_the_answer_of_one_person(store, tmp_path):
    answer = 1 - payments(100)[3][4]
    (tmp_path / "a.csv").write_text(f"id,answer\np3,{answer}\n")
    ran("label", store, tmp_path / "a.csv", "--by", "Ada")
    assert "p3" in ran("status", store)
    assert "'Bob' has no answer to withdraw" in failed("withdraw", store, "p3", "--answers-by", "Bob")
    assert "of Ada for 1 row. 100 labels" in ran("withdraw", store, "p3", "--answers-by", "Ada")
    assert "disagreements" not in ran("status", store)
