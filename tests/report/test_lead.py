"""The top of a report: one sentence, three numbers, and what has changed since the last report."""

import re

import pytest

from everlearn.report import key_figures, render, write_report
from everlearn.report._lead import changes, summary, tiles
from everlearn.report._sections import disagreement
from report.report_helpers import Page, told


def measured(matrix, drawn="audit", classes=("fraud", "ok"), **more):
    return {
        "title": "t",
        "classes": list(classes),
        "random_rows": {"matrix": matrix, "drawn": drawn},
        "totals": {"rows": 6000, "labels": 300, "asked": 300, "open_questions": 2, "budget": 500},
    } | more


def numbers(data):
    """The name and the value of each tile."""
    found = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", tiles(data))
    return dict(found)


def test_the_sentence_says_how_good_the_learner_is_on_random_rows():
    assert summary(measured([[20, 5], [5, 70]])) == (
        "The learner is right on 90% of random rows (95% interval 83% to 94%), better than always answering "
        "“ok” (75%)."
    )


@pytest.mark.parametrize(
    ("matrix", "compared"),
    [
        ([[0, 1], [0, 27]], "not clearly different from"),
        ([[2, 1], [1, 6]], "not clearly better than"),
        ([[30, 10], [10, 50]], "better than"),
        ([[10, 0], [50, 40]], "worse than"),
    ],
)
def test_the_learner_is_compared_with_the_most_frequent_class(matrix, compared):
    assert f"), {compared} always answering “ok”" in summary(measured(matrix))


def test_a_class_that_is_rare_among_random_rows_is_judged_by_all_scored_rows():
    asked = [{"row_from": 0, "row_to": 6000, "matrix": [[62, 46], [34, 148]]}]
    text = summary(measured([[0, 0], [0, 29]], confusion=asked))
    assert text.endswith("No random row is “fraud”; among all scored rows it recognized 62 of 108.")
    text = summary(measured([[0, 1], [0, 29]], confusion=asked))
    assert "Only 1 random row is “fraud”" in text


def test_labels_that_come_with_the_rows_are_all_random():
    text = summary(measured([[440, 28], [36, 496]], drawn="given", drift=[{"row": 5}, {"row": 9}]))
    assert text.startswith("The learner is right on 94% of the last 1,000 labeled rows")
    assert text.endswith("Concept drift was detected 2 times.")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"title": "t"}, ""),
        ({"title": "t", "totals": {"rows": 9, "labels": 0, "open_questions": 1}}, "1 question is open"),
        ({"title": "t", "totals": {"rows": 9, "labels": 5}}, "no prediction is scored yet"),
        ({"title": "t", "totals": {"rows": 9}}, "9 rows, no labels yet."),
        (
            {
                "title": "t",
                "window": 40,
                "totals": {"asked": 50},
                "curves": {"rows": [1], "accuracy": [0.71]},
            },
            "Accuracy 0.71 over the last 40 scored rows, most of them chosen because they are hard",
        ),
    ],
)
def test_without_random_rows_the_sentence_says_what_is_missing(data, text):
    assert text in summary(data)
    assert bool(summary(data)) == bool(text)


def test_three_numbers_lead():
    data = measured([[20, 5], [5, 70]])
    assert numbers(data) == {
        "Right on random rows": "90%",
        "What asking gained": "+15 points",
        "Questions left": "200",
    }
    text = Page(f"<html>{tiles(data)}</html>").text
    assert "95% interval 83% to 94%, from 100 rows asked at random" in text
    assert "Recognized: “fraud” 20 of 25, “ok” 70 of 75" in text
    assert "of a budget of 500; 300 asked, 2 open" in text


def test_what_asking_found_is_compared_with_random_rows():
    asked = [{"kind": "strategy", "predicted": "ok", "label": "fraud"}] * 3
    asked += [{"kind": "strategy", "predicted": "ok", "label": "ok"}] * 3
    text = tiles(measured([[0, 2], [0, 98]], questions=asked))
    assert "It was wrong on 50% of the rows it chose to ask about, and on 2.0% of random rows." in text
    assert "50% of the chosen rows are “fraud”, 2.0% of random rows." in text


def test_accuracy_says_little_if_nearly_all_rows_are_of_one_class():
    remark = "Nearly all rows are “ok”: look at the recall of the other classes instead."
    assert remark in tiles(measured([[1, 2], [0, 97]]))
    assert remark not in tiles(measured([[20, 5], [5, 70]]))


def test_labels_without_questions_have_no_budget():
    data = measured([[440, 28], [36, 496]], drawn="given")
    data["totals"] = {"rows": 8000, "labels": 8000, "asked": 0, "open_questions": 0, "budget": None}
    assert numbers(data) == {
        "Right on labeled rows": "94%",
        "What learning gained": "+40.4 points",
        "Labels": "8,000",
    }


def test_nearly_all_is_not_all():
    assert numbers(measured([[0, 1], [0, 299]]))["Right on random rows"] == "99.7%"
    assert numbers(measured([[0, 0], [0, 300]]))["Right on random rows"] == "100%"


def test_a_second_report_says_what_has_changed(tmp_path):
    path = tmp_path / "report.html"
    data = measured([[20, 5], [5, 70]], store="a.everlearn", created="2026-01-02T03:04:05")
    write_report(data, path)
    assert "Since the last report" not in path.read_text(encoding="utf-8")
    write_report(data, path)
    assert "Since the last report (2026-01-02 03:04:05): nothing has changed." in path.read_text("utf-8")
    later = measured([[20, 5], [5, 170]], store="a.everlearn", created="2026-01-03")
    later["totals"] |= {"rows": 7000, "labels": 301, "asked": 299}
    write_report(later, path)
    assert (
        "1,000 more rows; 1 more label; 1 fewer question; right on 95% of random rows, 90% before "
        "(100 and 200 rows)."
    ) in path.read_text(encoding="utf-8")
    write_report(later | {"store": "b.everlearn"}, path)
    assert "Since the last report" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("old", [b"", b"\xff\xfe", b'<meta name="everlearn-figures" content="[1">', b"<p>x"])
def test_a_file_that_is_no_report_is_replaced(tmp_path, old):
    path = tmp_path / "report.html"
    path.write_bytes(old)
    write_report(told(), path)
    assert path.read_text(encoding="utf-8") == render(told())


def test_forged_figures_of_a_last_report_stay_text():
    evil = {"created": "<script>alert(1)</script>", "rows": "<b>", "scored": {}, "correct": "x"}
    page = render(measured([[1, 0], [0, 1]]) | {"previous": evil})
    assert "<script>alert" not in page
    assert "<b>" not in page.split("<main>")[0]


def test_key_figures_are_plain_values():
    data = measured([[20, 5], [5, 70]], store="s", created="now", drift=[])
    assert key_figures(data) == {
        "store": "s",
        "created": "now",
        "rows": 6000,
        "labels": 300,
        "asked": 300,
        "drift_alarms": None,
        "correct": 90,
        "scored": 100,
        "by_audit": True,
    }
    assert changes(data) == ""


@pytest.mark.parametrize(
    ("accuracy", "auc", "majority", "text"),
    [
        (0.90, 0.90, 0.90, "in a good order, but few cross the decision boundary"),
        (0.80, 0.55, 0.60, "in a poor order"),
        (0.97, 0.52, 0.97, "Most rows are of one class"),
        (0.90, 0.95, 0.60, ""),
        (0.55, 0.58, 0.55, ""),
    ],
)
def test_auc_and_accuracy_that_disagree_are_explained(accuracy, auc, majority, text):
    curves = {"rows": [1], "accuracy": [accuracy], "auc": [auc], "majority_accuracy": [majority]}
    found = disagreement({"curves": curves})
    assert text in found
    assert bool(found) == bool(text)
    assert found.split("`")[0] in Page(render({"title": "t", "curves": curves})).text


def test_warm_up_questions_are_called_random():
    asked = [
        {"asked_row": 5, "kind": "cold_start", "reason": "drawn at random, for the cold start"},
        {"asked_row": 5, "kind": "cold_start", "reason": "far from every labeled row"},
    ]
    text = Page(render({"title": "t", "questions": asked})).text
    assert "random warm-up: drawn before there was a model" in text
    assert "far rows: unlike every labeled row" in text
    assert "cold start:" not in text


def test_influence_is_shown_with_rows_whose_label_to_check():
    text = Page(render(told())).text
    assert "Measured on 200 recent rows." in text
    assert text.count("check the label") == 1
    assert "higher values speak for" in text
