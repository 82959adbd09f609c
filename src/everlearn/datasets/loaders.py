"""Real data sets, read from the folder named by the environment variable ``EVERLEARN_DATA``.

Each data set is one file ``NAME.npz`` without pickled objects. It contains:

- `y`, integer labels; for multilabel data one column per label
- the rows, either as dense `X` or as the parts `data`, `indices`, `indptr`, `shape` of a CSR matrix
- `train_idx` and `test_idx`, row numbers from 0, if the data set has a standard split

All other arrays (`label_names`, `feature_names`, folds, ...) are returned in `Dataset.extras`.
"""

from __future__ import annotations

import difflib
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

FOLDER_VARIABLE = "EVERLEARN_DATA"

Features: TypeAlias = "NDArray[np.float32] | csr_matrix[np.float32]"

_CSR_PARTS = ("data", "indices", "indptr", "shape")
_NAMES_SHOWN = 12


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set with its standard split, if it has one.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    X : ndarray or scipy.sparse.csr_matrix of shape (n_samples, n_features), float32
        The rows. They are not scaled, unless the authors of the data set scaled them.
    y : ndarray of shape (n_samples,) or (n_samples, n_labels), int64
        The labels.
    train_idx, test_idx : ndarray of int64, or None
        Row numbers of the standard split.
    extras : dict of str to ndarray
        All other arrays of the file.

    Examples
    --------
    >>> import numpy as np
    >>> from everlearn.datasets import Dataset
    >>> X, y = np.eye(3, dtype=np.float32), np.array([1, -1, 1])
    >>> tiny = Dataset("tiny", X, y, train_idx=np.array([0, 1]), test_idx=np.array([2]))
    >>> tiny
    Dataset('tiny', 3 rows x 3 features, dense, split 2+1)
    >>> tiny.y_train.tolist()
    [1, -1]
    """

    name: str
    X: Features
    y: NDArray[np.int64]
    train_idx: NDArray[np.int64] | None = None
    test_idx: NDArray[np.int64] | None = None
    extras: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def X_train(self) -> Features:
        """Rows of the training set, a copy."""
        return self.X[self._part(self.train_idx, "train")]

    @property
    def y_train(self) -> NDArray[np.int64]:
        """Labels of the training set, a copy."""
        return self.y[self._part(self.train_idx, "train")]

    @property
    def X_test(self) -> Features:
        """Rows of the test set, a copy."""
        return self.X[self._part(self.test_idx, "test")]

    @property
    def y_test(self) -> NDArray[np.int64]:
        """Labels of the test set, a copy."""
        return self.y[self._part(self.test_idx, "test")]

    def _part(self, rows: NDArray[np.int64] | None, part: str) -> NDArray[np.int64]:
        if rows is None:
            raise ValueError(
                f"data set {self.name!r} has no standard split and no {part} set; split X and y yourself, "
                "e.g. with sklearn.model_selection.train_test_split"
                + (f", or with an array in extras: {', '.join(sorted(self.extras))}" if self.extras else "")
            )
        return rows

    def __repr__(self) -> str:
        rows, features = self.X.shape
        layout = "CSR" if issparse(self.X) else "dense"
        split = "no split"
        if self.train_idx is not None and self.test_idx is not None:
            split = f"split {len(self.train_idx)}+{len(self.test_idx)}"
        return f"Dataset({self.name!r}, {rows} rows x {features} features, {layout}, {split})"


def available() -> list[str]:
    """Names of the data sets in the folder named by ``EVERLEARN_DATA``, sorted.

    Returns
    -------
    list of str
        The names that `load` accepts.

    Examples
    --------
    >>> import os, tempfile
    >>> from unittest import mock
    >>> from everlearn.datasets import available
    >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, EVERLEARN_DATA=folder):
    ...     available()
    []
    """
    return sorted(path.stem for path in _folder().glob("*.npz") if path.is_file())


def load(name: str) -> Dataset:
    """Read one data set from the folder named by ``EVERLEARN_DATA``.

    Parameters
    ----------
    name : str
        One of `available()`.

    Returns
    -------
    Dataset
        Rows as float32, labels as int64.

    Raises
    ------
    FileNotFoundError
        If ``EVERLEARN_DATA`` is not set or names no folder.
    ValueError
        If there is no set of this name, or its file is damaged.

    Examples
    --------
    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from unittest import mock
    >>> import numpy as np
    >>> from everlearn.datasets import load
    >>> with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, EVERLEARN_DATA=folder):
    ...     np.savez(Path(folder) / "tiny.npz", X=np.eye(3), y=[1, -1, 1])
    ...     load("tiny")
    Dataset('tiny', 3 rows x 3 features, dense, no split)
    """
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r} of type {type(name).__name__}")
    folder, names = _folder(), available()
    if name not in names:
        raise ValueError(_unknown(name, names, folder))
    path = folder / f"{name}.npz"
    content = io.BytesIO(path.read_bytes())
    try:
        with np.load(content, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        return _assemble(name, arrays)
    except MemoryError:
        raise
    except Exception as error:  # zip, numpy and scipy raise many types of exceptions for a damaged file
        raise ValueError(
            f"the file of data set {name!r} is damaged ({error}); replace {path} by an intact copy"
        ) from error


def _folder() -> Path:
    value = os.environ.get(FOLDER_VARIABLE, "")
    if not value:
        raise FileNotFoundError(
            f"the environment variable {FOLDER_VARIABLE} is not set; set it to the folder with the .npz files"
        )
    folder = Path(value).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"the environment variable {FOLDER_VARIABLE} is {value!r}, which is not a folder; "
            "set it to the folder with the .npz files"
        )
    return folder


def _unknown(name: str, names: list[str], folder: Path) -> str:
    if not names:
        return (
            f"unknown data set {name!r}; {folder} has no .npz files; set {FOLDER_VARIABLE} to a folder with "
            ".npz files"
        )
    close = difflib.get_close_matches(name.lower(), names, n=3)
    guess = f"did you mean {' or '.join(map(repr, close))}? " if close else ""
    shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    return f"unknown data set {name!r}; {guess}{len(names)} available (see datasets.available()): {shown}"


def _assemble(name: str, arrays: dict[str, NDArray[Any]]) -> Dataset:
    """Turn the arrays of a file into a data set; ValueError if they are inconsistent."""
    if "y" not in arrays:
        raise ValueError("it has no array 'y'")
    y = arrays.pop("y")
    if y.dtype.kind not in "iub":
        raise ValueError(f"'y' must contain integers, not {y.dtype}")
    X = _features(arrays)
    if X.ndim != 2 or y.ndim not in (1, 2) or X.shape[0] != y.shape[0]:
        raise ValueError(f"'y' of shape {y.shape} does not match rows of shape {X.shape}")
    if ("train_idx" in arrays) != ("test_idx" in arrays):
        raise ValueError("it has only one of 'train_idx' and 'test_idx'")
    train_idx, test_idx = (_row_numbers(arrays, key, X.shape[0]) for key in ("train_idx", "test_idx"))
    return Dataset(name, X, y.astype(np.int64), train_idx, test_idx, arrays)


def _features(arrays: dict[str, NDArray[Any]]) -> Features:
    """Remove the rows from `arrays` and return them as float32."""
    if "X" in arrays:
        return arrays.pop("X").astype(np.float32)
    missing = [part for part in _CSR_PARTS if part not in arrays]
    if missing:
        raise ValueError(f"it has neither 'X' nor all parts of a CSR matrix; missing: {', '.join(missing)}")
    data, indices, indptr, shape = (arrays.pop(part) for part in _CSR_PARTS)
    parts = (data.astype(np.float32), indices.astype(np.int32), indptr.astype(np.int32))
    n_rows, n_features = shape
    rows: csr_matrix[np.float32] = csr_matrix(parts, shape=(int(n_rows), int(n_features)))
    rows.check_format(full_check=True)
    return rows


def _row_numbers(arrays: dict[str, NDArray[Any]], key: str, n_rows: int) -> NDArray[np.int64] | None:
    """Remove the row numbers `key` from `arrays` and return them; None if there are none."""
    if key not in arrays:
        return None
    rows = arrays.pop(key)
    if rows.dtype.kind not in "iu" or rows.ndim != 1:
        raise ValueError(f"{key!r} must be a 1d array of integers, not {rows.dtype} of shape {rows.shape}")
    if len(rows) and (rows.min() < 0 or rows.max() >= n_rows):
        raise ValueError(f"{key!r} has row numbers outside the {n_rows} rows")
    return rows.astype(np.int64)
