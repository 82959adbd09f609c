"""Disks that are full, broken, or write less than they were asked to; and memory of that afterwards."""

import random
import warnings

from everlearn.errors import StoreError

from .checks import Broken, check_log, check_store, copy_store, demand, remove_store
from .script import calm_run, digest, open_store, perform
from .shim import (
    BROKEN,
    FAIL_ON,
    FAIL_ONCE,
    FAIL_PARTLY,
    NO_SPACE,
    SHORT,
    TAKES_ROOM,
    TOUCHES_DISK,
)

FULL = [
    (FAIL_ON, TAKES_ROOM, NO_SPACE),
    (FAIL_PARTLY, TAKES_ROOM, NO_SPACE),
    (FAIL_ONCE, TAKES_ROOM, NO_SPACE),
]
FAULTY = [(FAIL_ONCE, TOUCHES_DISK, BROKEN), (FAIL_ON, TOUCHES_DISK, BROKEN)]
# A store that could not even note that it was closed says at its next opening that it was not.
_IN_USE = ".* was in use when it was last written to"


def full_disk_at_every_write(kind, options, folder, shim, say):
    """The disk is full from the n-th write on, until the call has returned; for every call and every n."""
    return _fail_everywhere(kind, options, folder, shim, say, FULL)


def broken_disk_at_every_write(kind, options, folder, shim, say):
    """The n-th write or sync fails with an I/O error, or all from there on."""
    return _fail_everywhere(kind, options, folder, shim, say, FAULTY)


def short_writes(kind, options, folder, shim, say):
    """Every write does half of what was asked; the run is the calm one all the same."""
    truth = calm_run(kind, folder / "calm", options.length, shim, options.seed)
    place = folder / "store"
    shim.arm(place, SHORT)
    learner = open_store(place, kind)
    for number, call in enumerate(truth.calls):
        shim.set_clock(call.clock)
        learner = perform(learner, call, place, kind)
        say(f"{number} calls")
    learner.close()
    shim.real_clock()
    hits = shim.hits
    shim.release()
    demand(hits > len(truth.calls), f"only {hits} writes were cut short")
    demand(check_store(truth, place, len(truth.calls), shim) == truth.last, "the log is shorter")
    return hits, f"{len(truth.calls)} calls"


def _fail_everywhere(kind, options, folder, shim, say, ways):
    chance = random.Random(f"fault {options.seed} {kind}")
    length, stride = options.length // 2, options.stride if kind == "lasvm" else options.wide_stride
    truth = calm_run(kind, folder / "calm", length, shim, options.seed)
    base, place, faults, refused = folder / "base", folder / "store", 0, 0
    for number in range(length):
        n = 1 + chance.randrange(stride)
        while True:
            way = ways[0] if stride == 1 and n % 3 else chance.choice(ways)
            copy_store(base, place)
            try:
                hit, error = _attempt(truth, number, place, shim, n, way)
            except Exception as wrong:
                raise Broken(
                    f"call {number} ({truth.calls[number].what}), write {n}, {way}: {wrong}"
                ) from wrong
            finally:
                remove_store(place)
            faults, refused = faults + hit, refused + error
            say(f"call {number} of {length}, {faults} faults")
            if not hit:
                break
            n += stride
        _advance(truth, number, base, shim)
    demand(refused > 0, "no call was ever refused: the faults did not reach the store")
    return faults, f"{refused} calls refused"


def _advance(truth, number, base, shim):
    shim.set_clock(truth.calls[number].clock)
    learner = perform(open_store(base, truth.kind), truth.calls[number], base, truth.kind)
    learner.close()
    shim.real_clock()


def _attempt(truth, number, place, shim, n, way):
    """Open, make a call and close while the disk fails; then go on with a disk that works."""
    mode, mask, error = way
    call, learner, refused = truth.calls[number], None, False
    before, after = ([0, *truth.after])[number : number + 2]
    shim.set_clock(call.clock)
    shim.arm(place, mode, n, mask, error)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a snapshot could not be written
        try:
            try:
                learner = open_store(place, truth.kind)
                learner = perform(learner, call, place, truth.kind)
            except StoreError as exc:
                refused = True
                demand(str(place) in str(exc), f"the error does not name the store: {exc}")
            hit = shim.hits > 0
            shim.release()  # there is room again; the process lives on
            if learner is not None and learner._log is not None:
                count = learner.status()["events"]
                demand(count in (before, after), f"{count} events")
                demand(not count or digest(learner) == truth.digests[count], "the state differs")
                if count < after:
                    learner = perform(learner, call, place, truth.kind)
                demand(digest(learner) == truth.digests[after], "the state differs once there is room again")
                shim.arm(place, mode, n, mask, error)  # and closing fails
                try:
                    learner.close()
                except StoreError as exc:
                    demand(str(place) in str(exc), f"the error does not name the store: {exc}")
                hit = hit or shim.hits > 0
                shim.release()
        finally:
            shim.release()
            shim.real_clock()
            if learner is not None:
                learner.close()
    done = number + (learner is not None and not refused)
    check_store(truth, place, done, shim, tolerated=_IN_USE)
    kept = check_log(truth, place, done)
    demand(len(kept) in (before, after), f"{len(kept)} events")
    return hit, refused
