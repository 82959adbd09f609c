"""Reports in a browser: a fraud run, and a triage of texts in three classes; wide, narrow, light and dark."""

import pytest

import browser as tool
from browser_checks import keep_screenshot, page_problems
from cli.cli_helpers import everlearn
from cli.walk_files import write_payments, write_tickets

WALKS = {
    "fraud": (write_payments, 3000, "is_fraud", 0.05, "--label-budget", 300),
    "tickets": (write_tickets, 800, "team", 0.15, "--id", "ticket"),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The addresses of the reports, each written twice, so that it says what has changed."""
    folder, found = tmp_path_factory.mktemp("reports"), {}
    for name, (write, rows, label, rate, *options) in WALKS.items():
        source, store, page = (folder / f"{name}.{end}" for end in ("csv", "everlearn", "html"))
        write(source, rows)
        named = ("--oracle", label, "--label-rate", rate, "--random-state", 0, *options)
        for part in ("--limit", 400), ():
            everlearn("run", source, "--store", store, "--batch-size", 200, *named, *part)
            everlearn("report", store, "--out", page)
        found[name] = page.as_uri()
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", WALKS)
def test_a_report_can_be_read(browser, reports, name, width, dark):
    with tool.opened(browser, reports[name], width=width, dark=dark) as page:
        keep_screenshot(page, f"{name}-{width}-{'dark' if dark else 'light'}")
        page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
        assert page_problems(page) == []


def test_the_values_under_the_pointer_are_shown(browser, reports):
    with tool.opened(browser, reports["fraud"]) as page:
        chart = page.locator("svg[data-x]:visible").first
        chart.hover()
        assert page.locator(".at:visible").first.inner_text().startswith("at row 1,")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ("<p style='width:500px'>wide</p>", "px wide in a window"),
        ("<p style='color:#999'>faint</p>", '"faint" in p has a contrast of only 2.85'),
        ("<p style='font-size:8px'>tiny</p>", '"tiny" in p is only 8.0 px high'),
        ("<h3>too deep</h3>", "of level 3 after level 1"),
        (
            "<svg width=90 height=20><text y=15>one</text><text y=15 x=9>two</text></svg>",
            '"one" overlaps "two"',
        ),
        ("<svg width=90 height=20><text y=15 x=80>outside</text></svg>", '"outside" leaves its drawing'),
        (
            "<svg width=90 height=20><rect width=90 height=20 fill='#333'/><text y=15>dark</text></svg>",
            "contrast",
        ),
    ],
)
def test_problems_are_found(browser, wrong, problem):
    page = f"data:text/html,<h1>Title</h1>{wrong}".replace("#", "%23")
    with tool.opened(browser, page, width=390) as shown:
        found = page_problems(shown)
    assert len(found) == 1
    assert problem in found[0]


def test_a_page_without_problems(browser):
    page = "data:text/html,<h1>Title</h1><h2>Part</h2><p>text</p><svg height=20><text y=15>one</text></svg>"
    with tool.opened(browser, page, width=390) as shown:
        assert page_problems(shown) == []
