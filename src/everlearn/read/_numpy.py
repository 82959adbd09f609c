"""Arrays of NumPy: .npy and .npz files."""

import json
import os
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from ._blocks import Block, BlockReader

ROWS_NAME = "x"  # the field of an array without a name


class NumpyReader(BlockReader):
    """Rows of arrays with the same number of rows; line numbers are row numbers, from 1.

    A 1-D array is a field of single values, a 2-D array one of vectors, a structured array several fields. A
    .npy file is not read into memory as a whole; a .npz file is.
    """

    def __init__(self, path: str, name: str) -> None:
        try:
            found = np.load(path, mmap_mode=None if path.endswith(".npz") else "r", allow_pickle=False)
            arrays = (
                {ROWS_NAME: found} if isinstance(found, np.ndarray) else {key: found[key] for key in found}
            )
        except ValueError as error:
            if "pickle" in str(error).lower():
                raise ValueError(
                    f"{name} has arrays of Python objects, which are not read: save strings and numbers as "
                    "arrays of such a type, for example with array.astype(str)."
                ) from None
            raise ValueError(f"{name} cannot be read: {error}.") from error
        self._arrays: dict[str, Any] = {}
        for key, array in arrays.items():
            if array.dtype.names:
                self._arrays |= {field: array[field] for field in array.dtype.names}
            else:
                self._arrays[key] = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
        shapes = {key: array.shape for key, array in self._arrays.items()}
        if wrong := [key for key, shape in shapes.items() if len(shape) not in (1, 2)]:
            raise ValueError(
                f"Array {wrong[0]!r} of {name} has shape {shapes[wrong[0]]}: arrays must have one or two "
                "dimensions."
            )
        if len({shape[0] for shape in shapes.values()}) > 1:
            raise ValueError(f"The arrays of {name} have different numbers of rows: {shapes}.")
        self.name, self.bytes_total = name, os.path.getsize(path)
        self.fields = list(self._arrays)
        self.time_fields = {key for key, array in self._arrays.items() if array.dtype.kind == "M"}
        self.required = self.used = None
        self.headers_skipped = 0
        self.n_rows_total = next((shape[0] for shape in shapes.values()), 0)
        self._next = 0

    def read(self, n: int) -> Block | None:
        """The next n rows."""
        start, end = self._next, min(self._next + n, self.n_rows_total or 0)
        if start == end:
            return None
        self._next = end
        part = {key: np.asarray(array[start:end]) for key, array in self._arrays.items()}
        columns = {key: _cells(array) for key, array in part.items() if self.used is None or key in self.used}
        return Block(list(range(start + 1, end + 1)), ArrayRows(part), columns)

    @property
    def bytes_read(self) -> int:
        """An estimate from the number of rows read."""
        return int(self.bytes_total or 0) * self._next // max(self.n_rows_total or 0, 1)

    def close(self) -> None:
        """Let go of the arrays."""
        self._arrays = {}


def _cells(array: Any) -> Any:
    if array.dtype.kind == "M":
        seconds = array.astype("datetime64[us]").astype(np.float64) / 1e6
        return np.where(np.isnat(array), np.nan, seconds)
    if array.dtype.kind == "S":
        return [text.decode("utf-8", "surrogateescape") for text in array.tolist()]
    return array if array.dtype.kind in "fiu" else array.tolist()


class ArrayRows(Sequence[str]):
    """Rows of arrays as JSON, converted on access."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        self._arrays = arrays

    def __len__(self) -> int:
        return len(next(iter(self._arrays.values())))

    def pick(self, rows: Any) -> "ArrayRows":
        """Some of the rows."""
        return ArrayRows({key: array[rows] for key, array in self._arrays.items()})

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> "ArrayRows": ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self.pick(at)
        row = {key: array[at].tolist() for key, array in self._arrays.items()}
        return json.dumps(row, default=str, ensure_ascii=False)
