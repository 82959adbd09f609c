"""The checks of a report's data: unknown entries, columns of unequal length, matrices that do not fit."""

import numpy as np
import pytest

from everlearn.report.data import MEASURES, check
from report.report_helpers import told


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "title"),
        ({"title": " "}, "title"),
        ({"title": "t", "stesp": {}}, "'stesp'"),
        ({"title": "t", "totals": {"row": 1}}, "'row'"),
        ({"title": "t", "curves": {"acuracy": [1], "rows": [1]}}, "'acuracy'"),
        ({"title": "t", "curves": {"accuracy": [1]}}, "'rows'"),
        ({"title": "t", "curves": {"rows": [1, 2], "accuracy": [1]}}, "2"),
        ({"title": "t", "audit": {"rows": [1, 2], "lower": [1]}}, "audit"),
        ({"title": "t", "peers": [{"name": "p", "rows": [1], "auc": []}]}, "peers"),
        ({"title": "t", "questions": [{"why": 1}]}, "'why'"),
        ({"title": "t", "confusion": [{"row_from": 0, "row_to": 1, "matrix": [[1, 2]]}]}, "matrix"),
        (
            {"title": "t", "classes": "abc", "confusion": [{"row_from": 0, "row_to": 1, "matrix": [[1]]}]},
            "classes",
        ),
    ],
)
def test_data_that_would_be_shown_wrongly_are_refused(data, message):
    with pytest.raises(ValueError, match=message):
        check(data)


def test_data_are_a_mapping():
    with pytest.raises(TypeError, match="mapping"):
        check([("title", "t")])


def test_data_of_a_full_report_pass_as_lists_and_as_arrays():
    data = told()
    check(data)
    curves = {name: np.asarray(column) for name, column in data["curves"].items()}
    check(data | {"curves": curves})


@pytest.mark.parametrize("part", ["totals", "curves", "audit", "peers", "drift", "questions", "confusion"])
@pytest.mark.parametrize("empty", [None, "empty"])
def test_a_part_may_be_missing_or_empty(part, empty):
    data = told()
    check(data | {part: None if empty is None else type(data[part])()})
    del data[part]
    check(data)


def test_the_curves_have_every_measure():
    assert set(MEASURES) <= set(told()["curves"])
