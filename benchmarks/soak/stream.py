"""Rows through a store on disk, measured at every tenth."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

import everlearn
from everlearn.stream import NeverEndingLearner

from ..harness.machine import memory, say, trimmed_memory
from ..harness.process import in_own_process
from ..harness.report import NONE, head, markdown
from ..harness.run import Data, Run

FEATURES, LABEL_RATE, MEMORY_ROWS, TENTHS = 10, 0.001, 1_000, 10
STORE, NOTES = "soak.everlearn", "soak.json"
READING = """*rows/s*: predicted, written to disk, queried and answered; by the wall clock, which depends
on the other processes of the machine, and by CPU time. *trimmed*: resident memory once the allocator has
returned its free pages. *open*: a fresh process opens the store for reading while it is written to, imports
left out.
"""


def run_part(run: Run) -> None:
    """Start over or go on, and keep the measurements of all tenths."""
    settings, folder = run.settings, Path(run.settings["folder"])
    rows, batch = settings["rows"], settings["batch"]
    if rows % (TENTHS * batch):
        raise SystemExit(f"--rows must be a multiple of {TENTHS} * --batch, got {rows} and {batch}")
    if settings["again"] or run.quick:
        shutil.rmtree(folder, ignore_errors=True)
    for tenth in soak(folder, rows, batch, settings["learner"]):
        run.add(tenth)


def rows_of(number: int, size: int) -> tuple[Any, Any]:
    """Batch `number`, always the same: the product of two columns decides, with a small term of a third."""
    X = np.random.default_rng([15, number]).standard_normal((size, FEATURES))
    return X, (X[:, 0] * X[:, 1] + 0.2 * X[:, 2] > 0).astype(np.int64)


def sizes(store: Path) -> dict[str, float]:
    """Bytes on disk, and bytes by table where SQLite can tell."""
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
    """How long it takes to open the store for reading."""
    start = perf_counter()
    NeverEndingLearner.open(store, read_only=True).close()
    return perf_counter() - start


def soak(folder: Path, rows: int, batch: int, name: str | None) -> list[dict[str, Any]]:
    """Send rows until the store has seen them all; the measurements of all tenths so far."""
    folder.mkdir(parents=True, exist_ok=True)
    store, notes = folder / STORE, folder / NOTES
    tenths: list[dict[str, Any]] = json.loads(notes.read_text()) if notes.exists() else []
    learner = None if name is None else getattr(everlearn, name)()
    part = rows // TENTHS
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
            if out.decision_values is not None:
                right.append(float(np.mean(out.predictions.astype(int) == y)))
            if perf_counter() - last > 15:
                last = perf_counter()
                rate = (done - begun) / (last - wall)
                say(f"{done:,} of {rows:,} rows, {rate:,.0f} a second, {memory()['now']:.0f} MB")
            if done % part == 0:
                took, used = perf_counter() - wall, process_time() - cpu
                entry = {"rows": done, "counted": done - begun, "wall": took, "cpu": used}
                entry |= {"resident_mb": memory()["now"], "trimmed_mb": trimmed_memory()}
                entry |= {
                    "open_s": in_own_process(seconds_to_open, store),
                    "labels": stream.status()["labels"],
                }
                entry |= {"accuracy": float(np.mean(right)) if right else None} | sizes(store)
                tenths.append(entry)
                notes.write_text(json.dumps(tenths, indent=1))
                say(f"tenth: {json.dumps({k: v for k, v in entry.items() if not k.startswith('table')})}")
                begun, wall, cpu, right = done, perf_counter(), process_time(), []
    return tenths


def _answer(stream: Any, batch: int, questions: list[Any]) -> None:
    if asked := [question.id for question in questions]:
        stream.label(asked, [int(rows_of(i // batch, batch)[1][i % batch]) for i in asked])


def report(data: Data) -> str:
    """The table, and from the second tenth to the last the factor by which each column grew."""
    tenths, settings = data["results"], data["settings"]
    header = "rows|rows/s|rows/s of CPU|resident MB|trimmed MB|open s|labels|accuracy %|store MB|WAL MB"
    lines = [
        [
            f"{t['rows']:,}",
            f"{t['counted'] / t['wall']:,.0f}",
            f"{t['counted'] / t['cpu']:,.0f}",
            f"{t['resident_mb']:.0f}",
            NONE if t["trimmed_mb"] is None else f"{t['trimmed_mb']:.0f}",
            f"{t['open_s']:.3f}",
            f"{t['labels']:,}",
            f"{100 * t['accuracy']:.1f}" if t["accuracy"] is not None else "",
            f"{t['store_mb']:.0f}",
            f"{t['wal_mb']:.1f}",
        ]
        for t in tenths
    ]
    text = head(f"{tenths[-1]['rows']:,} rows through a store on disk", data)
    learner = settings["learner"] or "the default, AdaptiveSVM"
    text += [f"Learner: {learner}; {FEATURES} features, batches of {settings['batch']:,},"]
    text += [f'`label_rate={LABEL_RATE}`, `memory_rows={MEMORY_ROWS}`, `retention="needed"`.\n']
    text += [READING, markdown(header.split("|"), lines)]
    if len(tenths) > 2:
        first, end = tenths[1], tenths[-1]
        keys = ("resident_mb", "trimmed_mb", "open_s", "store_mb")
        grown = {key: end[key] / first[key] for key in keys if first[key]}
        grown["CPU seconds a row"] = (end["cpu"] / end["counted"]) / (first["cpu"] / first["counted"])
        factors = ", ".join(f"{name.replace('_', ' ')} x {factor:.2f}" for name, factor in grown.items())
        text += [f"From the second tenth to the last: {factors}."]
        tables = [key for key in end if key.startswith("table ")]
        by = sorted(tables, key=lambda key: end.get(key, 0) - first.get(key, 0), reverse=True)[:5]
        added = end["rows"] - first["rows"]
        text += ["", "Where the file grows, in bytes for each further row: "]
        text += [f"- {k[6:]}: {(end[k] - first.get(k, 0)) * 2**20 / added:.1f}" for k in by]
    return "\n".join(text) + "\n"
