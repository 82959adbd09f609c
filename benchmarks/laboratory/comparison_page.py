"""The page `docs/comparison.md`: everlearn beside what one could install instead."""

from __future__ import annotations

from statistics import fmean, median
from typing import Any

from ..active_learning.data import PUBLISHED as AUBC
from ..harness.report import NONE, fill, markdown, number
from ..linkage.curves import PUBLISHED as LINKED
from ..river_tracks.scores import PUBLISHED as RIVER
from .papers_page import NOTE
from .results import Results
from .words import listed, points

INTRODUCTION = """
everlearn beside libraries that one could install instead, on the same rows. All figures come from recorded
runs; each section names its file and the claim in [The papers](papers.md) that judges it. Where another
library is ahead, its figure is in bold like ours would be. When to use something else altogether: [When not
to use it](when-not-to-use-it.md).
"""
SCORES = "streams-scores"
STREAMS = {
    "everlearn, as it comes": "`NeverEndingLearner`, defaults",
    "everlearn, asking at random": "the same, asking at random",
    "everlearn, LASVM(C=10) alone": "the same with `LASVM(C=10)`",
    "River LogisticRegression(0.01)": "River, logistic regression, rate 0.01",
    "River LogisticRegression(0.1)": "River, logistic regression, rate 0.1",
    "River ARFClassifier": "River, adaptive random forest",
    "River KNNClassifier": "River, k-nearest neighbors",
    "scikit-learn forest, all labels": "scikit-learn, random forest, retrained",
    "scikit-learn forest, last 200": "scikit-learn, random forest, last 200 labels",
    "no change": "no change",
}


def best_bold(
    rows: list[list[Any]], columns: range, smallest: bool = False, digits: int = 3
) -> list[list[str]]:
    """Numbers as text, the best of each column in bold."""
    shown = [[str(row[0]), *[""] * (len(row) - 1)] for row in rows]
    for column in columns:
        values = [row[column] for row in rows if row[column] is not None]
        best = (min if smallest else max)(values) if values else None
        for line, row in zip(shown, rows, strict=True):
            value = row[column]
            text = NONE if value is None else number(value, digits) if digits else f"{value:.1f}"
            line[column] = f"**{text}**" if value is not None and value == best else text
    return shown


def _section(title: str, text: str, table: str, part: str, claim: str, picture: str = "") -> str:
    file = f"[{part}](../benchmarks/results/{part}.json)"
    parts = [f"## {title}\n", fill(text), *([picture + "\n"] if picture else []), table]
    return "\n".join([*parts, fill(f"Figures: {file}. Claim: `{claim}`.")])


def _fit(results: Results) -> str:
    data = results.data("lasvm-table")["results"]
    rows = []
    for result in data:
        peers = result["peers"]
        times = [peers[key].get("median_cpu") if key in peers else None for key in ("ours", "svc", "intelex")]
        rows.append([f"{result['title']} ({result['rows']:,} x {result['features']:,})", *times])
    lines = []
    for row in rows:
        best = min(value for value in row[1:] if value is not None)
        texts = [NONE if v is None else f"**{number(v)}**" if v == best else number(v) for v in row[1:]]
        ratios = [NONE if v is None or row[1] is None else number(v / row[1]) for v in row[2:]]
        lines.append([row[0], *texts, *ratios])
    header = ("rows x features", "`LASVM`", "`SVC`", "intelex", "SVC / ours", "intelex / ours")
    text = (
        "The same SVM, computed by `LASVM.fit`, scikit-learn's `SVC` and scikit-learn-intelex: CPU "
        "seconds with one thread, "
        "medians of interleaved fits. Block sizes and thresholds of the core were tuned on these sets."
    )
    return _section("Training an SVM", text, markdown(header, lines), "lasvm-table", "everlearn-speed-fit")


def _streams(results: Results) -> str:
    rows: list[list[Any]] = []
    rates = sorted({dict(row.at)["rate"] for row in results.rows(SCORES)})
    whole = len(
        results.pick(SCORES, "mcc", learner="everlearn, as it comes", at={"rate": rates[0]}).by("set")
    )
    for learner, title in STREAMS.items():
        row: list[Any] = [title]
        for rate in rates:
            found = results.pick(SCORES, "mcc", learner=learner, at={"rate": rate}).by("set")
            row.append(100 * fmean(found.values()) if len(found) == whole else None)
        rows.append(row)
    header = ("labels", *(f"{rate:.0%}" for rate in rates))
    text = (
        f"Matthews correlation times 100, mean of {whole} streams of at most 10,000 rows, predicted "
        "in batches of 100 "
        "before any label is known; everyone has the same number of labels."
    )
    table = markdown(header, best_bold(rows, range(1, len(rates) + 1), digits=0))
    return _section("Streams with few labels", text, table, SCORES, "everlearn-streams-scores")


def _tracks(results: Results) -> str:
    part = "river_tracks-scores"
    names = list(RIVER)
    found = {learner: {} for learner in dict.fromkeys(row.learner for row in results.rows(part))}
    for row in results.pick(part, "accuracy"):
        found[row.learner][row.set] = 100 * row.value
    rows: list[list[Any]] = [
        [_code(learner), *(table.get(n) for n in names)] for learner, table in found.items()
    ]
    titles = dict.fromkeys(key for published in RIVER.values() for key in published)
    rows += [[f"published 2023: {t}", *(_percent(RIVER[n].get(t)) for n in names)] for t in titles]
    same = [
        f"{learner.removeprefix('River, ')} on {n}"
        for learner in found
        for n in names
        if (figure := RIVER[n].get(learner.removeprefix("River, ")))
        and round(found[learner].get(n, 0), 2) == round(100 * figure, 2)
    ]
    text = (
        "River's own benchmark: accuracy in percent of predictions one row at a time, before the "
        "label, beside what "
        "River published for its learners in 2023. Our learners have default parameters. River's own "
        "figures that "
        f"come out here to the digit, with River {_version(results, part)}: {listed(same)}."
    )
    text += f" {_cost_of_tracks(results, part)}"
    lines = best_bold(rows, range(1, len(names) + 1), digits=0)
    exact = [
        [line[0], *(_two(cell, row[i]) for i, cell in enumerate(line[1:], 1))]
        for line, row in zip(lines, rows, strict=True)
    ]
    return _section(
        "River's tracks",
        text,
        markdown(("", *names), exact),
        part,
        "everlearn-river-tracks",
        picture="![Accuracy of our learners and of River's on four streams](images/river-tracks.png)",
    )


def _cost_of_tracks(results: Results, part: str) -> str:
    """What a row costs, as accuracy is not all."""
    seconds, rows = (results.pick(part, metric, set="elec2") for metric in ("cpu", "rows"))
    count = rows.mean()
    each = ", ".join(
        f"{_code(learner)} {number(1000 * time / count)}"
        for learner, time in seconds.by("learner").items()
        if learner in ("AdaptiveSVM()", "LASVM()", "River, ALMA", "River, logistic regression")
    )
    leads = {
        name: results.pick(part, "accuracy", set=name, learner="AdaptiveSVM()").mean() - max(known.values())
        for name, known in RIVER.items()
    }
    least = min(leads, key=lambda name: abs(leads[name]))
    size = results.pick(part, "rows", set=least).mean()
    return (
        f"CPU milliseconds for a row of elec2: {each}. The smallest lead over what was published, "
        f"{points(leads[least])} on {least}, is {number(leads[least] * size, 1)} of its {size:,.0f} rows."
    )


def _version(results: Results, part: str) -> str:
    return str(results.data(part)["machine"]["packages"]["river"])


def _code(learner: str) -> str:
    name, _, rest = learner.partition(", ")
    return f"`{name}`{', ' + rest if rest else ''}" if name.endswith(")") else learner


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _two(cell: str, value: float | None) -> str:
    if value is None:
        return NONE
    return f"**{value:.2f}**" if cell.startswith("**") else f"{value:.2f}"


def _budget(results: Results) -> str:
    part = "budget-throughput"
    streams = [r for r in results.data(part)["results"] if "learners" in r]
    titles = list(streams[0]["learners"])
    rows: list[list[Any]] = []
    for name in titles:
        if "unbounded" in streams[0]["learners"][name]["family"]:
            continue
        row: list[Any] = [f"{streams[0]['learners'][name]['family']}: {name}"]
        for stream in streams:
            found = stream["learners"][name]
            rate = found["median"]["block_both"] or found["median"]["single_both"]
            row += [found["mean"]["auc"], rate]
        rows.append(row)
    lines = best_bold(rows, range(1, 2 * len(streams) + 1))
    for line, row in zip(lines, rows, strict=True):
        for column in range(2, 2 * len(streams) + 1, 2):
            bold = line[column].startswith("**")
            text = f"{row[column]:,.0f}"
            line[column] = f"**{text}**" if bold else text
    header = ["", *(cell for stream in streams for cell in (f"AUC, {stream['stream']}", "rows/s"))]
    text = (
        "Fixed memory: a budget of 100 rows (100 for each class with KOIL and OAM), 30,000 rows of a "
        "rare class. Rows a second of "
        "predicting and learning, in blocks of 500 where a library takes blocks, one row at a time in River."
    )
    return _section("Learning on a budget", text, markdown(header, lines), part, "everlearn-speed-budget")


def _forgetting(results: Results) -> str:
    rows = [r for r in results.data("incremental")["results"] if r["part"] == "forget"]
    lines = [
        (
            f"{r['set']} ({r['n_support']:,} support vectors)",
            number(r["svc"]["mean_ms"]),
            f"**{number(r['random']['idsvm']['mean_ms'])}**",
            number(r["svc"]["mean_ms"] / r["random"]["idsvm"]["mean_ms"]),
            f"**{number(r['support']['idsvm']['mean_ms'])}**",
            number(r["svc"]["mean_ms"] / r["support"]["idsvm"]["mean_ms"]),
        )
        for r in rows
    ]
    header = (
        "one of 5,000 rows",
        "retrain `SVC`, ms",
        "`IDSVM.forget`, ms",
        "ratio",
        "a support vector, ms",
        "ratio",
    )
    text = "Removing one row exactly, against retraining on the others."
    return _section("Forgetting", text, markdown(header, lines), "incremental", "everlearn-forgetting-speed")


def _asking(results: Results) -> str:
    lines = [
        (
            r["peer"],
            f"{r['questions']:,}",
            number(r["total"]),
            number(1000 * median(r["seconds"])),
            f"{100 * r['error']:.2f}",
        )
        for r in results.data("query_strategies-questions")["results"]
    ]
    header = ("loop", "queries", "CPU s", "ms a query", "test error %")
    text = (
        "Active learning on a pool of 60,000 rows (mnist, 8 against the rest), 500 queries, stopped "
        "after 150 seconds. Whoever can "
        "afford all labels is better served by one `fit`."
    )
    return _section(
        "Asking for labels",
        text,
        markdown(header, lines),
        "query_strategies-questions",
        "everlearn-asking-cost",
    )


def _public(results: Results) -> str:
    part = "active_learning-aubc"
    ours = ("auto", "margin", "uniform")
    lines = []
    for result in results.data(part)["results"]:
        name, areas = result["set"], result["aubc"]
        row = [*AUBC[name], *(fmean(areas[how]) for how in ours)]
        texts = [f"**{v:.4f}**" if v == max(row) else f"{v:.4f}" for v in row]
        pairs = [a - b for a, b in zip(areas["auto"], areas.get("svc", []), strict=False)]
        lines.append([name, *texts, f"{fmean(pairs):+.4f}" if pairs else NONE])
    header = (
        "area under the budget curve",
        "published: margin",
        "published: uniform",
        "`ActiveLearner`",
        "full margin",
        "random",
        "less `SVC`",
    )
    text = (
        "A public benchmark (Lu, Li and Lin, arXiv 2306.08954) on the data sets that are at hand: accuracy "
        "over all queries, one label at a time until the pool is used up. RBF SVM with C = 1 and gamma = 1 / "
        "features. The random splits are not those of the authors: differences below 0.005 say nothing. "
        "Last column: `ActiveLearner` less an `SVC` that is retrained for every label, on the same splits."
    )
    return _section(
        "Public active-learning benchmark", text, markdown(header, lines), part, "everlearn-asking-public"
    )


def _linkage(results: Results) -> str:
    part = "linkage-peers"
    sizes = ("0", "50", "100", "250", "500", "all")
    lines = []
    for name in dict.fromkeys(row.set for row in results.rows(part)):
        rows: list[list[Any]] = []
        for tool in dict.fromkeys(row.learner for row in results.pick(part, set=name)):
            means = {s: results.pick(part, f"runs.{s}", set=name, learner=tool) for s in sizes}
            rows.append(
                [f"{name}: {tool}", *(fmean(found.values) if found else None for found in means.values())]
            )
        lines += best_bold(rows, range(1, len(sizes) + 1), digits=0)
    text = (
        "F1 in percent on the same pairs after a number of labels. The comparisons of the other "
        "tools were chosen by us and not "
        "tuned; splink learns without labels. Published, with all labels: "
        + "; ".join(
            f"{name} {found}" for name, found in LINKED.items() if name in ("dblp_acm", "amazon_google")
        )
        + "."
    )
    header = ("", "no labels", *sizes[1:-1], "all")
    return _section("Record linkage", text, markdown(header, lines), part, "everlearn-asking-linkage")


def _semi(results: Results) -> str:
    names = ("SVM + r", "SubmodS3VM", "self-training", "propagation + r", "spreading + r")
    tables = {
        n: results.pick("semi-accuracy", "accuracy", learner=n, at={"protocol": "worst"}).by("set")
        for n in names
    }
    rows = [[key, *(100 * tables[n][key] for n in names)] for key in tables["SubmodS3VM"]]
    rows.append(["*mean*", *(fmean(row[i] for row in rows) for i in range(1, len(names) + 1))])
    lines = []
    for row in rows:
        best = max(row[1:])
        lines.append([row[0], *(f"**{v:.1f}**" if v == best else f"{v:.1f}" for v in row[1:])])
    text = (
        "Four labels, the ten of 100 splits on which an SVM is worst: percent of the unlabeled rows "
        "labeled correctly. "
        '"+ r": told the share of positives. Label propagation and spreading (scikit-learn) have the better '
        "of two graphs."
    )
    header = ("", *names)
    return _section(
        "Few labels, many rows", text, markdown(header, lines), "semi-accuracy", "emara-table-III.2"
    )


def _calibration(results: Results) -> str:
    part = "calibration-tables"
    names = list(dict.fromkeys(row.learner for row in results.rows(part) if row.learner))
    rows = [
        [
            f"`{n}`".replace("`, ", "`, "),
            *(fmean(results.pick(part, m, learner=n).by("set").values()) for m in ("brier", "ece", "cpu")),
        ]
        for n in names
    ]
    text = (
        "Calibrated probabilities of an SVM on eight tables: mean Brier score, calibration error and CPU "
        "seconds; smaller is better."
    )
    table = markdown(("", "Brier", "ECE", "CPU s"), best_bold(rows, range(1, 4), smallest=True))
    return _section("Probabilities", text, table, part, "everlearn-calibration-tables")


def comparison_page(results: Results) -> str:
    """The whole page."""
    makers = (_fit, _tracks, _streams, _budget, _forgetting, _asking, _public, _linkage, _semi, _calibration)
    parts = ["# A fair comparison\n", NOTE + "\n", fill(INTRODUCTION)]
    return "\n".join([*parts, *(make(results) for make in makers)])
