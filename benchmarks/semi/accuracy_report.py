"""The tables of --accuracy: a line a set, ours against each over the sets, and where it did not help."""

from __future__ import annotations

import numpy as np

from ..harness.report import NONE, fill, fill_item, head, markdown, number
from ..harness.run import Data, Result
from ..harness.statistics import signed_rank
from .methods import BASELINES, LP, LS, OURS, OURS_AUTO, PULL, ST, SVM, SVM_R, UNTOLD

COLUMNS = (SVM, ST, LP, LS, SVM_R, PULL, f"{LP} + r", f"{LS} + r", OURS)
BEST_ALONE = f"best of {SVM_R} and {PULL}"
HELD = 0.5  # points: less is not called a gain or a loss

READING = f"""Per cent of the unlabeled rows labeled correctly, mean over the splits; the best of a line
in bold. All have the same rows, standardized where they are dense and of length 1, and a linear kernel
where they have one. *{SVM}*: `SVC(kernel="linear", C=1)` on the labeled rows alone. *{ST}*:
scikit-learn's `SelfTrainingClassifier` around it. *{LP}*, *{LS}*: `LabelPropagation` and
`LabelSpreading`, on the graph of 7 neighbors or on an RBF kernel with gamma 1 / (2 median squared
distance), of the two the one with the better mean by the true labels, which is in their favor. These
four are not told the share of positives. The others are told the true one and take so many of their
highest scores: *{SVM_R}* those of the same SVM, *{PULL}* the sums of y_i <x_i, x_j> over the labeled
rows. To the first the S3VM comes down where rho is 0, to the second with
`label_scores="similarity"`, as in the thesis;
so a gain over the best of these is what unlabeled rows brought. *{OURS}*: `kernel="linear"`, else the
defaults; in brackets with `kernel="auto"` where that is another kernel, namely RBF below 50 features."""
ESTIMATED = """The share of positives estimated by `SubmodS3VM` itself, on the worst splits and on the
published ones. *error* is the mean absolute error of the estimate, beside that of the shrunk frequency among
the labels, (n+ + 1) / (l + 2); *reliable* counts the splits on which the estimate called itself so. Told that
share: ours, the same SVM and the labels' pull. *true share* repeats ours, told the truth, on the same
splits."""


def mean(result: Result, who: str, where: str = "methods") -> float:
    return float(np.mean(result[where][who]["accuracy"]))


def _lines(results: list[Result], thesis: bool) -> str:
    rows = []
    for r in results:
        values = [mean(r, who) for who in COLUMNS]
        best = round(100 * max(values), 1)
        cells = [f"**{100 * v:.1f}**" if round(100 * v, 1) == best else f"{100 * v:.1f}" for v in values]
        if OURS_AUTO in r["methods"]:
            cells[-1] += f" ({100 * mean(r, OURS_AUTO):.1f})"
        shape = [f"{r['rows']}", f"{r['features']}", f"{100 * r['positives']:.0f}", f"{r['labels']}"]
        told = [f"{r['thesis']['svm']:.1f}", f"{r['thesis']['submod']:.1f}"] if thesis else []
        rows.append([r["set"], *shape, *cells, *told])
    header = ["set", "rows", "features", "positive %", "labels", *COLUMNS]
    return markdown(header + (["thesis: SVM", "thesis: SUBMOD"] if thesis else []), rows)


def _rivals(result: Result, where: str) -> dict[str, float]:
    """What ours is compared with; last, the better of the two that know the share and no unlabeled row."""
    means = {who: mean(result, who, where) for who in BASELINES if who in result[where]}
    return means | {BEST_ALONE: max(means[SVM_R], means[PULL])}


def _over_sets(results: list[Result], where: str = "methods") -> str:
    """Ours against each, one pair a set."""
    rows = []
    for who in _rivals(results[0], where):
        gains = 100 * np.array([mean(r, OURS, where) - _rivals(r, where)[who] for r in results])
        p = signed_rank(gains)
        verdict = "too few sets" if p is None else "undecided" if p >= 0.05 else "higher"
        if verdict == "higher" and np.median(gains) < 0:
            verdict = "**lower**"
        counts = [f"{np.sum(gains > 0)}", f"{np.sum(gains < 0)}"]
        middle = [f"{gains.mean():+.1f}", f"{np.median(gains):+.1f}", NONE if p is None else number(p, 2)]
        rows.append([who, "no" if who in UNTOLD else "yes", verdict, *counts, *middle])
    header = [f"{OURS} against", "told r", "verdict", "higher on", "lower on", "mean", "median", "p"]
    return markdown(header, rows)


def _helped(results: list[Result], where: str = "methods") -> str:
    """Where the unlabeled rows brought anything, against the best that is told r and does not use them."""
    sides: dict[str, list[str]] = {"helped": [], "made no difference": [], "did harm": []}
    for r in results:
        gain = 100 * (mean(r, OURS, where) - _rivals(r, where)[BEST_ALONE])
        side = "helped" if gain > HELD else "did harm" if gain < -HELD else "made no difference"
        sides[side].append(f"{r['set']} ({r['labels']} labels, {gain:+.1f})")
    words = [f"- Unlabeled rows {side}: {', '.join(names) or 'nowhere'}." for side, names in sides.items()]
    return "\n".join([fill_item(line) for line in words]) + "\n"


def _every(results: list[Result]) -> str:
    """The methods that take no time, on all random splits."""
    names = (SVM, SVM_R, PULL, OURS, OURS_AUTO)
    rows = []
    for r in results:
        found = r["every_split"]
        cells = [f"{100 * mean(r, who, 'every_split'):.1f}" if who in found else NONE for who in names]
        ahead = np.mean(np.array(found[OURS]["accuracy"]) > np.array(found[SVM_R]["accuracy"]))
        rows.append([r["set"], *cells, f"{100 * ahead:.0f}"])
    return markdown(["set", *names, f"splits ahead of {SVM_R} %"], rows)


def _estimates(results: list[Result]) -> str:
    rows = []
    for r in (r for r in results if r["estimated"]):
        e, splits = r["estimated"], len(r["estimated"])
        truth = np.array([x["share"] for x in e])
        errors = [np.mean(np.abs(np.array([x[key] for x in e]) - truth)) for key in ("estimate", "by_labels")]
        told = [100 * np.mean([x["accuracy"][who] for x in e]) for who in (OURS, SVM_R, PULL)]
        plain = [100 * np.mean(r["methods"][who]["accuracy"][:splits]) for who in (OURS, SVM)]
        rows.append(
            [
                f"{r['set']}, {r['labels']} labels",
                f"{truth.mean():.2f}",
                f"{np.mean([x['estimate'] for x in e]):.2f}",
                *[f"{error:.2f}" for error in errors],
                f"{sum(x['reliable'] for x in e)} of {splits}",
                *[f"{value:.1f}" for value in (*told, *plain)],
            ]
        )
    header = ["set", "share", "estimate", "error", "error by labels", "reliable"]
    header += [f"{OURS}, r estimated", SVM_R, PULL, f"{OURS}, true share", SVM]
    return markdown(header, rows)


def _seconds(results: list[Result]) -> str:
    names = [who for who in (*COLUMNS, OURS_AUTO) if not who.endswith("+ r") or who == SVM_R]
    rows = []
    for who in names:
        cpu = [np.median(r["methods"][who]["cpu"]) for r in results if who in r["methods"]]
        if cpu:
            rows.append([who, number(float(np.median(cpu))), number(float(np.max(cpu)))])
    return markdown(["CPU seconds a fit", "median of sets", "slowest set"], rows)


def report(data: Data) -> str:
    """Worst splits, all splits, estimated shares, published splits, time."""
    results, settings = data["results"], data["settings"]
    worst = [r for r in results if r["protocol"] == "worst"]
    subsets = [r for r in results if r["protocol"] != "worst"]
    parts = [*head("Labels for unlabeled rows", data), fill(READING)]
    if worst:
        parts += [
            f"## Worst splits: {settings['labels']} labels, the {settings['kept']} of {settings['draws']} "
            "random splits on which the SVM is worst\n",
            _lines(worst, True),
            fill(THESIS),
            _over_sets(worst),
            _helped(worst),
            f"## All {settings['draws']} splits\n",
            fill(EVERY),
            _every(worst),
            _over_sets(worst, "every_split"),
            _helped(worst, "every_split"),
        ]
    if results:
        parts += ["## With an estimated share of positives\n", fill(ESTIMATED), _estimates(results)]
    if subsets:
        few = [r for r in subsets if r["protocol"] != "lab100"]
        parts += [
            "## Published labeled subsets\n",
            fill(SUBSETS),
            _lines(subsets, False),
            fill("Over the sets, 10 labels each, 50 on g50c and text_macwin:"),
            _over_sets(few),
            _helped(subsets),
        ]
    return "\n".join([*parts, "## Time\n", _seconds(results)])


THESIS = """The thesis does not say how its features were scaled nor how many labels it gave, so the last two
columns are no target; newsgroups, w8a and text stand in for its News20-small, W6A and Text, and of sets with
more than 1,000 rows here 1,000 are drawn. Below, each set is a pair of Wilcoxon's signed-rank test,
two-sided; *mean* and *median* are gains of ours in percentage points. No correction is made for the number
of lines."""
EVERY = """The worst splits are chosen by the SVM's own errors, so that anything else looks better beside it
there. On all random splits, with the methods that take no time:"""
SUBSETS = """Those that come with the sets: all twelve of 10 labels, all ten of 50, the first four of 100."""
