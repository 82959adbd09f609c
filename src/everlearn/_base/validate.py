"""Validation of input: rows, labels and weights of any kind become arrays that the core can trust."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import _check_sample_weight, validate_data

from .. import _core
from .device_table import DeviceTable, on_host

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Rows = Any  # a two-dimensional array or a CSR matrix, float32 or float64

_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
_LABEL_KINDS = {bool: "b", int: "i", float: "f", str: "U"}  # NumPy's kind for a list of one such label
_MOST_SEARCHED = 64  # classes: in a longer list a binary search is faster
_INT32_MAX = np.iinfo(np.int32).max


def check_rows(estimator: Any, X: Any, *, reset: bool, **options: Any) -> Rows:
    """Validate features: dense or sparse, pandas or polars, float32 or float64, finite, canonical."""
    if not reset and not options and _is_valid(estimator, X):
        return X
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        **options,
    )
    return _canonical(X) if sparse.issparse(X) else X


def check_rows_and_labels(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Rows, Array]:
    """Validate features and labels together."""
    if isinstance(X, DeviceTable):
        return _check_table_of_device(estimator, X, y, reset)
    if not reset and _is_valid(estimator, X) and _are_valid_labels(y, X.shape[0]):
        return X, y
    X, y = validate_data(
        estimator,
        X,
        y,
        reset=reset,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        multi_output=False,
    )
    return (_canonical(X) if sparse.issparse(X) else X), np.asarray(y)


def _check_table_of_device(estimator: Any, X: DeviceTable, y: Any, reset: bool) -> tuple[Rows, Array]:
    """The same for rows that a device reads, and has looked at."""
    if not X.summary.finite:
        check_array(X.on_host())  # says what is wrong
        raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
    y = check_array(
        column_or_1d(on_host(X.module, y), warn=True), ensure_2d=False, dtype=None, input_name="y"
    )
    check_consistent_length(X, y)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X, np.asarray(y)


def check_table(estimator: Any, X: Any, y: Any) -> tuple[Rows, Array, npt.NDArray[np.int32]]:
    """Validate the rows and labels of a `fit`; returns rows, classes, and the class number of each row."""
    X, y = check_rows_and_labels(estimator, X, y, reset=True)
    check_classification_targets(y)
    classes, labels = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        remedy = ""
        if hasattr(estimator, "partial_fit"):
            remedy = " To begin a stream with rows of one class, call partial_fit(..., classes=...)."
        raise ValueError(
            "The number of classes has to be greater than one; y has 1 class, "
            f"{classes.tolist()[0]!r}.{remedy}"
        )
    return X, classes, labels.astype(np.int32)


def _is_valid(estimator: Any, X: Any, longest: float = np.inf) -> bool:
    """Whether scikit-learn's validation would return this array unchanged: it costs more than scoring.

    The squared lengths of its rows must be below ``longest``. That of a row with NaN or infinity is infinite.
    """
    return not hasattr(estimator, "feature_names_in_") and is_plain_array(
        X, getattr(estimator, "n_features_in_", 0), longest
    )


def is_plain_array(X: Any, width: int | None, longest: float) -> bool:
    """Whether X is an array of finite float32 or float64 rows, in C order and of squared lengths below."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and (X.dtype is _FLOAT64 or X.dtype is _FLOAT32)
        and X.shape[0] > 0
        and X.shape[1] == width
        and X.flags.c_contiguous
        and _core.longest_row(X) < longest
    )


def single_row(estimator: Any, X: Any, longest: float, shortest: float = 0.0) -> Array | None:
    """The array of a single dense row that is valid, shorter than ``longest`` and not below ``shortest``.

    Both are squared lengths.

    None is for everything else, valid or not: `check_rows` decides about it.
    """
    if type(X) is list and len(X) == 1 and type(X[0]) is list:
        try:
            X = np.array(X)
        except (ValueError, TypeError, OverflowError):
            return None
        if X.dtype is not _FLOAT64:  # what scikit-learn makes of a list
            return None
    found: Array = X
    if not (_is_valid(estimator, X, longest) and len(X) == 1):
        return None
    return found if shortest == 0 or _core.longest_row(found) >= shortest else None


def single_label(y: Any, classes: Array) -> int | None:
    """The class number of the label in an array or list of one; None if `encode_labels` has to decide."""
    if type(y) is np.ndarray and y.shape == (1,):
        kind, label = y.dtype.kind, y.item()
    elif type(y) is list and len(y) == 1:
        label = y[0]
        kind = label.dtype.kind if isinstance(label, np.generic) else _LABEL_KINDS.get(type(label), "")
    else:
        return None
    if kind != classes.dtype.kind or kind not in "biufU" or len(classes) > _MOST_SEARCHED:
        return None
    known = classes.tolist()
    return known.index(label) if label in known else None


def _are_valid_labels(y: Any, n_rows: int) -> bool:
    return type(y) is np.ndarray and y.shape == (n_rows,) and are_class_labels(y)


def are_class_labels(y: Array) -> bool:
    """Whether labels are classes by their types, which scikit-learn takes longer to find out."""
    return y.dtype.kind in "biuU" or (y.dtype.kind == "O" and all(type(label) is str for label in y.tolist()))


def _canonical(X: Any) -> Any:
    """CSR with ascending columns, no duplicates and 32-bit column numbers; the input is not changed."""
    columns = X.indices
    if columns.size and not 0 <= int(columns.min()) <= int(columns.max()) < X.shape[1]:
        raise ValueError(
            f"X is an invalid sparse matrix: it has column numbers outside 0 to {X.shape[1] - 1}."
        )
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.shape[1] > _INT32_MAX:
        raise ValueError(f"X has {X.shape[1]} features; at most {_INT32_MAX} are supported.")
    return X


def label_column(y: Any) -> Array:
    """Labels in one dimension; a NaN among strings in a list stays one, and is not the string "nan"."""
    if isinstance(y, list | tuple):
        y = np.array(y, dtype=object)
    return np.asarray(column_or_1d(y, warn=True))


def missing_labels(y: Any) -> npt.NDArray[np.bool_]:
    """Which labels are not known: None, NaN, and what pandas has for them."""
    values = np.asarray(y)
    if values.dtype.kind in "fc":
        return np.asarray(np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=np.bool_)
    missing = np.zeros(len(values), dtype=np.bool_)
    for place, value in enumerate(values.tolist()):
        no_value = value is None or type(value).__name__ in ("NAType", "NaTType")
        missing[place] = no_value or (isinstance(value, float | np.floating) and value != value)
    return missing


def check_classes(classes: Any, known: Array | None) -> Array:
    """Validate ``classes``: all labels of a stream, required in the first call, where ``known`` is None."""
    if known is None and classes is None:
        raise ValueError(
            "The first call of partial_fit needs classes, the list of all labels that the stream can have."
        )
    if classes is None:
        return np.asarray(known)
    named = unique_labels(classes)
    if known is None and len(named) < 2:
        raise ValueError(f"classes must have at least two labels, got {named!r}.")
    if known is not None and not np.array_equal(named, known):
        raise ValueError(f"classes={classes!r} differs from the classes of the first call, {known!r}.")
    return np.asarray(named)


def encode_labels(y: Array, classes: Array) -> npt.NDArray[np.int32]:
    """Turn labels into their positions in ``classes``; an unknown label is an error."""
    try:
        places = np.searchsorted(classes, y)
    except TypeError:
        places = np.zeros(len(y), dtype=np.intp)
    places = np.minimum(places, len(classes) - 1)
    unknown = np.asarray(classes[places] != y)
    if unknown.any():
        strange = sorted({repr(label) for label in y[unknown].tolist()})
        known = ", ".join(repr(label) for label in classes.tolist())
        raise ValueError(
            f"y has labels that are not in classes: {', '.join(strange[:5])}; classes are {known}. "
            "Pass all labels as classes in the first call of partial_fit."
        )
    return places.astype(np.int32)


def row_weights(sample_weight: Any, X: Rows, all_zero: bool = False) -> npt.NDArray[np.float64]:
    """Validate sample weights; None is a weight of 1 for every row.

    scikit-learn refuses weights that are all 0. With ``all_zero`` they are accepted: in a stream a block may
    have no row to learn.
    """
    if sample_weight is None:
        return np.ones(X.shape[0])
    if all_zero and np.shape(sample_weight) == (X.shape[0],) and not np.any(sample_weight):
        return np.zeros(X.shape[0])
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True, copy=True)
    return np.asarray(weights, dtype=np.float64)


def as_block(X: Rows) -> _core.Block:
    """Validated rows as the core takes them; nothing is copied."""
    if sparse.issparse(X):
        return _core.Block.csr(
            np.ascontiguousarray(X.data),
            np.ascontiguousarray(X.indices, dtype=np.int32),
            np.ascontiguousarray(X.indptr, dtype=np.int64),
            X.shape[1],
        )
    return _core.Block.dense(np.ascontiguousarray(X))
