"""The interface of a peer."""

from __future__ import annotations

from typing import Any

import numpy as np

from .data import Task

TOL = 1e-3  # of every solver
Timing = tuple[float, float]  # wall-clock and CPU seconds


class TooSlow(Exception):
    """A peer that times itself exceeded its limit of `seconds`."""

    def __init__(self, reason: str, seconds: float) -> None:
        super().__init__(reason)
        self.seconds = seconds


class Peer:
    """A classifier on a task. `fit` may return its own timing where not all of it should count."""

    label = ""
    times_predict = True  # whether predict is repeated with fit, or done once for the error
    own_limit = False  # whether `fit` itself raises TooSlow, since not all of its time counts

    def __init__(self, task: Task, threads: int, cache: float, options: dict[str, Any] | None = None) -> None:
        self.task, self.threads, self.cache = task, threads, cache
        self.options = options or {}
        self.note: str | None = None
        self.set_up()

    def set_up(self) -> None:
        """Import the library and set its threads; raises ImportError where it is not installed."""

    def try_out(self) -> None:
        """Warm up on a few rows: load lazily imported code before anything is measured."""
        every = np.arange(self.task.X_train.shape[0])
        self.prepare({"n_kernel_evaluations": 10_000, "support": every})
        self.fit()
        self.predict()
        self.facts()

    def prepare(self, context: dict[str, Any]) -> None:
        """Work that is not timed; `context` holds facts of the first peer, LASVM."""

    def fit(self) -> Timing | None:
        raise NotImplementedError

    def predict(self) -> np.ndarray | None:
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """What to report of the fitted model; complete after `predict`."""
        return {}

    def exact(self) -> dict[str, Any]:
        """Dual objective and decision values of the model that stands for the optimum."""
        raise NotImplementedError
