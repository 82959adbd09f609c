"""The process that opens mutants: one line for each, so that a parent knows which one ended it."""

import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
import traceback
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from everlearn._base import archive as file_format
from everlearn._base import persist
from everlearn.stream import NeverEndingLearner

from . import exercise, models, mutations

_ROOM = 1 << 30  # bytes that a mutant may take
_SECONDS = 60  # until a mutant counts as endless


def serve():
    """Answer tasks from the standard input: a name, a way of mutating and a seed, as JSON."""
    work = Path(sys.argv[-1])
    _limit()
    corpus = Corpus(work)
    for line in sys.stdin:
        name, way, seed = json.loads(line)
        signal.alarm(_SECONDS)
        try:
            found = WAYS[way](corpus, name, np.random.default_rng(seed), work)
        except BaseException as exc:
            if isinstance(exc, KeyboardInterrupt | SystemExit):
                raise
            found = f"{type(exc).__name__}: {exc}\n" + "".join(traceback.format_exception(exc)[-12:])
        signal.alarm(0)
        print(json.dumps(found), flush=True)


def _limit():
    if "libasan" in os.environ.get("LD_PRELOAD", ""):  # it maps terabytes
        return
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + _ROOM, resource.RLIM_INFINITY))


class Corpus:
    """States of sound objects, made when they are first asked for."""

    def __init__(self, work):
        self.work, self._states = work, {}

    def states(self, name):
        """The states of all variants of a class."""
        if name not in self._states:
            self._states[name] = [thing._get_state() for thing in models.made(name).values()]
        return self._states[name]

    def snapshots(self):
        """A store whose snapshots can be mutated, and the states in them."""
        place = self.work / "sound.everlearn"
        if not place.exists():
            _make_store(place)
        with sqlite3.connect(place) as db:
            found = db.execute("SELECT seq, content FROM snapshots ORDER BY seq DESC").fetchall()
        db.close()
        return place, found


def write(state, name, path):
    """A sealed file with any state."""
    arrays = []
    tree = file_format.encode(state, "state", arrays)
    header = {
        "magic": "everlearn",
        "format_version": 1,
        "library_version": "fuzz",
        "class": name,
        "state": tree,
    }
    with open(path, "w+b") as file:
        file_format.write(file, header, arrays)


def of_state(corpus, name, random, work):
    """Changes to the tree of a state and to its arrays."""
    states = corpus.states(name)
    state = mutations.mutated(states[random.integers(len(states))], states, random)
    path = work / "mutant"
    if random.integers(25) == 0:
        names = sorted(models.registered())
        name = names[random.integers(len(names))]
    try:
        write(state, name, path)
    except (TypeError, ValueError):  # what `save` does not write either
        return "unwritable"
    return exercise.outcome(path)


def of_header(corpus, name, random, work):
    """Changes to the text of the header, under right checksums."""
    path = _sound(corpus, name, random, work)
    with zipfile.ZipFile(path) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    text = bytearray(members["header.json"])
    for _ in range(1 + random.integers(3)):
        start = random.integers(len(text))
        stop = start + random.integers(8)
        text[start:stop] = b'"0123456789-eE.[]{},:nulltrue'[random.integers(28) :][: random.integers(4)]
    members["header.json"] = bytes(text)
    with open(path, "w+b") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = file_format.SEAL + b"0" * file_format.DIGEST_CHARS
            for member, content in members.items():
                archive.writestr(member, content)
        file_format.seal(file)
    return exercise.outcome(path)


def of_bytes(corpus, name, random, work):
    """Changes to the bytes of a file, under a right digest or not."""
    path = _sound(corpus, name, random, work)
    data = bytearray(path.read_bytes())
    for _ in range(1 + random.integers(4)):
        start = int(random.integers(len(data)))
        match random.integers(4):
            case 0:
                data[start] ^= 1 << int(random.integers(8))
            case 1:
                data[start] = int(random.integers(256))
            case 2:
                del data[start : start + int(random.integers(1, 64))]
            case _:
                data[start:start] = data[start : start + int(random.integers(1, 64))]
    with open(path, "w+b") as file:
        file.write(data)
        if random.integers(4) and len(data) > file_format.DIGEST_CHARS:
            file_format.seal(file)
    return exercise.outcome(path)


def of_snapshot(corpus, name, random, work):
    """Changes to the newest snapshots of a store: it opens by an older one or by its log, and goes on."""
    sound, snapshots = corpus.snapshots()
    place = work / "mutant.everlearn"
    shutil.copyfile(sound, place)
    states = [persist.unpack(content) for _, content in snapshots]
    with sqlite3.connect(place) as db:
        for (seq, content), state in zip(
            snapshots[: 1 + random.integers(len(snapshots))], states, strict=False
        ):
            try:
                new = persist.pack(mutations.mutated(state, states, random))
            except (TypeError, ValueError):
                new = content[: random.integers(len(content))]
            db.execute("UPDATE snapshots SET content = ? WHERE seq = ?", (new, seq))
    db.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = NeverEndingLearner.open(str(place))
        try:
            _use_store(learner)
        finally:
            learner.close()
    return "opened"


def _use_store(learner):
    X, y = models.table(2, n=12, width=2, seed=1)
    for step in (
        lambda: learner.predict(X),
        lambda: learner.step(X[:6], y[:6]),
        lambda: learner.step(X[6:]),
        lambda: learner.ask(2),
        lambda: learner.predict_proba(X),
        lambda: learner.status(),
        lambda: learner.report_data(),
    ):
        with suppress(*exercise.ALLOWED):
            step()


def _make_store(place):
    X, y = models.table(2, n=120, width=2)
    labels = y.astype(object)
    labels[::3] = None
    with NeverEndingLearner.open(str(place), random_state=0, snapshot_every=30) as learner:
        for start in range(0, 120, 10):
            learner.step(X[start : start + 10], labels[start : start + 10])


def _sound(corpus, name, random, work):
    states = corpus.states(name)
    path = work / "mutant"
    write(states[random.integers(len(states))], name, path)
    return path


def planted(corpus, name, random, work):
    """A finding of each kind, to see that it is noticed."""
    for seed, act in enumerate((lambda: [][0], lambda: signal.raise_signal(signal.SIGALRM))):
        if random.bit_generator.seed_seq.entropy == seed:
            act()
    return "refused"


WAYS = {
    "planted": planted,
    "state": of_state,
    "header": of_header,
    "bytes": of_bytes,
    "snapshot": of_snapshot,
}

if __name__ == "__main__":
    serve()
