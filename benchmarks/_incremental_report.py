"""The tables of the incremental benchmark."""

from __future__ import annotations

import textwrap
from statistics import median
from typing import Any

from _report import NONE, WIDTH, machine_lines, markdown, number

Found = dict[str, Any]
RULES = ("nu=1", "nu=2", "grow", "default")


def full_report(data: dict[str, Any]) -> str:
    about, settings = data["machine"], data["settings"]
    parts = ["# Learning and unlearning one row\n", machine_lines(about)]
    if about["load_before"]:
        parts.append(f"Load when it began: {about['load_before'][0]:.1f} on {about['cores']} cores.\n")
    if settings["quick"]:
        parts.append("**A trial on few rows: no figure here means anything.**\n")
    parts.append(_wrapped(_GENERAL))
    sections = {
        "forget": _forget,
        "leave_one_out": _leave_one_out,
        "long": _long,
        "local": _local,
        "local_stream": _local_stream,
        "start": _start,
    }
    for part, section in sections.items():
        found = [result for result in data["results"] if result["part"] == part]
        if found:
            parts.append(section(found, settings))
    return "\n".join(parts)


_GENERAL = """
CPU time throughout. Every machine on a set has the same RBF kernel and C; `SVC` is scikit-learn's, with a
tolerance of 1e-3 where it is timed. Residuals are computed by NumPy from the coefficients, by definition: the
most by which an optimality condition of the rows kept is violated.
"""


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False) + "\n"


def _named(result: Found) -> str:
    return f"{result['set']} ({result['C']:g}, {result['gamma']:.3g})"


def _times(over: float | None, under: float | None) -> str:
    return number(over / under) if over and under else NONE


def _tiny(value: float) -> str:
    return f"{value:.0e}"


# -------------------------------------------------------------------------------------- forgetting and SVC


def _forget(found: list[Found], settings: Found) -> str:
    lines = [
        [
            _named(r),
            str(r["features"]),
            str(r["n_support"]),
            str(r["n_margin"]),
            number(r["svc"]["median_ms"]),
            number(r["fit_ms"]),
            number(r["random"]["idsvm"]["learnt_again"]["mean_ms"]),
            number(r["support"]["idsvm"]["learnt_again"]["mean_ms"]),
        ]
        for r in found
    ]
    header = ["set (C, gamma)", "features", "SVs", "at margin", "SVC ms", "IDSVM.fit ms"]
    parts = [
        f"## One row of {settings['rows']:,} withdrawn\n",
        markdown([*header, "learn one ms", "learn one SV ms"], lines),
        _wrapped(f"""
        {settings["forgotten"]} rows are forgotten in calls of one, one after the other, then learnt again in
        calls of one ("learn one", of which some 0.4 ms are the checks of `partial_fit`). "SVC ms": retraining
        without one row, median of five.
        """),
    ]
    for group, words in (("random", "rows drawn at random"), ("support", "support vectors")):
        parts += [f"### {settings['forgotten']} {words}\n", _forget_table(found, group)]
    worst = [max(r[g]["idsvm"]["residual"] for r in found) for g in ("random", "support")]
    peer = [max(r[g]["tight_svc"]["residual"] for r in found) for g in ("random", "support")]
    parts.append(
        _wrapped(f"""
        "x": how many times as long the SVC takes, beside the mean. "df": largest difference to the decision
        values of an SVC with tolerance 1e-6 on the rows left, over 1,000 other rows, after all were
        forgotten. That SVC keeps its kernel values in single precision: its own residual is up to
        {_tiny(max(peer))}, that of IDSVM up to {_tiny(max(worst))}. LASVM: three epochs, then `forget`;
        "kept" are the rows that it had not dropped as idle, and its times are of these; rows dropped do not
        come back, hence its "df". "before": its difference to IDSVM when nothing was forgotten yet. Circles
        that made IDSVM learn all rows again:
        {sum(r["n_fallbacks"] for r in found)}.
        """)
    )
    return "\n".join(parts)


def _forget_table(found: list[Found], group: str) -> str:
    lines = []
    for r in found:
        ours, lasvm, svc = r[group]["idsvm"], r[group]["lasvm"], r["svc"]["median_ms"]
        lines.append(
            [
                r["set"],
                number(svc),
                *[number(ours[key]) for key in ("mean_ms", "median_ms", "largest_ms")],
                f"**{_times(svc, ours['mean_ms'])}**",
                _tiny(ours["difference"]),
                f"{lasvm['count']} of {ours['count']}",
                *[number(lasvm[key]) for key in ("mean_ms", "median_ms")],
                _times(svc, lasvm["mean_ms"]),
                number(lasvm["difference"], 2),
                number(r["lasvm_before"], 2),
            ]
        )
    middle = median(r["svc"]["median_ms"] / r[group]["idsvm"]["mean_ms"] for r in found)
    header = [
        "set",
        "SVC ms",
        "IDSVM mean ms",
        "median",
        "largest",
        "x",
        "df",
        "LASVM kept",
        "mean ms",
        "median",
    ]
    table = markdown([*header, "x", "df", "before"], lines)
    return f"{table}\nMedian over the sets: {number(middle)} times as fast as a new SVC.\n"


def _leave_one_out(found: list[Found], settings: Found) -> str:
    lines = [
        [
            _named(r),
            str(r["n_support"]),
            str(r["n_margin"]),
            number(r["idsvm_s"]),
            f"{r['svc_fits']:,}",
            number(r["svc_ms_a_fit"]),
            number(r["svc_s_for_all"]),
            f"**{_times(r['svc_s_for_all'], r['idsvm_s'])}**",
            f"{100 * r['error']:.1f}",
            f"{100 * r['error_on_done']:.1f}",
            f"{100 * r['svc_error_on_done']:.1f}",
            str(r["decisions_that_differ"]),
            _tiny(r["difference"]),
        ]
        for r in found
    ]
    header = [
        "set (C, gamma)",
        "SVs",
        "at margin",
        "leave_one_out s",
        "SVCs fitted",
        "ms each",
        "s for all",
        "x",
    ]
    errors = ["error %", "on those", "SVC's", "decisions that differ", "df"]
    text = """
    "SVCs fitted": machines fitted without one row each, in random order until they took 60 s; "s for all" is
    their mean times all rows. "on those": the errors over the rows for which an SVC was fitted. "df": largest
    difference of the decision values of the row left out, to an SVC with tolerance 1e-3.
    """
    title = f"## Each row of {settings['left_out']:,} left out once"
    return f"{title}\n\n{markdown([*header, *errors], lines)}\n{_wrapped(text)}"


# ---------------------------------------------------------------------------------------------- long passes


def _long(found: list[Found], settings: Found) -> str:
    parts = [f"## {settings['added']:,} rows added one by one\n"]
    header = ["rows", "ms a row", "SVs", "at margin", "residual", "sum y a", "MB"]
    windowed = [f"window {settings['window']:,}: ms", "SVs", "at margin", "residual", "sum y a", "MB"]
    for everything in (r for r in found if r["window"] is None):
        last = next(r for r in found if r["window"] is not None and r["set"] == everything["set"])
        lines = [
            [f"{p['rows']:,}", *_point(p), *_point(w)]
            for p, w in zip(everything["points"], last["points"], strict=True)
        ]
        ends = [r["points"][-1] for r in (everything, last)]
        parts += [
            f"### {_named(everything)}\n",
            markdown([*header, *windowed], lines),
            f"Refreshed {ends[0]['n_refreshes']} and {ends[1]['n_refreshes']} times, "
            f"learnt all again {ends[0]['n_fallbacks']} and {ends[1]['n_fallbacks']} times.\n",
        ]
    parts.append(
        _wrapped("""
        One `partial_fit` a row; times are means over the rows since the line above, and include the checks of
        each call. "MB": resident memory beyond that before the first row, with the default `cache_size` of
        200, each pass in a process of its own. It is what the process has from the system; where it is above
        `cache_size`, a part of it is free but in pieces.
        """)
    )
    return "\n".join(parts)


def _point(p: Found) -> list[str]:
    return [
        f"{p['ms_a_row']:.2f}",
        str(p["n_support"]),
        str(p["n_margin"]),
        _tiny(p["residual"]),
        _tiny(p["sum"]),
        f"{p['memory_mb']:.0f}",
    ]


def _start(found: list[Found], settings: Found) -> str:
    lines = [
        [
            _named(r),
            str(r["n_support"]),
            str(r["n_margin"]),
            number(r["fit_s"]),
            f"{number(r['svc_s'])} + {number(r['from_svc_s'])}",
            f"{number(r['lasvm_s'])} + {number(r['from_lasvm_s'])}",
            number(r["one_call_s"]),
            number(r["singly_s"]),
            _tiny(r["apart"]),
        ]
        for r in found
    ]
    header = ["set (C, gamma)", "SVs", "at margin", "fit", "SVC + from_svm", "LASVM + from_svm"]
    calls = ["partial_fit, one call", "one call a row", "apart"]
    text = """
    CPU seconds, once each. In the sums the first is the time of the machine that is taken over, the second
    that of `from_svm`. "apart": largest difference of decision values between `fit` and the four others, over
    1,000 other rows.
    """
    title = f"## Ways to an exact machine of {settings['rows']:,} rows"
    return f"{title}\n\n{markdown([*header, *calls], lines)}\n{_wrapped(text)}"


# ----------------------------------------------------------------------------------------------- LocalSVM


def _local(found: list[Found], settings: Found) -> str:
    accuracy = [
        [
            f"{r['set']} ({r['gamma']:.3g})",
            f"{r['start']} + {r['stream']}",
            str(r["test"]),
            *[f"{100 * value:.1f}" for value in (r["initial"], r["svc"]["accuracy"])],
            *[f"{100 * r[rule]['accuracy']:.1f}" for rule in RULES],
            *[_gap(r[rule]["gap"]) for rule in RULES],
        ]
        for r in found
    ]
    times = [
        [
            r["set"],
            number(r["svc"]["ms"]),
            number(1e3 * r["idsvm"]["ms_a_row"]),
            *[number(1e3 * r[rule]["ms_a_row"]) for rule in RULES],
            *[
                f"{number(1e3 * r[k]['first_fifth_ms'])}, {number(1e3 * r[k]['last_fifth_ms'])}"
                for k in RULES[1:]
            ],
            _times(r["grow"]["ms_a_row"], r["nu=2"]["ms_a_row"]),
            *[f"{r[rule]['neighbours']:.0f}" for rule in RULES],
            f"{r['default']['full_passes']:.0f}",
        ]
        for r in found
    ]
    columns = ["nu=1", "nu=2", "grow", "default"]
    spread = [
        f"{100 * max(abs(r[rule]['accuracy'] - r['svc']['accuracy']) for r in found):.1f}" for rule in RULES
    ]
    mean = [sum(r[rule]["accuracy"] - r["svc"]["accuracy"] for r in found) / len(found) for rule in RULES]
    return "\n".join(
        [
            "## LocalSVM: 20 % of the rows to start with, 40 % streamed, 40 % to test\n",
            markdown(
                [
                    "set (gamma)",
                    "start + stream",
                    "test",
                    "initial %",
                    "retrained %",
                    *[f"{c} %" for c in columns],
                    *[f"gap {c}" for c in columns],
                ],
                accuracy,
            ),
            _wrapped(f"""
            C = 1, means of {settings["splits"]} splits. "initial": an SVC of the start, "retrained": of
            start and stream. The thesis' rules are bare: a neighbourhood of nu sigma or one that grows, no
            full pass, no least number of neighbours; "default" is LocalSVM as it comes: nu = 2, at least 50
            neighbours, full passes. "gap": how far the dual objective is below that of an SVC with tolerance
            1e-6, relative, at the end of the stream. Accuracy beside retraining, mean over the sets in
            points:
            {", ".join(f"{c} {100 * m:+.2f}" for c, m in zip(columns, mean, strict=True))}; farthest:
            {", ".join(f"{c} {s}" for c, s in zip(columns, spread, strict=True))}.
            """),
            markdown(
                [
                    "set",
                    "SVC anew, ms",
                    "IDSVM µs a row",
                    *[f"{c} µs" for c in columns],
                    *[f"{c}: first, last fifth" for c in columns[1:]],
                    "grow / nu=2",
                    *[f"neighbours {c}" for c in columns],
                    "full passes",
                ],
                times,
            ),
            _wrapped("""
            CPU time of a streamed row, which come in five calls of `partial_fit`, a fifth each; calls of one
            row add some 0.4 ms each for the checks. "neighbours": mean over the updates by streamed rows.
            """),
        ]
    )


def _gap(value: float) -> str:
    return f"{value:.1e}" if abs(value) < 1e-3 else f"{value:.4f}"


def _local_stream(found: list[Found], settings: Found) -> str:
    parts = [f"### {settings['stream']:,} rows: does the cost of a row stay the same?\n"]
    for name in dict.fromkeys(r["set"] for r in found):
        here = [r for r in found if r["set"] == name]
        header = [f"{name}: rows", *[f"{r['rule']}: {w}" for r in here for w in ("µs a row", "kept")]]
        lines = []
        for points in zip(*[r["points"] for r in here], strict=True):
            cells = [c for p in points for c in (number(1e3 * p["ms_a_row"]), f"{p['n_kept']:,}")]
            lines.append([f"{points[0]['rows']:,}", *cells])
        parts.append(markdown(header, lines))
    return "\n".join(parts)
