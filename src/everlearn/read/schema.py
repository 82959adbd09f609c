"""Schema: the fields of a stream and the columns that they are encoded as; fixed once it is inferred."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _atomic
from .._visible import json_visible
from . import _nested, _schema_form
from ._encoding import check_encoding
from ._infer import Hints, infer_fields
from ._numbers import DECIMALS
from ._times import check_format
from .field import KINDS, Field, duplicates

__all__ = ["KINDS", "Field", "Schema"]

_SINGLE = ("id", "label", "time")  # at most one field of each of these kinds
_LABEL_TYPES = ("int", "string")


class Schema:
    """The fields of a stream, and the float64 columns that they are encoded as.

    A schema is usually inferred from the first rows of a stream, by the rules below. Kinds that are given
    (`label`, `id`, `time`, `kinds`) take precedence; all others are marked "inferred" in the printed table.
    Names are compared case-insensitively.

    Values inside of nested objects are fields of their own, named "outer.inner".

    1. Ignored: fields with other nested values, without any value, or without a name (such as a pandas
       index).
    2. label: the first of "label", "class", "target", "y" that exists and has at most 100 distinct values.
       Without such a field there is no label.
    3. id: the first of "id", "row_id", "uid", "uuid", then of the names that end in "_id", whose values are
       all present, distinct and not fractional.
    4. time: the first of "time", "timestamp", "datetime", "date", "ts" whose values are times; otherwise the
       first field of written times. Other such fields are ignored. Times are ISO 8601, seconds (or ms, us,
       ns) since 1970, or in a local form such as "03.01.2025 08:31" or "1/31/25 8:31 PM". Day and month are
       told apart by all first rows together; if both readings fit, the note says which one was chosen.
    5. vector: lists of numbers of one length, such as embeddings.
    6. boolean: yes and no, true and false, on and off, in several languages.
    7. numeric: numbers, also with a decimal comma, thousands separators, one currency, or percent signs. Up
       to 1 % of the cells may be something else; their rows are quarantined. "1,234" alone has two readings:
       the decimal separator of the other fields decides, otherwise it is 1234, and the note says so.
    8. text: strings with three or more words on average, more than half of them distinct.
    9. categorical: all other strings, and codes with leading zeros. Declare other numeric codes with
       ``kinds={"zip": "categorical"}``. Strings that are different in each of more than 50 first rows, such
       as order numbers and addresses, are ignored: no other row has their category.

    How values are written is part of the schema, so that later rows are read in the same way: a value in
    another form is bad.

    A cell is missing if it is empty, "?", "NA", "N/A", "null", "NULL", "nan" or "NaN".

    Numbers are used unchanged. A missing number becomes the median of the first rows; if the first rows had
    missing numbers, a second column is 1 where the number is missing. A categorical field with up to 50
    categories is one-hot encoded, with one more column for unseen categories; with more than 50 it is hashed
    to 2^10 columns. Text becomes a vector of length 1 in 2^17 hashed columns: words and character 4-grams,
    weighted by TF-IDF with the document frequencies of the first rows. Rows are CSR if a field is hashed,
    otherwise dense. Labels are ints if all labels of the first rows are, otherwise strings. Nothing is scaled
    here; `scale_features` says which columns may be.

    Parameters
    ----------
    fields : iterable of Field
        The fields, in the order of their columns.
    label_type : {"int", "string"}, default="string"
        The type of labels.
    header : bool, default=True
        Whether CSV files start with a header; without one, `fields` are in the order of the file.
    n_sparse : int, default=None
        LIBSVM: the number of features. None for all other formats.
    zero_based : bool, default=False
        LIBSVM: whether indices start at 0.
    encoding : str, default=None
        The encoding of files that are not Unicode. None detects it.

    Examples
    --------
    >>> from everlearn.read.schema import Schema
    >>> columns = {"amount": ["3.5", "", "1"], "shop": ["A", "B", "A"], "is_fraud": ["0", "1", ""]}
    >>> schema = Schema.infer(columns, label="is_fraud")
    >>> print(schema)
    field     kind                    columns  note
    amount    numeric (inferred)            2  missing values become 2.25
    shop      categorical (inferred)        3  2 categories
    is_fraud  label                         -  int
    5 columns, dense.
    >>> schema.feature_names
    ['amount', 'amount (missing)', 'shop=A', 'shop=B', 'shop=(other)']
    """

    def __init__(
        self,
        fields: Any,
        *,
        label_type: str = "string",
        header: bool = True,
        n_sparse: int | None = None,
        zero_based: bool = False,
        encoding: str | None = None,
    ) -> None:
        self.fields: tuple[Field, ...] = tuple(fields)
        self.label_type = label_type
        self.header = header
        self.n_sparse = n_sparse
        self.zero_based = zero_based
        self.encoding = None if encoding is None else check_encoding(encoding)
        if twice := duplicates(field.name for field in self.fields):
            raise ValueError(f"Duplicate field names {twice}: names must be unique.")
        for kind in _SINGLE:
            of_kind = [field.name for field in self.fields if field.kind == kind]
            if len(of_kind) > 1:
                raise ValueError(f"Fields {of_kind} all have kind={kind!r}; at most one may.")
        if label_type not in _LABEL_TYPES:
            raise ValueError(f"label_type={label_type!r} must be one of {list(_LABEL_TYPES)}.")
        self._features = [field for field in self.fields if field.n_columns]

    @classmethod
    def infer(
        cls,
        columns: Mapping[str, Any],
        *,
        label: str | None = None,
        id: str | None = None,
        time: str | None = None,
        kinds: Mapping[str, str] | None = None,
        label_type: str | None = None,
        header: bool = True,
        decimal: str | None = None,
        time_format: str | None = None,
        suggested_decimal: str | None = None,
        encoding: str | None = None,
    ) -> Schema:
        """Infer a schema from the first rows of a stream, by the rules above.

        Parameters
        ----------
        columns : mapping of str to sequence
            The cells of each field: lists, or arrays of numbers.
        label : str, default=None
            The field that holds the label.
        id : str, default=None
            The field that holds the row id.
        time : str, default=None
            The field that holds the time.
        kinds : mapping of str to str, default=None
            The kinds of other fields.
        label_type : {"int", "string"}, default=None
            The type of labels; None infers it.
        header : bool, default=True
            Whether the names come from a CSV header.
        decimal : {".", ","}, default=None
            The decimal separator. It decides wherever the values of a field leave a choice. None infers it.
        time_format : str, default=None
            The format of the time field, as in `datetime.datetime.strptime`; or "ms", "us" or "ns" for such
            ticks since 1970. None infers it.
        suggested_decimal : {".", ","}, default=None
            The decimal separator to assume if no field shows another one.
        encoding : str, default=None
            The encoding of files that are not Unicode.

        Returns
        -------
        Schema
            The schema.
        """
        given = dict(kinds or {})
        for kind, name in (("label", label), ("id", id), ("time", time)):
            if name is not None:
                if given.get(name, kind) != kind:
                    raise ValueError(
                        f"Field {name!r} is given as {kind} and in kinds as {given[name]!r}: choose one."
                    )
                given[name] = kind
        if decimal not in (None, *DECIMALS):
            raise ValueError(f"decimal={decimal!r} must be '.' or ','.")
        if time_format is not None:
            check_format(time_format)
        hints = Hints(given, label_type, decimal, time_format, suggested_decimal)
        fields, found = infer_fields(columns, hints)
        return cls(fields, label_type=found, header=header, encoding=encoding)

    # ----------------------------------------------------------------------------------------- encoding

    def name_of(self, kind: str) -> str | None:
        """The name of the id, label or time field.

        Parameters
        ----------
        kind : {"id", "label", "time"}
            The kind of the field.

        Returns
        -------
        str or None
            Its name; None if there is no such field.
        """
        return next((field.name for field in self.fields if field.kind == kind), None)

    @property
    def time_format(self) -> str:
        """The format of the time field; "" for ISO 8601 and seconds since 1970."""
        return next((field.time_format for field in self.fields if field.kind == "time"), "")

    @property
    def is_unit_length(self) -> bool:
        """Whether all features are text or vectors of length 1, so that the cosine kernel fits them."""
        return bool(self._features) and all(field.has_unit_length for field in self._features)

    @property
    def is_sparse(self) -> bool:
        """Whether encoded rows are CSR."""
        return self.n_sparse is not None or any(field.is_hashed for field in self._features)

    @property
    def n_features(self) -> int:
        """The number of encoded columns."""
        if self.n_sparse is not None:
            return self.n_sparse
        return sum(field.n_columns for field in self._features)

    @property
    def feature_names(self) -> list[str]:
        """The names of the encoded columns; in LIBSVM, "x" and the index."""
        if self.n_sparse is None:
            return [name for field in self._features for name in field.column_names]
        first = 0 if self.zero_based else 1
        return [f"x{column}" for column in range(first, first + self.n_sparse)]

    @property
    def scale_features(self) -> NDArray[np.bool_]:
        """A mask of the columns that may be scaled: numbers, but not indicators, text or unit vectors."""
        if self.n_sparse is not None:
            return np.ones(self.n_sparse, dtype=bool)
        mask = [np.zeros(field.n_columns, dtype=bool) for field in self._features]
        for field, part in zip(self._features, mask, strict=True):
            if field.kind in ("vector", "embed"):
                part[:] = not field.unit_length
            else:
                part[0] = field.kind == "numeric"
        return np.concatenate(mask) if mask else np.zeros(0, dtype=bool)

    def encode(self, columns: Mapping[str, Any], n_rows: int) -> tuple[Any, dict[int, tuple[str, str]]]:
        """Encode a block of cells.

        Parameters
        ----------
        columns : mapping of str to sequence
            The cells of each feature; other fields are not used.
        n_rows : int
            The number of cells of each field.

        Returns
        -------
        tuple of (ndarray or csr_matrix, dict)
            The float64 rows, and for each bad row the name of a field and what is wrong with it; the encoding
            of a bad row is meaningless.
        """
        parts: list[Any] = []
        bad: dict[int, tuple[str, str]] = {}
        for field in self._features:
            part, wrong = field.encode(_nested.find(columns, field.name))
            parts.append(part)
            for row, reason in wrong.items():
                bad.setdefault(row, (field.name, f"field {field.name!r}: {reason}"))
        return _side_by_side(parts, n_rows), bad

    # --------------------------------------------------------------------------------- saving and printing

    def state(self) -> dict[str, Any]:
        """The schema as JSON-compatible values.

        Returns
        -------
        dict
            For `from_state`.
        """
        return _schema_form.as_values(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Schema:
        """Restore a schema from its state.

        Parameters
        ----------
        state : mapping
            The value of `state()`, possibly after a round trip through JSON.

        Returns
        -------
        Schema
            An equal schema.
        """
        fields, options = _schema_form.from_values(state)
        return cls(fields, **options)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a JSON file, which can be edited by hand.

        Parameters
        ----------
        path : str or path-like
            The file. An existing file is replaced, unless it is a store or another SQLite database.
        """
        text = json_visible(json.dumps(self.state(), indent=2, ensure_ascii=False)) + "\n"

        def put(file: BinaryIO) -> None:
            file.write(text.encode())

        _atomic.write(os.fspath(path), put)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Schema:
        """Read a schema from a JSON file.

        Parameters
        ----------
        path : str or path-like
            The file.

        Returns
        -------
        Schema
            The schema.
        """
        with open(path, encoding="utf-8") as file:
            try:
                return cls.from_state(json.load(file))
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)} is not a valid schema file: {error}") from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.state() == other.state()

    def __hash__(self) -> int:
        return hash(
            (self.fields, self.label_type, self.header, self.n_sparse, self.zero_based, self.encoding)
        )

    def __repr__(self) -> str:
        return f"Schema({len(self.fields)} fields, {self.n_features} columns)"

    def __str__(self) -> str:
        return _schema_form.table(self)

    def note_on(self, field: Field) -> str:
        """How a field is encoded, in a few words.

        Parameters
        ----------
        field : Field
            One of the fields.

        Returns
        -------
        str
            The text for the column "note" of a table.
        """
        return _schema_form.note(field, self.label_type)


def _side_by_side(parts: list[Any], n_rows: int) -> Any:
    """The columns of all fields as one matrix: CSR if any of them is, otherwise dense."""
    if any(sparse.issparse(part) for part in parts):
        rows = sparse.csr_matrix(sparse.hstack([sparse.csr_matrix(part) for part in parts], format="csr"))
        rows.sort_indices()
        return rows
    return np.hstack(parts) if parts else np.empty((n_rows, 0))
