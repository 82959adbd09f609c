"""Saves unfitted classifiers of scikit-learn and River as names and parameters, never as code.

A class is looked up by name in the public packages of the two libraries only, so a file cannot load any other
module. Constructors of these classes only store parameters. The loaded object must be a classifier, and its
parts must be scikit-learn estimators or River components.
"""

import importlib
from typing import Any

from sklearn.base import BaseEstimator

from .._base import persist
from .experts import is_classifier

_ROOTS = ("sklearn", "river")


def describe(model: Any) -> dict[str, Any]:
    """Describe a classifier by its name and parameters, or an everlearn learner by its state."""
    if persist.is_registered(model):
        return persist.describe(model)
    return _describe(model, type(model).__name__)


def _describe(part: Any, whole: str) -> dict[str, Any]:
    kind = type(part)
    if _find(kind.__module__, kind.__name__) is not kind:
        raise TypeError(
            f"A {whole} cannot be saved as an expert, because of its part {part!r}: use classifiers of "
            "everlearn, or public classes of scikit-learn and River."
        )
    params = part.get_params(deep=False) if isinstance(part, BaseEstimator) else _river_params(part, whole)
    return {
        "module": kind.__module__,
        "name": kind.__name__,
        "params": {name: _parameter(value, name, whole) for name, value in params.items()},
    }


def _river_params(part: Any, whole: str) -> dict[str, Any]:
    names = part._get_params()
    if kinds := [name for name in names if not hasattr(part, name)]:
        raise TypeError(
            f"A {whole} cannot be saved as an expert: the parameter {kinds[0]!r} of its "
            f"{type(part).__name__} cannot be described. Pass a River classifier that is not a pipeline."
        )
    return {name: getattr(part, name) for name in names}


def _parameter(value: Any, name: str, whole: str) -> Any:
    """A parameter as data; nested estimators are described recursively."""
    if isinstance(value, list | tuple):
        return [type(value) is tuple, [_parameter(item, name, whole) for item in value]]
    if _is_part(type(value)):
        return {"part": _describe(value, whole)}
    if name == "memory" and value is not None:
        raise TypeError(f"A {whole} with memory={value!r} cannot be saved as an expert: set memory=None.")
    return {"value": value}


def revive(state: dict[str, Any]) -> Any:
    """Rebuild a classifier from its description."""
    model = persist.revive(state) if "class" in state else _revive(state)
    if not is_classifier(model):
        raise ValueError(f"{type(model).__name__} is not a classifier.")
    return model


def _revive(state: dict[str, Any]) -> Any:
    module, name = str(state["module"]), str(state["name"])
    kind = _find(module, name)
    if kind is None:
        raise ValueError(f"{module}.{name} is not a scikit-learn estimator or a River component.")
    return kind(**{key: _revive_parameter(value, key) for key, value in state["params"].items()})


def _revive_parameter(state: Any, name: str) -> Any:
    if isinstance(state, list):
        items = [_revive_parameter(item, name) for item in state[1]]
        return tuple(items) if state[0] else items
    if "part" in state:
        return _revive(state["part"])
    if name == "memory" and state["value"] is not None:  # a folder of pickles
        raise ValueError(f"memory={state['value']!r} is not supported: it is a folder of pickles.")
    return state["value"]


def _find(module: str, name: str) -> Any:
    """Find a public class of scikit-learn or River in the packages on the path to a module, or None."""
    path, *parts = module.split(".")
    if path not in _ROOTS or not parts:
        return None
    package = importlib.import_module(path)
    for part in parts:
        listed = getattr(package, "__all__", None)
        if part.startswith("_") or (listed is not None and part not in listed):
            return None
        path = f"{path}.{part}"
        try:
            package = importlib.import_module(path)
        except ImportError:
            return None
        if not hasattr(package, "__all__"):
            return None
        kind = getattr(package, name, None) if name in package.__all__ else None
        if kind is not None:
            return kind if isinstance(kind, type) and _is_part(kind) else None
    return None


def _is_part(kind: type) -> bool:
    """Whether a class is a scikit-learn estimator or a River component."""
    if issubclass(kind, BaseEstimator):
        return True
    if kind.__module__.split(".")[0] != "river":
        return False
    return issubclass(kind, importlib.import_module("river.base").Base) and ".datasets" not in kind.__module__
