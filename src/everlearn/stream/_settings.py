"""The settings of a never-ending learner: fixed when its store is created, and saved in it."""

import re
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import query
from .._base import constraints, persist
from .._base.validate import Array
from ..adaptive import AdaptiveSVM
from ..evaluate.drift import DriftDetector
from ..query import QueryStrategy
from ..select import Exemplars
from ..semi import StreamS3VM

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_MOST_LABELED = 2000  # the maximum of labeled rows that the default learner keeps


@dataclass(frozen=True)
class StreamSettings:
    """The settings; together with the events of the log they determine the state.

    Parameters
    ----------
    learner : classifier
        The classifier, with ``partial_fit`` and ``decision_function``.
    query_strategy : QueryStrategy or None
        Selects the rows to ask about; None never asks.
    semi_supervised : StreamS3VM or None
        Predicts a batch with the help of its unlabeled rows.
    exemplars : Exemplars or None
        Selects the unlabeled rows to keep; None samples them, favoring recent ones.
    drift : DriftDetector or None
        Detects concept drift from the learner's errors.
    memory_rows : int
        The maximum number of unlabeled rows, and of labeled rows, in memory.
    label_rate : float
        The number of questions per row, in the long run.
    label_budget : int or None
        The maximum number of questions in total.
    audit : float
        The fraction of questions about rows drawn at random.
    cold_start_labels : int
        The number of labels from which on the query strategy selects.
    classes : ndarray or None
        The possible labels, if they were given.
    scaling : {"standard", "none"}
        Whether features are scaled to mean 0 and standard deviation 1.
    scale_features : ndarray of bool or None
        The features to scale; None for all.
    window : int
        The number of last labels over which scores are computed.
    coverage : float or None
        The coverage of prediction sets; None makes none.
    retention : {"all", "needed"}
        Whether the log keeps all rows, or only those that may be needed again.
    max_age : str or None
        The maximum age of rows, such as "30d"; None for any.
    seed : int
        The seed of everything random.
    """

    learner: Any
    query_strategy: Any
    semi_supervised: Any = None
    exemplars: Any = None
    drift: Any = None
    memory_rows: int = 5000
    label_rate: float = 0.01
    label_budget: int | None = None
    audit: float = 0.1
    cold_start_labels: int = 10
    classes: Array | None = None
    scaling: str = "standard"
    scale_features: Array | None = None
    window: int = 1000
    coverage: float | None = None
    retention: str = "all"
    max_age: str | None = None
    seed: int = 0

    def state(self) -> dict[str, Any]:
        """The settings as plain values, for `from_state`."""
        found: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("learner", "semi_supervised", "exemplars"):
            found[name] = None if found[name] is None else persist.describe(found[name])
        found["query_strategy"] = None if self.query_strategy is None else strategy_state(self.query_strategy)
        found["drift"] = None if self.drift is None else self.drift.state()
        return found

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "StreamSettings":
        """Create settings from their `state`."""
        given = dict(state)
        for name in ("learner", "semi_supervised", "exemplars"):
            given[name] = None if given[name] is None else persist.revive(given[name])
        given["query_strategy"] = (
            None if given["query_strategy"] is None else strategy_from_state(given["query_strategy"])
        )
        given["drift"] = None if given["drift"] is None else DriftDetector.from_state(given["drift"])
        return cls(**given)


def make_settings(
    learner: Any = None,
    *,
    query_strategy: Any = "auto",
    drift: Any = None,
    random_state: Any = None,
    classes: Any = None,
    scale_features: Any = None,
    **others: Any,
) -> StreamSettings:
    """Check the settings, fill in defaults, and fix every seed, so that a replay gives the same result."""
    seed = int(np.random.RandomState(random_state).randint(2**31 - 1))
    if learner is None:
        most = int(others.get("memory_rows") or _MOST_LABELED)
        learner = AdaptiveSVM(max_rows=max(2, min(most, _MOST_LABELED)), scaling="none")
    check_learner(learner)
    learner = _seeded(clone(learner), seed)
    strategy = _strategy(query_strategy)
    if strategy is not None and "random_state" in strategy.get_params():
        strategy = type(strategy)(**strategy.get_params())
        if strategy.random_state is None:
            strategy.set_params(random_state=seed % 2**31)
    for name, cls in (("semi_supervised", StreamS3VM), ("exemplars", Exemplars)):
        given = others.get(name)
        if given is not None and not isinstance(given, cls):
            raise TypeError(f"{name} must be a {cls.__name__} or None, got {given!r}.")
        if given is not None:
            others[name] = _seeded(clone(given), seed)
    if isinstance(drift, str):
        drift = DriftDetector(drift)
    if drift is not None and not isinstance(drift, DriftDetector):
        raise TypeError(f"drift must be a DriftDetector, the name of a detector or None, got {drift!r}.")
    _check(others)
    return StreamSettings(
        learner=learner,
        query_strategy=strategy,
        drift=drift,
        seed=seed,
        classes=None if classes is None else _named(classes),
        scale_features=None if scale_features is None else np.asarray(scale_features, dtype=bool),
        **others,
    )


_CHECKS = {
    "memory_rows": constraints.integer_from(1),
    "label_rate": constraints.FRACTION,
    "label_budget": constraints.NONE | constraints.integer_from(0),
    "audit": constraints.FRACTION,
    "cold_start_labels": constraints.integer_from(0),
    "scaling": constraints.one_of("standard", "none"),
    "window": constraints.integer_from(1),
    "coverage": constraints.NONE
    | constraints.Constraint(
        "a number between 0 and 1, both excluded", lambda v: constraints.is_real(v) and 0 < v < 1
    ),
    "retention": constraints.one_of("all", "needed"),
}


def _check(values: dict[str, Any]) -> None:
    for name, value in values.items():
        if name in _CHECKS and not _CHECKS[name].test(value):
            raise ValueError(f"{name} must be {_CHECKS[name].accepts}, got {value!r}.")
    seconds_of(values.get("max_age"))


def seconds_of(age: Any) -> float | None:
    """An age such as "30d" in seconds; None for None."""
    if age is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", age) if isinstance(age, str) else None
    if found is None or float(found[1]) <= 0:
        raise ValueError(
            "max_age must be None or a positive number with the unit s, m, h, d or w, such as '30d', "
            f"got {age!r}."
        )
    return float(found[1]) * _UNITS[found[2]]


def check_learner(learner: Any) -> None:
    """Refuse a learner that cannot learn incrementally or cannot be saved."""
    if isinstance(learner, type) or not hasattr(learner, "partial_fit"):
        raise TypeError(
            f"learner must be an instance with partial_fit, such as LASVM() or LASVMNC(), got {learner!r}."
        )
    if not hasattr(learner, "decision_function"):
        raise TypeError(f"learner must have a decision_function; {learner!r} has none.")
    persist.describe(learner)


def _named(classes: Any) -> Array:
    """The classes as a sorted array: two or more, all integers, all strings or all bools."""
    given = np.asarray(classes, dtype=object)
    plain = [value.item() if isinstance(value, np.generic) else value for value in given.ravel().tolist()]
    kinds = {type(value) for value in plain}
    if given.ndim != 1 or len(set(plain)) < 2 or len(kinds) != 1 or not kinds <= {int, str, bool}:
        raise ValueError(
            f"classes must be two or more labels, all integers, all strings or all bools, got {classes!r}."
        )
    return np.unique(np.array(plain, dtype=object if kinds == {str} else None))


def _seeded(estimator: Any, seed: int) -> Any:
    if "random_state" in estimator.get_params(deep=False) and estimator.random_state is None:
        estimator.set_params(random_state=seed)
    return estimator


_STRATEGIES: dict[str, Any] = {
    "auto": query.Auto,
    "margin": lambda: query.Margin(pool_size=200),
    "random": query.Random,
    "none": lambda: None,
}


def _strategy(given: Any) -> Any:
    if given is None:
        return None
    if isinstance(given, str):
        if given not in _STRATEGIES:
            raise ValueError(
                f"query_strategy must be a query strategy or one of {', '.join(map(repr, _STRATEGIES))}, "
                f"got {given!r}."
            )
        return _STRATEGIES[given]()
    if isinstance(given, type) or not isinstance(given, QueryStrategy):
        raise TypeError(
            f"query_strategy must be one of everlearn.query, such as Margin(), a name or None, got {given!r}."
        )
    if getattr(query, type(given).__name__, None) is not type(given):
        raise TypeError(
            "query_strategy must be a class of everlearn.query, because the store saves it by name, "
            f"got {given!r}."
        )
    if given.needs_labels:
        raise ValueError(
            f"query_strategy={given!r} needs the labels of all rows, which a stream does not have: use "
            "Margin() instead."
        )
    return given


def strategy_state(strategy: Any) -> dict[str, Any]:
    """The name and parameters of a query strategy."""
    return {"strategy": type(strategy).__name__, "params": strategy.get_params()}


def strategy_from_state(state: dict[str, Any]) -> Any:
    """Create a query strategy of `everlearn.query` from its `strategy_state`."""
    cls = getattr(query, state["strategy"], None)
    if not (isinstance(cls, type) and issubclass(cls, QueryStrategy)):
        raise ValueError(f"everlearn.query has no query strategy {state['strategy']!r}.")
    return cls(**state["params"])


def with_learner(settings: StreamSettings, learner: Any) -> StreamSettings:
    """The same settings with another learner."""
    check_learner(learner)
    return replace(settings, learner=_seeded(clone(learner), settings.seed))
