"""How time and memory grow with the number of rows, on covtype."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ..harness.data import COVTYPE_ALL, covtype_task
from ..harness.machine import say
from ..harness.peers import PEERS
from ..harness.report import NONE, head, markdown, middle, number
from ..harness.run import Data, Run
from ..harness.worker import PeerFailed, Worker

NAMES = ("covtype",)
SIZES = (5_000, 10_000, 20_000, 50_000, 100_000, 200_000, COVTYPE_ALL)
SVC_ROWS = (
    50_000  # SVC is run on no more: it takes a minute and a half there, and more than hours on all rows
)
REPEATS, BUDGET = 3, 60
SMALL_CACHE, SMALL_ROWS = 200, 100_000  # MB, and the size at which it is tried


def _fit_once(worker: Worker, entry: dict[str, Any], limit: float) -> None:
    answer = worker.fit(limit)
    facts = answer.pop("facts")
    entry["fits"].append(answer)
    entry.setdefault("grown_mb", answer["grown_mb"])
    entry.setdefault("peak_mb", answer["peak_mb"])
    entry.update({k: facts[k] for k in ("n_sv", "n_kernel_evaluations") if k in facts})


def _one_size(rows: int, with_svc: bool, settings: dict[str, Any], small_cache: bool) -> dict[str, Any]:
    task = covtype_task(rows)
    result: dict[str, Any] = {"rows": rows, "rows_mb": task.X_train.nbytes / 2**20, "peers": {}}
    names = {"ours": None, **({"svc": None} if with_svc else {})}
    with tempfile.TemporaryDirectory(prefix="everlearn-bench-") as folder:
        task.save(Path(folder))
        workers = {}
        try:
            for name in names:
                entry = result["peers"][name] = {"label": PEERS[name].label, "fits": [], "reason": None}
                try:
                    workers[name] = Worker(
                        Path(folder), PEERS[name], settings["threads"], settings["cache"]
                    ).ready()
                except PeerFailed as error:
                    entry["reason"] = str(error)
            for _ in range(min(REPEATS, settings["repeats"])):
                for name, worker in list(workers.items()):
                    entry = result["peers"][name]
                    spent = sum(m["seconds"] for m in entry["fits"])
                    if entry["fits"] and spent + entry["fits"][-1]["seconds"] > BUDGET:
                        continue
                    try:
                        _fit_once(worker, entry, settings["limit"])
                    except PeerFailed as error:
                        entry["reason"] = str(error)
                        workers.pop(name).stop()
                        continue
                    say(f"covtype {rows}: {entry['label']} {number(entry['fits'][-1]['cpu'])} CPU s")
            if "ours" in workers:
                labels = workers["ours"].ask("predict")["labels"]
                result["peers"]["ours"]["error"] = float(np.mean(labels != task.y_test))
        finally:
            for worker in workers.values():
                worker.stop()
        if small_cache:
            result["small_cache"] = _small_cache(Path(folder), settings)
    return result


def _small_cache(folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Ours once more with a small cache: does it keep to it?"""
    entry: dict[str, Any] = {"cache": SMALL_CACHE, "fits": [], "reason": None}
    worker = Worker(folder, PEERS["ours"], settings["threads"], SMALL_CACHE)
    try:
        _fit_once(worker.ready(), entry, settings["limit"])
        say(f"with a cache of {SMALL_CACHE} MB: {number(entry['fits'][0]['cpu'])} CPU s")
    except PeerFailed as error:
        entry["reason"] = str(error)
    finally:
        worker.stop()
    return entry


def _exponent(results: list[dict[str, Any]], peer: str, sizes: list[int] | None = None) -> float | None:
    points = [
        (r["rows"], seconds)
        for r in results
        if (seconds := _cpu(r["peers"].get(peer, {}))) and (sizes is None or r["rows"] in sizes)
    ]
    if len(points) < 2:
        return None
    n, t = np.array(points, float).T
    return float(np.polyfit(np.log(n), np.log(t), 1)[0])


def _cpu(entry: dict[str, Any]) -> float | None:
    return middle(entry, unit="cpu")


def run_part(run: Run) -> None:
    """Fit growing prefixes of the same shuffled rows, and the exponent of time in their number."""
    settings = run.settings
    sizes = list(settings["sizes"] or SIZES)
    if settings["rows"]:
        sizes = sorted({max(200, settings["rows"] * k // 8) for k in (1, 2, 4, 8)})
    run.note(svc_rows=SVC_ROWS, small_cache=SMALL_CACHE)
    run.results[:] = [r for r in run.results if r["peers"]["ours"]["fits"]]
    for rows in sizes:
        if run.find(rows=rows):
            continue
        run.add(_one_size(rows, rows <= SVC_ROWS, settings, rows == SMALL_ROWS or run.quick))
        run.results.sort(key=lambda r: r["rows"])
    results = run.results
    common = [r["rows"] for r in results if _cpu(r["peers"].get("svc", {}))]
    run.data["exponents"] = {
        "ours": _exponent(results, "ours"),
        "ours_on_the_sizes_of_svc": _exponent(results, "ours", common),
        "svc": _exponent(results, "svc"),
        "svc_sizes": common,
    }


def report(data: Data) -> str:
    """The table of sizes and the exponents."""
    results, settings, exponents = data["results"], data["settings"], data["exponents"]
    rows = []
    for r in results:
        ours, svc = r["peers"]["ours"], r["peers"].get("svc", {})
        seconds = _cpu(ours), _cpu(svc)
        rows.append(
            [
                f"{r['rows']}",
                number(seconds[0]),
                number(seconds[1]),
                number(seconds[1] / seconds[0]) if all(seconds) else NONE,
                NONE if ours.get("error") is None else f"{100 * ours['error']:.2f}",
                *[number(p.get("n_sv"), 9) for p in (ours, svc)],
                number(ours.get("grown_mb")),
                number(svc.get("grown_mb")),
                number(r["rows_mb"]),
            ]
        )
    header = ["rows", "ours s", "SVC s", "SVC/ours", "error %", "SVs ours", "SVs SVC"]
    parts = [
        *head("How the cost grows: covtype, class 2 against the rest", data),
        markdown([*header, "ours +MB", "SVC +MB", "rows MB"], rows),
        f"CPU seconds. They grow as rows to the power of **{number(exponents['ours'])}** (ours, all sizes), "
        f"{number(exponents['ours_on_the_sizes_of_svc'])} (ours, sizes of SVC),\n"
        f"**{number(exponents['svc'])}** (SVC, {', '.join(map(str, exponents['svc_sizes']))} rows).\n",
        "+MB: peak of the first fit over what was resident before it, with caches of "
        f"{settings['cache']:g} MB.\n",
    ]
    if recorded := settings.get("svc_recorded"):
        parts.append(f"The points of SVC are those of an earlier run: {recorded}.\n")
    rows_of_last, sizes = results[-1]["rows"], exponents["svc_sizes"]
    if exponents["svc"] and sizes[-1] < rows_of_last:
        known = next(r for r in results if r["rows"] == sizes[-1])
        expected = _cpu(known["peers"]["svc"]) * (rows_of_last / known["rows"]) ** exponents["svc"]
        parts.append(f"SVC on {rows_of_last} rows, extrapolated: {expected / 3600:.1f} hours.\n")
    reasons = []
    for r in results:
        small = r.get("small_cache", {})
        if small.get("fits"):
            parts.append(
                f"{r['rows']} rows, cache of {small['cache']:g} MB: "
                f"+{small['fits'][0]['grown_mb']:.0f} MB in {number(_cpu(small))} s.\n"
            )
        reasons += [
            f"- {r['rows']} rows, {e.get('label', 'small cache')}: {e['reason']}"
            for e in (*r["peers"].values(), small)
            if e.get("reason")
        ]
    return "\n".join([*parts, *reasons]) + "\n"
