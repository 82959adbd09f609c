"""Workers to be killed: they step, answer, withdraw, and acknowledge every call that has returned.

For every line of input, a place and a kind of learner, a worker is forked; its process number comes out, what
it acknowledges and, when it is dead, "gone". It goes on where the store is, by asking the store alone.
"""

import hashlib
import os
import sys

import numpy as np

from everlearn import IDSVM, LASVM
from everlearn._base import persist
from everlearn.evaluate import DriftDetector
from everlearn.semi import StreamS3VM
from everlearn.stream import NeverEndingLearner

N_ROWS, BATCH = 144, 8
X = np.random.default_rng(0).uniform(-1, 1, size=(N_ROWS, 2))
Y = [["no", "yes"][int(a > 0) ^ int(i > 100)] for i, (a, b) in enumerate(X)]  # the colors are swapped
KINDS = {
    "lasvm": lambda: {"learner": LASVM(C=10, gamma=0.5)},
    "idsvm": lambda: {"learner": IDSVM(C=10, gamma=0.5)},
    "drift": lambda: {
        "learner": LASVM(C=10, gamma=0.5),
        "drift": DriftDetector("ddm", policy="restart", warm_start=20),
    },
    "semi_supervised": lambda: {"learner": LASVM(C=10, gamma=0.5), "semi_supervised": StreamS3VM()},
}


def name(number):
    return f"row-{number}"


def work(place, kind, say):
    learner = NeverEndingLearner.open(
        place,
        **KINDS[kind](),
        memory_rows=50,
        label_rate=0.4,
        window=40,
        random_state=0,
        snapshot_every=BATCH,
    )
    while True:
        status = learner.status()
        rows = status["rows"]
        if rows and status["withdrawn"] < rows // 40:
            gone = name(rows - BATCH)  # its label came with it
            learner.withdraw([gone], time=float(rows))
            say(f"withdrawn {gone}")
            status = learner.status()  # other questions may be open now
        if status["open_questions"]:
            asked = [question.id for question in learner.ask(status["open_questions"])]
            learner.label(asked, [Y[int(row[4:])] for row in asked], time=float(rows))
            say("labels " + " ".join(asked))
        if rows == N_ROWS:
            break
        numbers = range(rows, rows + BATCH)
        labels = [Y[number] if number % BATCH < 2 else None for number in numbers]
        learner.step(X[rows : rows + BATCH], labels, ids=[name(n) for n in numbers], time=float(rows))
        say("rows " + " ".join(name(n) for n in numbers))
    assert bool(learner.status()["drift_alarms"]) == (kind == "drift")
    say(f"done {digest(learner)}")
    learner.close()
    with NeverEndingLearner.open(place) as learner:
        say(f"reopened {digest(learner)}")


def digest(learner):
    """The state to the bit, and what it predicts."""
    found = hashlib.sha256(persist.pack(learner._state.state()))
    found.update(repr(learner.predict(X).tolist()).encode())
    found.update(learner.decision_function(X).tobytes())
    return found.hexdigest()


def _say(line):
    os.write(1, line.encode() + b"\n")


def serve():
    for line in sys.stdin:
        place, kind = line.split()
        worker = os.fork()
        if worker == 0:
            try:
                _say(f"worker {os.getpid()}")
                work(place, kind, _say)
            except BaseException as exc:
                _say(f"failed {type(exc).__name__}: {' '.join(str(exc).split())}")
            os._exit(0)
        os.waitpid(worker, 0)
        _say("gone")


if __name__ == "__main__":
    serve()
