"""What the tests of the never-ending learner share: streams, states to the bit, stories told twice."""

import contextlib

import numpy as np
from scipy import sparse

from everlearn import LASVM
from everlearn._base import persist
from everlearn.store.events import Arrived, Asked, Labeled, Withdrawn
from everlearn.stream import NeverEndingLearner

SETTINGS = {"memory_rows": 40, "label_rate": 0.2, "window": 50, "random_state": 0}


def xor(n, seed=0, shift=0.0):
    """Rows of the plane and their quadrant's color; a shift moves the rows, not the colors."""
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    return X + shift, (X[:, 0] * X[:, 1] > 0).astype(int)


def bits(learner, but=()):
    """The state, to the bit, but for some of its entries."""
    return persist.pack({k: v for k, v in learner._state.state().items() if k not in but})


def differing(learner, other):
    """The names of the entries in which two states differ, for a message one can read."""
    a, b = learner._state.state(), other._state.state()
    return [name for name in a if persist.pack({"": a[name]}) != persist.pack({"": b[name]})]


def drop(learner):
    """Let go of a store without a last snapshot, as a process that is killed does."""
    learner._snapshots.wait()
    learner._log.close()
    learner._log = None


@contextlib.contextmanager
def unchanged(learner):
    """Neither state nor log may differ after the block."""
    before, last, n_rows = bits(learner), learner._log.last, learner._log.n_rows
    yield
    assert bits(learner) == before
    assert (learner._log.last, learner._log.n_rows) == (last, n_rows)
    assert [seq for seq, _ in learner._log.read()] == list(range(1, last + 1))


def answer(learner, truth, questions=None):
    """Answer questions, those that are open unless others are given; how many."""
    open_ = learner.status()["open_questions"]
    asked = learner.ask(open_) if questions is None and open_ else questions or []
    if asked:
        learner.label([q.id for q in asked], [truth[q.id] for q in asked], time=0.0)
    return len(asked)


def of_kind(log, kind):
    return [event for _, event in log.read() if isinstance(event, kind)]


class Story:
    """Calls of a never-ending learner, made up from a list of random operations; kept, to be told again.

    Every row has a number as its id; labels are 0, 1 or 2 and need not be true.
    """

    def __init__(self, learner, reopen=None):
        self.learner, self.reopen = learner, reopen
        self.calls = []  # (kind, ...): all that a second telling needs
        self.label_of = {}  # row -> the call and the label that count

    @property
    def n_rows(self):
        return self.learner._log.n_rows

    def tell(self, operations):
        for number, (what, count, seed) in enumerate(operations):
            random = np.random.default_rng((seed, number))
            getattr(self, what)(count, random)

    def step(self, count, random):
        X = random.uniform(-1, 1, size=(count, 2))
        y = random.integers(0, 2 + (self.n_rows > 60), size=count)
        labels = np.where(random.random(count) < random.choice([0.0, 0.3, 1.0]), y, -1)
        rows = sparse.csr_matrix(X) if random.random() < 0.3 else X
        first, call = self.n_rows, len(self.calls)
        self.calls.append(("step", rows, labels))
        self.learner.step(rows, given(labels), time=float(call))
        for place in np.flatnonzero(labels >= 0).tolist():
            self.label_of[first + place] = call

    def label(self, count, random):
        if self.n_rows:
            rows = random.permutation(self.n_rows)[: 1 + count].tolist()
            labels = random.integers(0, 3, size=len(rows)).tolist()
            self.calls.append(("label", rows, labels))
            self.learner.label(rows, labels, time=float(len(self.calls)))
            self.label_of |= dict.fromkeys(rows, len(self.calls) - 1)

    def withdraw(self, count, random):
        rows = random.permutation(sorted(self.label_of))[: 1 + count % 3].tolist()
        if rows:
            self.calls.append(("withdraw", rows))
            self.learner.withdraw(rows, time=float(len(self.calls)))
            for row in rows:
                del self.label_of[row]

    def ask(self, count, random):
        last = self.learner._log.last
        self.learner.ask(count)
        if self.learner._log.last > last:
            self.calls.append(("ask", count))

    def snapshot(self, count, random):
        self.learner._snapshots.wait()
        state = persist.pack(self.learner._state.state())
        self.learner._log.write_snapshot(self.learner._log.last, state, 1 + count % 3)

    def close(self, count, random):
        self.learner.close()
        self.learner = self.reopen()

    def crash(self, count, random):
        drop(self.learner)
        self.learner = self.reopen()

    def again(self, learner, dead=True):
        """Tell it once more, to another learner; if ``dead`` is False without labels that died in the end."""
        n_rows = 0
        for number, (what, *call) in enumerate(self.calls):
            if what == "step":
                X, labels = call[0], call[1].copy()
                for place in range(len(labels) if not dead else 0):
                    if self.label_of.get(n_rows + place) != number:
                        labels[place] = -1
                learner.step(X, given(labels), time=float(number))
                n_rows += len(labels)
            elif what == "label":
                pairs = [
                    (row, label)
                    for row, label in zip(*call, strict=True)
                    if dead or self.label_of.get(row) == number
                ]
                rows, labels = [list(part) for part in zip(*pairs, strict=True)] or ([], [])
                learner.label(rows, labels, time=float(number + 1))
            elif what == "ask":
                learner._record(Asked(call[0], 0.0))
            elif dead:
                learner.withdraw(call[0], time=float(number + 1))
        return learner

    def check_log(self):
        """The log tells of every call, in order, and of nothing else."""
        kinds = {"step": Arrived, "label": Labeled, "withdraw": Withdrawn, "ask": Asked}
        expected = [kinds[what] for what, *_ in self.calls]
        told = [type(event) for _, event in self.learner._log.read() if type(event) in expected]
        assert told == expected


def given(labels):
    return [None if label < 0 else label for label in labels.tolist()]


def opened(place=":memory:", learner=None, **settings):
    """A learner with small settings."""
    learner = LASVM(C=10, gamma=0.5) if learner is None else learner
    return NeverEndingLearner.open(place, learner, **(SETTINGS | settings))


def stripes(n, seed=0, flip=None):
    """Two classes by the sign of a sum; from row ``flip`` on their names are exchanged."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    if flip is not None:
        y[flip:] = 1 - y[flip:]
    return X, y


def three_blobs(n, seed=0, noise=1.0):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    centers = np.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    return centers[y] + noise * random.normal(size=(n, 2)), np.array(["a", "b", "c"], dtype=object)[y]


def follow(learner, X, y, size=100, first=0):
    """Step through rows and answer every question; the predictions and the questions of each batch."""
    predictions, asked = [], []
    for start in range(first, X.shape[0], size):
        out = learner.step(X[start : start + size])
        asked.append(out.questions)
        if out.questions:
            learner.label([q.id for q in out.questions], [y[q.id] for q in out.questions])
        predictions += out.predictions.tolist()
    return np.array(predictions, dtype=object), asked
