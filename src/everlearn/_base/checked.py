"""Checks on the parts of a saved state, before a class builds on them.

Every function returns the value that it was given, or raises a `ValueError` that names the part. A file can
hold anything under a right digest; what passes here has the type, the shape and the range that the code
behind it relies on.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[Any]

MOST_ROWS = 2**62  # a counter that can still grow for longer than any stream runs


def integer(name: str, value: Any, least: int = 0, most: int = MOST_ROWS) -> int:
    """An integer within bounds, both included."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{name} must be an integer from {least} to {most}, got {_brief(value)}")
    return int(value)


def number(name: str, value: Any, least: float = -np.inf, most: float = np.inf, finite: bool = True) -> float:
    """A number within bounds, both included; NaN never is."""
    real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not real or not least <= value <= most or (finite and not np.isfinite(float(value))):
        kind = "a finite number" if finite else "a number"
        raise ValueError(f"{name} must be {kind} from {least} to {most}, got {_brief(value)}")
    return float(value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {_brief(value)}")
    return bool(value)


def word(name: str, value: Any, words: Sequence[str]) -> str:
    """One of some words."""
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}, got {_brief(value)}")
    return value


def table(name: str, value: Any) -> dict[str, Any]:
    """A dict with names as keys."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"{name} must be a dict, got {_brief(value)}")
    return dict(value)


def items(name: str, value: Any, length: int | None = None) -> list[Any]:
    """A list or tuple, of a certain length where one is given."""
    if not isinstance(value, list | tuple) or (length is not None and len(value) != length):
        wanted = "a list" if length is None else f"a list of {length} items"
        raise ValueError(f"{name} must be {wanted}, got {_brief(value)}")
    return list(value)


def items_of(name: str, value: Any, length: int | None = None) -> Array:
    """An array in one dimension, of any kind."""
    fits = isinstance(value, np.ndarray) and value.ndim == 1
    if not fits or (length is not None and len(value) != length):
        raise ValueError(f"{name} must be an array in one dimension, got {_brief(value)}")
    return np.asarray(value)


def array(name: str, value: Any, dtype: Any, shape: tuple[int | None, ...]) -> Array:
    """An array of a shape, None for any length, that becomes ``dtype`` without loss of range."""
    if not isinstance(value, np.ndarray) or not np.can_cast(value.dtype, dtype, "safe"):
        raise ValueError(f"{name} must be an array of {np.dtype(dtype)}, got {_brief(value)}")
    if len(value.shape) != len(shape) or any(
        wanted is not None and length != wanted for length, wanted in zip(value.shape, shape, strict=True)
    ):
        wanted_shape = tuple("any" if length is None else length for length in shape)
        raise ValueError(f"{name} must have the shape {wanted_shape}, got {value.shape}")
    return np.asarray(value, dtype=dtype)


def floats(name: str, value: Any, shape: tuple[int | None, ...], least: float = -np.inf) -> Array:
    """An array of finite numbers, none below ``least``."""
    found = array(name, value, np.float64, shape)
    if found.size and not (np.isfinite(found).all() and float(found.min()) >= least):
        raise ValueError(f"{name} must contain finite numbers, {least} or above")
    return found


def integers(
    name: str,
    value: Any,
    shape: tuple[int | None, ...],
    least: int = 0,
    most: int = MOST_ROWS,
    dtype: Any = None,
) -> Array:
    """An array of integers within bounds, both included."""
    found = array(name, value, np.int64 if dtype is None else dtype, shape)
    if found.size and not least <= int(found.min()) <= int(found.max()) <= most:
        raise ValueError(f"{name} must contain integers from {least} to {most}")
    return found


def rows(name: str, value: Any, count: int | None, width: int | None) -> Any:
    """Dense or CSR rows of finite numbers, of some count and width."""
    if not sparse.issparse(value):
        floats(name, value, (count, width))
        return value
    if any(
        wanted is not None and length != wanted
        for length, wanted in zip(value.shape, (count, width), strict=True)
    ):
        raise ValueError(f"{name} must have the shape {(count, width)}, got {value.shape}")
    floats(name, value.data, (None,))
    return value


def classes(name: str, value: Any, count: int | None = None) -> Array:
    """Class labels in one dimension: ascending, each once."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.kind not in "biufUO":
        raise ValueError(f"{name} must be an array of labels, got {_brief(value)}")
    if count is not None and len(value) != count:
        raise ValueError(f"{name} has {len(value)} labels, and the model was built for {count} classes")
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        raise ValueError(f"{name} must contain finite labels")
    if not np.array_equal(np.unique(value), value):
        raise ValueError(f"{name} must be ascending, each label once")
    return value


def features(state: Mapping[str, Any], width: int | None = None) -> int:
    """``n_features_in_`` of a fitted state, which agrees with the names of the features."""
    count = integer("n_features_in_", state["n_features_in_"], least=1)
    if width is not None and count != width:
        raise ValueError(f"n_features_in_ is {count}, and the model was built for {width} features")
    if "feature_names_in_" in state:
        names = state["feature_names_in_"]
        if not isinstance(names, np.ndarray) or names.shape != (count,) or names.dtype.kind not in "OU":
            raise ValueError(f"feature_names_in_ must contain {count} names, got {_brief(names)}")
    return count


def classifier(name: str, model: Any, fitted: Mapping[str, Any]) -> None:
    """A fitted classifier for the classes and the features of a fitted state around it."""
    known = classes("classes_", fitted["classes_"])
    width = features(fitted)
    if not hasattr(model, "predict") or not hasattr(model, "classes_"):
        raise ValueError(f"{name} must be a fitted classifier, got {_brief(model)}")
    if not np.array_equal(model.classes_, known) or model.n_features_in_ != width:
        raise ValueError(f"{name} was fitted to other classes or features")


def _brief(value: Any) -> str:
    """A value in an error message, however long it is."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, int) and abs(value) >= 2**64:
        return "a longer integer"
    text = repr(value) if isinstance(value, str | int | float | None) else type(value).__name__
    return text if len(text) <= 80 else f"{text[:80]}..."
