"""When are there enough labels?
=============================

Three stopping rules watch the same loop, and none of them ends it, so that the picture shows what each would
have saved and cost. `query.stopping.SupportSaturation` stops when the number of support vectors hardly
changes, `query.stopping.MarginExhausted` when the questions lie outside the margin, and
`query.stopping.CostOfLabel` when the next label is expected to be worth less than it costs. Each verdict
comes with its reason.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from everlearn import LASVM, ActiveLearner, query
from everlearn.datasets import make_banana
from everlearn.query.stopping import CostOfLabel, MarginExhausted, Progress, SupportSaturation

LABELS = 150

# %%
# Two bananas that hardly overlap. The loop asks for 150 of 3,000 labels.
X, y = make_banana(3000, noise=0.15, random_state=0)
test = make_banana(4000, noise=0.15, random_state=1)
loop = ActiveLearner(LASVM(C=10, gamma=1.0), query.Margin(random_state=0), random_state=0)
loop.run(X, y, LABELS, test=test, score_every=1)
scored = [record for record in loop.history if record["score"] is not None]
labels = [record["n_labels"] for record in scored]
errors = [1 - record["score"] for record in scored]

# %%
# The rules get the history, label by label. A rule needs neither the model nor the rows.
rules = {
    "SupportSaturation": SupportSaturation(n_iter_no_change=20, rtol=0.05),
    "MarginExhausted": MarginExhausted(patience=3),
    "CostOfLabel": CostOfLabel(cost=1, gain=2000, window=30),
}
stops = {}
for name, rule in rules.items():
    for record in loop.history:
        rule.update(
            Progress(
                record["n_labels"],
                n_support=record["n_support"],
                margin=record["margin"],
                free_margin=record["free_margin"],
                score=record["score"],
            )
        )
        if rule.verdict().stop:
            stops[name] = record["n_labels"]
            break
    verdict = rule.verdict()
    print(f"{name}: {f'stop after {stops[name]} labels' if verdict.stop else 'not yet'}")
    print(f"  {verdict.reason}")
final = errors[-1]
for name, stop in stops.items():
    at = errors[int(np.searchsorted(labels, stop))]
    print(f"{name}: error {at:.1%} at the stop, {final:.1%} with {LABELS} labels")
everything = 1 - LASVM(C=10, gamma=1.0, random_state=0).fit(X, y).score(*test)
print(f"All 3,000 labels: {everything:.1%}")

# %%
# Error and number of support vectors, and where each rule would have stopped.
figure = Figure(figsize=(12, 6.4), layout="constrained")
upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[1.3, 1])
upper.plot(labels, errors, color="#0b6e99", linewidth=2)
upper.axhline(everything, color="#8a949e", linestyle=(0, (5, 2)))
upper.set_title("test error (dashed: with all 3,000 labels)", loc="left", fontsize=13)
upper.set_ylim(0, 0.15)
counts = [record["n_support"] for record in loop.history]
lower.plot(range(1, LABELS + 1), counts, color="#c8553d", linewidth=2)
lower.set_title("support vectors", loc="left", fontsize=13)
lower.set_xlabel("labels")
for panel in (upper, lower):
    for place, (name, stop) in enumerate(stops.items()):
        panel.axvline(stop, color="#333333", linewidth=1.2)
        if panel is upper:
            panel.text(stop + 2, 0.14 - 0.012 * place, name, fontsize=11)
    panel.grid(axis="y", color="#e6e6e6")
    panel.spines[["top", "right"]].set_visible(False)
path = Path("out/stop_asking.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=100)
print(f"Picture: {path}")
