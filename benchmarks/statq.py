"""Statistical queries: are the tables of StatQSVM, IncrSVM and QuerySVM met, and is margin asking better?

    python benchmarks/statq.py                        the three sets
    python benchmarks/statq.py --only cancer          some of them: cancer, twonorm, covertype
    python benchmarks/statq.py --covertype-rows 50000 more than 8,000 rows of covertype
    python benchmarks/statq.py --quick                a trial: few rows, few steps, one run

Every learner is linear with C = 1 and sees the same random 90 % of the rows. `used` and `examined` are shares
of these, as the tables count them: without the walk that ends a fit, and without the rows of T. `labels` is
what was read in truth. In brackets stands what the plain implementation behind the tables found, on splits of
its own; `within` says whether the accuracies differ by at most 1.5 of its SD. Not in the tables: the smooth
variants, and margin asking (`query.Margin`, 59 drawn, LASVM one row at a time) at the number of labels that
the line it names has read.

The folder with the data sets is taken from EVERLEARN_DATA; twonorm needs none. Results go to `--out`: JSON
and a Markdown report, also printed. One thread.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from _worker import limit_threads
from lasvm import _chosen, _data_folder_missing

SETS = ("cancer", "twonorm", "covertype")
# chunk, steps, steps of Query, runs
SIZES = {"cancer": (26, 24, 600, 10), "twonorm": (50, 20, 250, 3), "covertype": (60, 12, 180, 3)}
# accuracy %, its SD, D, used, examined, support vectors
TABLES: dict[str, dict[str, tuple[float, ...]]] = {
    "cancer": {
        "Batch": (96.62, 1.71, 0, 1, 1, 55),
        "Incr": (96.47, 1.58, 0.83, 1, 1, 52),
        "Query, keep all": (97.21, 1.29, 1.09, 0.109, 0.109, 40),
        "Query, keep sv": (97.35, 1.16, 1.07, 0.126, 0.126, 40),
        "StatQ, c p_nm/p": (95.88, 1.67, 1.77, 0.626, 0.792, 16),
        "StatQ, p_nm/p": (95.74, 1.29, 2.13, 0.051, 0.058, 8),
        "StatQ robust": (95.74, 2.64, 1.56, 0.642, 0.794, 21),
    },
    "twonorm": {
        "Batch": (97.57, 0.44, 0, 1, 1, 1022),
        "Incr": (96.13, 0.33, 11.26, 0.058, 0.058, 54),
        "Query, keep all": (97.53, 0.49, 9.21, 0.0167, 0.0167, 169),
        "Query, keep sv": (96.88, 0.65, 10.63, 0.0167, 0.0167, 67),
        "StatQ, c p_nm/p": (94.58, 1.81, 12.26, 0.057, 0.090, 28),
        "StatQ, p_nm/p": (95.27, 0.83, 14.15, 0.0046, 0.0058, 14),
        "StatQ robust": (96.62, 0.68, 11.34, 0.057, 0.120, 60),
    },
    "covertype": {
        "Batch": (79.08, 0.31, 0, 1, 1, 3941),
        "Incr": (77.50, 1.82, 5.70, 0.108, 0.108, 427),
        "Query, keep all": (77.58, 0.69, 6.00, 0.033, 0.033, 192),
        "Query, keep sv": (63.00, 10.33, 6.72, 0.033, 0.033, 131),
        "StatQ, c p_nm/p": (71.25, 8.46, 5.69, 0.106, 0.177, 485),
        "StatQ robust": (76.46, 1.87, 5.62, 0.107, 0.173, 508),
    },
}
MARGIN_AT = ("StatQ robust", "StatQ smooth", "StatQ smooth, frugal")
MEASURES = ("accuracy", "distance", "used", "examined", "support", "labels", "seconds")
QUICK_ROWS = 600


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", metavar="SETS", help="comma-separated data sets")
    parser.add_argument("--runs", type=int, help="runs of each set (default 10, 3 and 3)")
    parser.add_argument("--covertype-rows", type=int, default=8_000, help="rows of covertype (default 8,000)")
    parser.add_argument("--quick", action="store_true", help="a trial on few rows")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if args.covertype_rows < 500 or (args.runs is not None and args.runs < 1):
        parser.error("--runs must be at least 1, --covertype-rows at least 500")
    return args


def rows_of(name: str, seed: int, covertype_rows: int) -> tuple[Any, Any]:
    """All rows of a set and their labels, -1 and 1."""
    import numpy as np

    from everlearn.datasets import load, make_twonorm

    if name == "twonorm":
        return make_twonorm(20_000, random_state=seed)
    if name == "cancer":
        data = load("breast_cancer_wisconsin")
        return (data.X.astype(np.float64) - 1) / 9, np.where(data.y == 1, 1, -1)
    data = load("covtype")
    chosen = np.random.RandomState(seed).permutation(np.flatnonzero(data.y <= 2))[:covertype_rows]
    X = data.X[chosen, :10].astype(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(data.y[chosen] == 1, 1, -1)


def learners(name: str, quick: bool, seed: int) -> dict[str, Any]:
    from everlearn import IncrSVM, QuerySVM, StatQSVM

    chunk, steps, queries, _ = SIZES[name]
    if quick:
        steps, queries = 3, 20
    common: dict[str, Any] = {"chunk": chunk, "random_state": seed}
    frugal: dict[str, Any] = {"keep": "all", "test_share": None}
    return {
        "Incr": IncrSVM(**common, max_iter=steps),
        "Query, keep all": QuerySVM(**common, max_iter=queries),
        "Query, keep sv": QuerySVM(**common, max_iter=queries, keep="sv"),
        "StatQ, c p_nm/p": StatQSVM(**common, max_iter=steps, robust=False),
        "StatQ, p_nm/p": StatQSVM(**common, max_iter=steps, robust=False, stopping="p"),
        "StatQ robust": StatQSVM(**common, max_iter=steps),
        "StatQ smooth": StatQSVM(**common, max_iter=steps, sampling="smooth"),
        "StatQ smooth, frugal": StatQSVM(**common, max_iter=steps, sampling="smooth", **frugal),
    }


def margin_asking(X: Any, y: Any, chunk: int, labels: int, seed: int) -> Any:
    """LASVM on a random chunk, then on one row after the other, the nearest to the boundary of 59 drawn."""
    import numpy as np

    from everlearn import LASVM
    from everlearn.query import Margin

    order = np.random.RandomState(seed).permutation(len(y))
    while len(set(y[order[:chunk]])) < 2:
        order = np.random.RandomState(seed := seed + 1).permutation(len(y))
    first, rest = order[:chunk], order[chunk:]
    model = LASVM(kernel="linear", random_state=seed).partial_fit(X[first], y[first], classes=[-1, 1])
    rule = Margin(random_state=seed)
    for draw in range(min(labels - chunk, len(rest))):
        place = int(rule.query(model, X[rest], n=1, draw=draw)[0])
        model.partial_fit(X[rest[place]][np.newaxis], y[rest[place]][np.newaxis])
        rest[place] = rest[-1]
        rest = rest[:-1]
    return model.finish()


def one_run(name: str, seed: int, args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Every learner on one split, by its name."""
    import numpy as np
    from sklearn.svm import SVC

    from everlearn.metrics.support_sets import support_set_distance

    X, y = rows_of(name, seed, args.covertype_rows)
    order = np.random.RandomState(seed).permutation(len(y))
    if args.quick:
        order = order[:QUICK_ROWS]
    test, train = order[: len(order) // 10], order[len(order) // 10 :]
    X_test, y_test, X, y = X[test], y[test], X[train], y[train]
    found: dict[str, dict[str, Any]] = {}

    def note(line: str, model: Any, seconds: float, support: Any, **counts: Any) -> None:
        found[line] = {
            "accuracy": 100 * float(np.mean(model.predict(X_test) == y_test)),
            "distance": support_set_distance(support, batch_support),
            "support": support.shape[0],
            "seconds": seconds,
            **counts,
        }

    start = perf_counter()
    batch = SVC(kernel="linear", cache_size=1000).fit(X, y)
    batch_support = X[batch.support_]
    note("Batch", batch, perf_counter() - start, batch_support, used=1.0, examined=1.0, labels=len(y))
    for line, model in learners(name, args.quick, seed).items():
        start = perf_counter()
        model.fit(X, y)
        note(
            line,
            model,
            perf_counter() - start,
            X[model.support_],
            used=model.n_used_ / len(y),
            examined=model.history_[model.n_iter_ - 1]["examined"] / len(y),
            labels=getattr(model, "n_labels_", model.n_examined_),
            stopped=model.stopped_,
            correlation=_correlation(model, X, y, batch_support) if line == "StatQ robust" else None,
        )
    for line in MARGIN_AT:
        labels = int(found[line]["labels"])
        start = perf_counter()
        model = margin_asking(X, y, SIZES[name][0], labels, seed)
        share = labels / len(y)
        seconds = perf_counter() - start
        counts = {"used": share, "examined": share, "labels": labels}
        note(f"Margin at {line}", model, seconds, model.support_vectors_, **counts)
    return found


def _correlation(model: Any, X: Any, y: Any, batch_support: Any) -> float | None:
    """Of c and D along a course, which is run again with one step after the other."""
    import numpy as np
    from sklearn.base import clone

    from everlearn.metrics.support_sets import support_set_distance

    points = []
    for steps in range(min(model.n_iter_, 12)):
        part = clone(model).set_params(max_iter=steps).fit(X, y)
        points.append((part.confidence_, support_set_distance(X[part.support_], batch_support)))
    c, D = np.array(points).T
    return float(np.corrcoef(c, D)[0, 1]) if len(points) > 2 and c.std() > 0 and D.std() > 0 else None


def report(name: str, runs: list[dict[str, dict[str, Any]]], args: argparse.Namespace) -> str:
    """The table of a set: mean and SD over the runs, and in brackets what the plain implementation found."""
    import numpy as np

    from _report import NONE, markdown, number

    lines = []
    for line in runs[0]:
        cells = {key: [run[line][key] for run in runs] for key in runs[0][line]}
        mean = {key: float(np.mean(values)) for key, values in cells.items() if key in MEASURES}
        plain = TABLES[name].get(line)
        row = [line, f"{mean['accuracy']:.2f} / {float(np.std(cells['accuracy'])):.2f}"]
        row += [number(mean[key]) for key in ("distance", "used", "examined", "support")]
        if plain is None:
            row += [NONE, NONE]
        else:
            row[1] += f" ({plain[0]:.2f} / {plain[1]:.2f})"
            row[2:] = [f"{ours} ({number(theirs)})" for ours, theirs in zip(row[2:], plain[2:], strict=True)]
            within = abs(mean["accuracy"] - plain[0]) <= 1.5 * plain[1]
            row += [f"{mean['accuracy'] - plain[0]:+.2f}", "yes" if within else "no"]
        lines.append([*row, f"{mean['labels']:.0f}", number(mean["seconds"])])
    header = ["learner", "accuracy %", "D", "used", "examined", "SVs", "difference", "within", "labels", "s"]
    text = f"### {name}, {len(runs)} run{'s' * (len(runs) != 1)}\n\n" + markdown(header, lines)
    found = [run["StatQ robust"]["correlation"] for run in runs]
    text += f"\nCorrelation of c and D, StatQ robust: {', '.join(map(number, found))}.\n"
    if args.quick or (name == "covertype" and args.covertype_rows != 8_000):
        text += "\nNot the rows of the tables: the figures in brackets are for orientation only.\n"
    return text


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    sets = _chosen(args.only, list(SETS), "data set")
    missing = _data_folder_missing()
    if missing and set(sets) - {"twonorm"}:
        print(missing, file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _report import Record, machine, machine_lines, say

    threadpool_limits(1)
    about = machine(1)
    settings = {"sets": sets, "quick": args.quick, "covertype_rows": args.covertype_rows}
    record = Record(args.out, "tables", about, settings)
    record.stem = record.stem.with_name(record.stem.name.replace("lasvm", "statq", 1))
    parts = [machine_lines(about)]
    for name in sets:
        runs = []
        for seed in range(1 if args.quick else args.runs or SIZES[name][3]):
            say(f"{name}, run {seed}")
            runs.append(one_run(name, seed, args))
            record.add({"set": name, "seed": seed, "learners": runs[-1]})
        parts.append(report(name, runs, args))
    record.finish("\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
