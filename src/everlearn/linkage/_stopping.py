"""When more answers are of no use: the clusters no longer change, or a stopping rule says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..query.stopping import Progress, StoppingRule, Verdict

FEWEST_LABELS = 20  # over which clusters must have been stable; a tenth of all labels if that is more
MOST_MOVED = 0.01  # of the records that share a cluster
LOOKS_KEPT = 50

Look = list[Any]  # labels at the last look, labels now, and the share of records that changed clusters


def share_moved(before: Mapping[int, int | None], after: Mapping[int, int]) -> float:
    """The share of records that changed clusters, of those that share one before or after."""
    sizes = Counter(before.values()), Counter(after.values())
    linked = [at for at in after if sizes[0][before[at]] > 1 or sizes[1][after[at]] > 1]
    return sum(before[at] != after[at] for at in linked) / max(len(linked), 1)


def stability(looks: list[Look], n_labels: int) -> Verdict:
    """Whether the last answers have left the clusters as they were."""
    wanted = max(FEWEST_LABELS, n_labels // 10)
    moved, first = 0.0, n_labels
    for start, _, share in reversed(looks):
        if n_labels - first >= wanted:
            break
        moved, first = moved + share, int(start)
    count = n_labels - first
    evidence = {"moved": moved, "labels": count, "wanted": wanted, "threshold": MOST_MOVED}
    if count < wanted:
        words = f"Clusters were compared over the last {count} labels; {wanted} are needed to tell."
        return Verdict(False, words, evidence)
    stop = moved <= MOST_MOVED
    words = f"The last {count} labels changed the clusters of {100 * moved:.1f} % of the linked records"
    return Verdict(stop, f"{words}, {'at most' if stop else 'more than'} {100 * MOST_MOVED:.0f} %.", evidence)


def told(rule: StoppingRule, n_labels: int, model: Any, score: float) -> None:
    """Tell a stopping rule about an answer, and the score that the model gave the pair before it."""
    known = model is not None and np.isfinite(score)
    free = getattr(model, "free_margin", None)
    rule.update(
        Progress(
            n_labels,
            n_support=len(getattr(model, "support_", ())),
            margin=abs(float(score)) if known else None,
            free_margin=free() if known and callable(free) else None,
            n_classes=2,
        )
    )


def resumed(rule: StoppingRule | None, state: Any) -> StoppingRule | None:
    """A rule with what it was told; one that was told something else begins anew."""
    if rule is not None:
        rule.reset()
        if state is not None and state.get("rule") == rule.get_state()["rule"]:
            rule.set_state(state)
    return rule
