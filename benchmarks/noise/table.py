"""Every learner on the sets of the thesis' chapter 6: time, errors, sizes and kernel values."""

from __future__ import annotations

from typing import Any

from ..harness.machine import say
from ..harness.report import NONE, head, markdown, middle, number, remarks
from ..harness.run import Data, Run
from ..harness.timing import Comparison, comparison
from .data import TABLE, THESIS, table_task
from .peers import PEERS, chosen, scores

NAMES = tuple(TABLE)
QUICK_NAMES = ("usps", "usps+N", "banana")
LEARNERS = ("svc", "ours", "full", "g", "nc", "i", "svmr", "svmr100", "ramp")
SLOW = ("svmr", "svmr100", "ramp")  # left out of a quick run that does not name them
KEEPS_ALL = ("svmr", "ramp")  # one line of gradients for every row ever seen, so not on large sets
KEEPS_ALL_ROWS = 10_000


class NoiseComparison(Comparison):
    """One data set: every learner reports its g-means and its kernel values, too."""

    def round(self, name: str) -> None:
        """One more fit; the test rows are predicted after the first, which is the same as all others."""
        entry, worker = self.result["peers"][name], self.workers[name]
        answer = worker.fit(self.settings["limit"])
        facts = answer.pop("facts")
        entry["fits"].append(answer)
        entry.update({k: facts[k] for k in ("n_sv", "n_kernel_evaluations", "note") if k in facts})
        if len(entry["fits"]) == 1:
            entry["grown_mb"] = answer["grown_mb"]
            entry.update(scores(self.task, worker.ask("predict", self.settings["limit"])["labels"]))
        say(
            f"{self.task.title}: {entry['label']} {number(answer['cpu'])} s, "
            f"error {100 * entry['error']:.2f} %, {entry['n_sv']} support vectors"
        )


def run_part(run: Run) -> None:
    """Run the learners on the sets; results are on disk after every set."""
    settings = run.settings
    slow = not run.quick or settings["peers"]
    wanted = [name for name in chosen(LEARNERS, settings["peers"]) if slow or name not in SLOW]
    run.note(peers=wanted)
    for key in run.missing(run.chosen(NAMES, QUICK_NAMES)):
        say(f"{key}: reading")
        task = table_task(key, settings["rows"])
        large = len(task.y_train) > KEEPS_ALL_ROWS
        peers = {name: PEERS[name] for name in wanted if not (large and name in KEEPS_ALL)}
        with comparison(task, peers, settings, NoiseComparison) as line:
            line.run()
        run.add(line.result | {"thesis_n_sv": THESIS[key]})


def _cell(result: dict[str, Any], name: str, text: Any) -> str:
    entry = result["peers"].get(name)
    if entry is None:
        return NONE
    if not entry["fits"]:
        return f">{entry['stopped_after']:.0f} s" if entry.get("stopped_after") else "failed"
    return str(text(entry))


def _seconds(entry: dict[str, Any]) -> str:
    return number(middle(entry, unit="cpu")) + "*" * entry["once"]


def _values(entry: dict[str, Any]) -> str:
    count = entry.get("n_kernel_evaluations")
    return NONE if count is None else number(count / 1e6)


def _quotient(result: dict[str, Any], over: str, under: str, what: str) -> float | None:
    upper, lower = (result["peers"].get(name, {}).get(what) for name in (over, under))
    return None if upper is None or not lower else upper / lower


def _support(result: dict[str, Any], name: str) -> str:
    printed = result["thesis_n_sv"].get(name)
    return _cell(result, name, lambda e: f"{e['n_sv']}" + (f" / {printed}" if printed else ""))


def _with_thesis(result: dict[str, Any], over: str) -> str:
    found, printed = _quotient(result, over, "g", "n_sv"), result["thesis_n_sv"]
    return f"{NONE if found is None else f'{found:.2f}'} / {printed[over] / printed['g']:.2f}"


def report(data: Data) -> str:
    """Time, error, size and kernel values, and what the thesis prints."""
    results, settings = data["results"], data["settings"]
    names = settings["peers"]
    labels = [PEERS[name].label for name in names]
    parts = head("Learners for noisy labels on the sets of the thesis", data)
    if settings["rows"]:
        parts.append(f"**At most {settings['rows']} rows of each set.**\n")
    parts.append(
        "One C and one gamma a set for all. LASVM: one epoch and the finishing step. FullSVM, LASVMG,\n"
        "LASVMNC, LASVMI, OnlineSVMR: one pass, no bias. usps: digit 0, rows of unit length, a fit to the\n"
        "printed counts (the thesis' scaling is not known, and its split is another one); + 10 % noise:\n"
        "training labels flipped, test clean.\n"
    )
    for title, text in (
        ("CPU seconds of fit", _seconds),
        ("Test error in %", lambda e: f"{100 * e['error']:.2f}"),
        ("g-means in %", lambda e: f"{100 * e['g_means']:.2f}"),
    ):
        first = title.startswith("CPU")
        header = ["set (C, gamma)", "rows x d"] if first else ["set"]
        rows = [
            [
                *(
                    [f"{r['title']} ({r['C']:g}, {r['gamma']:g})", f"{r['rows']} x {r['features']}"]
                    if first
                    else [r["title"]]
                ),
                *[_cell(r, name, text) for name in names],
            ]
            for r in results
        ]
        parts += [f"## {title}\n", markdown([*header, *labels], rows)]
        if first:
            parts.append(
                "Medians of interleaved fits, one process a learner. `*`: fitted once. `>`: stopped.\n"
            )
    parts += [
        "## Support vectors: here / in the thesis\n",
        markdown(["set", *labels], [[r["title"], *[_support(r, name) for name in names]] for r in results]),
        "## Kernel values in millions\n",
        markdown(
            ["set", *labels], [[r["title"], *[_cell(r, name, _values) for name in names]] for r in results]
        ),
        "## Ratios\n",
        markdown(
            ["set", "s Full/G", "s SVC/NC", "s SVC/G", "s G/NC", "SVs NC/G (thesis)", "SVs I/G (thesis)"],
            [
                [
                    r["title"],
                    *[
                        number(_quotient(r, over, under, "median_cpu"))
                        for over, under in (("full", "g"), ("svc", "nc"), ("svc", "g"), ("g", "nc"))
                    ],
                    *[_with_thesis(r, name) for name in ("nc", "i")],
                ]
                for r in results
            ],
        ),
        "s: CPU seconds. SVs: here / in the thesis.\n",
        remarks(results),
    ]
    return "\n".join(parts)
