"""Other tools on the same records and candidate pairs: F1 on the test part, labels and time."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.report import fill, head, markdown
from ..harness.run import Data, Run
from .curves import f1
from .data import REPORTED, Task

NAMES = ("dblp_acm", "amazon_google")
POINTS = (50, 100, 250, 500)
Scores = dict[str, float]


def _frames(task: Task) -> list[Any]:
    import pandas as pd

    assert task.right is not None
    return [pd.DataFrame({name: r.values(name) for name in r.schema}) for r in (task.left, task.right)]


def everlearn(task: Task, seed: int) -> Scores:
    """`ActiveLinker` and all labels, with the defaults."""
    from everlearn.linkage import ActiveLinker, PairwiseLinker

    loop, found = ActiveLinker(random_state=seed).start(task.left, task.right, pairs=task.pool), {}
    rows = loop.linker.transform(task.test)
    while loop.n_answers < max(POINTS) and (questions := loop.ask()):
        loop.tell(questions[0].id, bool(task.y[questions[0].id]))
        if loop.n_answers in POINTS:
            found[str(loop.n_answers)] = f1(task, loop.linker.model.decision_function(rows))
    linker = PairwiseLinker().fit(task.left, task.right, pairs=task.pool, y=task.y)
    return {**found, "all": f1(task, linker.predict_pairs(task.test).score)}


def dedupe(task: Task, seed: int) -> Scores:
    """dedupe: its distances and classifier, with random labels.

    Its own questions need an index that fails with BTrees 6.
    """
    import dedupe
    from dedupe import variables

    assert task.right is not None
    kinds = {"number": variables.Price, "text": variables.Text}
    fields = [
        kinds.get(kind, variables.String)(name, has_missing=True) for name, kind in task.left.schema.items()
    ]

    def cells(records: Any) -> list[dict[str, Any]]:
        found = []
        for place in range(len(records)):
            row: dict[str, Any] = {name: value or None for name, value in records[place].items()}
            for name, kind in records.schema.items():
                if kind == "number" and row[name] is not None:
                    row[name] = _positive(row[name])
            found.append(row)
        return found

    left, right = cells(task.left), cells(task.right)
    linker = dedupe.RecordLink(fields, num_cores=0)

    def distances(pairs: Any) -> np.ndarray:
        ends = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
        return np.asarray(linker.data_model.distances([(left[a], right[b]) for a, b in ends]))

    X, Z = distances(task.pool), distances(task.test)
    order, found = np.random.default_rng(seed).permutation(len(task.y)), {}
    for n in (*POINTS, len(order)):
        linker.classifier.fit(X[order[:n]], task.y[order[:n]])
        scores = linker.classifier.predict_proba(Z)[:, -1] - 0.5
        found["all" if n == len(order) else str(n)] = f1(task, scores)
    return found


def _positive(text: str) -> float | None:
    """A price, as dedupe wants it."""
    try:
        value = float(text.replace(",", "").lstrip("$"))
    except ValueError:
        return None
    return value if value > 0 else None


def recordlinkage(task: Task, seed: int) -> Scores:
    """recordlinkage: Jaro-Winkler and cosine similarities and a logistic regression, with random labels."""
    import pandas as pd
    import recordlinkage

    left, right = _frames(task)
    compare = recordlinkage.Compare()
    for name in left.columns:
        for method in ("jarowinkler", "cosine"):
            compare.string(name, name, method=method, label=f"{name} {method}")
    parts = [
        compare.compute(pd.MultiIndex.from_arrays([p.left, p.right]), left, right).fillna(0)
        for p in (task.pool, task.test)
    ]
    order, found = np.random.default_rng(seed).permutation(len(task.y)), {}
    for n in (*POINTS, len(order)):
        rows = order[:n]
        model = recordlinkage.LogisticRegressionClassifier()
        X = parts[0].iloc[rows]
        model.fit(X[~X.index.duplicated()], X.index[task.y[rows] == 1].unique())
        scores = model.prob(parts[1]).to_numpy() - 0.5
        found["all" if n == len(order) else str(n)] = f1(task, scores)
    return found


def splink(task: Task, seed: int) -> Scores:
    """splink: expectation maximization without labels, on the pairs of pool and test."""
    import splink.comparison_library as cl
    from splink import DuckDBAPI, Linker, SettingsCreator, block_on

    frames = _frames(task)
    together = [
        np.concatenate(ends)
        for ends in zip(*((p.left, p.right) for p in (task.pool, task.test)), strict=True)
    ]
    for frame, ends in zip(frames, together, strict=True):
        members: list[list[int]] = [[] for _ in range(len(frame))]
        for pair, place in enumerate(ends.tolist()):
            members[place].append(pair)
        frame["unique_id"], frame["pair"] = np.arange(len(frame)), members
    settings = SettingsCreator(
        link_type="link_only",
        blocking_rules_to_generate_predictions=[block_on("pair", arrays_to_explode=["pair"])],
        comparisons=[
            cl.JaccardAtThresholds(name, [0.9, 0.8, 0.7])
            if kind == "text"
            else cl.JaroWinklerAtThresholds(name, [0.95, 0.88, 0.7])
            for name, kind in task.left.schema.items()
        ],
    )
    api = DuckDBAPI()
    linker = Linker([api.register(frame) for frame in frames], settings, log_level=40)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e6, seed=seed + 1)
    for name in list(task.left.schema)[
        :2
    ]:  # the comparison of a field is not trained on blocks of that field
        linker.training.estimate_parameters_using_expectation_maximisation(block_on(f"substr({name}, 1, 5)"))
    table = linker.inference.predict(threshold_match_probability=0.0).as_pandas_dataframe()
    known = dict(
        zip(
            zip(table["unique_id_l"], table["unique_id_r"], strict=True),
            table["match_probability"],
            strict=True,
        )
    )
    ends = zip(task.test.left.tolist(), task.test.right.tolist(), strict=True)
    return {"0": f1(task, np.array([known.get(pair, 0.0) for pair in ends]) - 0.5)}


TOOLS: dict[str, Callable[[Task, int], Scores]] = {
    "everlearn": everlearn,
    "dedupe": dedupe,
    "recordlinkage": recordlinkage,
    "splink": splink,
}


def run_part(run: Run) -> None:
    """Every tool on every set."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for name in run.chosen(NAMES, ("amazon_google",)):
        task = REPORTED[name]()
        for tool, measure in TOOLS.items():
            if run.find(set=name, tool=tool) is None:
                start = time.process_time()
                runs = [measure(task, seed) for seed in range(run.settings["seeds"])]
                seconds = (time.process_time() - start) / len(runs)
                run.add({"set": name, "tool": tool, "runs": runs, "seconds": seconds})
                say(f"{name}, {tool}: {runs[0]}, {seconds:.1f} s")


def report(data: Data) -> str:
    """A line for each tool."""
    columns = ["0", *map(str, POINTS), "all"]
    lines = []
    for result in data["results"]:
        cells = []
        for column in columns:
            values = [run[column] for run in result["runs"] if column in run]
            cells.append(f"{np.mean(values):.1f}" if values else "")
        lines.append([result["set"], result["tool"], *cells, f"{result['seconds']:.1f}"])
    text = """F1 in percent on the test part by the number of labels, mean of the runs.
    All tools score the same pairs. everlearn asks; dedupe and recordlinkage have random labels of the pool
    (dedupe's own questions fail with its current dependencies); splink has none. everlearn has its defaults.
    The others compare each field: recordlinkage by Jaro-Winkler and cosine, splink by Jaro-Winkler and, for
    texts, Jaccard, dedupe by its String, Text and Price variables. s: CPU seconds of a run, features and all
    points."""
    header = ["set", "tool", *(f"{c} labels" if c != "all" else c for c in columns), "s"]
    return "\n".join([*head("Record linkage: other tools", data), fill(text), markdown(header, lines)])
