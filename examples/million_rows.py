"""A million rows in seconds, in constant memory
=============================================

A stream of a million rows with four features: a row belongs to the class of the nearest of eight centers.
Rows are generated while they are learned, and none is kept but the 100 that the budget allows. Each block is
predicted before it is learned.

`Projectron` learns in one pass. When a new row is nearly a combination of those kept, it is projected onto
them instead of being added.
"""

import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.linear_model import SGDClassifier

from everlearn import Projectron

ROWS, BLOCK, FEATURES = 1_000_000, 10_000, 4
COLORS = {"Projectron(100)": "#0b6e99", "linear SGD": "#d9820a"}

# %%
# The stream: blocks from a generator, with labels from the nearest center.
rng = np.random.default_rng(0)
centers = rng.normal(size=(8, FEATURES)).astype(np.float32)
sides = np.where(np.arange(8) % 2, 1, -1)


def block():
    """A block of rows and their labels: the side of the nearest center."""
    X = rng.normal(size=(BLOCK, FEATURES)).astype(np.float32)
    return X, sides[np.argmin(-2 * X @ centers.T + (centers**2).sum(axis=1), axis=1)]


# %%
# The loop: predict, learn, go on. A linear model gets the same blocks, for comparison.
models = {
    "Projectron(100)": Projectron(100, gamma=1.0, random_state=0),
    "linear SGD": SGDClassifier(random_state=0),
}
accuracy, seconds = {name: [] for name in models}, dict.fromkeys(models, 0.0)
for number in range(ROWS // BLOCK):
    X, y = block()
    for name, model in models.items():
        start = time.process_time()
        if number:
            accuracy[name].append(np.mean(model.predict(X) == y))
        model.partial_fit(X, y, classes=[-1, 1])
        seconds[name] += time.process_time() - start

for name in models:
    print(
        f"{name:<16} last 100,000 rows {np.mean(accuracy[name][-10:]):.1%} correct; "
        f"{ROWS / seconds[name]:,.0f} rows a second, predicted and learned"
    )
kept = len(models["Projectron(100)"].support_)
print(f"Rows kept: {kept} of {ROWS:,}, {kept * FEATURES * 4 / 1024:.1f} KiB")

# %%
# Accuracy by block. It settles early: after that, more rows do not help, but they do not hurt either, and
# cost the same.
figure = Figure(figsize=(11, 5), layout="constrained")
panel = figure.subplots()
for name, values in accuracy.items():
    panel.plot(
        np.arange(2, len(values) + 2) * BLOCK / 1e6, values, color=COLORS[name], linewidth=2, label=name
    )
panel.set(xlabel="million rows", ylim=(0.5, 1))
panel.set_title("prequential accuracy of each 10,000 rows", loc="left", fontsize=14)
panel.grid(axis="y", color="#e6e6e6")
panel.spines[["top", "right"]].set_visible(False)
panel.legend(frameon=False, loc="lower right")
path = Path("out/million_rows.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=110)
print(f"Picture: {path}")
