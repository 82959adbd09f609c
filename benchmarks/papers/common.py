"""What the parts share: results as flat rows, their report, and measures of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from time import process_time
from typing import Any

import numpy as np

from ..harness.machine import say
from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data, Run

NAMES_OF = ("set", "learner", "seed")


def flat_report(data: Data, title: str, text: str, at: Sequence[str] = ()) -> str:
    """A table for each set: a line for each learner (and setting in `at`), means over the seeds."""
    parts = [*head(title, data), fill(text)]
    results = data["results"]
    for name in dict.fromkeys(result["set"] for result in results):
        mine = [result for result in results if result["set"] == name]
        metrics = list(dict.fromkeys(k for r in mine for k in r if k not in (*NAMES_OF, *at)))
        lines = dict.fromkeys((r["learner"], *(r.get(key) for key in at)) for r in mine)
        rows = []
        for line in lines:
            these = [r for r in mine if (r["learner"], *(r.get(key) for key in at)) == line]
            cells = [_mean(these, metric) for metric in metrics]
            rows.append([line[0], *(NONE if v is None else f"{v:g}" for v in line[1:]), *cells])
        parts.append(f"## {name}\n\n{markdown(('learner', *at, *metrics), rows)}")
    return "\n".join(parts)


def _mean(results: Iterable[dict[str, Any]], metric: str) -> str:
    values = [r[metric] for r in results if r.get(metric) is not None]
    return number(fmean(values), 4) if values else NONE


def timed(make: Any, *arguments: Any) -> tuple[Any, float]:
    """What a call returns, and its CPU seconds."""
    start = process_time()
    found = make(*arguments)
    return found, process_time() - start


def add(run: Run, name: str, learner: str, seed: int, **values: Any) -> None:
    """Keep a result and say so."""
    run.add({"set": name, "learner": learner, "seed": seed, **values})
    shown = ", ".join(f"{key} {number(value, 4)}" for key, value in values.items() if value is not None)
    say(f"{name}: {learner}, seed {seed}: {shown}")


def done(run: Run, name: str, learner: str, seed: int, **at: Any) -> bool:
    """Whether a run that is resumed has this result."""
    return run.find(set=name, learner=learner, seed=seed, **at) is not None


def error_of(model: Any, X: Any, y: Any) -> float:
    """The share of wrong predictions."""
    return float(np.mean(model.predict(X) != y))


def rare_measures(model: Any, X: Any, y: Any) -> dict[str, float]:
    """What is measured where positives are few."""
    from sklearn.metrics import roc_auc_score

    from everlearn.metrics import g_means, prbep

    scores = model.decision_function(X)
    negatives, positives = (int(count) for count in model.n_support_)
    return {
        "g_means": float(g_means(y, np.where(scores > 0, 1, -1))),
        "prbep": float(prbep(y, scores)),
        "auc": float(roc_auc_score(y, scores)),
        "support": negatives + positives,
        "support_ratio": negatives / max(1, positives),
    }


def evaluations(model: Any) -> float | None:
    """Kernel values computed, where a learner counts them."""
    found = getattr(model, "n_kernel_evaluations_", None)
    return None if found is None else float(np.sum(found))
