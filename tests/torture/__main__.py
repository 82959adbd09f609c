"""Torture a store: kills, power cuts, full and broken disks, other processes, a clock that goes backwards.

    make torture                                    everything, some minutes
    python -m torture --only "killed" --kinds lasvm   a part of it (with tests/ on the path)
    python -m torture --short                       seconds; what the tests run

Every scenario runs a fixed script of calls on a never-ending learner, disturbs it, and compares with a calm
run: the log is a prefix of the calm one to the bit, every acknowledged call is there once, and the state is
equal bit for bit. `--seed` changes the script and all that is drawn. The exit status is 1 if a promise was
broken.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from .shim import Shim, build, environment

HERE = Path(__file__).resolve().parent
_LIBRARY_FOLDER = HERE.parent.parent / "build" / "torture"


def arguments(argv):
    parser = argparse.ArgumentParser(
        prog="torture", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="scenarios whose names have one of these words in it")
    parser.add_argument("--kinds", help="comma-separated kinds of learners; all if not given")
    parser.add_argument("--short", action="store_true", help="a sample of everything")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, help="calls of the script")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="scenarios at the same time")
    parser.add_argument("--json", type=Path, help="where to write the results")
    options = parser.parse_args(argv)
    short = options.short
    options.length = options.length or (10 if short else 60)
    options.share = 0.05 if short else 1.0  # of crash states
    options.draws = options.tears = 1 if short else 2
    options.end_sample = 20
    options.passes = 1 if short else 2
    options.stride = 60 if short else 1  # of writes at which the disk fails, with LASVM
    options.wide_stride = 60 if short else 12  # and with the other learners
    options.steps = [40, 150] if short else [3, 10, 30, 100]  # operations between kills, at most
    return options


def units(options):
    """What to run: names, scenarios and kinds of learners."""
    from . import company, crashes, databases, faults, terminal
    from .script import KINDS

    kinds = options.kinds.split(",") if options.kinds else list(KINDS)
    table = [  # the kinds after each are those of the short form
        ("broken on purpose", crashes.checks_can_fail, ["lasvm"], ["lasvm"]),
        ("crash at every write", crashes.crash_at_every_write, kinds, ["adaptive", "needed"]),
        ("killed again and again", crashes.killed_again_and_again, kinds, ["idsvm"]),
        ("full disk at every write", faults.full_disk_at_every_write, kinds, ["lasvm"]),
        ("broken disk at every write", faults.broken_disk_at_every_write, kinds, ["needed"]),
        ("short writes", faults.short_writes, kinds, ["lasvm"]),
        ("two writers", company.two_writers, ["lasvm", "needed"], ["lasvm"]),
        ("readers throughout", company.readers_throughout, kinds, ["lasvm"]),
        ("killed while asking", terminal.killed_while_asking, ["adaptive", "lasvm"], ["lasvm"]),
        ("PostgreSQL killed", databases.postgres_killed, ["lasvm", "needed", "idsvm"], ["needed"]),
        ("PostgreSQL, lock lost", databases.postgres_lock_lost, ["lasvm"], []),
    ]
    return [
        (f"{name}, {kind}", run, kind)
        for name, run, which, few in table
        for kind in (few if options.short else which)
        if any(word in name for word in options.only.split(",")) and kind in kinds
    ]


def _start(unit, options):
    """Run a scenario in a process of its own; its process number and where its result comes from."""
    name, run, kind = unit
    here, there = os.pipe()
    pid = os.fork()
    if pid:
        os.close(there)
        return pid, here
    os.close(here)
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="torture-", dir=memory if os.access(memory, os.W_OK) else None))
    result, start, last = {"name": name}, time.monotonic(), [time.monotonic()]

    def say(text):
        if time.monotonic() - last[0] > 20:
            last[0] = time.monotonic()
            print(f"  ... {name}: {text}", flush=True)

    try:
        warnings.simplefilter("ignore")
        count, note = run(kind, options, folder, Shim(), say)
        result |= {"checked": count, "note": note}
    except BaseException:
        result["error"] = traceback.format_exc()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    result["seconds"] = time.monotonic() - start
    with os.fdopen(there, "w") as pipe:
        json.dump(result, pipe)
    os._exit(0)


def _run_all(units, options):
    """All units, as far as nobody interrupts; the results of those that have ended."""
    running, results = {}, []
    try:
        _run_each(list(units), len(units), options, running, results)
    except KeyboardInterrupt:
        for pid in running:
            os.kill(pid, signal.SIGTERM)
        print(f"\nInterrupted: {len(units) - len(results)} scenarios did not end.", flush=True)
    return results


def _run_each(waiting, total, options, running, results):
    while waiting or running:
        while waiting and len(running) < max(1, options.jobs):
            unit = waiting.pop(0)
            pid, pipe = _start(unit, options)
            running[pid] = unit, pipe
        pid, status, used = os.wait4(-1, 0)
        if pid not in running:
            continue
        unit, pipe = running.pop(pid)
        with os.fdopen(pipe) as file:
            text = file.read()
        died = {"name": unit[0], "error": f"died, status {status}", "seconds": 0}
        result = (json.loads(text) if text else died) | {"cpu": used.ru_utime + used.ru_stime}
        results.append(result)
        word = "BROKEN" if "error" in result else f"{result['checked']:,} checked, {result['note']}"
        head = f"[{len(results)}/{total}] {result['name']}"
        print(f"{head}: {word}, {result['seconds']:.0f} s", flush=True)
        if "error" in result:
            print(result["error"], flush=True)


def _summary(results):
    width = max(len(result["name"]) for result in results)
    print(f"\n{'scenario':{width}}  {'checked':>8}  {'seconds':>7}  {'CPU':>5}  result")
    for result in sorted(results, key=lambda result: result["name"]):
        word = "BROKEN" if "error" in result else "ok"
        figures = f"{result.get('checked', 0):>8,}  {result['seconds']:>7.0f}  {result['cpu']:>5.0f}"
        print(f"{result['name']:{width}}  {figures}  {word}")
    broken = sum("error" in result for result in results)
    print(f"\n{len(results) - broken} of {len(results)} hold.")
    return broken


def main(argv=None):
    options = arguments(argv)
    if "TORTURE_LIBRARY" not in os.environ:  # once more, under the shim
        found = environment(build(_LIBRARY_FOLDER))
        found["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
        os.execve(sys.executable, [sys.executable, "-m", "torture", *(argv or sys.argv[1:])], found)
    wanted = units(options)
    if not wanted:
        print(f"No scenario has {options.only!r} in its name.")
        return 2
    results = _run_all(wanted, options)
    if options.json:
        options.json.write_text(json.dumps(results))
    broken = _summary(results) if results else 0
    return 130 if len(results) < len(wanted) else 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
