"""DriftDetector: raise an alarm when the errors of a learner change, from a detector of River.

A detector sees only the errors of predictions, in the order in which labels became known. The caller decides
what to do after an alarm; the policy is only stored here.
"""

from __future__ import annotations

import copy
import importlib
from array import array
from collections import deque
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._base import constraints

__all__ = ["DETECTORS", "DriftDetector"]

DETECTORS = {
    "adwin": "ADWIN",
    "ddm": "DDM",
    "eddm": "EDDM",
    "hddm_a": "HDDMA",
    "hddm_w": "HDDMW",
    "page-hinkley": "PageHinkley",
    "kswin": "KSWIN",
}
_BINARY = "river.drift.binary"
_MODULES = ("river.drift", _BINARY)


class DriftDetector:
    """A drift detector whose state can be saved.

    Parameters
    ----------
    detector : str or object, default=None
        One of "adwin", "ddm", "eddm", "hddm_a", "hddm_w", "page-hinkley" and "kswin", or a detector: an
        object with ``update(x)`` and ``drift_detected``, such as ``river.drift.ADWIN()``. None is "adwin".
        The object itself is not changed: a new one with its parameters is used, or a copy if it is not
        River's. A random detector without a seed gets seed 0, so that a replay raises the same alarms.
    policy : {"restart", "forget", "alarm"}, default="restart"
        What a `NeverEndingLearner` does after an alarm. "restart" restarts the learner on the last 100
        labels.
        "forget" also drops older rows from memory. "alarm" only reports it.
    parameters : dict
        Parameters of a detector given by its name, for instance ``delta=0.01``.

    Notes
    -----
    The state of a detector cannot be saved without pickle. Instead, its inputs are saved, and a new detector
    processes them again. To bound them, after 50,000 inputs without an alarm the detector is replaced by a
    new one that has seen only the last 10,000, whether or not anything is saved. An alarm of the new one at
    an old input is ignored, and another detector continues after that input. After an alarm the detector is
    also replaced. Processing 50,000 inputs takes "adwin" some hundredths of a second, but "kswin", with a
    Kolmogorov-Smirnov test for each, half a minute.

    Examples
    --------
    >>> from everlearn.evaluate.drift import DriftDetector
    >>> drift = DriftDetector("ddm", warm_start=20)
    >>> drift.update([0, 0, 0, 1] * 50 + [1] * 20)
    [216]
    >>> drift.n_alarms, drift.n_inputs  # one alarm; the three errors after it
    (1, 3)
    """

    max_inputs: ClassVar[int] = 50_000
    kept_inputs: ClassVar[int] = 10_000
    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "policy": constraints.one_of("alarm", "restart", "forget")
    }

    def __init__(self, detector: Any = None, policy: str = "restart", **parameters: Any) -> None:
        self.policy = policy
        constraints.check(self)
        detector = "adwin" if detector is None else detector
        if isinstance(detector, str):
            if detector not in DETECTORS:
                names = ", ".join(repr(name) for name in DETECTORS)
                raise ValueError(f"detector must be one of {names} or a detector of River, got {detector!r}.")
            detector = _river_class(DETECTORS[detector])(**parameters)
        elif parameters:
            raise ValueError(
                f"{detector!r} is already an instance: pass {', '.join(parameters)} to its constructor."
            )
        if not (callable(getattr(detector, "update", None)) and hasattr(detector, "drift_detected")):
            raise TypeError(f"detector must have update(x) and drift_detected, got {detector!r}.")
        self._recipe = _recipe(detector)
        self._pattern = copy.deepcopy(detector) if self._recipe is None else None
        self._inputs = array("d")
        self._n_seen = 0
        self._n_alarms = 0
        self._restart()

    @property
    def detector(self) -> Any:
        """The current detector; do not modify it."""
        return self._detector

    @property
    def warning(self) -> bool | None:
        """Whether the detector is in its warning zone; None if it has none."""
        warning = getattr(self._detector, "warning_detected", None)
        return None if warning is None else bool(warning)

    @property
    def n_seen(self) -> int:
        """Number of errors seen."""
        return self._n_seen

    @property
    def n_alarms(self) -> int:
        """Number of alarms."""
        return self._n_alarms

    @property
    def n_inputs(self) -> int:
        """Number of inputs of the current detector."""
        return len(self._inputs)

    def update(self, errors: ArrayLike) -> list[int]:
        """Update the detector with errors.

        Parameters
        ----------
        errors : array-like of shape (n_rows,)
            1 for a wrong prediction and 0 for a correct one, in the order in which labels became known.
            Detectors that accept other numbers may get, for example, losses.

        Returns
        -------
        list of int
            The positions in `errors` at which there was an alarm.
        """
        values = np.asarray(errors, dtype=np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise ValueError(
                f"errors must be one-dimensional and finite, got shape {values.shape}; leave out rows that "
                "were not predicted."
            )
        if type(self._detector).__module__.startswith(_BINARY) and not _are_bits(values):
            raise ValueError(f"errors must be 0 or 1 for {type(self._detector).__name__}.")
        alarms = []
        for position, value in enumerate(values.tolist()):
            if self._see(value):
                alarms.append(position)
            elif len(self._inputs) >= self.max_inputs:
                kept = self._inputs[-self.kept_inputs :]
                self._restart()
                self._see_again(kept)
        self._n_seen += len(values)
        self._n_alarms += len(alarms)
        return alarms

    def state(self) -> dict[str, Any]:
        """Return the parameters and inputs of the detector, as plain values and arrays.

        Returns
        -------
        dict
            For `from_state`.
        """
        if self._recipe is None:
            raise TypeError(
                f"{self._pattern!r} cannot be saved: its parameters cannot be read back. Use a detector of "
                f"River, or one of the names {', '.join(map(repr, DETECTORS))}."
            )
        name, parameters = self._recipe
        inputs = np.array(self._inputs, dtype=np.float64)
        packed = _are_bits(inputs)
        return {
            "detector": name,
            "parameters": copy.deepcopy(parameters),
            "policy": self.policy,
            "n_seen": self._n_seen,
            "n_alarms": self._n_alarms,
            "n_inputs": len(inputs),
            "packed": packed,
            "inputs": np.packbits(inputs.astype(np.bool_)) if packed else inputs,
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> DriftDetector:
        """Restore an object from its state; it continues bit for bit.

        Parameters
        ----------
        state : dict
            From `state`.

        Returns
        -------
        DriftDetector
            The continuation.
        """
        made = cls(_river_class(state["detector"])(**copy.deepcopy(state["parameters"])), state["policy"])
        inputs: NDArray[Any] = np.asarray(state["inputs"])
        if state["packed"]:
            inputs = np.unpackbits(inputs.astype(np.uint8), count=int(state["n_inputs"]))
        made._see_again(inputs.astype(np.float64).tolist())
        made._n_seen = int(state["n_seen"])
        made._n_alarms = int(state["n_alarms"])
        return made

    def _restart(self) -> None:
        if self._recipe is None:
            self._detector: Any = copy.deepcopy(self._pattern)
        else:
            name, parameters = self._recipe
            self._detector = _river_class(name)(**copy.deepcopy(parameters))
        self._inputs = array("d")

    def _see(self, value: float) -> bool:
        """Whether this input raises an alarm; if so, the statistics restart.

        Invariant: a new detector that goes through `_inputs` is the one at work.
        """
        self._inputs.append(value)
        self._detector.update(int(value) if value in (0.0, 1.0) else value)
        if not self._detector.drift_detected:
            return False
        self._restart()
        return True

    def _see_again(self, values: Iterable[float]) -> None:
        for value in values:
            self._see(value)


def _are_bits(values: NDArray[np.float64]) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _river_class(name: str) -> Any:
    """A detector class of River by its name, and nothing else whatever the name."""
    try:
        modules = [importlib.import_module(module) for module in _MODULES]
    except ImportError as error:
        raise ImportError('Drift detection needs River: pip install "everlearn[river]".') from error
    for module in modules:
        found = getattr(module, name, None)
        if isinstance(found, type) and hasattr(found, "drift_detected"):
            return found
    raise ValueError(f"The installed River has no drift detector {name!r}; update River.")


def _recipe(detector: Any) -> tuple[str, dict[str, Any]] | None:
    """The name and the parameters of a detector of River, None for any other or if they are not plain."""
    kind = type(detector)
    if not kind.__module__.startswith("river.drift"):
        return None
    try:
        if _river_class(kind.__name__) is not kind:
            return None
        parameters = {name: _plain(value) for name, value in detector._get_params().items()}
    except (AttributeError, TypeError, ValueError):
        return None
    if "seed" in parameters and parameters["seed"] is None:
        parameters["seed"] = 0
    return kind.__name__, parameters


def _plain(value: Any) -> Any:
    """A parameter as a plain value; TypeError if it is none."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (list, tuple, deque)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{value!r} is not a plain value")
