"""The learners for label noise as peers, and a fit of one of them in this process."""

from __future__ import annotations

from inspect import signature
from time import process_time
from typing import Any, ClassVar

import numpy as np

from ..harness import peers
from ..harness.data import Task


class Relative(peers.Ours):
    """One of our learners without bias: one pass over the shuffled rows, no finishing step."""

    kind = ""
    changes: ClassVar[dict[str, Any]] = {}

    def set_up(self) -> None:
        import everlearn

        if not hasattr(everlearn, self.kind):
            raise ImportError(f"everlearn has no {self.kind}")
        self.estimator = getattr(everlearn, self.kind)

    def make(self, **changes: Any) -> Any:
        online = {"finishing": None} if "finishing" in signature(self.estimator).parameters else {}
        return super().make(**online | self.changes | changes)


class Full(Relative):
    """Keeps every row."""

    label = kind = "FullSVM"


class Gap(Relative):
    """Stops optimizing at the gap that the noise of the loss allows, and cleans up every 300 rows."""

    label = kind = "LASVMG"


class NonConvex(Relative):
    """Ramp loss: a row that is far on the wrong side when it comes cannot become a support vector."""

    label = kind = "LASVMNC"


class Ignoring(Relative):
    """Leaves out rows beyond the margin on either side when they come."""

    label = kind = "LASVMI"


class OnlineRamp(Relative):
    """Ramp loss with rows that come back in and go out again; keeps every row."""

    label = kind = "OnlineSVMR"


class OnlineRamp100(OnlineRamp):
    """The same with at most 100 rows that are no support vectors."""

    label = "OnlineSVMR 100"
    changes: ClassVar[dict[str, Any]] = {"max_idle": 100}


class OfflineRamp(Relative):
    """Ramp loss, all rows at once."""

    label = kind = "RampSVM"

    def set_up(self) -> None:
        super().set_up()
        estimator = self.estimator
        self.estimator = lambda random_state, **settings: estimator(**settings)  # it shuffles nothing


PEERS = peers.PEERS | {
    "full": Full,
    "g": Gap,
    "nc": NonConvex,
    "i": Ignoring,
    "svmr": OnlineRamp,
    "svmr100": OnlineRamp100,
    "ramp": OfflineRamp,
}
COLORS = {
    "svc": "#333333",
    "intelex": "#9a9a9a",
    "ours": "#c0392b",
    "full": "#b07d2b",
    "g": "#e08e0b",
    "nc": "#1f6fb4",
    "i": "#6bb3d9",
    "svmr": "#1b8a5a",
    "svmr100": "#7cc29a",
    "ramp": "#7b3fc4",
}


def scores(task: Task, labels: Any) -> dict[str, float]:
    """Error and g-means on the test rows."""
    from everlearn.metrics import g_means

    return {
        "error": float(np.mean(np.asarray(labels) != task.y_test)),
        "g_means": float(g_means(task.y_test, labels)),
    }


def chosen(known: tuple[str, ...], named: list[str] | None) -> list[str]:
    """The learners of a part that `--peers` leaves."""
    if unknown := sorted(set(named or ()) - set(PEERS)):
        raise SystemExit(f"--peers: unknown {', '.join(unknown)}; choose from {', '.join(PEERS)}")
    return [name for name in known if not named or name in named]


def fit_once(task: Task, name: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
    """Fit a peer here and now: its scores, its size and its CPU seconds."""
    peer = PEERS[name](task, settings["threads"], settings["cache"], {"random_state": seed})
    start = process_time()
    peer.fit()
    cpu = process_time() - start
    facts = peer.facts()
    return {
        "peer": name,
        "seed": seed,
        "cpu": cpu,
        **scores(task, peer.predict()),
        "n_sv": facts["n_sv"],
        "n_kernel_evaluations": facts.get("n_kernel_evaluations"),
    }
