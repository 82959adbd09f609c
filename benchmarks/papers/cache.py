"""Training time against the size of the kernel cache."""

from __future__ import annotations

from typing import Any

from ..harness.data import load_task
from ..harness.run import Data, Run
from .common import add, done, evaluations, flat_report, timed
from .digits import GAMMA, C

NAMES = ("mnist 8",)
SIZES = (4, 8, 32, 128, 512, 1024)


def run_part(run: Run) -> None:
    """LIBSVM in SVC and one epoch of LASVM, with caches of several sizes."""
    from sklearn.svm import SVC

    from everlearn import LASVM

    task = load_task("mnist8", run.settings["rows"])
    for size in SIZES if not run.quick else SIZES[:2]:
        models: dict[str, Any] = {
            "SVC": SVC(C=C, gamma=GAMMA, cache_size=size),
            "LASVM x 1": LASVM(C, gamma=GAMMA, finishing="kept", cache_size=size, random_state=0, n_jobs=1),
        }
        for learner, model in models.items():
            if not done(run, NAMES[0], learner, 0, cache=size):
                _, seconds = timed(model.fit, task.X_train, task.y_train)
                add(run, NAMES[0], learner, 0, cache=size, cpu=seconds, kernel=evaluations(model))


def report(data: Data) -> str:
    """One table."""
    return flat_report(
        data, "Size of the kernel cache", f"C = {C}, gamma = {GAMMA}; cache in MB.", ("cache",)
    )
