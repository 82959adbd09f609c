"""What must hold of a store after any fault."""

import contextlib
import hashlib
import random
import shutil
import sqlite3
import warnings
from pathlib import Path

from everlearn.store.log import Log

from .script import digest, events_of, go_on, name, open_store
from .shim import ENDINGS


class Broken(AssertionError):
    """A promise of the store does not hold."""


def demand(condition, what):
    """Raise `Broken` unless a promise holds."""
    if not condition:
        raise Broken(what)


def put_files(files, place):
    """Lay down the files of a crash state."""
    for file, ending in ENDINGS.items():
        if file in files:
            Path(f"{place}{ending}").write_bytes(files[file])


def copy_store(source, target):
    """Copy the files of a store that nobody writes to."""
    for ending in ENDINGS.values():
        if Path(f"{source}{ending}").exists():
            shutil.copyfile(f"{source}{ending}", f"{target}{ending}")


def remove_store(place):
    """Remove the files of a store."""
    for ending in (*ENDINGS.values(), "-shm", "-lock"):
        Path(f"{place}{ending}").unlink(missing_ok=True)


def check_log(truth, place, acknowledged):
    """The log is a prefix of the calm one, to the bit, with all that was acknowledged; its events.

    It is read as it is at one moment: another process may erase rows meanwhile.
    """
    with contextlib.closing(Log(place, read_only=True)) as log, log.one_moment():
        kept = events_of(log)
        done = truth.done(len(kept))
        demand(done is not None, f"half a call is in the log: {len(kept)} events")
        demand(done >= acknowledged, f"acknowledged call {acknowledged} is lost: {len(kept)} events")
        same = [a is None or a == b for a, b in zip(kept, truth.logs[len(kept)], strict=True)]
        demand(all(same), f"event {same.index(False) + 1 if not all(same) else 0} differs from the calm run")
        _check_ids(log, truth.erased(done))
    return kept


def _check_ids(log, gone):
    """Every row is known by its id, once; those that were erased are not."""
    rows = [row for row in range(log.n_rows) if row not in gone]
    names = [name(row) for row in rows]
    demand(log.ids_of(rows) == names, "a row has another id")
    demand(log.numbers_of(names).tolist() == rows, "an id leads to another row")
    for row in gone:
        with contextlib.suppress(ValueError):
            demand(log.numbers_of([name(row)]) is None, f"row {row} is not erased")


def check_erased(truth, place, n_events):
    """No byte of a row that was erased is in a file of a store that was opened since."""
    gone = truth.erased(truth.done(n_events))
    if not gone:
        return
    content = b"".join(path.read_bytes() for path in Path(place).parent.glob(f"{Path(place).name}*"))
    for call in truth.calls:
        for row in gone & set(
            range(call.first, call.first + len(call.labels)) if call.what == "step" else ()
        ):
            demand(f'"{name(row)}"'.encode() not in content, f"the id of erased row {row} is in the files")
            values = call.X[row - call.first].tobytes()
            demand(values not in content, f"the values of erased row {row} are in the files")


def check_store(truth, place, acknowledged, shim, to_the_end=False, tolerated=None):
    """Open a store as after a crash and compare it with the calm run; perhaps go on to the end.

    A warning is an error, but for those that are tolerated.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if tolerated is not None:
            warnings.filterwarnings("ignore", tolerated)
        learner = open_store(place, truth.kind)
        try:
            count = learner.status()["events"]
            check_log(truth, place, acknowledged)
            if count:
                demand(digest(learner) == truth.digests[count], f"the state after {count} events differs")
            if to_the_end:
                learner = go_on(learner, truth, place, shim)
                demand(digest(learner) == truth.digests[truth.last], "the end differs from the calm one")
                demand(len(check_log(truth, place, 0)) == truth.last, "the log does not reach the end")
        finally:
            learner.close()
    if "://" not in str(place):
        check_erased(truth, place, truth.last if to_the_end else count)
    return count


def content_of(place):
    """What SQLite makes of a store: a hash of every row of every table. Damage is an error."""
    found = hashlib.blake2b(digest_size=16)
    db = sqlite3.connect(f"file:{place}?mode=rw", uri=True, timeout=30)
    try:
        verdict = db.execute("PRAGMA integrity_check").fetchall()
        demand(verdict == [("ok",)], f"integrity_check: {verdict[:3]}")
        tables = dict(
            db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        )
        for table, sql in tables.items():
            found.update(table.encode())
            key = [f'"{row[1]}"' for row in db.execute(f'PRAGMA table_info("{table}")') if row[5]]
            order = ", ".join(key) if "WITHOUT ROWID" in sql else "rowid"
            for row in db.execute(f'SELECT * FROM "{table}" ORDER BY {order}'):
                for value in row:
                    found.update(value if isinstance(value, bytes) else repr(value).encode())
        last = db.execute("SELECT max(seq) FROM events").fetchone()[0] if "events" in tables else None
    finally:
        db.close()
    return found.hexdigest(), last or 0


class Judge:
    """Checks crash states of one run; states with the same content and the same files are opened once.

    SQLite reads every state. What it makes of it decides whether everlearn has seen this state before: if
    not, or one time in ``sample``, everlearn opens the same files as they were after the crash. One in
    ``end_sample`` of these goes on to the end of the script.
    """

    def __init__(self, truth, folder, shim, seed=0, sample=200, end_sample=20):
        self.truth, self.folder, self.shim = truth, Path(folder), shim
        self.sample, self.end_sample = sample, end_sample
        self.random = random.Random(seed)
        self.seen, self.states, self.opened, self.ended = {}, 0, 0, 0

    def check(self, state):
        """Raise `Broken` if a promise does not hold for a state."""
        self.states += 1
        key = None
        place = self.folder / "state"
        if state.files.get(
            1
        ):  # without a database, or with an empty one, there is nothing for SQLite to read
            put_files(state.files, place)
            try:
                content, last = content_of(place)
            finally:
                remove_store(place)
            key = content, tuple(sorted(file for file, bytes_ in state.files.items() if bytes_))
            done = self.truth.done(last)
            demand(
                done is not None and done >= state.acknowledged, f"{last} events, {state.acknowledged} calls"
            )
        if key in self.seen and self.seen[key] >= state.acknowledged and self.random.randrange(self.sample):
            return
        self.opened += 1
        ends = key not in self.seen and self.random.randrange(self.end_sample) == 0
        self.ended += ends
        put_files(state.files, place)
        try:
            check_store(self.truth, place, state.acknowledged, self.shim, ends)
        finally:
            remove_store(place)
        self.seen[key] = max(self.seen.get(key, 0), state.acknowledged)
