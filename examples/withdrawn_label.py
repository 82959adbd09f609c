"""Unlearn one wrong label of 5,000
================================

The banana data. One row has the label of the other class, and the boundary bends toward it. When the error is
found, the row is forgotten or relabeled: `IDSVM` moves to the exact solution without the error, instead of
learning the other 4,999 rows again.

Prints how long that takes, compared with fitting `sklearn.svm.SVC`, and the difference from a model that
never saw the wrong label. Saves the boundaries before, after and of that model as out/withdrawn_label.png.
"""

from pathlib import Path
from statistics import median
from time import process_time

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from sklearn.svm import SVC

from everlearn import IDSVM
from everlearn.datasets import make_banana

ROWS, OTHERS = 5000, 5000
PARAMETERS = {"C": 10_000, "gamma": 8}
PLACE = (0.45, 0.6)  # the row of class -1 next to this gets the label +1
TRIES = 5  # of each step that is timed; the median counts

ONE, OTHER, INK, BEFORE, AFTER = "#2a6f97", "#c8553d", "#222222", "#e08e0b", "#b9b9b9"
WHOLE, ZOOM = (-1.95, 2.05, -1.75, 1.95), (0.05, 1.15, 0.12, 1.1375)  # left, right, bottom, top


def rows_and_wrong_row():
    """Rows, right labels, and the row whose label is going to be wrong."""
    X, y = make_banana(ROWS, noise=0.12, random_state=0)
    apart = np.where(y == -1, np.hypot(*(X - PLACE).T), np.inf)
    return X, y, int(np.argmin(apart))


def seconds(step):
    """CPU seconds of one call."""
    start = process_time()
    step()
    return process_time() - start


def withdraw(X, y, row):
    """The model before, after and without the wrong row, and the times of each step."""
    labels = y.copy()
    labels[row] = -y[row]
    rest = np.arange(ROWS) != row
    before, after = (IDSVM(**PARAMETERS).fit(X, labels) for _ in range(2))
    never = IDSVM(**PARAMETERS).fit(X[rest], y[rest])
    correct = IDSVM(**PARAMETERS).fit(X, y)
    times = {"forget": [], "learn": [], "relabel": [], "svc": []}
    for _ in range(TRIES):
        times["relabel"].append(seconds(lambda: after.relabel(row, y[row])))
        relabeled = differences(after, correct)
        after.relabel(row, labels[row])
    for _ in range(TRIES):
        times["forget"].append(seconds(lambda: after.forget(row)))
        forgotten = differences(after, never)
        times["learn"].append(seconds(lambda: after.partial_fit(X[[row]], labels[[row]], ids=[row])))
        times["svc"].append(seconds(lambda: SVC(**PARAMETERS).fit(X[rest], y[rest])))
    after.forget(row)
    return (
        (before, after, never),
        {step: median(all_of) for step, all_of in times.items()},
        forgotten,
        relabeled,
    )


def differences(machine, other):
    """The largest difference of decision values on new rows."""
    X, _ = make_banana(OTHERS, noise=0.12, random_state=1)
    return float(np.abs(machine.decision_function(X) - other.decision_function(X)).max())


def show(machines, times, forgotten, relabeled, moved):
    """Print the results."""
    before, after, _ = machines
    print(f"{ROWS:,} rows, one of them with a wrong label")
    print(f"{'':<34}{'CPU time':>10}   largest difference of decision values")
    print("-" * 84)
    for words, step, what in (
        ("IDSVM.forget the row", "forget", f"{forgotten:.0e} to a machine that never saw it"),
        ("IDSVM.relabel the row", "relabel", f"{relabeled:.0e} to a machine that got it right"),
        ("IDSVM.partial_fit, the row again", "learn", ""),
        (f"SVC on the other {ROWS - 1:,} rows", "svc", ""),
    ):
        print(f"{words:<34}{1e3 * times[step]:>7.2f} ms   {what}".rstrip())
    print(f"Forgetting is {times['svc'] / times['forget']:.0f} times as fast as fitting the SVC.")
    print(f"The wrong label had moved decision values by up to {moved:.0f}.")
    print(f"Support vectors: {len(before.support_)} before, {len(after.support_)} after.")


def scores_over(machine, view, points):
    """Decision values on a grid."""
    left, right, bottom, top = view
    across, up = np.meshgrid(np.linspace(left, right, points), np.linspace(bottom, top, points))
    return (
        across,
        up,
        machine.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape),
    )


def draw_boundaries(panel, X, y, row, machines, view, scale):
    """Rows, the wrong one among them, and the three boundaries, the last two on top of each other."""
    before, after, never = machines
    across, up, scores = scores_over(after, view, 400)
    panel.contourf(across, up, scores, levels=[-np.inf, 0, np.inf], colors=[OTHER, ONE], alpha=0.07)
    for label, color in ((1, ONE), (-1, OTHER)):
        panel.scatter(*X[y == label].T, s=5 * scale**2, color=color, alpha=0.38, linewidth=0)
    panel.contour(across, up, scores, levels=[0], colors=AFTER, linewidths=4.2 * scale)
    panel.contour(*scores_over(before, view, 400), levels=[0], colors=BEFORE, linewidths=1.5 * scale)
    dashes = [(0, (4, 2.2))]
    panel.contour(
        *scores_over(never, view, 400), levels=[0], colors=INK, linewidths=1.0 * scale, linestyles=dashes
    )
    panel.scatter(*X[row], s=70 * scale**2, color=ONE, edgecolor=OTHER, linewidth=1.7 * scale, zorder=5)
    left, right, bottom, top = view
    panel.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", xticks=[], yticks=[])
    panel.spines[:].set_color("#cccccc")


def draw(X, y, row, machines, times, forgotten, path):
    """Save a plot of all rows, and of the neighborhood of the wrong row."""
    figure = Figure(figsize=(15, 8.4), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.14, h_pad=0.12)
    figure.suptitle(
        "A wrong label is withdrawn, and the boundary is where it would be without it",
        x=0.012,
        ha="left",
        fontsize=19,
        fontweight="bold",
    )
    whole, near = figure.subplots(1, 2)
    draw_boundaries(whole, X, y, row, machines, WHOLE, 1.0)
    draw_boundaries(near, X, y, row, machines, ZOOM, 2.0)
    left, right, bottom, top = ZOOM
    whole.add_patch(
        Rectangle((left, bottom), right - left, top - bottom, fill=False, color=INK, linewidth=1.3)
    )
    near.spines[:].set(color=INK, linewidth=1.6)
    whole.set_title(f"{ROWS:,} rows of two classes, one of them mislabeled", loc="left", fontsize=14)
    near.set_title(
        f"forgotten in {1e3 * times['forget']:.1f} ms (a new SVC: {1e3 * times['svc']:.0f} ms); "
        f"decisions differ by {forgotten:.0e}",
        loc="left",
        fontsize=14,
    )
    dot = {"marker": "o", "linestyle": "none"}
    figure.legend(
        handles=[
            Line2D([], [], color=BEFORE, linewidth=3),
            Line2D([], [], color=AFTER, linewidth=8),
            Line2D([], [], color=INK, linewidth=1.9, linestyle=(0, (4, 2.2))),
            Line2D([], [], color=ONE, markeredgecolor=OTHER, markersize=12, markeredgewidth=2.6, **dot),
        ],
        labels=[
            "boundary before",
            "after IDSVM.forget",
            "of a machine that never saw the row",
            "the row with the wrong label",
        ],
        loc="outside lower center",
        ncols=4,
        frameon=False,
        fontsize=14,
        handlelength=2.6,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def main(out="out/withdrawn_label.png"):
    X, y, row = rows_and_wrong_row()
    machines, times, forgotten, relabeled = withdraw(X, y, row)
    show(machines, times, forgotten, relabeled, differences(machines[0], machines[2]))
    path = Path(out)
    draw(X, y, row, machines, times, forgotten, path)
    print(f"Picture: {path}")


if __name__ == "__main__":
    main()
