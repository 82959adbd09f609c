"""The figures of docs/parameters.md: what each parameter that matters does."""

import numpy as np
from style import Theme, boundary, panels, plane, rings, rows, save

from everlearn import IDSVM, LASVM, RBP, ActiveLearner, Forgetron, Projectron, RampSVM, SubmodS3VM, query
from everlearn.datasets import make_banana, make_checkerboard, make_two_moons

VIEW = (-2.2, 2.2, -2.2, 2.2)
MOONS = (-1.5, 2.5, -1.05, 1.5)


def row_of_models(theme: Theme, models, X, y, test):
    """A panel for each model: its boundary, its support vectors, its error on other rows."""
    figure, axes = panels(1, len(models), 13, 3.65)
    for panel, (name, model) in zip(axes[0], models.items(), strict=True):
        model.fit(X, y)
        error = 1 - model.score(*test)
        boundary(panel, theme, model, VIEW)
        rows(panel, theme, X, y, size=9, alpha=0.85)
        rings(panel, theme, X[model.support_], size=32)
        plane(panel, theme, VIEW, f"{name}: error {error:.1%},\n{len(model.support_)} support vectors")
    return figure


def parameter_c(theme: Theme):
    """C from underfitting to overfitting."""
    X, y = make_banana(200, noise=0.35, random_state=0)
    test = make_banana(4000, noise=0.35, random_state=1)
    models = {f"C = {C:g}": LASVM(C=C, gamma=1.0, random_state=0) for C in (0.03, 1, 30, 3000)}
    return row_of_models(theme, models, X, y, test)


def parameter_gamma(theme: Theme):
    """gamma from nearly linear to islands."""
    X, y = make_banana(200, noise=0.35, random_state=0)
    test = make_banana(4000, noise=0.35, random_state=1)
    models = {f"gamma = {gamma:g}": LASVM(C=3, gamma=gamma, random_state=0) for gamma in (0.03, 0.5, 5, 100)}
    return row_of_models(theme, models, X, y, test)


def parameter_ramp(theme: Theme):
    """s of the ramp loss: from ignoring too much to ignoring nothing."""
    X, y = make_banana(300, label_noise=0.15, random_state=0)
    test = make_banana(4000, random_state=1)
    models = {f"s = {s:g}": RampSVM(C=10, gamma=1.0, s=s) for s in (0, -0.5, -1, -np.inf)}
    return row_of_models(theme, models, X, y, test)


def parameter_budget(theme: Theme):
    """Accuracy against the budget of three learners."""
    budgets = (10, 20, 50, 100, 200, 400, 800)
    figure, axes = panels(1, 2, 11, 3.8, sharey=True)
    streams = {
        "banana: an easy boundary": (make_banana(8000, random_state=0), 1.0),
        "checkerboard: a long boundary": (make_checkerboard(8000, random_state=0), 20.0),
    }
    for panel, (name, ((X, y), gamma)) in zip(axes[0], streams.items(), strict=True):
        if name.startswith("checkerboard"):
            X = X / X.max(axis=0)
        for learner, color in ((Projectron, theme.one), (Forgetron, theme.third), (RBP, theme.other)):
            accuracies = []
            for budget in budgets:
                model = learner(budget, gamma=gamma, random_state=0)
                right = 0
                for start in range(0, len(X), 200):
                    block = slice(start, start + 200)
                    if start >= 4000:
                        right += np.sum(model.predict(X[block]) == y[block])
                    model.partial_fit(X[block], y[block], classes=[-1, 1])
                accuracies.append(right / 4000)
            panel.plot(
                budgets,
                accuracies,
                color=color,
                linewidth=2.2,
                marker="o",
                markersize=4,
                label=learner.__name__,
            )
        panel.set_xscale("log")
        panel.set_xticks(budgets, [f"{budget}" for budget in budgets], minor=False)
        panel.minorticks_off()
        panel.set(xlabel="budget: rows kept", ylim=(0.45, 1))
        panel.grid(axis="y")
        panel.set_title(name)
    axes[0, 0].set_ylabel("prequential accuracy")
    axes[0, 1].legend(loc="lower right")
    return figure


def parameter_pool_size(theme: Theme):
    """How many rows to look at for one question."""
    figure, axes = panels(1, 2, 11, 3.8)
    sizes = np.arange(1, 201)
    panel = axes[0, 0]
    for part, color in ((0.01, theme.other), (0.05, theme.one), (0.1, theme.third)):
        panel.plot(sizes, 1 - (1 - part) ** sizes, color=color, linewidth=2.2, label=f"{part:.0%}")
    panel.axvline(59, color=theme.line, zorder=0)
    panel.text(61, 0.04, "59, the default", color=theme.gray)
    panel.set(xlabel="pool_size: rows drawn for a question", ylim=(0, 1.02), xlim=(0, 200))
    panel.set_title("probability that the best row drawn is among the best ... of the pool")
    panel.legend(loc="center right")
    panel.grid(axis="y")
    curve = axes[0, 1]
    test = make_banana(2000, random_state=99)
    for size, color in ((1, theme.gray), (5, theme.third), (59, theme.one), (None, theme.other)):
        errors = []
        for seed in range(6):
            X, y = make_banana(1500, random_state=seed)
            strategy = query.Margin(size, random_state=seed)
            loop = ActiveLearner(LASVM(C=10, gamma=1.0), strategy, random_state=seed)
            loop.run(X, y, 60, test=test, score_every=4)
            errors.append([1 - record["score"] for record in loop.history[7::4]])
        name = "all 1,500" if size is None else f"{size}"
        curve.plot(range(8, 61, 4), np.mean(errors, axis=0), color=color, linewidth=2.2, label=name)
    curve.set(xlabel="labels", ylim=(0, None))
    curve.set_title("test error by pool_size, mean of 6 pools")
    curve.legend(loc="upper right")
    curve.grid(axis="y")
    return figure


def parameter_window(theme: Theme):
    """A window under drift: short ones recover quickly, long ones are more accurate while nothing changes."""
    figure, axes = panels(1, 1, 11, 3.7)
    panel = axes[0, 0]
    n, drift = 1600, 800
    X, y = make_banana(n, noise=0.25, random_state=0)
    X = X.copy()
    X[drift:] = X[drift:] @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    for window, color in ((25, theme.third), (150, theme.one), (None, theme.other)):
        model = IDSVM(C=10, gamma=1.0, window=window)
        wrong = np.zeros(n)
        for start in range(0, n, 5):
            block = slice(start, start + 5)
            if start:
                wrong[block] = model.predict(X[block]) != y[block]
            model.partial_fit(X[block], y[block], classes=[-1, 1])
        smooth = np.convolve(wrong, np.ones(80) / 80, mode="valid")
        name = "all rows" if window is None else f"window = {window}"
        panel.plot(np.arange(len(smooth)) + 80, smooth, color=color, linewidth=2, label=name)
    panel.axvline(drift, color=theme.line, zorder=0)
    panel.text(drift + 8, 0.5, "concept drift", color=theme.gray)
    panel.set(xlabel="rows", ylim=(0, 0.56), xlim=(80, n))
    panel.set_title("error over the last 80 rows, each predicted before it is learned")
    panel.legend(loc="upper left")
    panel.grid(axis="y")
    return figure


def parameter_rho(theme: Theme):
    """rho: how much the clusters of unlabeled rows count."""
    X, y = make_two_moons(300, noise=0.1, random_state=0)
    known = np.full(len(X), np.nan)
    told = [int(np.argmin(np.linalg.norm(X - place, axis=1))) for place in ([-0.7, 0.65], [1.0, -0.5])]
    known[told] = y[told]
    figure, axes = panels(1, 4, 13, 2.6)
    for panel, rho in zip(axes[0], (0.0, 0.01, 1.0, 100.0), strict=True):
        model = SubmodS3VM(
            rho=rho, kernel="rbf", gamma=20.0, scaling="none", positive_fraction=0.5, estimator=None
        )
        found = model.fit(X, known).transduction_
        rows(panel, theme, X, found, size=12)
        wrong = found != y
        panel.scatter(*X[wrong].T, s=42, facecolor="none", edgecolor=theme.ink, linewidth=0.9)
        panel.scatter(*X[told].T, s=260, marker="*", color=theme.third, edgecolor=theme.ink, zorder=4)
        plane(panel, theme, MOONS, f"rho = {rho:g}: {np.mean(~wrong):.0%} correct")
    return figure


FIGURES = {
    draw.__name__.replace("_", "-"): draw
    for draw in (
        parameter_c,
        parameter_gamma,
        parameter_ramp,
        parameter_budget,
        parameter_pool_size,
        parameter_window,
        parameter_rho,
    )
}

if __name__ == "__main__":
    save(FIGURES)
