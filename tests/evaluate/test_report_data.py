"""The data of a report: every entry is documented, and a learner's report has no others."""

import re

import numpy as np
import pytest

from everlearn.evaluate import report_data
from stream.stream_helpers import opened, xor

KINDS = {
    name: kind
    for name, kind in vars(report_data).items()
    if isinstance(kind, type) and hasattr(kind, "__total__") and not name.startswith("_")
}
WITH_TABLE = sorted(name for name, kind in KINDS.items() if "====" in kind.__doc__)


def test_types_are_found():
    assert {"ReportData", "Totals", "Curves", "Audit", "QuestionEntry"} <= set(WITH_TABLE)


@pytest.mark.parametrize("name", WITH_TABLE)
def test_every_entry_is_documented(name):
    documented = set()
    for line in re.findall(r'^    (".*)$', KINDS[name].__doc__, re.MULTILINE):
        names = re.findall(r'"(\w+)"', re.split(r"  +", line)[0])
        if line.endswith(", ..."):  # the same four scores
            names = [names[0].replace("accuracy", score) for score in ("accuracy", "g_means", "mcc", "auc")]
        documented.update(names)
    assert documented == set(KINDS[name].__annotations__)


def test_a_report_of_a_learner_has_documented_entries_only():
    X, y = xor(300)
    with opened() as learner:
        for start in range(0, 300, 50):
            labels = np.where(np.arange(50) % 2, None, y[start : start + 50].astype(object))
            learner.step(X[start : start + 50], labels)
        data = learner.report_data()
    assert set(data) <= set(report_data.ReportData.__annotations__)
    assert set(data["totals"]) <= set(report_data.Totals.__annotations__)
    assert set(data["curves"]) <= set(report_data.Curves.__annotations__)
    assert data["questions"]
    assert all(set(question) <= set(KINDS["QuestionEntry"].__annotations__) for question in data["questions"])
    assert data["totals"]["rows"] == 300
    assert data["totals"]["labels"] == 150
