"""Image patches: a few strokes, a slip, an undo
=============================================

Interactive segmentation of a photograph, without a neural network. Somebody marks a few regions with strokes;
`LASVM` learns the patches under them and labels all others. A stroke at the wrong place is taken back with
`forget`, and more strokes correct mistakes. Each of these is an update of the model, not a new training.

The photograph ships with scikit-learn.
"""

import time
from pathlib import Path

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from sklearn.datasets import load_sample_image
from sklearn.preprocessing import StandardScaler

from everlearn import LASVM

SIZE = 6  # pixels of a side of a patch
CLASSES = ("sky and water", "building", "trees")
COLORS = ("#5fb8e0", "#c8553d", "#3f7d3a")

# %%
# Features of a patch: its mean color, and how much each color varies within it.
picture = load_sample_image("china.jpg").astype(np.float64) / 255
down, across = (length // SIZE for length in picture.shape[:2])
patches = picture[: down * SIZE, : across * SIZE].reshape(down, SIZE, across, SIZE, 3)
features = np.concatenate([patches.mean(axis=(1, 3)), patches.std(axis=(1, 3))], axis=2)
X = StandardScaler().fit_transform(features.reshape(-1, features.shape[2]))
print(f"{picture.shape[1]} x {picture.shape[0]} pixels, {len(X):,} patches, {X.shape[1]} features")

# %%
# Strokes are rectangles of patches: rows from, to, columns from, to, and a class. The ids of their patches
# are their numbers in the picture, so that they can be taken back.
FIRST = [(3, 8, 62, 95, "sky and water"), (33, 40, 18, 50, "building"), (58, 64, 6, 24, "trees")]
SLIP = (10, 15, 75, 95, "building")
MORE = [(40, 47, 62, 82, "sky and water"), (48, 60, 90, 104, "trees"), (16, 22, 24, 46, "building")]


def learn(model, stroke):
    """Learn the patches under a stroke."""
    top, bottom, left, right, name = stroke
    ids = (np.arange(top, bottom)[:, None] * across + np.arange(left, right)).ravel()
    start = time.perf_counter()
    model.partial_fit(X[ids], np.full(len(ids), CLASSES.index(name)), classes=range(3), ids=ids)
    model.finish()
    print(f"{name:<14} {len(ids):4} patches learned in {(time.perf_counter() - start) * 1e3:5.1f} ms")
    return ids


def labels(model):
    return model.predict(X).reshape(down, across)


model = LASVM(C=10, gamma=0.2, random_state=0)
for stroke in FIRST:
    learn(model, stroke)
steps = {"three strokes": (labels(model), FIRST)}

# %%
# A stroke with the wrong class, and its undo: every patch has the label that it had before the slip.
slipped = learn(model, SLIP)
steps["a slip: sky marked as building"] = (labels(model), [*FIRST, SLIP])
start = time.perf_counter()
model.forget(slipped)
print(f"undone in {(time.perf_counter() - start) * 1e3:.1f} ms")
print(f"patches as before the slip: {np.mean(labels(model) == steps['three strokes'][0]):.2%}")

# %%
# Three more strokes, where the first guess was wrong.
for stroke in MORE:
    learn(model, stroke)
steps["undone, and three more strokes"] = (labels(model), [*FIRST, *MORE])

# %%
# The photograph, and the labels after each step.
figure = Figure(figsize=(14, 9), layout="constrained")
panels = figure.subplots(2, 2).ravel()
panels[0].imshow(picture)
panels[0].set_title("the photograph", loc="left", fontsize=13)
for panel, (title, (found, strokes)) in zip(panels[1:], steps.items(), strict=True):
    panel.imshow(picture)
    shown = np.kron(found, np.ones((SIZE, SIZE)))
    panel.imshow(shown, cmap=ListedColormap(COLORS), alpha=0.55, vmin=0, vmax=2)
    for top, bottom, left, right, name in strokes:
        x, y = (
            np.array([left, right, right, left, left]) * SIZE,
            np.array([top, top, bottom, bottom, top]) * SIZE,
        )
        panel.plot(x, y, color="white", linewidth=3.5)
        panel.plot(x, y, color=COLORS[CLASSES.index(name)], linewidth=1.8)
    panel.set_title(title, loc="left", fontsize=13)
for panel in panels:
    panel.axis("off")
path = Path("out/image_patches.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=90)
print(f"Picture: {path}")
