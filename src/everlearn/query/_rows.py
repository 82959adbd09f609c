"""Access to rows, whatever holds them: arrays, sparse matrices, data frames, lists."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples

Places: TypeAlias = npt.NDArray[np.intp]

FIRST_ROWS = (
    1000  # from which everlearn's learners take what depends on features alone, such as gamma="scale"
)


def count_rows(X: Any) -> int:
    """Number of rows of X; at least one is required."""
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 1:
        raise ValueError(
            f"X must be two-dimensional, got shape {tuple(shape)}: pass a single row as X.reshape(1, -1)."
        )
    n_rows = int(_num_samples(X))
    if n_rows == 0:
        raise ValueError("X has no rows: pass at least one.")
    return n_rows


def sliceable(X: Any) -> Any:
    """X in a form that `take` can slice; data frames are kept, so that the model sees the column names."""
    if sparse.issparse(X):
        return X.tocsr()
    if hasattr(X, "shape") and hasattr(X, "__getitem__"):
        return X
    return np.asarray(X)


def take(X: Any, places: slice | Places) -> Any:
    """Rows of a sliceable X."""
    return X.iloc[places] if hasattr(X, "iloc") else X[places]


def is_pairwise(model: Any) -> bool:
    """Whether a model takes kernel values instead of features."""
    return hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.pairwise)
