"""Numbers, times, yes and no, vectors, nested values: detected with care, given, kept in the schema."""

import json

import numpy as np
import pytest

from everlearn.read import Schema, open_source
from everlearn.read._numbers import NumberForm
from everlearn.read.field import Field


def field_of(cells, **options):
    return Schema.infer({"x": cells}, **options).fields[0]


# ---------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("cells", "decimal", "thousands", "unit"),
    [
        (["1,5", "2"], ",", ".", ""),
        (["1.234,50", "7"], ",", ".", ""),
        (["1,234.50", "7"], ".", ",", ""),
        (["1.5", "2"], ".", "", ""),
        (["1,234", "56"], ".", ",", ""),  # two readings: thousands
        (["1,234", "0,5"], ",", ".", ""),
        (["1 234,5", "12"], ",", " ", ""),
        (["1'234.5", "12"], ".", "'", ""),
        (["12,50 €", "-3 €", "7"], ",", ".", "€"),
        (["$1,234", "-$5"], ".", ",", "$"),
        (["12.5%", "3 %"], ".", "", "%"),
        (["1,234,567", "5"], ".", ",", ""),
    ],
)
def test_the_form_of_numbers(cells, decimal, thousands, unit):
    found = field_of(cells)
    assert (found.kind, found.decimal, found.thousands, found.unit) == ("numeric", decimal, thousands, unit)


@pytest.mark.parametrize(
    "cells",
    [
        ["1,234", "A12"],
        ["1.2.3", "1.2.4"],
        ["192.168.0.1", "10.0.0.1"],
        ["€5", "$5"],
        ["12%", "13"],
        ["1.234,5", "1,234.5"],
        ["601 234 567", "601 234 568"],
        ["12-34", "12-35"],
        ["(555)", "(556)"],
        ["007", "123"],
        ["1,23,4", "2,3"],
    ],
)
def test_what_only_looks_like_numbers_stays_a_category(cells):
    assert field_of(cells).kind == "categorical"


def test_other_fields_tell_the_decimal_separator_where_a_field_does_not():
    both = Schema.infer({"price": ["1,5", "2,25"], "units": ["1.234", "12.500"], "n": ["1", "2"]})
    assert [(f.decimal, f.thousands) for f in both.fields] == [(",", "."), (",", "."), (",", ".")]
    assert both.encode({"price": ["1"], "units": ["1.234"], "n": ["2.000"]}, 1)[0].tolist() == [
        [1, 1234, 2000]
    ]
    other = Schema.infer({"price": ["1.5", "2.25"], "units": ["1,234", "12,500"]})
    assert other.encode({"price": ["1"], "units": ["1,234"]}, 1)[0].tolist() == [[1, 1234]]


def test_a_choice_is_noted_and_can_be_made():
    assert "--decimal , reads '1,234' otherwise" in field_of(["1,234", "2,345"]).note
    given = field_of(["1,234", "2,345"], decimal=",")
    assert (given.decimal, given.note) == (",", "decimal comma")
    assert field_of(["1.5", "2.5"], decimal=",").decimal == "."  # nothing to choose
    with pytest.raises(ValueError, match=r"decimal='x' must be"):
        field_of(["1"], decimal="x")


def test_semicolons_suggest_a_decimal_comma(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("a;b\n1,234;x\n2,345;y\n")
    with open_source(path) as source:
        assert next(source).X[:, 0].tolist() == [1.234, 2.345]


@pytest.mark.parametrize(
    ("form", "cell", "value"),
    [
        (NumberForm(",", "."), "1.234.567,5", 1234567.5),
        (NumberForm(",", "."), "(12,5)", -12.5),
        (NumberForm(",", "."), "12,5-", -12.5),
        (NumberForm(",", "."), "12,-", 12),
        (NumberForm(",", "."), "\u221212,5", -12.5),
        (NumberForm(",", "."), " 1,5e3 ", 1500),
        (NumberForm(".", ",", "$"), "US$ 1", None),
        (NumberForm(".", ",", "$"), "-$ 1,000", -1000),
        (NumberForm(".", ",", "$"), "5", 5),
        (NumberForm(".", ",", "$"), "5 €", None),
        (NumberForm(".", "", "%"), "12 %", 12),
        (NumberForm(".", "", "%"), "12", None),
        (NumberForm(".", "", "%"), "0", 0),
        (NumberForm(",", "."), "1.5", None),
        (NumberForm(",", "."), "12.34", None),
        (NumberForm(",", "."), "--5", None),
        (NumberForm(",", "."), "(-5)", None),
    ],
)
def test_a_number_in_its_form(form, cell, value):
    if value is None:
        with pytest.raises(ValueError, match="number"):
            form.parse(cell)
    else:
        assert form.parse(cell) == value
        assert form.parse_column([cell, ""])[0].tolist()[0] == value


def test_fast_and_slow_parsing_agree():
    form, cells = NumberForm(",", "."), [f"{i / 7:.3f}".replace(".", ",") for i in range(50)]
    fast, bad = form.parse_column(cells)
    assert not bad
    assert fast.tolist() == [form.parse(cell) for cell in cells]
    assert form.parse_column([*cells, "1,5\n2"])[1] == {50: "not a number"}


def test_a_later_value_in_another_form_is_bad_and_quoted(tmp_path):
    path, later = tmp_path / "s.csv", tmp_path / "t.csv"
    path.write_text("x;y\n1,5;a\n2,5;b\n")
    later.write_text("x;y\n1,5;a\n2.5;b\n")
    with open_source(path) as source:
        schema = source.schema
    with open_source(later, schema=schema, quarantine=tmp_path / "bad.jsonl") as source:
        assert [len(batch) for batch in source] == [1]
    assert (source.bad[0].field, source.bad[0].value) == ("x", "2.5")
    assert json.loads((tmp_path / "bad.jsonl").read_text())["value"] == "2.5"


# ------------------------------------------------------------------------------------------------------ times


@pytest.mark.parametrize(
    ("cells", "time_format"),
    [
        (["03.01.2025 08:31", "31.01.2025 23:59"], "%d.%m.%Y %H:%M"),
        (["03.01.2025", "04.02.2025"], "%d.%m.%Y"),  # points: day first
        (["1/31/25", "2/1/25"], "%m/%d/%y"),
        (["31/1/2025", "1/2/2025"], "%d/%m/%Y"),
        (["1/31/2025 8:31:05 PM", "2/1/2025 9:00:00 AM"], "%m/%d/%Y %I:%M:%S %p"),
        (["2025/01/31", "2025/02/01"], "%Y/%m/%d"),
        (["3-Jan-2025", "4-Feb-2025"], "%d-%b-%Y"),
        (["Jan 3, 2025", "Feb 4, 2025"], "%b %d, %Y"),
        (["Mon, 06 Jan 2025 10:00:00 +0100", "Tue, 07 Jan 2025 10:00:00 +0100"], "%a, %d %b %Y %H:%M:%S %z"),
        (["2025-01-03", "2025-01-04 10:00"], ""),
    ],
)
def test_the_form_of_times(cells, time_format):
    found = field_of(cells)
    assert (found.kind, found.time_format) == ("time", time_format)


@pytest.mark.parametrize(
    ("cells", "time_format", "first"),
    [
        ([1735891860000, 1735891870000], "ms", 1735891860.0),
        (["1735891860", "1735891870"], "", 1735891860.0),
        ([20250103, 20250104], "%Y%m%d", 1735862400.0),
        (["20250103", "20250104"], "%Y%m%d", 1735862400.0),
        ([1735891860000000000, 1735891870000000000], "ns", 1735891860.0),
    ],
)
def test_times_that_are_numbers(tmp_path, cells, time_format, first):
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps({"time": cell, "x": 1}) + "\n" for cell in cells))
    with open_source(path) as source:
        assert source.schema.time_format == time_format
        assert next(source).time[0] == first


def test_day_and_month_are_told_apart_by_all_rows_or_by_a_note():
    many = ["03/04/2025"] * 20
    assert field_of([*many, "13/04/2025"]).time_format == "%d/%m/%Y"
    assert field_of([*many, "04/13/2025"]).time_format == "%m/%d/%Y"
    unknown = field_of(["03/04/2025", "01/02/2025", "05/01/2025"])
    assert unknown.time_format == "%d/%m/%Y"
    assert "--time-format '%m/%d/%Y' reads the month first" in unknown.note
    assert field_of(["03/04/2025", "01/02/2025", "05/01/2025"], time_format="%m/%d/%Y").note == ""


def test_a_given_time_format():
    with pytest.raises(ValueError, match=r"No field has times of the form time_format='%Y/%m/%d'"):
        field_of(["03.04.2025"], time_format="%Y/%m/%d")
    for wrong in ("dd.mm.yyyy", "%Q"):
        with pytest.raises(ValueError, match="is not a time format"):
            field_of(["03.04.2025"], time_format=wrong)
    found = Schema.infer({"when": ["3|1|25"], "x": ["1"]}, time="when", time_format="%d|%m|%y")
    assert found.time_format == "%d|%m|%y"


# --------------------------------------------------------------------------- booleans, vectors, nested values


def test_yes_and_no_in_several_languages():
    for yes, no in [
        ("Ja", "Nein"),
        ("oui", "non"),
        ("TRUE", "false"),
        ("y", "n"),
        ("sí", "no"),
        (True, False),
    ]:
        schema = Schema.infer({"x": [yes, no, None]})
        assert schema.fields[0].kind == "boolean"
        assert schema.encode({"x": [yes, no, None, "maybe"]}, 4)[0].tolist() == [
            [1, 0],
            [0, 0],
            [0, 1],
            [0, 1],
        ]
    assert field_of(["yes", "no", "maybe"]).kind == "categorical"
    assert field_of(["1", "0"]).kind == "numeric"
    assert field_of(["m", "f"]).kind == "categorical"
    assert Schema.infer({"x": [1, 0]}, kinds={"x": "boolean"}).encode({"x": [1, 0]}, 2)[0].tolist() == [
        [1, 0],
        [0, 0],
    ]


def test_lists_of_one_length_are_vectors(tmp_path):
    path = tmp_path / "s.jsonl"
    rows = [
        {"v": [0.6, 0.8]},
        {"v": [1.0, 0]},
        {"v": [1, 2, 3]},
        {"v": None},
        {"v": "no"},
        {"v": [1, float("inf")]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_source(path, infer_rows=2, batch_size=2) as source:
        (batch,) = source
    assert source.schema.feature_names == ["v[0]", "v[1]"]
    assert batch.X.tolist() == [[0.6, 0.8], [1, 0]]
    assert source.schema.fields[0].unit_length
    assert not source.schema.scale_features.any()
    assert source.schema.is_unit_length
    assert [row.reason.partition(": ")[2] for row in source.bad] == [
        "a vector of 3 numbers instead of 2",
        "no vector",
        "not a list of numbers",
        "a vector with NaN or an infinite value",
    ]
    assert source.bad[0].value == "[1, 2, 3]"


def test_vectors_of_other_lengths_are_scaled_and_lists_of_several_lengths_ignored():
    assert Schema.infer({"v": [[3.0, 4.0], [1.0, 0.0]]}).scale_features.all()
    ragged = field_of([[1.0], [1.0, 2.0]])
    assert (ragged.kind, ragged.note) == ("ignore", "lists that are not numbers of one length")
    with pytest.raises(ValueError, match="given as a vector"):
        field_of(["a"], kinds={"x": "vector"})


def test_values_inside_of_objects_are_fields(tmp_path):
    path = tmp_path / "s.jsonl"
    rows = [
        {"user": {"age": 30, "geo": {"lat": 1.5}}, "y": 0},
        {"user": {"age": 40, "geo": None, "new": "?"}, "y": 1},
        {"user": None, "y": 1},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_source(path, infer_rows=1, batch_size=1) as source:
        assert source.schema.feature_names == ["user.age", "user.geo.lat"]
        assert [batch.X.tolist() for batch in source] == [[[30, 1.5]], [[40, 1.5]], [[30, 1.5]]]


def test_an_object_with_many_keys_is_no_record(tmp_path):
    path = tmp_path / "s.jsonl"
    rows = [{"counts": {f"word{i}": 1 for i in range(row, row + 150)}, "x": row} for row in range(100)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_source(path) as source:
        assert source.schema.feature_names == ["x"]
        assert sum(map(len, source)) == 100


def test_a_field_cannot_have_one_separator_twice():
    with pytest.raises(ValueError, match="choose another"):
        Field("x", "numeric", decimal=",", thousands=",")
    with pytest.raises(ValueError, match="decimal must be"):
        Field("x", "numeric", decimal=";")


def test_examples_are_not_part_of_the_schema(tmp_path):
    """A store keeps its schema: a value in it could not be erased."""
    path = tmp_path / "s.csv"
    path.write_text("name,x\nSecretary,1\n" + "".join(f"n{i},{i}\n" for i in range(99)))
    with open_source(path) as source:
        assert source.examples["name"] == "Secretary"
        assert "Secretary" not in json.dumps(source.schema.state())
    assert np.isnan(float(source.examples.get("z", "nan")))
