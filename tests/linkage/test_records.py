import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from everlearn.linkage import Records

COLUMNS = {"id": [7, 8, 9], "name": ["Ann Lee", None, "Bob"], "price": [1.0, float("nan"), 2.5]}


@pytest.mark.parametrize(
    "make",
    [
        dict,
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    ],
    ids=["columns", "pandas", "polars", "Arrow", "dicts"],
)
def test_every_kind_of_table_gives_the_same_records(make):
    records = Records(make(COLUMNS))
    assert records.ids == [7, 8, 9]
    assert records.schema == {"name": "name", "price": "number"}
    assert [records[i] for i in range(3)] == [
        {"name": "Ann Lee", "price": "1"},
        {"name": "", "price": ""},
        {"name": "Bob", "price": "2.5"},
    ]


def test_a_value_is_kept_once():
    records = Records({"city": ["Rome", "Oslo", "Rome", None]})
    values, codes = records.distinct("city")
    assert values == ["Rome", "Oslo", ""]
    assert codes.tolist() == [0, 1, 0, 2]
    assert records.values("city") == ["Rome", "Oslo", "Rome", ""]


@pytest.mark.parametrize(
    ("column", "values", "kind"),
    [
        ("contact", ["a@b.org", "c@d.com", ""], "email"),
        ("home", ["http://a.org", "www.b.com"], "url"),
        ("when", ["2001-02-03", "1999-12-31"], "date"),
        ("date_of_birth", ["19620814", "19731102"], "date"),
        ("when", [datetime.date(2001, 2, 3), datetime.date(2002, 2, 3)], "date"),
        ("year", ["1999", "2001"], "number"),
        ("price", ["$1,000.50", "3"], "number"),
        ("postcode", ["2043", "3120"], "category"),
        ("number", ["0012", "0345"], "category"),
        ("authors", ["a lee, b ray, c poe, d orr", "x"], "name"),
        ("author_name", ["Wang, Li"], "name"),
        ("affiliation", ["Univ. of Rome"], "address"),
        ("title", ["a long title of five words", "another long title it is"], "text"),
        ("brand", ["acme", "zenith"], "name"),
        ("color", ["red", "blue"] * 100, "category"),
        ("color", ["red", "blue"] * 100 + ["rad", "bleu", "ble"], "category"),  # with misspellings
        ("year", ["1999", "2001", "2002", "2003"] * 20 + ["199x", "2o01"] * 5, "number"),
        ("length", ["3:45", "1:02:03", "225"], "number"),
        (
            "day",
            ["7 March 1999", "Mar 7, 1999", "7-Mar-99", "1999-03-07T10:00", "Sun, 7th of March 1999"],
            "date",
        ),
        ("version", ["10.4.11", "10.4", "9.2.2", "11.0.1.3", "7"], "name"),
        ("price", ["12,99 €", "USD 12.99", "1.234,50 EUR", "$ 1,234.50", "12"], "number"),
        ("contact number", ["5551234567", "5559876543"], "category"),
        ("empty", ["", None], "text"),
    ],
)
def test_kinds_are_inferred(column, values, kind):
    assert Records({column: values}).schema == {column: kind}


def test_a_schema_selects_fields_and_may_leave_kinds_open():
    records = Records(COLUMNS, {"price": "category", "name": None})
    assert records.schema == {"price": "category", "name": "name"}


def test_ids():
    assert Records({"name": ["a", "b"]}).ids == [0, 1]
    assert Records({"key": [5, 6], "name": ["a", "b"]}, id="key").ids == [5, 6]
    assert Records({"id": [5, 5], "name": ["a", "b"]}, {"name": "name"}, id=False).ids == [0, 1]
    assert Records({"id": ["x", "y"], "a": [1, 2]}).place_of("y") == 1


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ({"id": [1, 1, 2], "a": "xyz"},),
            {},
            r"must be distinct, but 1 of them repeat, such as 1.*id=False",
        ),
        (({"a": ["x"]}, {"b": "name"}), {}, r"schema names a missing column: 'b'; the columns are a"),
        (({"a": ["x"]}, {"a": "nome"}), {}, r"kind 'nome' for 'a'; the kinds are name, text"),
        (({"a": ["x"]},), {"id": "key"}, r"id='key' names a missing column"),
        (({"a": ["x"], "b": []},), {}, r"different lengths"),
    ],
)
def test_bad_tables_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        Records(*arguments, **options)


def test_other_objects_are_no_tables():
    with pytest.raises(TypeError, match="pandas, polars or Arrow table"):
        Records("a,b")


def test_unknown_fields_and_ids_are_refused():
    records = Records({"a": ["x"]})
    with pytest.raises(ValueError, match="no field 'b'; the fields are a"):
        records.distinct("b")
    with pytest.raises(ValueError, match="no record with the id 9"):
        records.place_of(9)


def test_no_records():
    assert len(Records([])) == 0
    assert len(Records({"a": []})) == 0
    assert np.size(Records({"a": []}).distinct("a")[1]) == 0
