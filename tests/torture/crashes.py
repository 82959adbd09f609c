"""Crash states of every write of a calm run, and processes that are killed at writes, again and again."""

import random

from .checks import Broken, Judge, check_store, copy_store, demand, remove_store
from .disk import crash_states
from .script import calm_run
from .shim import KILL, KILL_TORN, WRITE, read_trace
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


def killed_again_and_again(kind, options, folder, shim, say):
    """Kill the process at a random operation, let the next one go on, kill it; recovery is not spared."""
    chance = random.Random(f"kill {options.seed} {kind}")
    truth = calm_run(kind, folder / "calm", options.length, shim, options.seed)
    kills = 0
    for turn in range(options.passes):
        place, acknowledged, killed = folder / f"store-{turn}", Acknowledged(), True
        while killed:
            mode, at = chance.choice([KILL, KILL_TORN]), chance.choice([3, 10, 30, 100])
            at = 1 + chance.randrange(at)

            def work(place=place, mode=mode, at=at, acknowledged=acknowledged):
                shim.arm(place, mode, at)
                write_on(truth, place, shim, acknowledged)

            killed, error = Worker(work).wait()
            demand(not error, error)
            kills += killed
            say(f"{kills} kills, {acknowledged.count} of {len(truth.calls)} calls")
            copy_store(place, folder / "copy")
            check_store(truth, folder / "copy", acknowledged.count, shim)
            remove_store(folder / "copy")
        demand(acknowledged.count == len(truth.calls), "the script did not come to its end")
    demand(kills >= 2 * options.passes, f"only {kills} kills")
    return kills, f"{options.passes} runs"
