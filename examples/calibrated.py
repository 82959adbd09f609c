"""Probabilities that mean what they say
=====================================

Decision values are no probabilities. `CalibratedClassifier` turns them into probabilities along
a stream, from scores that were computed before the row was learned. `calibration.AdaptiveConformal` makes
sets of classes that contain the right one for nine rows out of ten, also after the classes have begun to
overlap.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from everlearn import CalibratedClassifier, Projectron
from everlearn.calibration import AdaptiveConformal
from everlearn.datasets import make_banana

ROWS, BLOCK, DRIFT = 8000, 100, 4000
MISSES = 0.1  # sets that may miss the class

# %%
# A stream whose classes begin to overlap halfway: more noise from row 4,000 on.
clear, labels = make_banana(DRIFT, noise=0.25, random_state=0)
blurred, more = make_banana(ROWS - DRIFT, noise=0.6, random_state=1)
X, y = np.vstack([clear, blurred]), np.concatenate([labels, more])

# %%
# Each block gets probabilities and prediction sets, and is learned afterwards. The naive probability takes
# the decision value of the same learner for a log-odds.
model = CalibratedClassifier(Projectron(100, gamma=1.0, random_state=0))
plain = Projectron(100, gamma=1.0, random_state=0)
conformal = AdaptiveConformal(MISSES)
calibrated, naive, covered, sizes = (np.full(ROWS, np.nan) for _ in range(4))
for start in range(0, ROWS, BLOCK):
    rows = slice(start, start + BLOCK)
    if start >= 200:
        scores = model.decision_function(X[rows])
        calibrated[rows] = model.predict_proba(X[rows])[:, 1]
        naive[rows] = 1 / (1 + np.exp(-plain.decision_function(X[rows])))
        sets = conformal.predict_set(scores, classes=[-1, 1])
        covered[rows] = sets[np.arange(BLOCK), (y[rows] == 1).astype(int)]
        sizes[rows] = sets.sum(axis=1)
        conformal.update(scores, y[rows], classes=[-1, 1])
    for learner in (model, plain):
        learner.partial_fit(X[rows], y[rows], classes=[-1, 1])

late = slice(DRIFT + 1000, ROWS)
for name, values in (("calibrated", calibrated), ("naive", naive)):
    print(f"{name:<11} Brier score of the last rows {np.mean((values[late] - (y[late] == 1)) ** 2):.3f}")
for name, part in (("before", slice(1000, DRIFT)), ("after", late)):
    print(
        f"{name:<7} the overlap: {np.nanmean(covered[part]):.1%} of the sets contain the class, "
        f"{np.nanmean(sizes[part]):.2f} classes per set"
    )

# %%
# Left: of the rows with a probability of about p, which fraction is positive? On the diagonal it is p. Right:
# the coverage over 500 rows, and the size of the sets.
figure = Figure(figsize=(13, 5.6), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=[1, 1.5])
left.plot([0, 1], [0, 1], color="#cccccc", linewidth=1.2)
for name, values, color in (("calibrated", calibrated, "#0b6e99"), ("naive", naive, "#d9820a")):
    bins = np.clip((values[late] * 10).astype(int), 0, 9)
    seen = [b for b in range(10) if np.sum(bins == b) >= 20]
    said = [values[late][bins == b].mean() for b in seen]
    true = [np.mean(y[late][bins == b] == 1) for b in seen]
    left.plot(said, true, color=color, linewidth=2, marker="o", label=name)
left.set(xlabel="probability that was said", ylabel="fraction of positives", aspect="equal")
left.set_title("the last 3,000 rows", loc="left", fontsize=13)
left.legend(frameon=False, loc="upper left")
window = np.ones(500) / 500
places = np.arange(700, ROWS + 1)
right.axhline(1 - MISSES, color="#8a949e", linestyle=(0, (5, 2)))
right.plot(places, np.convolve(covered[200:], window, "valid"), color="#0b6e99", lw=2, label="coverage")
right.plot(places, np.convolve(sizes[200:], window, "valid"), color="#c8553d", lw=2, label="classes per set")
right.axvline(DRIFT, color="#cccccc", zorder=0)
right.annotate("classes overlap", (DRIFT, 1.62), xytext=(5, 0), textcoords="offset points", color="#777777")
right.set(xlabel="rows", ylim=(0.7, 1.7))
right.set_title("prediction sets over the last 500 rows", loc="left", fontsize=13)
right.legend(frameon=False, loc="upper left")
for panel in (left, right):
    panel.grid(color="#eeeeee")
    panel.spines[["top", "right"]].set_visible(False)
path = Path("out/calibrated.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=100)
print(f"Picture: {path}")
