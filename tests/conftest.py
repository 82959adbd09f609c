"""Set-up that must come before any test imports NumPy and SciPy."""

import contextlib
import os
import sys

import pytest
from hypothesis import settings

from property_helpers import property_test

# With this scikit-learn's estimator checks also feed array-API input instead of skipping that check.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

# The tests run in several processes and start many more: one thread of BLAS each, and modules compiled once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# What a property test does not say is as in `property_test`.
settings.register_profile("everlearn", property_test(100))
settings.load_profile("everlearn")

WITHOUT_BROWSER = "no browser: "


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of a module, not longer: asyncio cannot run beside it in this process."""
    from browser import NoBrowserError, running_browser

    with contextlib.ExitStack() as stack:
        try:
            started = stack.enter_context(running_browser())
        except NoBrowserError as error:
            pytest.skip(f"{WITHOUT_BROWSER}{error}")
        yield started


def pytest_terminal_summary(terminalreporter):
    """Say what was not tested for lack of a browser."""
    skipped = [r for r in terminalreporter.stats.get("skipped", []) if WITHOUT_BROWSER in str(r.longrepr)]
    if skipped:
        reason = str(skipped[0].longrepr[2]).partition(WITHOUT_BROWSER)[2]
        terminalreporter.section("NOT TESTED: PAGES IN A BROWSER", sep="!", red=True, bold=True)
        terminalreporter.write_line(f"{len(skipped)} tests were skipped: {reason}", red=True)
