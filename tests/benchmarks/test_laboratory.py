"""The claims, their checks and verdicts, the table of results, and the pages made of them."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.harness.command import tables  # noqa: E402
from benchmarks.laboratory import catalogue, command, results, runs, verdict, words  # noqa: E402
from benchmarks.laboratory.comparison_page import comparison_page  # noqa: E402
from benchmarks.laboratory.papers_page import ORDER, papers_pages  # noqa: E402
from benchmarks.laboratory.verdict import Check, Verdict  # noqa: E402

RESULTS = results.Results()
CLAIMS = catalogue.claims()
PAGES = {**papers_pages(RESULTS), "comparison.md": comparison_page(RESULTS)}
ENTRY = """
document = "book"
short = "Author, 2000"
title = "A book"
authors = "A. N. Author"

[[claim]]
id = "book-table-1"
places = ["Table 1"]
claim = "It works."
"""


def reproduce(*words, **environment):
    known = {key: value for key, value in os.environ.items() if key != "EVERLEARN_DATA"} | environment
    command = [sys.executable, "-m", "benchmarks.reproduce", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, env=known, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_those_of_the_results(name):
    written = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert PAGES[name] == written, "run `everlearn reproduce report`"


def test_a_page_that_is_out_of_date_is_caught(monkeypatch, tmp_path, capsys):
    (tmp_path / "docs" / "papers").mkdir(parents=True)
    for name, text in PAGES.items():
        (tmp_path / "docs" / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(command, "ROOT", tmp_path)
    assert command.main(["report", "--check"]) == 0
    page = tmp_path / "docs" / "papers" / "hu.md"
    page.write_text(page.read_text(encoding="utf-8").replace("reproduced", "refuted", 1), encoding="utf-8")
    assert command.main(["report", "--check"]) == 1
    assert "Out of date: papers/hu.md" in capsys.readouterr().out


def test_every_claim_with_results_has_checks_and_no_other_has():
    wanted = {name for name, claim in CLAIMS.items() if claim.parts}
    assert set(verdict.registered()) == wanted
    assert set(ORDER) == set(catalogue.documents())


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_the_commands_of_a_claim_are_commands(claim):
    known = tables()
    for table, arguments in claim.commands():
        parsed = known[table].parser().parse_args(arguments)
        assert set(parsed.parts) <= {part.name for part in known[table].parts}
    for name in claim.sources:
        assert name.partition("-")[0] in known


def test_no_result_of_a_trial_is_recorded():
    for part in RESULTS.parts():
        data = RESULTS.data(part)
        assert isinstance(data, list) or not data["settings"].get("quick"), part


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ENTRY, "book-table-1 needs parts, protocol and cost, or unmeasurable"),
        (ENTRY + 'unmeasurable = "no data"\ncolor = "red"\n', "unknown fields: color"),
        (ENTRY.replace('places = ["Table 1"]\n', ""), "book-table-1 lacks places"),
        (
            ENTRY + 'unmeasurable = "no data"\n[without_result]\n"Table 1" = "data"\n',
            "with and without a result",
        ),
        (
            ENTRY + 'unmeasurable = "a"\n' + ENTRY[ENTRY.index("[[claim]]") :] + 'unmeasurable = "b"\n',
            "same id",
        ),
    ],
)
def test_a_catalogue_with_a_mistake_is_refused(tmp_path, text, message):
    (tmp_path / "book.toml").write_text(text)
    with pytest.raises(ValueError, match=message):
        catalogue.read(tmp_path)


def a_claim(**fields):
    return catalogue.Claim("x", "book", ["Table 1"], "It works.", parts=["lasvm-table --rows 5"], **fields)


YES, NO, NEARLY = Check("a", True), Check("b", False), Check("c", False, nearly=True)


@pytest.mark.parametrize(
    ("checks", "fields", "expected"),
    [
        ([YES, YES], {}, Verdict.REPRODUCED),
        ([YES, YES], {"partial": "half of it"}, Verdict.IN_PART),
        ([YES, NO], {}, Verdict.IN_PART),
        ([NO, NEARLY], {}, Verdict.IN_PART),
        ([NO, NO], {}, Verdict.REFUTED),
        ([NO], {"partial": "half of it"}, Verdict.REFUTED),
        ([YES], {"unmeasurable": "no data"}, Verdict.UNMEASURABLE),
    ],
)
def test_the_verdict_follows_from_the_checks(monkeypatch, checks, fields, expected):
    monkeypatch.setattr(verdict, "registered", lambda: {"x": lambda found: checks})
    assert verdict.judge(a_claim(**fields), RESULTS).verdict is expected


def test_a_claim_without_results_is_open():
    unknown = replace(a_claim(), parts=["lasvm-nothing"])
    assert verdict.judge(unknown, RESULTS).verdict is Verdict.OPEN


def test_a_check_that_changes_with_a_result_changes_the_verdict(tmp_path):
    data = RESULTS.data("river_tracks-scores")
    assert verdict.judge(CLAIMS["everlearn-river-tracks"], RESULTS).verdict is Verdict.REPRODUCED
    for result in data["results"]:
        if result["learner"] == "AdaptiveSVM()":
            result["accuracy"] = 0.5
    (tmp_path / "river_tracks-scores.json").write_text(json.dumps(data))
    worse = verdict.judge(CLAIMS["everlearn-river-tracks"], results.Results(tmp_path))
    assert worse.verdict is Verdict.REFUTED
    assert "50.00 %" in worse.checks[0].text


def leaves(node, key=""):
    if isinstance(node, dict):
        return [leaf for name, child in node.items() for leaf in leaves(child, name)]
    if isinstance(node, list):
        return [leaf for child in node for leaf in leaves(child, key)]
    return [float(node)] if isinstance(node, int | float) and key != "seed" else []


@pytest.mark.parametrize("part", RESULTS.parts())
def test_the_table_has_every_measured_value_once(part):
    data = RESULTS.data(part)
    found = data["results"] if isinstance(data, dict) else data
    assert sorted(row.value for row in RESULTS.rows(part)) == sorted(leaves(found))


def test_rows_know_set_learner_metric_setting_and_seed():
    data = {
        "results": [
            {"set": "a", "peers": {"svc": {"fits": [{"cpu": 1.5}, {"cpu": 2.5}]}}},
            {"set": "b", "points": [{"rule": "random", "noise": 0.1, "seed": 7, "error": 0.25}]},
        ]
    }
    rows = {
        (r.set, r.learner, r.metric, r.seed, dict(r.at).get("noise")): r.value
        for r in results.tidy("p", data)
    }
    assert rows["a", "svc", "fits.cpu", 1, None] == 2.5
    assert rows["b", "random", "points.error", 7, 0.1] == 0.25


def test_the_table_is_written_with_claims_commit_and_machine(tmp_path):
    few = results.Results(tmp_path)
    (tmp_path / "noise-ramp.json").write_text(json.dumps(RESULTS.data("noise-ramp")))
    count = few.write(tmp_path / "out" / "results.csv", {"noise-ramp": ["wang-fig-2", "wang-fig-5"]})
    with (tmp_path / "out" / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == count > 100
    assert set(rows[0]) == set(results.COLUMNS)
    assert {row["id"] for row in rows} == {"wang-fig-2 wang-fig-5"}
    assert "EPYC" in rows[0]["machine"]
    asked = [
        float(r["value"])
        for r in rows
        if (r["set"], r["learner"], r["metric"]) == ("Gauss", "SVC", "runs.accuracy")
    ]
    assert asked == few.pick("noise-ramp", "runs.accuracy", set="Gauss", learner="SVC").values


def test_counts_name_the_exceptions():
    check = words.count("Better", {"a": True, "b": True, "c": False}, 0.9, lambda key: "(3)")
    assert (check.text, check.holds, check.nearly) == ("Better on 2 of 3 (not on c (3)).", False, True)
    assert words.count("Better", {"a": True, "b": False}, 0.5).holds
    assert not words.ahead("Above", {"a": 1, "b": 0, "c": 3}, {"a": 2, "b": 1, "c": 2}, 0.9).nearly
    assert words.listed("abc") == "a, b and c"


def test_a_claim_is_listed_with_its_figures():
    shown = reproduce("list", "wang-fig-2")
    assert shown.returncode == 0, shown.stderr
    for text in ("wang-fig-2: in part", "Z. Wang and S. Vucetic", "python -m benchmarks.noise ramp", "fails"):
        assert text in shown.stdout
    every = reproduce("list", "--document", "ertekin")
    assert f"{len(catalogue.documents()['ertekin'].claims)} claims:" in every.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "wang-fig"], "no claim or document 'wang-fig'. Did you mean wang-fig-2"),
        (["run", "ertekin-fig-3.1"], "EVERLEARN_DATA must be a folder with these data sets: mnist (.npz)"),
        (["run", "ertekin-table-6.1"], "none of these can be measured here"),
        (["list", "--verdict", "maybe"], "invalid choice: 'maybe'"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    refused = reproduce(*arguments)
    assert refused.returncode == 2
    assert message in refused.stderr


def test_a_claim_is_measured_and_what_is_there_is_not_measured_again(tmp_path):
    done = reproduce("run", "wang-fig-2", "wang-fig-5", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "quick").glob("noise-ramp-*.json")
    assert "commit" in json.loads(file.read_text())["machine"]
    again = reproduce("run", "wang-fig-2", "--quick", "--out", tmp_path)
    assert f"noise-ramp is there: {file.name}" in again.stderr
    assert len(list((tmp_path / "quick").glob("*.json"))) == 1


def test_an_interrupted_run_goes_on(monkeypatch, tmp_path):
    called = []
    monkeypatch.setattr(runs.subprocess, "run", lambda words, **_: called.append(words) or Done())
    (tmp_path / "noise-ramp-20260101-000000.json").write_text("{}")
    assert runs.run([CLAIMS["wang-fig-2"]], tmp_path, quick=False) == 0
    assert called[0][-2:] == ["--resume", str(tmp_path / "noise-ramp-20260101-000000.json")]
    (tmp_path / "noise-ramp-20260101-000000.md").write_text("")
    assert runs.run([CLAIMS["wang-fig-2"]], tmp_path, quick=False) == 0
    assert len(called) == 1


class Done:
    returncode = 0
