"""The fixed subset of `benchmarks.compare`: CPU seconds of a few tasks, as a JSON object on standard output.

It runs in the environment of an old commit, so it uses public names that have been there for long. A task
that a commit cannot run is left out. All tasks run once on few rows before, so that imports are not timed.
"""

import contextlib
import json
import sys
import time

import numpy as np

SEED = 0
SMALL = "small"  # argument for a trial


def _rows(count, small):
    from everlearn.datasets import make_banana, make_waveform

    banana = make_banana(count // 10 if small else count, random_state=SEED)
    X, y = make_waveform(count // 10 if small else count, random_state=SEED)
    return banana, (X, np.where(y == y.min(), 1, -1))


def tasks(small):
    """What is timed, by name."""
    from scipy import sparse

    import everlearn as el

    (X, y), (W, z) = _rows(8_000, small)
    many, labels = np.tile(W, (10 if small else 60, 1)), np.tile(z, 10 if small else 60)
    text = sparse.random(len(z), 5_000, 0.01, format="csr", random_state=SEED, dtype=np.float64)
    topics = np.where(np.asarray(text[:, :50].sum(axis=1)).ravel() > 0.2, 1, -1)
    fitted = el.LASVM(C=1, gamma=0.05).fit(W, z)
    exact = el.IDSVM(C=10, gamma=1).fit(np.tile(X, (2, 1))[:2_000], np.tile(y, 2)[:2_000])

    def stream():
        model = el.LASVM(C=10, gamma=1)
        for start in range(0, len(y), 100):
            model.partial_fit(X[start : start + 100], y[start : start + 100], classes=np.unique(y))
        return model.finish()

    def single_rows():
        model = el.RBP(100, gamma=0.1, random_state=SEED)
        for row in range(min(1_000, len(z))):
            model.partial_fit(W[row : row + 1], z[row : row + 1], classes=[-1, 1])

    def ask():
        loop = el.ActiveLearner(el.LASVM(C=10, gamma=1), random_state=SEED)
        loop.run(X, oracle=y, max_labels=60)

    def never_ending():
        with el.NeverEndingLearner.open(":memory:", random_state=SEED) as learner:
            for start in range(0, min(2_000, len(y)), 200):
                learner.step(X[start : start + 200], y[start : start + 200])

    return {
        "LASVM.fit, banana": lambda: el.LASVM(C=316, gamma=0.5).fit(X, y),
        "LASVM.fit, waveform": lambda: el.LASVM(C=1, gamma=0.05).fit(W, z),
        "LASVM.fit, sparse": lambda: el.LASVM(C=1, gamma=1).fit(text, topics),
        "LASVM.partial_fit, blocks of 100": stream,
        "LASVM.predict": lambda: fitted.predict(many),
        "IDSVM.forget, 500 rows": lambda: exact.forget(list(range(0, 1_000, 2))),
        "RBP.partial_fit, blocks": lambda: el.RBP(100, gamma=0.1, random_state=SEED).partial_fit(
            many, labels, [-1, 1]
        ),
        "RBP.partial_fit, one row a call": single_rows,
        "ActiveLearner.run, 60 labels": ask,
        "NeverEndingLearner.step, 2,000 rows": never_ending,
        "SubmodS3VM.fit": lambda: el.SubmodS3VM().fit(W, np.where(np.arange(len(z)) < 40, z, np.nan)),
    }


def main():
    """Run every task once and print the seconds."""
    found, reasons = {}, {}
    for run in tasks(small=True).values():
        with contextlib.suppress(Exception):
            run()
    for name, run in tasks(SMALL in sys.argv[1:]).items():
        start = time.process_time()
        try:
            run()
        except Exception as error:  # an old commit may not have it
            reasons[name] = f"{type(error).__name__}: {error}"
        else:
            found[name] = time.process_time() - start
    json.dump({"seconds": found, "reasons": reasons}, sys.stdout)


if __name__ == "__main__":
    main()
