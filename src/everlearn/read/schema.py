"""Schema: what the fields of a stream mean and which columns they become. Fixed once the warm-up is over."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .. import _atomic
from .._visible import json_visible
from . import encode
from ._formats import repeated

__all__ = ["KINDS", "Field", "Schema"]

KINDS = ("numeric", "categorical", "text", "id", "label", "time", "ignore")
_SINGLE = ("id", "label", "time")  # at most one field of each of these kinds
_LABEL_TYPES = ("int", "string")
_VERSION = 1


@dataclass(frozen=True)
class Field:
    """One field of a stream.

    Attributes
    ----------
    name : str
        Its name in the header, or the key in JSON.
    kind : {"numeric", "categorical", "text", "id", "label", "time", "ignore"}
        What it is.
    guessed : bool, default=False
        Whether the kind was guessed from the warm-up and not given.
    note : str, default=""
        What to look at twice, for the table.
    median : float, default=0.0
        What stands in for a missing number.
    missing : bool, default=False
        Whether a number has a second column that says that it was missing.
    categories : tuple of str, default=()
        The categories that have a column, the most frequent first; "" is a missing value. None hashes.
    """

    name: str
    kind: str
    guessed: bool = False
    note: str = ""
    median: float = 0.0
    missing: bool = False
    categories: tuple[str, ...] | None = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Field {self.name!r} has kind {self.kind!r}; it must be one of {list(KINDS)}.")


class Schema:
    """What the fields of a stream mean, and the columns of float64 that they become.

    Most schemas are inferred, by these rules, from the first rows of a stream (the warm-up). What is given
    (`label`, `id`, `time`, `kinds`) always wins; all else is marked as guessed in the table that `str` makes.
    Names are compared without regard to case.

    1. A field with nested values, without any value, or without a name (as the index that pandas writes) is
       ignored.
    2. label: the first of "label", "class", "target", "y" that exists and has at most 100 different values.
       With no such name there is no label.
    3. id: the first of "id", "row_id", "uid", "uuid", then of the names that end in "_id", whose values are
       all there and all different, and are not fractions.
    4. time: the first of "time", "timestamp", "datetime", "date", "ts" whose values are times (ISO 8601 or
       seconds since 1970); else the first field of ISO 8601 times. Further fields of ISO times are ignored.
    5. numeric: numbers; one cell in a hundred may be something else and sends its row to the quarantine.
    6. text: strings of three words and more on average, of which more than half are different.
    7. categorical: all other strings. Numbers that are codes must be declared,
       ``kinds={"zip": "categorical"}``.

    A cell is missing if it is empty, "?", "NA", "N/A", "null", "NULL", "nan" or "NaN".

    A number is taken as it is; a missing one becomes the median of the warm-up and, if the warm-up had
    missing ones, a second column is 1. A categorical field with up to 50 categories has a column for each and
    one for others; with more it is hashed to 2^10 columns. Text is hashed to 2^16 columns by scikit-learn's
    `HashingVectorizer`. Rows are CSR if a field is hashed, else dense. Labels are ints if all labels of the
    warm-up look like ints, else strings. Scaling is not done here; `scale_features` says what may be scaled.

    Parameters
    ----------
    fields : iterable of Field
        The fields, in the order of their columns.
    label_type : {"int", "string"}, default="string"
        What labels are converted to.
    header : bool, default=True
        Whether a CSV file begins with the names of its fields; without them `fields` are in the file's order.
    n_sparse : int, default=None
        The number of columns of a LIBSVM stream, which has no fields but a label. None for all other formats.
    zero_based : bool, default=False
        Whether the indices of a LIBSVM stream begin at 0.

    Examples
    --------
    >>> from everlearn.read.schema import Schema
    >>> columns = {"amount": ["3.5", "", "1"], "shop": ["A", "B", "A"], "is_fraud": ["0", "1", ""]}
    >>> schema = Schema.infer(columns, label="is_fraud")
    >>> print(schema)
    field     kind                   columns  note
    amount    numeric (guessed)            2  some are missing: 2.25 instead
    shop      categorical (guessed)        3  2 categories
    is_fraud  label                        -  int
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
    ) -> None:
        self.fields: tuple[Field, ...] = tuple(fields)
        self.label_type = label_type
        self.header = header
        self.n_sparse = n_sparse
        self.zero_based = zero_based
        if twice := repeated(field.name for field in self.fields):
            raise ValueError(f"Fields {twice} appear more than once: give each field a name of its own.")
        for kind in _SINGLE:
            of_kind = [field.name for field in self.fields if field.kind == kind]
            if len(of_kind) > 1:
                raise ValueError(f"Fields {of_kind} are all of kind {kind!r}; there may be one.")
        if label_type not in _LABEL_TYPES:
            raise ValueError(f"label_type={label_type!r} must be one of {list(_LABEL_TYPES)}.")
        self._parts = [field for field in self.fields if encode.n_columns(field)]

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
    ) -> Schema:
        """Make a schema from the warm-up, by the rules above.

        Parameters
        ----------
        columns : mapping of str to sequence
            The cells of each field; lists, or arrays of numbers.
        label : str, default=None
            The field that is the label.
        id : str, default=None
            The field that names the row.
        time : str, default=None
            The field that says when it happened.
        kinds : mapping of str to str, default=None
            The kinds of other fields.
        label_type : {"int", "string"}, default=None
            What labels are converted to; None looks at them.
        header : bool, default=True
            Whether the names come from a header.

        Returns
        -------
        Schema
            The schema.
        """
        from ._infer import infer_fields  # it builds Fields

        given = dict(kinds or {})
        for kind, name in (("label", label), ("id", id), ("time", time)):
            if name is not None:
                if given.get(name, kind) != kind:
                    raise ValueError(
                        f"Field {name!r} is given as {kind} and, in kinds, as {given[name]!r}: choose one."
                    )
                given[name] = kind
        fields, found = infer_fields(columns, given, label_type)
        return cls(fields, label_type=found, header=header)

    # ---------------------------------------------------------------------------------------- what it says

    def name_of(self, kind: str) -> str | None:
        """The name of the field that is the id, the label or the time.

        Parameters
        ----------
        kind : {"id", "label", "time"}
            Which.

        Returns
        -------
        str or None
            Its name, None if there is none.
        """
        return next((field.name for field in self.fields if field.kind == kind), None)

    @property
    def is_sparse(self) -> bool:
        """Whether rows are CSR."""
        return self.n_sparse is not None or any(map(encode.is_sparse, self._parts))

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return sum(map(encode.n_columns, self._parts)) if self.n_sparse is None else self.n_sparse

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns; those of LIBSVM are called after their index."""
        if self.n_sparse is None:
            return [name for field in self._parts for name in encode.column_names(field)]
        first = 0 if self.zero_based else 1
        return [f"x{column}" for column in range(first, first + self.n_sparse)]

    @property
    def scale_features(self) -> NDArray[np.bool_]:
        """A mask of the columns that are numbers and may be scaled; indicators and text are not."""
        if self.n_sparse is not None:
            return np.ones(self.n_sparse, dtype=bool)
        mask = [np.zeros(encode.n_columns(field), dtype=bool) for field in self._parts]
        for field, part in zip(self._parts, mask, strict=True):
            part[0] = field.kind == "numeric"
        return np.concatenate(mask) if mask else np.zeros(0, dtype=bool)

    def encode(self, columns: Mapping[str, Any], n_rows: int) -> tuple[Any, dict[int, str]]:
        """Encode a block of cells.

        Parameters
        ----------
        columns : mapping of str to sequence
            The cells of each feature field; other fields are not looked at.
        n_rows : int
            How many cells each has.

        Returns
        -------
        tuple of (ndarray or csr_matrix, dict)
            Rows of float64, and what is wrong with each bad row; the encoding of a bad row means nothing.
        """
        parts: list[Any] = []
        bad: dict[int, str] = {}
        for field in self._parts:
            part, wrong = encode.columns_of(field, columns[field.name])
            parts.append(part)
            for row, reason in wrong.items():
                bad.setdefault(row, f"field {field.name!r}: {reason}")
        return encode.rows_of(parts, n_rows), bad

    # ------------------------------------------------------------------------------------------- and keeps

    def state(self) -> dict[str, Any]:
        """What the schema is, in values that JSON knows.

        Returns
        -------
        dict
            For `from_state`.
        """
        fields = [dataclasses.asdict(field) for field in self.fields]
        for field in fields:
            field["categories"] = None if field["categories"] is None else list(field["categories"])
        return {
            "version": _VERSION,
            "fields": fields,
            "label_type": self.label_type,
            "header": self.header,
            "n_sparse": self.n_sparse,
            "zero_based": self.zero_based,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Schema:
        """Make the schema of a state again.

        Parameters
        ----------
        state : mapping
            What `state` returned, with or without a journey through JSON.

        Returns
        -------
        Schema
            An equal schema.
        """
        known = {"version", "fields", "label_type", "header", "n_sparse", "zero_based"}
        if not isinstance(state, Mapping) or not {"version", "fields"} <= set(state) <= known:
            raise ValueError("This is not the state of a schema.")
        if state["version"] != _VERSION:
            raise ValueError(
                f"The schema has version {state['version']!r}, this everlearn reads {_VERSION}: "
                "use the version of everlearn that wrote it."
            )
        options = {key: value for key, value in state.items() if key not in ("version", "fields")}
        fields = []
        for field in state["fields"]:
            values = dict(field)
            if values.get("categories") is not None:
                values["categories"] = tuple(values["categories"])
            try:
                fields.append(Field(**values))
            except TypeError as error:
                raise ValueError(f"This is not the state of a schema: {error}.") from None
        return cls(fields, **options)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a JSON file, which may be edited by hand.

        Parameters
        ----------
        path : str or path-like
            The file; one that exists is replaced, unless it is a store or another SQLite database.
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
                raise ValueError(f"{os.fspath(path)} is not a schema that can be read: {error}") from error

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.state() == other.state()

    def __hash__(self) -> int:
        return hash((self.fields, self.label_type, self.header, self.n_sparse, self.zero_based))

    def __repr__(self) -> str:
        return f"Schema({len(self.fields)} fields, {self.n_features} columns)"

    def __str__(self) -> str:
        lines = [("field", "kind", "columns", "note")]
        for field in self.fields:
            width = encode.n_columns(field)
            kind = f"{field.kind} (guessed)" if field.guessed else field.kind
            lines.append((field.name, kind, str(width) if width else "-", self._note(field)))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = [
            f"{name:<{widths[0]}}  {kind:<{widths[1]}}  {columns:>{widths[2]}}  {note}".rstrip()
            for name, kind, columns, note in lines
        ]
        first = "" if self.n_sparse is None else f", indices from {0 if self.zero_based else 1}"
        return "\n".join(
            [*table, f"{self.n_features} columns, {'sparse' if self.is_sparse else 'dense'}{first}."]
        )

    def _note(self, field: Field) -> str:
        notes = [field.note] if field.note else []
        if field.kind == "label":
            notes.insert(0, self.label_type)
        elif field.kind == "numeric" and field.missing:
            notes.insert(0, f"some are missing: {field.median:.6g} instead")
        elif encode.is_sparse(field):
            notes.insert(0, "hashed")
        elif field.kind == "categorical":
            notes.insert(0, f"{len(field.categories or ())} categories")
        return "; ".join(notes)
