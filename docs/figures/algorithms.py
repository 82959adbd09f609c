"""The figures of docs/algorithms.md: LASVM, the ramp loss, exact unlearning, submodular choice, the fold."""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from sklearn.svm import SVC
from style import Theme, boundary, grid, panels, plane, rings, rows, save

from everlearn import IDSVM, LASVM, LASVMNC, query
from everlearn.datasets import make_banana, make_two_moons

VIEW = (-2.2, 2.2, -2.2, 2.2)


def lasvm(theme: Theme):
    """A stream of rows: what is kept, where the boundary is, and how far from SVC."""
    X, y = make_banana(1000, random_state=3)
    parameters = {"C": 10, "gamma": 1.0}
    svc = SVC(**parameters).fit(X, y)
    test, _ = make_banana(3000, random_state=4)
    truth = svc.predict(test)
    figure, axes = panels(1, 4, 13, 3.7, width_ratios=[1, 1, 1, 1.25])
    model, shown = LASVM(**parameters, random_state=0), {20: axes[0, 0], 100: axes[0, 1], 1000: axes[0, 2]}
    seen, vectors, differs = [], [], []
    for end in range(10, 1001, 10):
        model.partial_fit(X[end - 10 : end], y[end - 10 : end], classes=[-1, 1])
        seen.append(end)
        vectors.append(len(model.support_))
        differs.append(np.mean(model.predict(test) != truth) if vectors[-1] else np.nan)
        if end in shown:
            panel = shown[end]
            boundary(panel, theme, model, VIEW)
            rows(panel, theme, X[:end], y[:end], size=7, alpha=0.75)
            rings(panel, theme, X[model.support_], size=34)
            plane(panel, theme, VIEW, f"after {end:,} rows: {len(model.support_)} vectors")
    across, up, points = grid(VIEW)
    scores = svc.decision_function(points).reshape(across.shape)
    axes[0, 2].contour(across, up, scores, levels=[0], colors=theme.third, linewidths=3, alpha=0.6)
    axes[0, 2].legend(
        handles=[Line2D([], [], color=theme.third, linewidth=3, alpha=0.6)], labels=["SVC"], loc="lower right"
    )
    curve = axes[0, 3]
    curve.plot(seen, np.array(differs) * 100, color=theme.one, linewidth=2)
    curve.set(ylim=(0, 30), xlabel="rows seen, each once")
    curve.set_title("predictions that differ from SVC, %")
    curve.grid(axis="y")
    return figure


def step(theme: Theme):
    """PROCESS and REPROCESS as gradients of rows: the most violating pair meets in the middle."""
    figure, axes = panels(1, 3, 13, 3.4, sharey=True)
    kept = np.array([-0.42, -0.2, 0.05, -0.1, 0.12, 0.0, 0.3, -0.05])
    idle, new = 2, 8
    before = np.append(kept, 1.0)
    processed = before.copy()
    processed[[0, new]] = (before[0] + before[new]) / 2
    finished = processed.copy()
    low = int(np.argmin(processed))
    finished[[low, new]] = (processed[low] + processed[new]) / 2
    titles = (
        "a new row arrives, far from optimal",
        "PROCESS: it moves together with the row\nwith which it has the largest violation",
        "REPROCESS: the pair with the largest violation\nmoves; an idle row that cannot move is dropped",
    )
    arrow = {"arrowstyle": "-|>", "mutation_scale": 14, "linewidth": 1.8, "shrinkB": 5, "zorder": 4}
    changes = ((), (0, new), (low, new))
    states = (before, processed, finished)
    for number, (panel, title, values, pair) in enumerate(zip(axes[0], titles, states, changes, strict=True)):
        usual = [i for i in range(new) if i != idle]
        panel.scatter(usual, values[usual], color=theme.gray, s=50, zorder=3)
        panel.scatter([new], [values[new]], color=theme.one, s=80, zorder=5)
        if number < 2:
            panel.scatter([idle], [values[idle]], s=50, facecolor="none", edgecolor=theme.gray, linewidth=1.5)
        else:
            panel.scatter([idle], [values[idle]], s=60, marker="x", color=theme.gray)
        for place in pair:
            color = theme.one if number == 1 else theme.other
            start = states[number - 1][place]
            panel.add_patch(FancyArrowPatch((place, start), (place, values[place]), color=color, **arrow))
            panel.scatter([place], [values[place]], color=color, s=80, zorder=5)
        spread = np.delete(values, idle) if number == 2 else values
        panel.plot([9.1, 9.1], [spread.min(), spread.max()], color=theme.third, linewidth=3)
        panel.set_title(title)
        panel.set(xlim=(-0.8, 10.4), ylim=(-0.6, 1.15), xticks=[], yticks=[])
        panel.spines[["bottom", "left"]].set_visible(False)
        panel.axhline(0, color=theme.line, linewidth=1, zorder=0)
        panel.text(
            9.3,
            (spread.min() + spread.max()) / 2,
            "violation",
            color=theme.third,
            fontsize=9.5,
            rotation=90,
            va="center",
        )
    axes[0, 0].text(-0.6, 1.0, "gradient", color=theme.gray)
    axes[0, 0].annotate(
        "idle: coefficient 0",
        (idle, kept[idle]),
        (1.2, 0.42),
        color=theme.gray,
        fontsize=10,
        arrowprops={"arrowstyle": "-", "color": theme.gray, "linewidth": 0.8, "shrinkB": 5},
    )
    return figure


def ramp(theme: Theme):
    """Hinge and ramp loss, and the models that they make from noisy labels."""
    figure, axes = panels(1, 3, 13, 4.2)
    z = np.linspace(-4, 2.5, 300)
    loss = axes[0, 0]
    loss.axvspan(-4, -1, color=theme.third, alpha=0.12, linewidth=0)
    loss.plot(z, np.maximum(0, 1 - z), color=theme.other, linewidth=2.4, label="hinge loss")
    loss.plot(
        z, np.minimum(np.maximum(0, 1 - z), 2), color=theme.one, linewidth=2.4, label="ramp loss, s = -1"
    )
    loss.text(-3.9, 0.15, "outliers:\nno influence", color=theme.third, va="bottom")
    loss.set(xlabel="z = y f(x): how right the model is", ylim=(0, 5), xlim=(-4, 2.5), xticks=[-3, -1, 1])
    loss.legend(loc="upper right")
    loss.set_title("what a mistake costs")
    X, y = make_banana(600, label_noise=0.15, random_state=1)
    for panel, model, name in (
        (axes[0, 1], LASVM(C=10, gamma=1.0, random_state=0), "LASVM, hinge loss"),
        (
            axes[0, 2],
            LASVMNC(C=10, gamma=1.0, random_state=0, epochs=3, min_support=20),
            "LASVMNC, ramp loss",
        ),
    ):
        model.fit(X, y)
        boundary(panel, theme, model, VIEW)
        rows(panel, theme, X, y, size=8, alpha=0.8)
        rings(panel, theme, X[model.support_], size=34)
        plane(panel, theme, VIEW, f"{name}: {len(model.support_)} support vectors")
    return figure


def unlearning(theme: Theme):
    """One wrong label: the boundary with it, the coefficients while it leaves, the boundary without it."""
    X, y = make_banana(120, random_state=5)
    wrong = int(np.argmin(np.linalg.norm(X - [0.9, -0.6], axis=1)))
    y = y.copy()
    y[wrong] = -y[wrong]
    parameters = {"C": 5, "gamma": 1.0}
    weights = np.linspace(1, 0, 101)
    path = []
    for weight in weights:
        costs = np.ones(len(X))
        costs[wrong] = max(weight, 1e-9)
        model = IDSVM(**parameters).fit(X, y, sample_weight=costs)
        alpha = np.zeros(len(X))
        alpha[model.support_] = np.abs(model.dual_coef_[0])
        path.append(alpha)
    path = np.array(path)
    before = IDSVM(**parameters).fit(X, y)
    after = IDSVM(**parameters).fit(X, y)
    after.forget([wrong])
    rest = np.arange(len(X)) != wrong
    never = IDSVM(**parameters).fit(X[rest], y[rest])
    apart = np.abs(after.decision_function(X) - never.decision_function(X)).max()
    figure, axes = panels(1, 3, 13, 4.2)
    titles = (
        "one label is wrong (ring)",
        f"after forget: as if it had never been seen\n(largest difference {apart:.0e})",
    )
    for panel, model, title in zip((axes[0, 0], axes[0, 2]), (before, after), titles, strict=True):
        boundary(panel, theme, model, VIEW)
        kept = rest if model is after else np.full(len(X), True)
        rows(panel, theme, X[kept], y[kept], size=16)
        plane(panel, theme, VIEW, title)
    axes[0, 0].scatter(*X[wrong], s=230, facecolor="none", edgecolor=theme.ink, linewidth=2)
    middle = axes[0, 1]
    moving = [i for i in range(len(X)) if np.ptp(path[:, i]) > 0.15 and i != wrong]
    for i in moving:
        middle.plot(weights, path[:, i], color=theme.gray, linewidth=1.2)
    middle.plot(weights, path[:, wrong], color=theme.other, linewidth=2.6)
    middle.invert_xaxis()
    middle.set(xlabel="weight of the wrong row, from 1 to 0")
    middle.set_title(
        "coefficients while it leaves: straight pieces;\nat a corner, a row joins or leaves the margin"
    )
    return figure


def submodular(theme: Theme):
    """A batch of questions, nearest to the boundary alone and diverse, and the diminishing gains."""
    X, y = make_two_moons(300, noise=0.12, random_state=2)
    rng = np.random.default_rng(0)
    told = np.concatenate([rng.choice(np.flatnonzero(y == label), 4, replace=False) for label in (-1, 1)])
    model = LASVM(C=10, gamma=2.0, random_state=0).fit(X[told], y[told])
    view = (-1.5, 2.5, -1.05, 1.5)
    figure, axes = panels(1, 3, 13, 3.6, width_ratios=[1.2, 1.2, 1])
    margin = np.argsort(np.abs(model.decision_function(X)))[:8]
    strategy = query.Submodular(gamma=4.0, pool_size=None, random_state=0)
    diverse = strategy.query(model, X, 8)
    for panel, chosen, title in (
        (axes[0, 0], margin, "the 8 rows nearest to the boundary"),
        (axes[0, 1], diverse, "8 rows chosen together: query.Submodular"),
    ):
        boundary(panel, theme, model, view, margins=False)
        panel.scatter(*X.T, s=8, color=theme.gray, alpha=0.5, linewidth=0)
        panel.scatter(*X[told].T, s=90, marker="*", color=theme.gray, edgecolor=theme.page)
        panel.scatter(*X[chosen].T, s=70, marker="D", color=theme.third, edgecolor=theme.page, zorder=4)
        plane(panel, theme, view, title)
    similarity = np.exp(-3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    covered, best = np.zeros(len(X)), []
    gains = []
    for _ in range(20):
        gain = np.maximum(similarity, covered).sum(axis=1) - covered.sum()
        gains.append(gain)
        covered = np.maximum(covered, similarity[np.argmax(gain)])
        best.append(gain.max())
    gains = np.array(gains)
    panel = axes[0, 2]
    for i in rng.choice(len(X), 12, replace=False):
        panel.plot(range(1, 21), gains[:, i], color=theme.gray, linewidth=0.9, alpha=0.7)
    panel.plot(range(1, 21), best, color=theme.third, linewidth=2.4, marker="o", markersize=4)
    panel.set(xlabel="rows chosen", ylim=(0, None), xticks=[1, 5, 10, 15, 20])
    panel.set_title("gain of a row: it only falls, so that an\nold gain is a bound (lazy greedy)")
    return figure


def fold(theme: Theme):
    """Events, the state after each, a snapshot, and what a withdrawn label does."""
    figure, axes = panels(1, 1, 12, 4.4)
    panel = axes[0, 0]
    panel.set(xlim=(0, 12.2), ylim=(0, 4.5), xticks=[], yticks=[])
    panel.spines[:].set_visible(False)

    def box(x, y, text, color, width=1.45, dashed=False):
        style = {"boxstyle": "round,pad=0.02,rounding_size=0.09", "linewidth": 1.6}
        panel.add_patch(
            FancyBboxPatch(
                (x, y),
                width,
                0.72,
                facecolor=theme.page,
                edgecolor=color,
                linestyle=(0, (3, 2)) if dashed else "-",
                **style,
            )
        )
        panel.text(x + width / 2, y + 0.36, text, ha="center", va="center", fontsize=10.5)

    def arrow(start, end, color, **options):
        style = {"arrowstyle": "-|>", "mutation_scale": 13, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
        panel.add_patch(FancyArrowPatch(start, end, color=color, **(style | options)))

    events = ("rows 1-200", "label of 17", "rows 201-400", "label of 230", "withdraw 17", "rows 401-600")
    places = [1.9 + 1.72 * i for i in range(6)]
    panel.text(0, 3.96, "log, durable\nand append-only", va="center", color=theme.gray)
    panel.text(0, 2.16, "state = model,\nscores, questions", va="center", color=theme.gray)
    panel.text(0, 0.56, "snapshot:\na cache of a state", va="center", color=theme.gray)
    for number, (x, text) in enumerate(zip(places, events, strict=True)):
        box(x, 3.6, text, theme.other if "withdraw" in text else theme.one)
        box(x, 1.8, f"state {number + 1}", theme.good)
        arrow((x + 0.72, 3.56), (x + 0.72, 2.58), theme.one)
        if number:
            arrow((places[number - 1] + 1.47, 2.16), (x - 0.02, 2.16), theme.good)
    panel.text(places[0] + 0.82, 3.07, "step", color=theme.gray, fontsize=10)
    box(places[2], 0.2, "snapshot of 3", theme.third, dashed=True)
    arrow((places[2] + 0.72, 1.76), (places[2] + 0.72, 0.96), theme.third)
    arrow((places[2] + 1.5, 0.56), (places[3] + 0.5, 1.74), theme.third, connectionstyle="arc3,rad=0.25")
    panel.text(
        places[3] + 0.95,
        0.62,
        "after a crash: the newest snapshot,\nand the events after it",
        fontsize=10.5,
        va="center",
    )
    arrow(
        (places[4] + 0.3, 3.56),
        (places[0] + 1.1, 2.6),
        theme.other,
        connectionstyle="arc3,rad=-0.12",
        linestyle=(0, (3, 2)),
        linewidth=1.3,
    )
    panel.text(
        places[1] + 0.95,
        3.06,
        "the fold again,\nwithout the label of 17",
        color=theme.other,
        fontsize=10.5,
        va="center",
        bbox={"facecolor": theme.page, "edgecolor": "none", "pad": 2},
        zorder=5,
    )
    return figure


FIGURES = {draw.__name__: draw for draw in (lasvm, step, ramp, unlearning, submodular, fold)}

if __name__ == "__main__":
    save(FIGURES)
