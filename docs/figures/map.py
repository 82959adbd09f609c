"""The figure of docs/which-learner.md: from a problem to a class."""

from matplotlib.patches import FancyBboxPatch
from style import Theme, panels, save

TREE = {
    "Time:\ntoo many rows for SVC,\nor they arrive bit by bit": {
        "labels are reliable": "LASVM",
        "label noise, small model": "LASVMNC, LASVMI",
        "no tuning at all": "AdaptiveSVM",
    },
    "Memory:\nthe stream never ends": {
        "a fixed number of rows": "Projectron, RBP, NORMA",
        "only the last n rows count": "IDSVM(window=n)",
        "label noise": "OnlineSVMR(max_idle=100)",
        "a rare class, ranked first": "KOIL",
    },
    "Labels:\neach one costs money": {
        "a pool, and somebody to ask": "ActiveLearner(LASVM())",
        "a stream, and somebody to ask": "NeverEndingLearner",
        "they are asked in batches": "query.Submodular()",
        "nobody to ask, many unlabeled rows": "SubmodS3VM, StreamS3VM",
        "which records are the same?": "linkage.ActiveLinker",
    },
    "Positives:\none class is rare": {
        "weights are enough": 'class_weight="balanced"',
        "synthetic rows at the boundary": "VIRTUAL",
    },
    "Trust:\nrows must leave,\nor probabilities must hold": {
        "unlearn a row exactly": "IDSVM.forget",
        "erase it from model, log and file": "NeverEndingLearner.erase",
        "probabilities, prediction sets": "CalibratedClassifier",
    },
}


def map_of_learners(theme: Theme):
    """What is scarce, what is special about it, and the class."""
    figure, axes = panels(1, 1, 12, 8.2)
    panel = axes[0, 0]
    leaves = sum(map(len, TREE.values())) + 0.6 * (len(TREE) - 1)
    panel.set(xlim=(0, 12), ylim=(-0.3, leaves), xticks=[], yticks=[])
    panel.spines[:].set_visible(False)
    colors = (theme.one, theme.third, theme.other, theme.gray, theme.good)

    def box(x, y, width, height, text, color, **options):
        style = {"boxstyle": "round,pad=0,rounding_size=0.12", "linewidth": 1.6}
        panel.add_patch(
            FancyBboxPatch((x, y - height / 2), width, height, facecolor=theme.page, edgecolor=color, **style)
        )
        panel.text(x + width / 2, y, text, ha="center", va="center", **options)

    root = leaves / 2 - 0.2
    top = leaves - 0.5
    for color, (scarce, cases) in zip(colors, TREE.items(), strict=True):
        middle = top - (len(cases) - 1) / 2
        line = {"color": color, "linewidth": 1.6, "zorder": 0, "solid_capstyle": "round"}
        panel.plot([1.9, 2.2, 2.2, 2.5], [root, root, middle, middle], **line | {"color": theme.line})
        box(2.5, middle, 2.75, 0.5 + 0.5 * scarce.count("\n") + 0.45, scarce, color, fontsize=11.5)
        for case, name in cases.items():
            panel.plot([5.25, 5.5, 5.5, 5.7], [middle, middle, top, top], **line)
            panel.text(5.8, top, case, va="center", fontsize=11.5)
            panel.text(
                9.0, top, name, va="center", fontsize=11, family="monospace", color=color, fontweight="bold"
            )
            top -= 1
        top -= 0.6
    box(0.05, root, 1.85, 1.6, "What is scarce\nin your problem?", theme.ink, fontsize=12, fontweight="bold")
    return figure


FIGURES = {"map": map_of_learners}

if __name__ == "__main__":
    save(FIGURES)
