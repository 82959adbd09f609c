"""Figures on the pages are those of recorded results: tables are written from them, or compared with them."""

import subprocess
import sys

import pytest

from figures_helpers import ROOT, figure, figures_in, is_result_table, unknown_figures, unmarked_tables

PAGES = sorted([ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").rglob("*.md")])
PAGES = [page for page in PAGES if "gallery" not in page.parts and "generated" not in page.parts]
# Written as a whole from results; tests/benchmarks/test_laboratory.py checks that they are up to date.
PAGES = [page for page in PAGES if "Made by `everlearn reproduce report`" not in page.read_text("utf-8")]


def name_of(page):
    return str(page.relative_to(ROOT))


def test_tables_are_those_of_the_results():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.pages", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}: run python -m benchmarks.pages"


def test_a_table_that_is_out_of_date_is_caught(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    from benchmarks.pages import with_tables

    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert with_tables(page) == page
    assert with_tables(page.replace("**26.1**", "**62.1**")) == page
    with pytest.raises(SystemExit, match="unknown table 'nonsense'"):
        with_tables("<!-- table: nonsense -->\n<!-- end -->")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_figures_are_those_of_the_results(page):
    assert unknown_figures(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_table_of_figures_names_its_results(page):
    assert unmarked_tables(page.read_text(encoding="utf-8")) == []


def test_a_figure_that_was_not_measured_is_caught():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert "| 2669 (2307) |" in page
    assert unknown_figures(page.replace("| 2669 (2307) |", "| 2696 (2307) |")) == [
        "2696 is not in noise-table"
    ]
    assert unknown_figures("<!-- figures: not recorded; make bench -->\n1.5\n") == []
    assert len(unknown_figures("<!-- figures: not recorded -->\n1.5\n")) == 1


def test_a_table_without_a_mark_is_caught():
    table = "| set | s | error |\n|---|--:|--:|\n| a | 1.5 | 2 % |\n| b | 7.25 | **3** (4) |\n"
    assert is_result_table(table)
    assert unmarked_tables(f"Text.\n\n{table}") == ["| set | s | error |"]
    assert unmarked_tables(f"<!-- figures: noise-table -->\n{table}") == []
    assert unmarked_tables(f"```\n{table}```\n") == []
    assert unmarked_tables("| a | b |\n|---|---|\n| 1 | one 2 three |\n| 2 | two |\n") == []


def test_numbers_are_read_with_their_precision():
    found = figures_in(
        "`3` of 1,234 rows, -0.50 to .905, 4e-6, mnist 0-9 and kdd-99, [5](6.md) x86-64, 510,000"
    )
    assert [one.text for one in found] == ["1,234", "-0.50", ".905", "4e-6", "5", "510,000"]
    assert figure("510,000").tolerance == pytest.approx(5000, rel=1e-3)
    assert figure("0.50").tolerance == pytest.approx(0.005, rel=1e-3)
    assert [one.text for one in figures_in("| a 1 | b 2 |\n|---|---|\n| c 3 | 4 (5) |\n")] == ["4", "5"]
