"""Crash states of every write of a calm run, and processes that are killed at writes, again and again."""

import contextlib
import random
import sqlite3
from dataclasses import replace

from .checks import Broken, Judge, check_store, copy_store, demand, remove_store
from .disk import crash_states
from .script import calm_run
from .shim import KILL, KILL_TORN, MAIN, SYNC, WRITE, read_trace
from .workers import Acknowledged, Worker, write_on


def crash_at_every_write(kind, options, folder, shim, say):
    """Build what a disk may hold at every operation of a run; each must open as a prefix of that run."""
    chance = random.Random(f"{options.seed} {kind}")
    truth = calm_run(kind, folder / "calm", options.length, shim, options.seed, folder / "trace")
    records = read_trace(folder / "trace")
    writes = sum(record.op == WRITE for record in records)
    demand(writes > 5 * truth.last, f"the shim saw {writes} writes for {truth.last} events")
    judge = Judge(truth, folder, shim, options.seed, end_sample=options.end_sample)
    ways = {}
    for state in crash_states(records, chance, options.draws, options.tears):
        if chance.random() >= options.share:
            continue
        try:
            judge.check(state)
        except Exception as error:
            raise Broken(f"before operation {state.point}, {state.way}: {error}") from error
        ways[state.way] = ways.get(state.way, 0) + 1
        say(f"{state.point} of {len(records)} operations, {judge.states} states")
    demand(options.share < 1 or len(ways) == 4, f"some kind of crash never came: {ways}")
    return judge.states, f"{writes} writes; {judge.opened} opened, {judge.ended} to the end"


def checks_can_fail(kind, options, folder, shim, say):
    """Stores that are broken on purpose: all of them must be found out."""
    truth = calm_run(kind, folder / "calm", 10, shim, options.seed, folder / "trace")
    records = read_trace(folder / "trace")
    end = list(crash_states(records, random.Random(0), 0, 0))[-1]
    Judge(truth, folder, shim).check(end)
    event = truth.logs[truth.last][0][1]
    place = bytes(end.files[MAIN]).index(event[:200]) + 150
    damaged = bytearray(end.files[MAIN])
    damaged[place] ^= 1
    unsynced = [record for record in records if record.op != SYNC]  # as if nothing was ever synced
    broken = {
        "a call that was acknowledged and is not there": [replace(end, acknowledged=len(truth.calls) + 1)],
        "a bit that has changed": [replace(end, files={**end.files, MAIN: damaged})],
        "a row less": [replace(end, files={**end.files, MAIN: _without_a_row(end, folder)})],
        "writes that are not synced": crash_states(unsynced, random.Random(0), 0, 0),
    }
    row = truth.calls[0].X[2].tobytes()
    for trace in (row, b'"row-2"'):  # what an erasure must remove is there to be found
        demand(trace in bytes(end.files[MAIN]), f"{trace} is not in the file")
    for what, states in broken.items():
        judge = Judge(truth, folder, shim)
        try:
            for state in states:
                judge.check(state)
        except Exception:
            continue
        raise Broken(f"{what} was not found out")
    return len(broken), "all found out"


def _without_a_row(state, folder):
    """The database of a state, with a row deleted."""
    path = folder / "less"
    path.write_bytes(state.files[MAIN])
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=DELETE")
        db.execute("DELETE FROM rows WHERE number = 2")
    return path.read_bytes()


def killed_again_and_again(kind, options, folder, shim, say):
    """Kill the process at a random operation, let the next one go on, kill it; recovery is not spared."""
    chance = random.Random(f"kill {options.seed} {kind}")
    truth = calm_run(kind, folder / "calm", options.length, shim, options.seed)
    kills = 0
    for turn in range(options.passes):
        place, acknowledged, killed, stalled = folder / f"store-{turn}", Acknowledged(), True, 0
        while killed:
            patience = chance.choice(options.steps) * 2 ** (stalled // 5)  # an erasure is finished on opening
            mode, at = chance.choice([KILL, KILL_TORN]), 1 + chance.randrange(patience)
            before = acknowledged.count

            def work(place=place, mode=mode, at=at, acknowledged=acknowledged):
                shim.arm(place, mode, at)
                write_on(truth, place, shim, acknowledged)

            killed, error = Worker(work).wait()
            demand(not error, error)
            kills += killed
            stalled = stalled + 1 if acknowledged.count == before else 0
            say(f"{kills} kills, {acknowledged.count} of {len(truth.calls)} calls")
            copy_store(place, folder / "copy")
            check_store(truth, folder / "copy", acknowledged.count, shim)
            remove_store(folder / "copy")
        demand(acknowledged.count == len(truth.calls), "the script did not come to its end")
    demand(kills >= options.passes, f"only {kills} kills")
    return kills, f"{options.passes} runs"
