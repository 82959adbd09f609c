"""Mutate model files and snapshots, and see that nothing but the right error comes of it.

    make fuzz                                       every class, some minutes
    python -m fuzz --count 200 --only LASVM --seed 3   a part of it (with tests/ on the path)
    python -m fuzz --replay LASVM state 17          one mutant, by its numbers

A mutant either loads, and then survives predicting, learning, forgetting and saving, or raises a
`FileFormatError`. A store with mutated snapshots opens. Mutants are opened in processes of their own, so that
a damaged heap is noticed; what ends such a process, takes too long or raises another error is printed, and
the exit status is 1.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Worker:
    """A process that opens mutants, begun again whenever one has ended it."""

    def __init__(self, work):
        self._work, self._process = work, None

    def __call__(self, name, way, seed):
        """What came of a mutant, in words."""
        if self._process is None:
            self._start()
        process = self._process
        try:
            process.stdin.write(json.dumps([name, way, seed]) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if answer:
            return json.loads(answer)
        status = process.wait()
        self._process = None
        return f"the process ended with status {status}"

    def _start(self):
        self._process = subprocess.Popen(
            [sys.executable, "-X", "faulthandler", "-m", "fuzz.worker", str(self._work)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=HERE.parent,
            env=os.environ | {"OMP_NUM_THREADS": "1", "MALLOC_PERTURB_": "165", "MALLOC_CHECK_": "3"},
        )

    def close(self):
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()


def tasks(names, count, seed, ways):
    """Of every way and every name as many mutants as asked for, the names in turn."""
    for number in range(count):
        for name in names:
            for way, every in ways.items():
                if number % every == 0 and (way != "snapshot" or name == names[0]):
                    yield name, way, seed * 1_000_003 + number


def main(argv=None):
    """Run as asked on the command line; the exit status."""
    parser = argparse.ArgumentParser(
        prog="fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="mutated states of each class")
    parser.add_argument("--only", default="", help="classes, separated by commas; all if not given")
    parser.add_argument("--ways", default="state,header,bytes,snapshot", help="what is mutated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", nargs=3, metavar=("CLASS", "WAY", "SEED"), help="open one mutant")
    options = parser.parse_args(argv)
    from . import models

    names = options.only.split(",") if options.only else sorted(models.registered())
    ways = {"state": 1, "header": 5, "bytes": 5, "snapshot": 1, "planted": 1}
    chosen = {way: ways[way] for way in options.ways.split(",")}
    todo = tasks(names, options.count, options.seed, chosen)
    if options.replay:
        todo = [(options.replay[0], options.replay[1], int(options.replay[2]))]
    counts, findings = Counter(), 0
    with tempfile.TemporaryDirectory() as work:
        worker = Worker(Path(work))
        for name, way, seed in todo:
            found = worker(name, way, seed)
            known = found in ("refused", "loaded", "unwritable", "opened")
            counts[way, found if known else "FOUND"] += 1
            if not known:
                findings += 1
                print(f"--replay {name} {way} {seed}: {found}", flush=True)
        worker.close()
    print(", ".join(f"{way} {found}: {n:,}" for (way, found), n in sorted(counts.items())))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
