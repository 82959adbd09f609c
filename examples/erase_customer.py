"""Erase a customer: model, log and every byte of the file
=======================================================

A customer asks to be forgotten. The rows of that person are in the training data, maybe support vectors of
the model, and in the log of the store. `NeverEndingLearner.erase` removes them from all three: the log is
rewritten, the model becomes the one that never saw them, bit for bit, and free pages of the file are
overwritten. A certificate says so, without the customer's name.
"""

import json
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from everlearn import LASVM, NeverEndingLearner
from everlearn.datasets import make_banana

VIEW = (-2.3, 2.3)
ONE, OTHER, INK = "#2a6f97", "#c8553d", "#333333"

# %%
# Twenty customers with ten orders each. Each order has two features and a label; the orders of one customer,
# Jane, are unusual.
X, y = make_banana(200, random_state=1)
names = [f"customer-{place // 10:02}-order-{place % 10}" for place in range(200)]
names[150:160] = [f"jane-doe-order-{place}" for place in range(10)]
rng = np.random.default_rng(0)
X[150:160] = rng.normal((-1.2, -1.4), 0.15, size=(10, 2))
y = np.where(y == 1, "returned", "kept")
y[150:160] = "returned"
jane = names[150:160]

out = Path("out")
out.mkdir(exist_ok=True)
store = out / "orders.everlearn"
for old in out.glob(store.name + "*"):
    old.unlink()


def open_store(path):
    return NeverEndingLearner.open(
        path, LASVM(C=10, gamma=1.0), scaling="none", classes=["kept", "returned"], random_state=0
    )


def scores(learner):
    """Decision values on a grid, for the picture."""
    across, up = np.meshgrid(np.linspace(*VIEW, 120), np.linspace(*VIEW, 120))
    points = np.column_stack([across.ravel(), up.ravel()])
    return across, up, learner.decision_function(points).reshape(across.shape)


def traces(word):
    """How often a word occurs in the bytes of the store's files."""
    return sum(path.read_bytes().count(word.encode()) for path in out.glob(store.name + "*"))


# %%
# Learn, and erase. The rows leave the model and the file.
with open_store(store) as learner:
    for start in range(0, 200, 20):
        rows = slice(start, start + 20)
        learner.step(X[rows], y[rows].tolist(), ids=names[rows])
    before = scores(learner)
    print(f'"jane" in the bytes of the store: {traces("jane")} times')
    certificate = learner.erase(jane, by="data protection")
    after = scores(learner)
print(f"after the erasure: {traces('jane')} times")

# %%
# The certificate proves what was done, with salted hashes in place of ids.
certificate.write(out / "certificate.json")
shown = json.loads((out / "certificate.json").read_text())
for field in ("rows", "labels", "method", "scrubbed", "model_difference"):
    print(f"{field:<18}{shown[field]}")
print(
    f"covers the orders of Jane: {all(map(certificate.covers, jane))}; "
    f"of another customer: {certificate.covers(names[0])}"
)

# %%
# A learner that never met Jane has the same decision values.
with open_store(":memory:") as other:
    for start in range(0, 200, 20):
        rows = [row for row in range(start, start + 20) if names[row] not in jane]
        if rows:
            other.step(X[rows], y[rows].tolist(), ids=[names[row] for row in rows])
    never = scores(other)
print(f"largest difference from a learner that never met her: {np.abs(after[2] - never[2]).max():.1e}")

# %%
# The boundary before and after.
figure = Figure(figsize=(13, 6.4), layout="constrained")
for panel, (across, up, values), title in zip(
    figure.subplots(1, 2), (before, after), ("with Jane's orders (rings)", "after the erasure"), strict=True
):
    panel.contourf(across, up, values, levels=[-1e9, 0, 1e9], colors=[OTHER, ONE], alpha=0.14)
    panel.contour(across, up, values, levels=[0], colors=INK, linewidths=2)
    kept = np.array([title.startswith("with") or name not in jane for name in names])
    for label, color in (("returned", ONE), ("kept", OTHER)):
        panel.scatter(*X[kept & (y == label)].T, s=20, color=color, linewidth=0, label=label)
    if title.startswith("with"):
        panel.scatter(*X[150:160].T, s=90, facecolor="none", edgecolor=INK)
    panel.set(xlim=VIEW, ylim=VIEW, aspect="equal", xticks=[], yticks=[])
    panel.set_title(title, loc="left", fontsize=14)
    panel.legend(loc="upper left", frameon=False)
figure.savefig(out / "erase_customer.png", dpi=95)
print(f"Picture: {out / 'erase_customer.png'}")
