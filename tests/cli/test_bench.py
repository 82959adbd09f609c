"""`everlearn bench`."""

import re

from cli.cli_helpers import everlearn


def test_bench_times_learners_beside_a_linear_one():
    out = everlearn("bench", "--seconds", 0.5).stdout
    assert re.search(r"LASVM\(C=10\), step\(\) +[\d,]+", out)
    assert "SGDClassifier" in out
    assert "No benchmark 'nothing'" in everlearn("bench", "nothing", code=1).stderr
