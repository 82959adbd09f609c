"""Set-up that must come before any test imports NumPy and SciPy."""

import contextlib
import os
import sys

import pytest
from hypothesis import settings

from property_helpers import property_test
from servers import WITHOUT_BROKER, NoBrokerError, running

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


@pytest.fixture(scope="session")
def redis_server():
    """A Redis server, the same for all tests of this process: each uses streams of its own."""
    yield from _server("redis")


@pytest.fixture(scope="session")
def kafka_server():
    """A Kafka-compatible broker, the same for all tests of this process: each uses topics of its own."""
    yield from _server("kafka")


def _server(kind):
    with contextlib.ExitStack() as stack:
        try:
            started = stack.enter_context(running(kind))
        except NoBrokerError as error:
            pytest.skip(f"{WITHOUT_BROKER}{kind}: {error}")
        yield started


def pytest_terminal_summary(terminalreporter):
    """Say what was not tested for lack of a browser or of a broker."""
    for reason, title in ((WITHOUT_BROWSER, "PAGES IN A BROWSER"), (WITHOUT_BROKER, "BROKERS")):
        skipped = [r for r in terminalreporter.stats.get("skipped", []) if reason in str(r.longrepr)]
        if skipped:
            why = " ".join(sorted({str(r.longrepr[2]).partition(reason)[2] for r in skipped}))
            terminalreporter.section(f"NOT TESTED: {title}", sep="!", red=True, bold=True)
            terminalreporter.write_line(f"{len(skipped)} tests were skipped: {why}", red=True)
