"""The browser of the tests: errors of a page are noticed, and a run without a browser says so."""

import os
import re
import subprocess
import sys

import pytest

import browser as tool


def address(html):
    return f"data:text/html,{html}"


def test_a_page_is_shown_at_its_width_in_light_and_dark(browser):
    for width, dark in [(390, True), (1280, False)]:
        with tool.opened(browser, address("<h1>here</h1>"), width=width, dark=dark) as page:
            assert page.inner_text("h1") == "here"
            assert page.evaluate("innerWidth") == width
            assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") is dark


@pytest.mark.parametrize("code", ["console.error('broken')", "throw new Error('broken')"])
def test_an_error_of_a_page_is_an_error_of_the_test(browser, code):
    with (
        pytest.raises(AssertionError, match="broken"),
        tool.opened(browser, address(f"<script>{code}</script>")) as page,
    ):
        page.wait_for_timeout(50)


def test_without_a_browser_the_summary_says_so(tmp_path):
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        f"{__file__}",
        "-k",
        "shown_at_its_width",
    ]
    environment = {**os.environ, "EVERLEARN_BROWSER": str(tmp_path / "none")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"!!! NOT TESTED: PAGES IN A BROWSER !!!", done.stdout), done.stdout
    assert "1 tests were skipped" in done.stdout
    assert "set EVERLEARN_BROWSER" in done.stdout
