"""A browser for the tests, found on this machine or installed (`python tests/browser.py`, as in `make test`).

Looked for are the file that EVERLEARN_BROWSER names (then no other), the Chromium of Playwright, and what is
on the PATH. The first one that starts is taken. Without any, tests that need it are skipped, and the summary
of pytest says so in a section of its own.
"""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
REMEDY = (
    "Run `python -m playwright install chromium`, install chromium, or set EVERLEARN_BROWSER to its file."
)


class NoBrowserError(RuntimeError):
    """No browser starts on this machine."""


def candidates(playwright):
    """Files that may be a browser, best first."""
    named = os.environ.get("EVERLEARN_BROWSER")
    if named:
        return [named]
    found = [playwright.chromium.executable_path, *map(shutil.which, NAMES)]
    return list(dict.fromkeys(path for path in found if path and Path(path).exists()))


def start(playwright):
    """The first browser that starts, as Playwright's `Browser`. Raises NoBrowserError if there is none."""
    reasons = []
    for path in candidates(playwright):
        try:
            return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:  # noqa: PERF203
            reasons.append(f"{path} does not start: {error.message.splitlines()[0]}")
    raise NoBrowserError("; ".join(reasons or ["no Chromium or Chrome is installed"]) + f". {REMEDY}")


@contextmanager
def running_browser():
    """A browser, closed at the end. Playwright's event loop runs as long, so that asyncio must wait."""
    with sync_playwright() as playwright:
        browser = start(playwright)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser, address, width=1280, height=800, dark=False):
    """A page at an address; an AssertionError at the end if it has reported errors."""
    scheme = "dark" if dark else "light"
    with browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme) as context:
        page = context.new_page()
        errors = []
        page.on("console", lambda message: message.type == "error" and errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        yield page
        assert not errors, errors


def install():
    """Find a browser, or try to install one; it is not an error if there is none."""
    steps = [[[sys.executable, "-m", "playwright", "install", "chromium"]]]
    if sys.platform == "linux" and os.geteuid() == 0 and shutil.which("apt-get"):
        steps.append([["apt-get", "-qq", "update"], ["apt-get", "-qq", "install", "-y", "chromium"]])
    for commands in [[], *steps]:
        try:
            for command in commands:
                print("+", *command, flush=True)
                subprocess.run(command, check=True, timeout=600)
            with running_browser() as browser:
                print(f"The tests use Chromium {browser.version}.")
                return
        except (subprocess.SubprocessError, OSError, NoBrowserError) as error:  # noqa: PERF203
            reason = error
    print(f"No browser for the tests: {reason}")


if __name__ == "__main__":
    install()
