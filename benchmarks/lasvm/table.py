"""Every peer on every data set, fits interleaved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..harness.data import SETS, load_task
from ..harness.machine import say
from ..harness.peers import PEERS, QUICK
from ..harness.report import NONE, head, markdown, middle, number, ratio, remarks
from ..harness.run import Data, Run
from ..harness.timing import comparison

NAMES = tuple(SETS)
# How many times as long, in CPU seconds on one thread, SVC and scikit-learn-intelex should take.
GOALS = {
    "mnist8": (40, 4.5),
    "a9a": (25, 2.5),
    "ijcnn1": (10, 7),
    "covtype": (14, 2.5),
    "usps": (6, 4),
    "letter": (6, 4),
    "reuters": (6, 4),
    "banana": (1.5, 3),
    "mnist10": (12, 4),
    "mnist10_all": (12, 4),
    "letter26": (8, 4),
}
MOST_OVER_SINGLE = 1.4


def run_part(run: Run) -> None:
    """Run the peers on the data sets; results are on disk after every set."""
    settings = run.settings
    wanted = settings["peers"] or (QUICK if run.quick else PEERS)
    if unknown := sorted(set(wanted) - set(PEERS)):
        raise SystemExit(f"--peers: unknown {', '.join(unknown)}; choose from {', '.join(PEERS)}")
    peers = {name: PEERS[name] for name in PEERS if name in wanted}
    run.note(peers=list(peers), exact=not run.quick)
    for name in run.missing(run.chosen(NAMES)):
        say(f"{name}: reading")
        with comparison(load_task(name, settings["rows"]), peers, settings) as line:
            line.run(keep=("ours", "svc") if settings["exact"] else ())
            if settings["exact"]:
                line.exact()
        run.add(line.result)


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


def _goals(result: dict[str, Any]) -> list[str]:
    """Ratios of CPU seconds, each followed by its goal."""
    svc, intelex = GOALS.get(result["set"], (None, None))
    measured = [ratio(result, over, "ours", unit="cpu") for over in ("svc", "intelex")]
    single = ratio(result, "ours", "single", unit="cpu")
    pairs = [(measured[0], svc), (measured[1], intelex), (single, MOST_OVER_SINGLE)]
    cells = [NONE if value is None else number(value) for pair in pairs for value in pair]
    return [result["title"], number(middle(result["peers"].get("ours", {}), unit="cpu")), *cells]


def _exact(result: dict[str, Any]) -> list[str]:
    found = result.get("exact")
    if not found:
        return [NONE] * 5
    return [
        f"{found['dual_difference']:+.1e}",
        f"{100 * found['agreement']:.3f}",
        f"{found['max_relative_difference']:.1e}",
        f"{found['n_sv']} / {found['n_sv_svc']}",
        str(found["rounds"]),
    ]


def report(data: Data) -> str:
    """All tables, one line per data set."""
    results, settings = data["results"], data["settings"]
    kernel = ("single", "svc", "intelex", "libsvm", "vw")
    names = ["ours", "single pass", "SVC", "intelex", "LIBSVM", "VW", "HistGB", "Nystroem"]
    parts = head("LASVM and its peers", data)
    if settings.get("rows"):
        parts.append(f"**At most {settings['rows']} rows of each set.**\n")

    parts.append("## Training time: how many times as long as ours\n")
    parts.append(
        markdown(
            ["set (C, gamma)", "rows x d", "ours s", "cpu s", "fits", *names[1:6], "ours/floor"],
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
    parts.append("## CPU seconds beside the goals\n")
    header = ["set", "ours cpu s", "SVC/ours", "goal", "intelex/ours", "goal", "ours/single", "goal"]
    parts.append(markdown(header, [_goals(r) for r in results]))
    parts.append(
        "ijcnn1, hard: C = 10,000, gamma = 0.01, for which the authors of dislib report about 42 s for\n"
        "their CascadeSVM on 896 cores (another machine); the goal is 15 s of one core.\n"
    )
    parts.append("## Test error in %\n")
    everyone = ("ours", *kernel, "histgb", "nystroem")
    rows = [[r["title"], str(r["test_rows"]), *[_error(r, p) for p in everyone]] for r in results]
    parts.append(markdown(["set", "test rows", *names], rows))
    parts.append("## Support vectors\n")
    rows = [[r["title"], *[_fact(r, p, "n_sv") for p in ("ours", *kernel)]] for r in results]
    parts.append(markdown(["set", *names[:6]], rows))
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
        parts.append("## Against the optimum of SVC\n")
        header = [
            "set",
            "dual, relative",
            "decisions agree %",
            "largest df",
            "SVs ours / SVC",
            "rounds",
        ]
        parts.append(markdown(header, [[r["title"], *_exact(r)] for r in results]))
        parts.append(
            "dual: (ours - SVC) / SVC of the maximized objective, SVC at the same tolerance; the worst\n"
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
    parts.append(remarks(results))
    return "\n".join(parts)
