"""A small self-test: how many rows a second learners take in, beside a linear one of scikit-learn."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from ..budget import RBP, KernelPA
from ..datasets import make_banana
from ..stream import NeverEndingLearner
from ..svm import LASVM, OnlineSVMR

_BLOCK = 200
_ROWS = 200_000


@dataclass(frozen=True)
class Timing:
    """What came of a learner."""

    name: str
    rows: int
    seconds: float
    accuracy: float
    support_vectors: int | None


def self_test(seconds: float, said: Callable[[Timing], None]) -> None:
    """Time each learner on the same labeled stream: blocks are predicted first, then learned."""
    X, y = make_banana(_ROWS, random_state=0)
    learners = {
        "LASVM(C=10)": LASVM(C=10, random_state=0),
        "OnlineSVMR(C=10)": OnlineSVMR(C=10),
        "RBP(budget=200)": RBP(budget=200, random_state=0),
        "KernelPA()": KernelPA(),
    }
    each = seconds / (len(learners) + 1)
    for name, learner in learners.items():
        with NeverEndingLearner.open(":memory:", learner, query_strategy=None, random_state=0) as held:
            rows, spent = _until(each, X, y, held.step)
            status = held.status()
        accuracy = status["scores"]["total"]["accuracy"]
        said(Timing(f"{name}, step()", rows, spent, accuracy, status["support_vectors"]))
    said(_linear(each, X, y))


def _linear(each: float, X: Any, y: Any) -> Timing:
    model, right, judged = SGDClassifier(random_state=0), 0, 0

    def learn(A: Any, b: Any) -> None:
        nonlocal right, judged
        if hasattr(model, "coef_"):
            right += int((model.predict(A) == b).sum())
            judged += len(b)
        model.partial_fit(A, b, classes=np.unique(y))

    rows, spent = _until(each, X, y, learn)
    return Timing("SGDClassifier, partial_fit()", rows, spent, right / max(judged, 1), None)


def _until(seconds: float, X: Any, y: Any, learn: Callable[[Any, Any], Any]) -> tuple[int, float]:
    rows, start = 0, time.perf_counter()
    for part in _blocks(len(y)):
        learn(X[part], y[part])
        rows += part.stop - part.start
        if time.perf_counter() - start > seconds:
            break
    return rows, time.perf_counter() - start


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, _BLOCK):
        yield slice(start, min(start + _BLOCK, n))


def benchmarks() -> dict[str, Path]:
    """The benchmarks of the source checkout by their names; none where only the package is installed."""
    folder = Path(__file__).parents[3] / "benchmarks"
    return {path.stem: path for path in sorted(folder.glob("[a-z]*.py"))}


def run_benchmark(path: Path, options: list[str]) -> int:
    """Run one of them; its exit code."""
    return subprocess.run([sys.executable, str(path), *options], check=False).returncode
