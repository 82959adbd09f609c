"""A soak test: ten million rows through a bounded learner whose store is a file. Does anything grow?

    python benchmarks/soak.py                     10,000,000 rows, a row of the table for each tenth
    python benchmarks/soak.py --rows 1000000      a trial
    python benchmarks/soak.py --learner LASVM     another learner, by its name

Interrupt it whenever you like: the next run with the same arguments goes on from the store. `--again` starts
over. The store and the measurements stay in `--folder`; the report goes to `--out`, and to standard output.

What a user would choose for a stream of this length: batches of 10,000 rows, `retention="needed"`, one
question per 1,000 rows, answered at once. Rows a second count everything: a batch is durable before `step`
returns. "Trimmed" is resident memory after `malloc_trim`, so what the process really holds. "Open" is the
time that a fresh process needs to open the store, with the imports left out.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import shutil
import subprocess
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from _worker import _memory, limit_threads

FEATURES, LABEL_RATE, MEMORY_ROWS, PARTS = 10, 0.001, 1_000, 10
STORE, NOTES = "soak.everlearn", "soak.json"
READING = """*rows/s*: predicted, written to disk, asked about and answered; by the wall clock, which depends
on the other processes of the machine, and by CPU time. *trimmed*: resident memory once the allocator has
returned its free pages. *open*: a fresh process opens the store for reading while it is written to, imports
left out.
"""


def rows_of(number: int, size: int) -> tuple[Any, Any]:
    """Batch `number`, always the same; the product of two columns decides, and a third one has a say."""
    import numpy as np

    X = np.random.default_rng([15, number]).standard_normal((size, FEATURES))
    return X, (X[:, 0] * X[:, 1] + 0.2 * X[:, 2] > 0).astype(np.int64)


def trimmed() -> float:
    """Resident memory in MB once the allocator has returned its free pages to the system."""
    gc.collect()
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    except (OSError, AttributeError):
        return float("nan")
    return _memory()["now"]


def sizes(store: Path) -> dict[str, float]:
    """Bytes on disk, and bytes by table where SQLite can tell."""
    import sqlite3

    found = {
        "store_mb": store.stat().st_size / 2**20,
        "wal_mb": sum(p.stat().st_size for p in store.parent.glob(f"{store.name}-wal")) / 2**20,
    }
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60)
    try:
        found["free_mb"] = _pragma(db, "freelist_count") * _pragma(db, "page_size") / 2**20
        ask = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name"
        found |= {f"table {name}": size / 2**20 for name, size in db.execute(ask)}
    except sqlite3.OperationalError:  # compiled without dbstat
        pass
    finally:
        db.close()
    return found


def _pragma(db: Any, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def seconds_to_open(store: Path) -> float:
    """How long a process that has just started takes to open the store for reading."""
    command = [sys.executable, __file__, "--open", str(store)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(found.stdout)


def _open(store: Path) -> None:
    from everlearn.stream import NeverEndingLearner

    start = perf_counter()
    NeverEndingLearner.open(store, read_only=True).close()
    print(perf_counter() - start)


def soak(folder: Path, rows: int, batch: int, name: str | None) -> list[dict[str, Any]]:
    """Send rows until the store has seen them all; the measurements of all tenths so far."""
    import numpy as np

    import everlearn
    from _report import say
    from everlearn.stream import NeverEndingLearner

    folder.mkdir(parents=True, exist_ok=True)
    store, notes = folder / STORE, folder / NOTES
    tenths: list[dict[str, Any]] = json.loads(notes.read_text()) if notes.exists() else []
    learner = None if name is None else getattr(everlearn, name)()
    part = rows // PARTS
    with NeverEndingLearner.open(
        store,
        None if store.exists() else learner,
        label_rate=LABEL_RATE,
        memory_rows=MEMORY_ROWS,
        retention="needed",
        random_state=0,
    ) as stream:
        begun = done = stream.status()["rows"]
        if done:
            say(f"going on after {done:,} rows")
            if waiting := stream.status()["open_questions"]:
                _answer(stream, batch, stream.ask(waiting))
        wall, cpu, right, last = perf_counter(), process_time(), [], perf_counter()
        while done < rows:
            X, y = rows_of(done // batch, batch)
            out = stream.step(X)
            _answer(stream, batch, out.questions)
            done += batch
            if out.decision is not None:
                right.append(float(np.mean(out.predictions.astype(int) == y)))
            if perf_counter() - last > 15:
                last = perf_counter()
                rate = (done - begun) / (last - wall)
                say(f"{done:,} of {rows:,} rows, {rate:,.0f} a second, {_memory()['now']:.0f} MB")
            if done % part == 0:
                took, used = perf_counter() - wall, process_time() - cpu
                entry = {"rows": done, "counted": done - begun, "wall": took, "cpu": used}
                entry |= {"resident_mb": _memory()["now"], "trimmed_mb": trimmed()}
                entry |= {"open_s": seconds_to_open(store), "labels": stream.status()["labels"]}
                entry |= {"accuracy": float(np.mean(right)) if right else None} | sizes(store)
                tenths.append(entry)
                notes.write_text(json.dumps(tenths, indent=1))
                say(f"tenth: {json.dumps({k: v for k, v in entry.items() if not k.startswith('table')})}")
                begun, wall, cpu, right = done, perf_counter(), process_time(), []
    return tenths


def _answer(stream: Any, batch: int, questions: list[Any]) -> None:
    if asked := [question.id for question in questions]:
        stream.label(asked, [int(rows_of(i // batch, batch)[1][i % batch]) for i in asked])


def report(about: dict[str, Any], tenths: list[dict[str, Any]], batch: int, name: str | None) -> str:
    """The table, and from the second tenth to the last the factor by which each column grew."""
    from _report import machine_lines, markdown

    header = "rows|rows/s|rows/s of CPU|resident MB|trimmed MB|open s|labels|accuracy %|store MB|WAL MB"
    lines = [
        [
            f"{t['rows']:,}",
            f"{t['counted'] / t['wall']:,.0f}",
            f"{t['counted'] / t['cpu']:,.0f}",
            f"{t['resident_mb']:.0f}",
            f"{t['trimmed_mb']:.0f}",
            f"{t['open_s']:.3f}",
            f"{t['labels']:,}",
            f"{100 * t['accuracy']:.1f}" if t["accuracy"] is not None else "",
            f"{t['store_mb']:.0f}",
            f"{t['wal_mb']:.1f}",
        ]
        for t in tenths
    ]
    text = [f"# {tenths[-1]['rows']:,} rows through a store on disk\n", machine_lines(about)]
    text += [f"Learner: {name or 'the default, AdaptiveSVM'}; {FEATURES} features, batches of {batch:,},"]
    text += [f'`label_rate={LABEL_RATE}`, `memory_rows={MEMORY_ROWS}`, `retention="needed"`.\n']
    text += [READING, markdown(header.split("|"), lines)]
    if len(tenths) > 2:
        first, end = tenths[1], tenths[-1]
        grown = {key: end[key] / first[key] for key in ("resident_mb", "trimmed_mb", "open_s", "store_mb")}
        grown["CPU seconds a row"] = (end["cpu"] / end["counted"]) / (first["cpu"] / first["counted"])
        factors = ", ".join(f"{name.replace('_', ' ')} x {factor:.2f}" for name, factor in grown.items())
        text += [f"From the second tenth to the last: {factors}."]
        tables = [key for key in end if key.startswith("table ")]
        by = sorted(tables, key=lambda key: end.get(key, 0) - first.get(key, 0), reverse=True)[:5]
        added = end["rows"] - first["rows"]
        text += ["", "Where the file grows, in bytes for each further row: "]
        text += [f"- {k[6:]}: {(end[k] - first.get(k, 0)) * 2**20 / added:.1f}" for k in by]
    return "\n".join(text) + "\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows in all")
    parser.add_argument("--batch", type=int, default=10_000, help="rows of a batch")
    parser.add_argument(
        "--learner", default=None, help="a class of everlearn; the default learner if not given"
    )
    parser.add_argument("--folder", type=Path, default=Path("out/soak"), help="where the store is")
    parser.add_argument("--out", type=Path, default=Path("out/bench/soak.md"), help="the report")
    parser.add_argument("--again", action="store_true", help="start over")
    parser.add_argument("--open", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    limit_threads(1)
    if args.open:
        _open(args.open)
        return 0
    if args.rows % (PARTS * args.batch):
        parser.error(f"--rows must be a multiple of {PARTS} * --batch, got {args.rows} and {args.batch}")

    from _report import _installed, machine

    if args.again:
        shutil.rmtree(args.folder, ignore_errors=True)
    about = machine(1)
    about["packages"] = {name: _installed(name) for name in ("everlearn", "numpy", "scipy", "scikit-learn")}
    text = report(about, soak(args.folder, args.rows, args.batch, args.learner), args.batch, args.learner)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
