"""The script: a fixed list of calls to a never-ending learner, which can be resumed wherever a store stands.

Every call is one transaction at most. So the number of events in a log says which calls it has seen, and a
store with any other number of events has half a call in it.
"""

import hashlib
from contextlib import closing
from dataclasses import dataclass, field

import numpy as np

from everlearn import IDSVM, LASVM
from everlearn._base import persist
from everlearn.errors import StoreError
from everlearn.evaluate import DriftDetector
from everlearn.semi import StreamS3VM
from everlearn.store.events import encode
from everlearn.store.log import Log
from everlearn.stream import NeverEndingLearner

CLASSES = ("no", "yes", "maybe")
SETTINGS = {"memory_rows": 40, "label_rate": 0.3, "window": 30, "random_state": 0, "snapshot_every": 30}
KINDS = {
    "adaptive": lambda: {},
    "lasvm": lambda: {"learner": LASVM(C=10, gamma=0.5)},
    "idsvm": lambda: {"learner": IDSVM(C=10, gamma=0.5)},
    "drift": lambda: {
        "learner": LASVM(C=10, gamma=0.5),
        "drift": DriftDetector("ddm", policy="restart", warm_start=20),
    },
    "semi_supervised": lambda: {"learner": LASVM(C=10, gamma=0.5), "semi_supervised": StreamS3VM()},
    "needed": lambda: {"retention": "needed"},
    "needed-idsvm": lambda: {  # a learner that never begins anew can always forget
        "learner": IDSVM(C=10, gamma=0.5),
        "retention": "needed",
        "scaling": "none",
        "classes": CLASSES,
    },
}
_WEIGHTS = {
    "step": 8,
    "answer": 4,
    "late": 2,
    "replace": 1,
    "withdraw": 1,
    "ask": 1,
    "rescale": 0.5,
    "describe": 0.5,
    "reopen": 0.7,
    "erase": 1,
}
_LOOK = np.random.default_rng(1).uniform(-1, 1, size=(20, 2))  # rows to predict
_RECENT = 12  # labels among which one is withdrawn or replaced


@dataclass(frozen=True)
class Call:
    """A call: what to do, the number of the first row of a batch, rows and labels; the time on the clock."""

    what: str
    first: int = 0
    X: object = None
    labels: list = field(default_factory=list)
    rows: list = field(default_factory=list)
    clock: float = 0.0
    by: str = ""


def script(kind, length, seed=0):
    """The calls for a kind of learner."""
    random = np.random.default_rng([seed, sorted(KINDS).index(kind)])
    weights = dict(_WEIGHTS)
    if KINDS[kind]().get("retention") == "needed":  # labels for rows that were dropped are refused
        weights |= {"late": 0, "replace": 0, "withdraw": 0, "erase": 0}
    if kind == "needed-idsvm":
        weights |= {"withdraw": 1, "rescale": 0}
    names, chances = list(weights), np.array(list(weights.values())) / sum(weights.values())
    calls, n_rows, labeled = [Call("step", 0, *_batch(0, 6, random, 1.0), clock=1e9)], 6, list(range(6))
    unlabeled = []
    while len(calls) < length:
        what, clock = str(random.choice(names, p=chances)), _clock(len(calls), random)
        call = Call(what, clock=clock)
        if what == "step":
            size, share = int(random.choice([0, 1, 4, 8], p=[0.03, 0.2, 0.37, 0.4])), random.choice([0, 0.4])
            X, labels = _batch(n_rows, size, random, share)
            call = Call(what, n_rows, X, labels, clock=clock)
            labeled += [n_rows + i for i, label in enumerate(labels) if label is not None]
            unlabeled += [n_rows + i for i, label in enumerate(labels) if label is None]
            n_rows += size
        elif what == "late" and unlabeled:
            rows = [unlabeled.pop(int(random.integers(len(unlabeled))))]
            call = Call(what, rows=rows, labels=[_label(row) for row in rows], clock=clock)
            labeled += rows
        elif what == "replace" and labeled:
            row = labeled[-1 - int(random.integers(min(_RECENT, len(labeled))))]
            call = Call(what, rows=[row], labels=[str(random.choice(CLASSES[:2]))], clock=clock)
        elif what == "withdraw" and len(labeled) > _RECENT:
            row = labeled.pop(-1 - int(random.integers(_RECENT)))
            call = Call(what, rows=[row], clock=clock)
        elif what == "erase" and len(labeled) > 6 and unlabeled:
            rows = [unlabeled.pop(0), labeled.pop(int(random.integers(len(labeled) // 2)))]
            call = Call(what, rows=rows, clock=clock)
        elif what in ("late", "replace", "withdraw", "erase"):
            continue
        calls.append(call)
    return calls


def _batch(first, size, random, share):
    X = random.uniform(-1, 1, size=(size, 2))
    labels = [_label(first + i) if random.random() < share else None for i in range(size)]
    return X, labels


def _label(row):
    """Labels need not be true; a third class comes late."""
    return CLASSES[2 if row > 60 and row % 9 == 0 else row * 7919 % 5 % 2]


def _clock(place, random):
    """A clock that is often set back, by a day or to the first hours of 1970."""
    return float(random.choice([1e9 + place, 1e9 - 86_400 + place, 3600.5], p=[0.7, 0.25, 0.05]))


def name(row):
    """The id of a row."""
    return f"row-{row}"


def open_store(place, kind):
    """Open or make the store."""
    return NeverEndingLearner.open(place, **KINDS[kind](), **SETTINGS)


def perform(learner, call, place, kind):
    """Make a call; the learner, which is another object after it was closed and opened."""
    if call.what == "step":
        ids = [name(call.first + i) for i in range(call.X.shape[0])]
        learner.step(call.X, call.labels, ids=ids)
    elif call.what in ("late", "replace"):
        learner.label([name(row) for row in call.rows], call.labels, by=call.by)
    elif call.what == "withdraw":
        learner.withdraw([name(row) for row in call.rows], by=call.by)
    elif call.what == "erase":
        learner.erase([name(row) for row in call.rows], verify=False)
    elif call.what == "ask":
        learner.ask(learner.status()["open_questions"] + 2)
    elif call.what == "answer":
        count = min(3, learner.status()["open_questions"])
        asked = [question.id for question in learner.ask(count)] if count else []
        learner.label(asked, [_label(int(row[4:])) for row in asked], by="expert")
    elif call.what == "rescale":
        learner.rescale()
    elif call.what == "describe":
        learner.set_schema({"note": f"at {call.clock}"})
    elif call.what == "reopen":
        learner.close()
        learner = open_store(place, kind)
    return learner


def digest(learner):
    """The state to the bit, and what it predicts; but not how many kernel values it took to get there."""
    found = hashlib.sha256(persist.pack(_facts(learner._state.state())))
    found.update(repr(learner.predict(_LOOK).tolist()).encode())
    decision = learner.decision_function(_LOOK)
    found.update(b"" if decision is None else np.asarray(decision).tobytes())
    return found.hexdigest()


def _facts(state):
    if isinstance(state, dict):
        return {key: _facts(value) for key, value in sorted(state.items()) if key != "evaluations"}
    return [_facts(value) for value in state] if isinstance(state, list | tuple) else state


@dataclass
class Truth:
    """What a calm run leaves behind.

    ``after[i]`` is the number of events after call i. By the number of events, ``digests`` has the state and
    ``logs`` every event to the bit: an erasure rewrites those that came before it.
    """

    kind: str
    calls: list
    after: list = field(default_factory=list)
    digests: dict = field(default_factory=dict)
    logs: dict = field(default_factory=lambda: {0: []})

    def done(self, n_events):
        """How many calls a log with so many events has seen; None if it has half a call in it."""
        if n_events and n_events not in self.digests:
            return None
        return sum(1 for after in self.after if after <= n_events)

    def erased(self, n_calls):
        """The rows that are erased after so many calls."""
        return {row for call in self.calls[:n_calls] if call.what == "erase" for row in call.rows}

    @property
    def last(self):
        """Events in all."""
        return self.after[-1]


def calm_run(kind, place, length, shim, seed=0, trace=None):
    """Run the script with nobody in the way, and record it."""
    truth = Truth(kind, script(kind, length, seed))
    shim.arm(place, 0)
    shim.set_clock(truth.calls[0].clock)
    if trace is not None:
        shim.trace(trace)
    learner = open_store(place, kind)
    for number, call in enumerate(truth.calls):
        shim.set_clock(call.clock)
        learner = perform(learner, call, place, kind)
        shim.mark(number + 1)
        note(truth, learner, place)
    learner.close()
    shim.real_clock()
    learner = open_store(place, kind)
    assert learner.status()["events"] == truth.last
    assert digest(learner) == truth.digests[truth.last], "the calm run itself differs after reopening"
    learner.close()
    return truth


def note(truth, learner, place):
    """Note how a store stands after a call."""
    before = truth.logs[truth.last if truth.after else 0]
    truth.after.append(learner.status()["events"])
    if truth.last not in truth.digests:
        truth.digests[truth.last] = digest(learner)
        new = stored_events(place, after=len(before))
        assert None not in new, "rows of the last events were dropped"
        rewritten = truth.calls[len(truth.after) - 1].what == "erase"
        truth.logs[truth.last] = stored_events(place) if rewritten else before + new


def go_on(learner, truth, place, shim, until=None):
    """Resume the script where a store stands; the learner."""
    for call in truth.calls[truth.done(learner.status()["events"]) : until]:
        shim.set_clock(call.clock)
        learner = perform(learner, call, place, truth.kind)
    shim.real_clock()
    return learner


def stored_events(place, after=0):
    """Events to the bit, None for those that have lost rows."""
    with closing(Log(place, read_only=True)) as log, log.one_moment():
        return events_of(log, after)


def events_of(log, after=0):
    """The same, of a log that is open."""
    found = []
    while after + len(found) < log.last:
        try:
            for _, event in log.read(after=after + len(found)):
                found.append(encode(event))
        except StoreError as error:  # noqa: PERF203
            if "dropped rows of event" not in str(error):
                raise
            found.append(None)
    return found
