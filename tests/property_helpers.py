"""Property tests: the same examples in every run, and a third of them unless EVERLEARN_THOROUGH is set."""

import os

from hypothesis import settings

THOROUGH = bool(os.environ.get("EVERLEARN_THOROUGH"))


def sample_of(number):
    """As many of a number of examples, seeds or kills as a run tries."""
    return number if THOROUGH else max(3, number // 3)


def property_test(max_examples):
    return settings(max_examples=sample_of(max_examples), deadline=None, derandomize=True)
