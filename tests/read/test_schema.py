"""Schema: what fields are taken for, the columns they become, and that both survive JSON."""

import datetime
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everlearn.read import _cells
from everlearn.read.field import Field
from everlearn.read.schema import Schema
from property_helpers import sample_of
from read.read_helpers import encode

PROFILE = settings(derandomize=True, deadline=None, max_examples=sample_of(60))


def kinds(schema):
    return {field.name: field.kind for field in schema.fields}


# ------------------------------------------------------------------------------------------------ the rules


def test_kinds_are_inferred_by_name_and_contents_and_marked():
    n = 40
    schema = Schema.infer(
        {
            "ID": [f"r{i}" for i in range(n)],
            "when": ["2024-01-01T00:00:00Z"] * n,
            "amount": [str(i / 3) for i in range(n)],
            "shop": ["A", "B"] * (n // 2),
            "review": [f"this is the review number {i}" for i in range(n)],
            "nothing": [""] * n,
            "nested": [[1, 2]] * n,
            "unnamed_1": [str(i) for i in range(n)],
            "Class": ["0", "1"] * (n // 2),
        }
    )
    assert kinds(schema) == {
        "ID": "id",
        "when": "time",
        "amount": "numeric",
        "shop": "categorical",
        "review": "text",
        "nothing": "ignore",
        "nested": "vector",
        "unnamed_1": "ignore",
        "Class": "label",
    }
    assert all(field.inferred for field in schema.fields)
    assert str(schema).count("(inferred)") == len(schema.fields)
    assert schema.label_type == "int"


def test_what_is_given_wins_and_is_not_marked():
    columns = {"id": ["1", "2"], "label": ["0", "1"], "x": ["5", "6"], "is_fraud": ["no", "yes"]}
    schema = Schema.infer(columns, label="is_fraud", kinds={"id": "categorical"})
    assert kinds(schema) == {"id": "categorical", "label": "numeric", "x": "numeric", "is_fraud": "label"}
    assert [field.inferred for field in schema.fields] == [False, True, True, False]
    assert "named like a label" in str(schema)
    assert schema.label_type == "string"


def test_no_label_is_inferred_without_its_name():
    assert Schema.infer({"x": ["1", "2"], "fraud": ["0", "1"]}).name_of("label") is None


def test_a_target_that_is_a_measurement_stays_a_feature_with_a_note():
    schema = Schema.infer({"y": [str(i / 7) for i in range(500)]})
    assert kinds(schema) == {"y": "numeric"}
    assert "named like a label, but has 500 values" in str(schema)


@pytest.mark.parametrize("cells", [["1", "1"], ["1", ""], ["0.5", "1.5"]])
def test_an_id_names_every_row_once(cells):
    assert kinds(Schema.infer({"id": cells}))["id"] != "id"


@pytest.mark.parametrize(("n", "kind"), [(50, "categorical"), (51, "ignore")])
def test_what_is_different_in_every_row_is_not_learned_from(n, kind):
    orders = {"order": [f"A-{i}" for i in range(n)], "shop": [f"shop {i % (n - 1)}" for i in range(n)]}
    schema = Schema.infer(orders)
    assert [field.kind for field in schema.fields] == [kind, "categorical"]
    assert ("different in every row" in str(schema)) == (kind == "ignore")
    assert Schema.infer(orders, kinds={"order": "categorical"}).fields[0].kind == "categorical"


def test_the_first_of_two_times_counts():
    iso = ["2024-05-01", "2024-05-02"]
    assert kinds(Schema.infer({"a": iso, "b": iso})) == {"a": "time", "b": "ignore"}
    assert kinds(Schema.infer({"a": iso, "Time": iso})) == {"a": "ignore", "Time": "time"}
    assert kinds(Schema.infer({"time": ["1", "2.5"]})) == {"time": "time"}
    assert kinds(Schema.infer({"time": ["early", "late"]})) == {"time": "categorical"}


def test_a_stray_cell_does_not_turn_numbers_into_categories():
    cells = [str(i) for i in range(200)]
    cells[7] = "oops"
    assert kinds(Schema.infer({"x": cells})) == {"x": "numeric"}
    assert kinds(Schema.infer({"x": [*cells[:20], "a"]})) == {"x": "categorical"}


@pytest.mark.parametrize(
    ("cells", "label_type"),
    [
        (["1", "-1", "+1", "?"], "int"),
        (["1.0", "0.", "NA"], "int"),
        ([1, 0, None], "int"),
        ([1.0, float("nan")], "int"),
        (["1", "b"], "string"),
        (["0.5", "1"], "string"),
        ([True, False], "string"),
        (["", "?"], "string"),
    ],
)
def test_labels_are_ints_if_all_look_like_ints(cells, label_type):
    assert Schema.infer({"c": cells}, label="c").label_type == label_type


@pytest.mark.parametrize(
    "missing", ["", " ", "?", "NA", "N/A", "null", "NULL", "nan", "NaN", None, float("nan")]
)
def test_an_unknown_label_is_none(missing):
    values, bad = _cells.labels([missing, "3"], "int")
    assert values.tolist() == [None, 3]
    assert _cells.labels([missing, "a"], "string")[0].tolist() == [None, "a"]
    assert bad == {}


def test_a_label_that_is_no_int_is_bad():
    values, bad = _cells.labels(["3", "b", "0.5", [1]], "int")
    assert values.tolist() == [3, None, None, None]
    assert set(bad) == {1, 2, 3}


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ({"label": "nope"}, "No field 'nope'"),
        ({"kinds": {"x": "number"}}, "must be one of"),
        ({"label": "x", "kinds": {"x": "text"}}, "choose one"),
        ({"kinds": {"x": "id", "z": "id"}}, "at most one may"),
        ({"label_type": "float"}, "must be one of"),
    ],
)
def test_bad_hints_are_refused(hints, message):
    with pytest.raises(ValueError, match=message):
        Schema.infer({"x": ["1"], "z": ["2"]}, **hints)


# --------------------------------------------------------------------------------------------- the columns


@pytest.mark.parametrize("cell", ["oops", "1_000", "inf", "-Infinity", "1e999", "0x10", True, [1], 10**400])
def test_what_is_no_finite_number_is_bad(cell):
    for cells in (["1", cell, ""], [1.5, cell, None]):
        values, bad = _cells.numbers(cells)
        assert list(bad) == [1]
        assert np.isnan(values).tolist() == [False, True, True]


@PROFILE
@given(st.lists(st.one_of(st.floats(allow_infinity=False), st.integers(), st.just("")), min_size=1))
def test_columns_convert_as_their_cells_do(values):
    for cells in (values, [str(value) for value in values]):
        whole, bad = _cells.numbers(cells)
        converted = [_cells.try_convert(_cells.number, cell, np.nan) for cell in cells]
        single, reasons = zip(*converted, strict=True)
        assert np.array_equal(whole, np.array(single), equal_nan=True)
        assert bad == {row: reason for row, reason in enumerate(reasons) if reason}


@PROFILE
@given(
    st.datetimes(min_value=datetime.datetime(1900, 1, 1), max_value=datetime.datetime(2200, 1, 1)),
    st.integers(-14 * 60, 14 * 60),
)
def test_times_agree_with_datetime(moment, offset):
    utc = moment.replace(tzinfo=datetime.timezone.utc)
    zone = datetime.timezone(datetime.timedelta(minutes=offset))
    for text in (
        moment.isoformat(),
        moment.isoformat(" "),
        moment.isoformat() + "Z",
        utc.astimezone(zone).isoformat(),
        moment,
        utc,
        repr(utc.timestamp()),
    ):
        assert _cells.seconds(text) == pytest.approx(utc.timestamp(), abs=2e-6)
    assert _cells.seconds(moment.date().isoformat()) == _cells.seconds(moment.date())


@pytest.mark.parametrize(
    "cell", ["2024-13-01", "2024-01-01T25:00", "yesterday", "2024-01-01Z", "inf", True, "1.2.24"]
)
def test_a_malformed_time_is_bad(cell):
    values, bad = _cells.times([cell, "", "0"])
    assert bad == {0: "malformed time"}
    assert np.array_equal(values, [np.nan, np.nan, 0.0], equal_nan=True)


# ------------------------------------------------------------------------------------------------- keeping

CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["a", "b", "1", "2.5", "", "?", "2024-01-01", "one two three four"]),
)
TABLES = st.integers(1, 8).flatmap(
    lambda n: st.dictionaries(
        st.one_of(st.sampled_from(["id", "label", "time", "x", "y"]), st.text("abc", min_size=1, max_size=3)),
        st.lists(CELLS, min_size=n, max_size=n),
        min_size=1,
        max_size=5,
    )
)


@PROFILE
@given(TABLES)
def test_a_schema_survives_json_and_encodes_alike(columns):
    schema = Schema.infer(columns)
    again = Schema.from_state(json.loads(json.dumps(schema.state())))
    assert again == schema
    assert hash(again) == hash(schema)
    assert str(again) == str(schema)
    (X, bad), (X_again, bad_again) = encode(schema, columns), encode(again, columns)
    assert bad == bad_again
    assert type(X) is type(X_again)
    assert (np.array_equal(X, X_again)) if not schema.is_sparse else (X_again != X).nnz == 0
    assert X.shape[1] == schema.n_features == len(schema.feature_names) == len(schema.scale_features)
    assert np.isfinite(X.data if schema.is_sparse else X).all()


def test_a_schema_is_written_and_read(tmp_path):
    schema = Schema.infer({"größe": ["1.1", ""], "c": ["ä", "b"], "label": ["x", "y"]})
    schema.write(tmp_path / "schema.json")
    assert Schema.read(tmp_path / "schema.json") == schema


@pytest.mark.parametrize(
    "text", ["[]", "{}", "no json", '{"version": 2, "fields": []}', '{"version": 1, "fields": [{"nme": 1}]}']
)
def test_what_is_no_schema_is_refused(tmp_path, text):
    (tmp_path / "schema.json").write_text(text)
    with pytest.raises(ValueError, match=r"schema\.json"):
        Schema.read(tmp_path / "schema.json")


def test_field_names_must_be_unique():
    with pytest.raises(ValueError, match="Duplicate field names"):
        Schema([Field("x", "numeric"), Field("x", "text")])


def test_the_table_is_neat():
    schema = Schema.infer(
        {"amount": ["3.5", "", "1"], "shop": ["A", "B", "A"], "f": ["0", "1", ""]}, label="f"
    )
    assert str(schema) == "\n".join(
        [
            "field   kind                    columns  note",
            "amount  numeric (inferred)            2  missing values become 2.25",
            "shop    categorical (inferred)        3  2 categories",
            "f       label                         -  int",
            "5 columns, dense.",
        ]
    )
