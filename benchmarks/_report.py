"""Machine description, JSON and Markdown on disk, and the tables of the LASVM benchmark."""

from __future__ import annotations

import json
import os
import platform
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

PACKAGES = (
    "everlearn",
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-learn-intelex",
    "libsvm-official",
    "vowpalwabbit",
    "threadpoolctl",
)
WIDTH = 118
NONE = "–"  # noqa: RUF001  (a dash for "nothing to report")


def say(text: str) -> None:
    """Progress goes to stderr, so that stdout is the report."""
    print(f"{datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def machine(threads: int) -> dict[str, Any]:
    """Describe what the numbers were measured on."""
    from threadpoolctl import threadpool_info

    info: dict[str, str] = {}
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            info.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    flags = set(info.get("flags", "").split())
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, ValueError, OSError):
        memory = None
    pools = [f"{p.get('internal_api')} {p.get('version') or ''}".strip() for p in threadpool_info()]
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpu": info.get("model name") or platform.processor() or platform.machine(),
        "cpu_family_model": "/".join(info[k] for k in ("cpu family", "model") if k in info),
        "simd": [f for f in ("avx", "fma", "avx2", "avx512f", "avx512_bf16", "amx_tile") if f in flags],
        "cores": os.cpu_count(),
        "memory_gb": None if memory is None else round(memory, 1),
        "load_before": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {p: _installed(p) for p in PACKAGES},
        "thread_pools": sorted(set(pools)),
        "threads": threads,
    }


def machine_lines(about: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {v or 'not installed'}" for name, v in about["packages"].items())
    memory = "" if about["memory_gb"] is None else f", {about['memory_gb']} GB"
    first = f"{about['date']} · {about['cpu']}, {about['cores']} cores{memory}, {' '.join(about['simd'])}"
    threads = (
        f"**{about['threads']} thread{'s' * (about['threads'] != 1)} for all** · Python {about['python']}"
    )
    return textwrap.fill(f"{first} · {threads}, {packages}", WIDTH, break_on_hyphens=False) + "\n"


class Record:
    """One run on disk: `lasvm-<part>-<time>.json` is rewritten as results come, the Markdown beside it."""

    def __init__(self, folder: Path, part: str, about: dict[str, Any], settings: dict[str, Any]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.stem = folder / f"lasvm-{part}-{datetime.now():%Y%m%d-%H%M%S}"
        self.data: dict[str, Any] = {"part": part, "machine": about, "settings": settings, "results": []}

    def add(self, result: dict[str, Any]) -> None:
        self.data["results"].append(result)
        self.save()

    def save(self) -> None:
        text = json.dumps(self.data, indent=1, default=_plain)
        temporary = self.stem.with_suffix(".json.part")
        temporary.write_text(text + "\n")
        temporary.replace(self.stem.with_suffix(".json"))

    def finish(self, report: str) -> None:
        """Save, write the report beside the JSON and print it."""
        self.save()
        path = self.stem.with_suffix(".md")
        path.write_text(report)
        print(report)
        say(f"kept in {path.with_suffix('.json')} and {path.name}")


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"not to be written as JSON: {type(value)}")


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table with aligned columns, the first to the left and the numbers to the right."""
    lines = [list(header), *[list(row) for row in rows]]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]

    def line_of(cells: Sequence[str]) -> str:
        parts = [
            c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join(parts) + " |"

    rule = "|" + "|".join("-" * (w + 1) + ("-" if i == 0 else ":") for i, w in enumerate(widths)) + "|"
    return "\n".join([line_of(lines[0]), rule, *map(line_of, lines[1:])]) + "\n"


def number(value: float | None, digits: int = 3) -> str:
    """`digits` significant digits without exponent for what fits a table."""
    if value is None:
        return NONE
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 1e-3 else f"{value:.0e}"


def middle(entry: dict[str, Any], what: str = "fits", unit: str = "seconds") -> float | None:
    values = [m[unit] for m in entry.get(what, [])]
    return median(values) if values else None


def ratio(
    result: dict[str, Any], over: str, under: str, what: str = "fits", unit: str = "seconds"
) -> float | None:
    """Ratio of the medians of two peers."""
    peers = result["peers"]
    upper = middle(peers.get(over, {}), what, unit)
    lower = middle(peers.get(under, {}), what, unit)
    return None if upper is None or not lower else upper / lower


def _cell(result: dict[str, Any], peer: str, text: Callable[[dict[str, Any]], str | None]) -> str:
    entry = result["peers"].get(peer)
    if entry is None:
        return NONE
    return text(entry) or ("failed" if entry["reason"] else NONE)


def _times(result: dict[str, Any], peer: str) -> str:
    """How many times as long as ours; > where it was stopped, * where it was fitted only once."""

    def text(entry: dict[str, Any]) -> str | None:
        ours = middle(result["peers"].get("ours", {}))
        if entry.get("stopped_after") and not entry["fits"]:
            return f">{number(entry['stopped_after'] / ours)}" if ours else None
        value = ratio(result, peer, "ours")
        return None if value is None else number(value) + "*" * entry["once"]

    return _cell(result, peer, text)


def _error(result: dict[str, Any], peer: str) -> str:
    return _cell(result, peer, lambda e: None if e.get("error") is None else f"{100 * e['error']:.2f}")


def _fact(result: dict[str, Any], peer: str, key: str) -> str:
    return _cell(result, peer, lambda e: None if e.get(key) is None else f"{e[key]:.0f}")


def _seconds(result: dict[str, Any], peer: str) -> str:
    def text(entry: dict[str, Any]) -> str | None:
        if entry.get("stopped_after") and not entry["fits"]:
            return f">{entry['stopped_after']:.0f}"
        value = middle(entry)
        return None if value is None else number(value) + "*" * entry["once"]

    return _cell(result, peer, text)


def _exact(result: dict[str, Any]) -> list[str]:
    found = result.get("exact")
    if not found:
        return [NONE] * 5
    return [
        f"{found['dual_difference']:+.1e}",
        f"{100 * found['agreement']:.3f}",
        f"{found['largest_difference']:.1e}",
        f"{found['n_sv']} / {found['n_sv_svc']}",
        number(found["seconds"]),
    ]


def table_report(about: dict[str, Any], results: list[dict[str, Any]], settings: dict[str, Any]) -> str:
    """All tables of the main benchmark, one line a data set."""
    kernel = ("svc", "intelex", "libsvm", "vw")
    names = ["ours", "SVC", "intelex", "LIBSVM", "VW", "HistGB", "Nystroem"]
    parts = ["# LASVM beside its peers\n", machine_lines(about)]
    if settings.get("rows"):
        parts.append(f"**A trial on at most {settings['rows']} rows of each set, not the benchmark.**\n")

    parts.append("## Training time: how many times as long as ours\n")
    parts.append(
        markdown(
            ["set (C, gamma)", "rows x d", "ours s", "cpu s", "fits", *names[1:5], "ours/floor"],
            [
                [
                    f"{r['title']} ({r['C']:g}, {r['gamma']:g})",
                    f"{r['rows']} x {r['features']}",
                    _seconds(r, "ours"),
                    number(middle(r["peers"].get("ours", {}), unit="cpu")),
                    str(len(r["peers"].get("ours", {}).get("fits", []))),
                    *[_times(r, p) for p in kernel],
                    number(ratio(r, "ours", "floor")),
                ]
                for r in results
            ],
        )
    )
    parts.append(
        "Wall-clock, ratios of the medians of interleaved fits, one process a peer after a trial fit.\n"
        "`*`: fitted once, a fit takes over half of the time that each peer is given "
        f"({settings['budget']:.0f} s). `>`: stopped.\n"
        "VW: one pass of `learn` alone, without parsing, finishing step or bias; LIBSVM: `svm_train` alone.\n"
    )
    parts.append("## Test error in %\n")
    everyone = ("ours", *kernel, "histgb", "nystroem")
    rows = [[r["title"], str(r["test_rows"]), *[_error(r, p) for p in everyone]] for r in results]
    parts.append(markdown(["set", "test rows", *names], rows))
    parts.append("## Support vectors\n")
    rows = [[r["title"], *[_fact(r, p, "n_sv") for p in ("ours", *kernel)]] for r in results]
    parts.append(markdown(["set", *names[:5]], rows))
    parts.append("VW on ten classes: the sum over its ten models; the others count rows.\n")
    parts.append("## Prediction, and the memory that fitting adds\n")
    rows = []
    for r in results:
        seconds = middle(r["peers"].get("ours", {}), "predicts")
        rows.append(
            [
                r["title"],
                number(r["test_rows"] / seconds) if seconds else NONE,
                *[number(ratio(r, p, "ours", "predicts")) for p in ("svc", "intelex")],
                number(ratio(r, "ours", "floor", "predicts")),
                *[_fact(r, p, "grown_mb") for p in ("ours", "svc", "intelex")],
                *[_fact(r, p, "peak_mb") for p in ("ours", "svc")],
            ]
        )
    header = ["set", "rows/s", "SVC/ours", "intelex/ours", "ours/bare"]
    memory = ["ours +MB", "SVC +MB", "intelex +MB", "peak", "SVC peak"]
    parts.append(markdown([*header, *memory], rows))
    parts.append(
        "rows/s, peak: ours. bare: the matrix product and `exp` alone. +MB: peak of the first fit over\n"
        "what was resident before it, library and rows; peak: of the whole process. "
        f"Caches: {settings['cache']:g} MB for all that have one.\n"
    )
    if any(r.get("exact") for r in results):
        parts.append("## Several epochs and the finishing step, against SVC\n")
        header = [
            "set",
            "dual, relative",
            "decisions agree %",
            "largest df",
            "SVs ours / SVC",
            "seconds",
        ]
        parts.append(markdown(header, [[r["title"], *_exact(r)] for r in results]))
        parts.append(
            "dual: (ours - SVC) / SVC of the maximised objective, SVC at the same tolerance; the worst\n"
            "of ten classes, where SVC is fitted one against the rest. df: difference of decision values.\n"
        )
    if any("histgb" in r["peers"] or "nystroem" in r["peers"] for r in results):
        parts.append("## What else one would try on the same rows\n")
        rows = []
        for r in results:
            cells = [[_error(r, p), _seconds(r, p)] for p in ("ours", "histgb", "nystroem")]
            rows.append([r["title"], *[c for pair in cells for c in pair]])
        header = ["ours err %", "s", "HistGB err %", "s", "Nystroem + LinearSVC err %", "s"]
        parts.append(markdown(["set", *header], rows))
    parts.append(_remarks(results))
    return "\n".join(parts)


def _remarks(results: list[dict[str, Any]]) -> str:
    lines = []
    for r in results:
        for entry in r["peers"].values():
            lines += [
                f"- {r['title']}, {entry['label']}: {entry[k]}" for k in ("reason", "note") if entry.get(k)
            ]
        if r.get("exact_reason"):
            lines.append(f"- {r['title']}, several epochs: {r['exact_reason']}")
    return "## Remarks\n\n" + ("\n".join(lines) if lines else "All peers ran.") + "\n"
