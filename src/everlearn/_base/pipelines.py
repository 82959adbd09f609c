"""Saves pipelines of scikit-learn around learners of everlearn, as data and never as code.

A transformer is saved by its class, which must be one of `TRANSFORMERS`, and by its attributes, which must be
plain: numbers, strings, arrays, and lists, tuples and mappings of such. Loading looks classes up in the same
table, so that no file can name another one, and sets attributes to data only.
"""

import importlib
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import sklearn
from scipy import sparse

from . import persist

TRANSFORMERS = {
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.compose": ("ColumnTransformer",),
    "sklearn.preprocessing": (
        "Binarizer",
        "FunctionTransformer",  # without functions, as in a passthrough
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PolynomialFeatures",
        "RobustScaler",
        "StandardScaler",
    ),
    "sklearn.impute": ("MissingIndicator", "SimpleImputer"),
    "sklearn.decomposition": ("PCA", "TruncatedSVD"),
    "sklearn.feature_extraction.text": (
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfTransformer",
        "TfidfVectorizer",
    ),
}
"""The classes that may be part of a saved pipeline."""

_NUMBERS = (bool, int, float, str, np.number, np.bool_, np.str_, np.dtype)


@persist.register
class SavedPipeline:
    """A `Pipeline` in the form in which it is saved; loading gives the pipeline itself.

    Parameters
    ----------
    pipeline : Pipeline
        The pipeline.
    """

    def __init__(self, pipeline: Any) -> None:
        self.pipeline = pipeline

    def _get_state(self) -> dict[str, Any]:
        state = _packed(self.pipeline, "the pipeline")
        return {"scikit-learn": sklearn.__version__, "pipeline": state}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Any:
        if state["scikit-learn"] != sklearn.__version__:
            warnings.warn(
                f"The pipeline was saved with scikit-learn {state['scikit-learn']}, and this is "
                f"{sklearn.__version__}: its transformers may behave differently.",
                stacklevel=4,
            )
        found = _unpacked(state["pipeline"])
        if type(found).__name__ != "Pipeline":
            raise ValueError(f"It holds a {type(found).__name__}, not a pipeline.")
        return found


@cache
def _class_of(name: str) -> Any:
    """A class of the table by its name; None if there is none."""
    module = next((module for module, names in TRANSFORMERS.items() if name in names), None)
    return None if module is None else getattr(importlib.import_module(module), name)


def is_transformer(item: Any) -> bool:
    """Whether an object is of a class of the table, not of a subclass."""
    return type(item).__module__.startswith("sklearn.") and type(item) is _class_of(type(item).__name__)


# Every value is packed as plain data, or as a table with one entry that says what it is.


def _packed(value: Any, where: str) -> Any:
    if value is None or isinstance(value, _NUMBERS):
        return value
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"type": np.dtype(value)}
    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"objects": [_packed(item, where) for item in value.ravel().tolist()], "shape": value.shape}
    if isinstance(value, np.ndarray) or sparse.issparse(value):
        return value
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, list | tuple):
        return type(value)(_packed(item, where) for item in value)
    if isinstance(value, Mapping):
        # A vocabulary has many numbers, which would be an array each.
        items = [(key, int(item) if isinstance(item, np.integer) else item) for key, item in value.items()]
        return {"table": [[_packed(key, where), _packed(item, where)] for key, item in items]}
    if is_transformer(value):
        name, attributes = type(value).__name__, vars(value).items()
        _refuse_memory(value)
        return {
            "transformer": name,
            "state": {key: _packed(item, f"{key} of {name}") for key, item in attributes},
        }
    if persist.is_registered(value):
        return {"learner": persist.describe(value)}
    raise TypeError(_refusal(value, where))


def _refusal(value: Any, where: str) -> str:
    names = sorted({name for part in TRANSFORMERS.values() for name in part} - {"Pipeline"})
    what = f"a {type(value).__name__}" if hasattr(value, "get_params") else repr(value)
    return (
        f"The pipeline cannot be saved, because {where} has {what}, which needs pickle. Use learners of "
        f"everlearn with {', '.join(names)}, and parameters that are plain values (random_state: a number)."
    )


def _unpacked(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_unpacked(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "type" in value:
        return np.dtype(value["type"]).type
    if "objects" in value:
        array = np.empty(len(value["objects"]), dtype=object)
        array[:] = [_unpacked(item) for item in value["objects"]]
        return array.reshape(value["shape"])
    if "slice" in value:
        return slice(*value["slice"])
    if "table" in value:
        return {_unpacked(key): _unpacked(item) for key, item in value["table"]}
    if "learner" in value:
        return persist.revive(value["learner"])
    return _transformer(str(value["transformer"]), value["state"])


def _transformer(name: str, state: Any) -> Any:
    kind = _class_of(name)
    if kind is None:
        raise ValueError(f"{name} is not one of the transformers that can be loaded.")
    made = kind() if name not in ("Pipeline", "ColumnTransformer") else kind([])
    own = set(made.get_params(deep=False))
    for key, item in state.items():
        if key not in own and (key.startswith("__") or hasattr(kind, key)):
            raise ValueError(f"{key!r} is not an attribute of a fitted {name}.")
        setattr(made, key, _unpacked(item))
    _refuse_memory(made)
    return made


def _refuse_memory(pipeline: Any) -> None:
    if getattr(pipeline, "memory", None) is not None:
        raise TypeError(
            f"A pipeline with memory={pipeline.memory!r} cannot be saved or loaded, because that is a folder "
            "of pickles: set memory=None."
        )
