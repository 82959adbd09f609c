"""An installed everlearn works: `python smoke.py`, in an environment that has nothing but the wheel.

Run it outside of a checkout, so that the installed package is imported. Prints where the package is, its
vector instructions, and what a call of one row costs.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import everlearn
import everlearn._core
from everlearn import IDSVM, LASVM, ActiveLearner, AdaptiveSVM, Projectron, SubmodS3VM
from everlearn.datasets import make_banana


def learners() -> None:
    """Learners of every family learn, agree with SVC, forget, and are saved and loaded."""
    X, y = make_banana(600, random_state=0)
    svc = SVC(C=10, gamma=1, tol=1e-6).fit(X, y)
    for model in (LASVM(C=10, gamma=1), LASVM(C=10, gamma=1, n_jobs=2), IDSVM(C=10, gamma=1)):
        scores = model.fit(X, y).decision_function(X)
        assert np.abs(scores - svc.decision_function(X)).max() < 0.05, type(model).__name__
        assert model.forget([3]).score(X, y) > 0.9
    for model in (Projectron(gamma=1), AdaptiveSVM(random_state=0)):
        model.partial_fit(X[:300], y[:300], classes=[-1, 1]).partial_fit(X[300:], y[300:])
        assert model.score(X, y) > 0.85, type(model).__name__
    few = np.where(np.arange(600) < 20, y, np.nan)
    assert SubmodS3VM(random_state=0).fit(X, few).score(X, y) > 0.6
    with tempfile.TemporaryDirectory() as folder:
        everlearn.save(model, Path(folder) / "model")
        assert np.array_equal(everlearn.load(Path(folder) / "model").predict(X), model.predict(X))


def asking() -> None:
    """A loop that asks learns ten classes from few labels."""
    X, y = load_digits(return_X_y=True)
    loop = ActiveLearner(LASVM(C=10, gamma=0.1), random_state=0).run(X / 16, oracle=y, max_labels=100)
    assert loop.estimator.score(X / 16, y) > 0.85


def stream() -> str:
    """A store on disk, if its requirements are installed."""
    try:
        from everlearn import NeverEndingLearner
    except ImportError:
        return "without the stream extra"
    X, y = make_banana(400, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "banana.everlearn"
        with NeverEndingLearner.open(store, label_rate=0.2, random_state=0) as learner:
            for start in range(0, 400, 100):
                out = learner.step(X[start : start + 100], ids=range(start, start + 100))
                for question in out.questions:
                    learner.label([question.id], [int(y[question.id])], by="smoke")
        with NeverEndingLearner.open(store, read_only=True) as learner:
            assert learner.status()["rows"] == 400
    return "with a store"


def cost_of_calls() -> dict[str, float]:
    """CPU microseconds of a call with one row, the median of nine runs of 2,000 calls."""
    X, y = make_banana(2300, random_state=0)
    found: dict[str, list[float]] = {"partial_fit": [], "predict": []}
    for _ in range(9):
        model = LASVM(C=1, gamma=0.5).partial_fit(X[:300], y[:300], classes=[-1, 1])
        for name in found:
            call = getattr(model, name)
            rows = [
                (X[i : i + 1], y[i : i + 1]) if name == "partial_fit" else (X[i : i + 1],)
                for i in range(300, 2300)
            ]
            start = time.process_time()
            for row in rows:
                call(*row)
            found[name].append((time.process_time() - start) / len(rows) * 1e6)
    return {name: float(np.median(values)) for name, values in found.items()}


if __name__ == "__main__":
    learners()
    asking()
    module = Path(everlearn._core.__file__)
    print(f"everlearn {everlearn.__version__}, Python {sys.version.split()[0]}, {module.name}, {stream()}")
    if "--calls" in sys.argv:
        print(", ".join(f"{name} {cost:.2f} us" for name, cost in cost_of_calls().items()))
    print("ok")
