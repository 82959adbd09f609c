"""Rows as fields and values."""

import numpy as np
from scipy import sparse

from everlearn.read import Schema
from everlearn.stream import NeverEndingLearner
from everlearn.stream.row_fields import as_text, row_fields


def test_a_row_from_the_store():
    columns = {
        "amount": ["3.5", "", "0"],
        "shop": ["A", "B", "A"],
        "paid": ["yes", "no", "yes"],
        "v": [[1, 2], [3, 4], [5, 6]],
    }
    schema = Schema.infer(columns)
    X, _ = schema.encode(columns, 3)
    with NeverEndingLearner.open(":memory:") as learner:
        learner.step(X)

        def values(row, schema):
            return [(field.name, field.value) for field in row_fields(learner, row, schema, {})]

        assert values(X[:1], schema) == [("amount", "3.5"), ("shop", "A"), ("paid", "yes"), ("v", "[1, 2]")]
        assert values(X[1:2], schema)[0] == ("amount", "(missing)")
        assert values(X[2:], schema)[0] == ("amount", "0")
        assert values(sparse.csr_matrix([[0, 2.5, 0]]), None) == [("x1", "2.5"), ("(others)", "2 are 0")]
        found = values(np.ones((1, 100)), None)
        assert (len(found), found[-1]) == (31, ("(others)", "70 more"))


def test_values_of_a_source_as_text():
    assert as_text(None) == as_text("") == "(missing)"
    assert as_text(True) == "true"
    assert as_text(list(range(10))) == "[0, 1, 2, 3, ...] (10 numbers)"
    assert as_text({"a": 1}) == "{'a': 1}"


def test_links_and_hidden_fields(tmp_path):
    columns = {"id": ["a", "b"], "x": ["1", "2"], "label": ["0", "1"]}
    schema = Schema.infer(columns, id="id", label="label")
    X, _ = schema.encode(columns, 2)
    (tmp_path / "cat.png").write_bytes(b"")
    found = {
        "id": "a",
        "x": "1",
        "label": "0",
        "page": "https://a.example/1",
        "photo": "cat.png",
        "other": "dog.png",
    }
    with NeverEndingLearner.open(":memory:") as learner:
        learner.step(X)
        fields = row_fields(learner, X[:1], schema, found, str(tmp_path))
    assert [(field.name, field.value, field.link) for field in fields] == [
        ("x", "1", ""),
        ("page", "https://a.example/1", "https://a.example/1"),
        ("photo", "cat.png", (tmp_path / "cat.png").as_uri()),
        ("other", "dog.png", ""),  # no such file
    ]


def test_high_and_low_values_are_ranked_by_the_rows_in_memory():
    columns = {"x": [str(at) for at in range(400)]}
    schema = Schema.infer(columns)
    X, _ = schema.encode(columns, 400)
    with NeverEndingLearner.open(":memory:") as learner:
        learner.step(X)
        remarks = [row_fields(learner, X[at : at + 1], schema, {})[0].remark for at in (0, 2, 200, 397, 399)]
    assert remarks == [
        "the lowest so far",
        "lower than 99.2 % of rows",
        "",
        "higher than 99.2 % of rows",
        "the highest so far",
    ]
