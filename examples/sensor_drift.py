"""Sensors that drift, and 2 % of the labels
=========================================

Eight gas sensors tell three gases apart. Over months their gain and offset drift, and one of them fails. A
laboratory analysis costs money, so only one sample in fifty gets one: `NeverEndingLearner` chooses which.

For comparison: an `SVC` trained once on the first 400 samples with all their labels, as it is often done, and
the same learner asking about random samples.
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from everlearn import NeverEndingLearner

ROWS, BATCH, SENSORS = 6000, 100, 8
GASES = np.array(["ammonia", "ethanol", "toluene"])
FAILS = 4000  # the row at which a sensor fails

# %%
# The generator: each gas has a response in each sensor, saturating with the concentration. Gains fall slowly,
# offsets wander, and at row 4,000 the third sensor goes dead.
rng = np.random.default_rng(7)
response = rng.uniform(0.3, 1.5, size=(3, SENSORS))
gas = rng.integers(3, size=ROWS)
concentration = rng.lognormal(0, 0.5, size=ROWS)
months = np.linspace(0, 1, ROWS)[:, None]
gain = 1 - months * rng.uniform(0.1, 0.7, size=SENSORS)
offset = months * rng.normal(0, 0.5, size=SENSORS)
X = (
    gain * response[gas] * np.log1p(2 * concentration)[:, None]
    + offset
    + rng.normal(0, 0.06, (ROWS, SENSORS))
)
X[FAILS:, 2] = 0.02
y = GASES[gas]

# %%
# Each batch is predicted, then at most two questions are answered by the laboratory.


def run(strategy):
    """Prequential hits of a learner, and the number of labels that it asked for."""
    hits, labels = [], 0
    with NeverEndingLearner.open(
        ":memory:", query_strategy=strategy, label_rate=0.02, classes=GASES.tolist(), random_state=0
    ) as learner:
        for start in range(0, ROWS, BATCH):
            rows = range(start, start + BATCH)
            out = learner.step(X[rows], ids=rows)
            hits += [guess == y[row] for guess, row in zip(out.predictions, rows, strict=True)]
            asked = [question.id for question in out.questions]
            learner.label(asked, y[asked].tolist(), by="laboratory")
            labels += len(asked)
    return np.array(hits), labels


results = {}
for strategy, name in (("auto", "asks near the boundary"), ("random", "asks at random")):
    hits, labels = run(strategy)
    results[f"{name}, {labels} labels"] = hits
trained = make_pipeline(StandardScaler(), SVC(C=10)).fit(X[:400], y[:400])
results["SVC trained once, 400 labels"] = trained.predict(X) == y

print(f"{'':<40}{'rows 400-2,000':>16}{'2,000-4,000':>14}{'4,000-6,000':>14}")
for name, hits in results.items():
    parts = [hits[400:2000].mean(), hits[2000:4000].mean(), hits[4000:].mean()]
    print(f"{name:<40}{parts[0]:>16.1%}{parts[1]:>14.1%}{parts[2]:>14.1%}")

# %%
# What the sensors say about one gas, and the accuracy over the last 400 samples.
figure = Figure(figsize=(13, 6), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=[1, 1.4])
which = np.flatnonzero(gas == 0)
for sensor in range(SENSORS):
    color = "#c8553d" if sensor == 2 else "#8a949e"
    smooth = np.convolve(X[which, sensor], np.ones(60) / 60, mode="valid")
    left.plot(which[59:], smooth, color=color, linewidth=1.6)
left.set_title("mean signal of the sensors for ammonia", loc="left", fontsize=13)
for (name, hits), color in zip(results.items(), ("#0b6e99", "#d9820a", "#8a949e"), strict=True):
    right.plot(
        np.arange(400, ROWS + 1),
        np.convolve(hits, np.ones(400) / 400, "valid"),
        color=color,
        lw=2,
        label=name,
    )
right.axvline(FAILS, color="#cccccc", zorder=0)
right.annotate("a sensor fails", (FAILS, 0.33), xytext=(5, 0), textcoords="offset points", color="#777777")
right.set(ylim=(0.3, 1.01))
right.set_title("accuracy over the last 400 samples", loc="left", fontsize=13)
right.legend(frameon=False, loc="lower left")
for panel in (left, right):
    panel.set_xlabel("samples")
    panel.grid(axis="y", color="#e6e6e6")
    panel.spines[["top", "right"]].set_visible(False)
path = Path("out/sensor_drift.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=100)
print(f"Picture: {path}")
