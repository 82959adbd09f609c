"""A long random sequence of calls on every public estimator, made to run under sanitizers.

What is looked for are memory errors and undefined behavior in the native part, which a sanitizer reports by
ending the process. Beside that, a call may succeed or be refused (REFUSALS); anything else ends the run with
the seed and the calls that led there.
"""

import argparse
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from copy import deepcopy
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel

import everlearn

LEARNERS = [
    name
    for name in everlearn.__all__
    if isinstance(getattr(everlearn, name), type) and issubclass(getattr(everlearn, name), BaseEstimator)
]
# Bad input, a method that the estimator has not, weights that have diverged.
REFUSALS = (ValueError, TypeError, NotFittedError, AttributeError, FloatingPointError)
WIDTH = 4
SMALL = {  # parameters that matter to the native part, if the estimator has them; budgets that overflow soon
    "kernel": [
        "rbf",
        "linear",
        "poly",
        "sigmoid",
        "cosine",
        "laplacian",
        rbf_kernel,
    ],
    "gamma": [0.1, 1.0, 30.0, "scale"],
    "C": [0.01, 1.0, 1000.0],
    "budget": [2, 5, 20],
    "window": [None, 3, 25],
    "max_idle": [0, 1, 50],
    "cache_size": [0.0001, 0.01, 200.0],
    "row_dtype": [None, "float16"],
    "n_jobs": [1, 2],
    "random_state": [0, 1],
    "n_exemplars": [1, 5],
    "max_rows": [20, 60],
    "class_weight": [None, "balanced"],
    "n_neighbors": [1, 3],
    "rank": [1, 2],
}


class Caller:
    """One estimator, and calls on it; the generator alone decides which."""

    def __init__(self, name, random, folder):
        self.name, self.random, self.folder = name, random, folder
        self.calls, self.classes = [], int(random.integers(2, 4))
        cls = getattr(everlearn, name)
        chosen = {
            parameter: values[random.integers(len(values))]
            for parameter, values in SMALL.items()
            if parameter in cls().get_params() and random.random() < 0.7
        }
        self.options, self.model, self.seen = chosen, cls(**chosen), 0

    def rows(self, n=None, width=WIDTH):
        """Dense or sparse, single or double, some repeated, some empty, some far away."""
        random = self.random
        n = int(random.choice([1, 2, 17, 70])) if n is None else n
        X = random.integers(-2, 3, (n, width)) + random.choice([0.0, 1e-9, 1.0]) * random.standard_normal(
            (n, width)
        )
        if random.random() < 0.1:
            X[random.integers(n)] *= 1e4
        X = X.astype(random.choice([np.float32, np.float64]))
        form = random.integers(4)
        return sp.csr_matrix(X) if form == 0 else np.asfortranarray(X) if form == 1 else X

    def labels(self, n):
        """Of up to three classes, all of one now and then."""
        y = self.random.integers(0, self.classes, n)
        return np.full(n, y[0]) if n and self.random.random() < 0.2 else y

    def ids(self):
        """Ids of which some are kept; sometimes none, twice the same, or no ids at all."""
        kept = getattr(self.model, "ids_", np.arange(max(self.seen, 1)))
        odd = [
            np.array([10**9]),
            np.array([0, 0]),
            np.array([], int),
            np.array([-(2**63)]),
            np.array([1.5]),
            "a",
        ]
        if len(kept) and self.random.random() < 0.8:
            return self.random.choice(kept, min(len(kept), int(self.random.integers(1, 9))), replace=False)
        return odd[self.random.integers(len(odd))]

    def bad_rows(self):
        """Rows that must be refused: another width, not finite, none, too many axes, text, a broken CSR."""
        X = self.rows(5)
        broken = sp.csr_matrix(np.eye(5, WIDTH))
        broken.indices = broken.indices + np.int32(10**6)
        infinite = np.ones((5, WIDTH))
        infinite[2, 1] = self.random.choice([np.nan, np.inf, 1e300])
        odd = [
            self.rows(5, WIDTH + 1),
            infinite,
            X[:0],
            np.zeros((5, WIDTH, 2)),
            [["a"] * WIDTH] * 5,
            broken,
            None,
        ]
        return odd[self.random.integers(len(odd))]

    # --- calls ----------------------------------------------------------------------------------------------

    def partial_fit(self):
        X = self.rows()
        n = X.shape[0]
        more = {} if self.random.random() < 0.7 else {"sample_weight": self.random.choice([0.0, 0.5, 3.0], n)}
        self.model.partial_fit(X, self.labels(n), classes=np.arange(self.classes), **more)
        self.seen += n

    def fit(self):
        X = self.rows(int(self.random.choice([12, 40])))
        y = self.labels(X.shape[0])
        if self.name in ("QPS3VM", "SubmodS3VM", "StreamS3VM"):  # some rows have no label
            y = np.where(self.random.random(len(y)) < 0.5, -1, y)
        self.model.fit(X, *([] if self.name == "Exemplars" else [y]))
        self.seen = X.shape[0]

    def look(self):
        X = self.rows()
        for method in ("decision_function", "predict", "predict_proba", "transform"):
            if hasattr(self.model, method):
                getattr(self.model, method)(X)

    def forget(self):
        self.model.forget(self.ids())

    def relabel(self):
        ids = self.ids()
        self.model.relabel(ids, self.labels(len(ids)))

    def finish(self):
        self.model.finish()

    def leave_one_out(self):
        self.model.leave_one_out()

    def save_and_load(self):
        path = self.folder / "model"
        everlearn.save(self.model, path)
        self.model = everlearn.load(path)

    def copy(self):
        self.model = deepcopy(self.model) if self.random.random() < 0.7 else clone(self.model)

    def set_params(self):
        known = [name for name in SMALL if name in self.model.get_params() and name != "kernel"]
        if known:
            name = known[self.random.integers(len(known))]
            self.model.set_params(**{name: SMALL[name][self.random.integers(len(SMALL[name]))]})

    def bad_input(self):
        X = self.bad_rows()
        what = self.random.integers(3)
        if what == 0:
            self.model.partial_fit(X, self.labels(5), classes=np.arange(self.classes))
        elif what == 1:
            self.model.predict(X)
        else:
            self.model.partial_fit(self.rows(5), [0, 1, 99, -5, 0], classes=np.arange(self.classes))

    WEIGHTS = (
        ("partial_fit", 8),
        ("look", 4),
        ("forget", 4),
        ("bad_input", 3),
        ("relabel", 2),
        ("save_and_load", 2),
        ("copy", 1),
        ("set_params", 1),
        ("fit", 1),
        ("finish", 1),
        ("leave_one_out", 1),
    )

    def call(self):
        """Make one call of those that the estimator has; tell whether it was not refused."""
        has = [
            (name, weight)
            for name, weight in self.WEIGHTS
            if hasattr(self.model, name)
            or name in ("look", "bad_input", "save_and_load", "copy", "set_params")
        ]
        weights = np.array([weight for _, weight in has], float)
        name = has[self.random.choice(len(has), p=weights / weights.sum())][0]
        self.calls.append(name)
        try:
            getattr(self, name)()
        except REFUSALS:
            return False
        return True


def run(seed, calls, seconds=float("inf"), learners=LEARNERS, each=30, out=sys.stdout):
    """Call the learners in turn, `each` times a life, until the calls or the seconds are spent; count calls.

    Parameters
    ----------
    seed : int
        Decides about every call.
    calls : int
        Calls in all.
    seconds : float, default=inf
        Time after which no new life begins.
    learners : list of str, default=all
        Names of the estimators.
    each : int, default=30
        Calls on one object before the next estimator has its turn.
    out : file, default=sys.stdout
        Where a failure is described.

    Returns
    -------
    Counter
        Calls that were not refused, for each estimator.
    int
        All calls.
    """
    done, made, start, life = Counter(), 0, time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while made < calls and time.monotonic() - start < seconds:
            name = learners[life % len(learners)]
            caller = Caller(name, np.random.default_rng([seed, life]), Path(folder))
            try:
                for _ in range(min(each, calls - made)):
                    done[name] += caller.call()
                    made += 1
            except BaseException:
                print(f"seed {seed}, life {life}: {name}({caller.options}): {caller.calls}", file=out)
                raise
            life += 1
    return done, made


def main():
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="decides about every call")
    parser.add_argument("--calls", type=int, default=20_000, help="calls in all")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="time after which no new object is made"
    )
    parser.add_argument("--learner", nargs="*", default=LEARNERS, help="names of estimators; all by default")
    chosen = parser.parse_args()
    try:
        done, made = run(chosen.seed, chosen.calls, chosen.seconds, chosen.learner)
    except Exception:
        traceback.print_exc()
        return 1
    refused = made - done.total()
    print(f"{made} calls on {len(done)} estimators, {refused} refused, seed {chosen.seed}: no error")
    print(", ".join(f"{name} {count}" for name, count in sorted(done.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
