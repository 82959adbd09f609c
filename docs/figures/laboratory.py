"""The figures of docs/papers.md and docs/comparison.md, drawn from recorded results."""

import sys
from pathlib import Path

from matplotlib.lines import Line2D
from style import Theme, panels, save

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.laboratory.catalogue import documents
from benchmarks.laboratory.papers_page import findings
from benchmarks.laboratory.results import Results
from benchmarks.laboratory.verdict import Verdict
from benchmarks.river_tracks.scores import PUBLISHED

RESULTS = Results()
TRACKS = {"bananas": "Bananas", "phishing": "Phishing", "segments": "ImageSegments", "elec2": "Elec2"}
SHOWN = 3  # learners of River that are named in a panel
LEAST = 0.7  # accuracies below it are not drawn


def verdicts(theme: Theme):
    """How many claims of each document came out how."""
    figure, axes = panels(1, 1, 9, 3.4)
    panel = axes[0, 0]
    found = findings(RESULTS)
    colors = {
        Verdict.REPRODUCED: theme.good,
        Verdict.IN_PART: theme.third,
        Verdict.REFUTED: theme.other,
        Verdict.UNMEASURABLE: theme.line,
        Verdict.OPEN: theme.gray,
    }
    for place, (key, claims) in enumerate(reversed(found.items())):
        left = 0
        for verdict, color in colors.items():
            count = sum(finding.verdict is verdict for finding in claims)
            if not count:
                continue
            panel.barh(place, count, left=left, height=0.62, color=color, edgecolor=theme.page, linewidth=1.5)
            ink = theme.ink if verdict is Verdict.UNMEASURABLE else theme.page
            panel.text(left + count / 2, place, str(count), ha="center", va="center", color=ink, fontsize=10)
            left += count
        title = "everlearn's own" if key == "everlearn" else documents()[key].short
        panel.text(-0.6, place, title, ha="right", va="center", color=theme.ink)
    for verdict, color in colors.items():
        if any(finding.verdict is verdict for claims in found.values() for finding in claims):
            panel.bar(0, 0, color=color, label=verdict.value)
    panel.set(yticks=[], xlabel="claims")
    panel.spines["left"].set_visible(False)
    panel.legend(ncols=5, loc="lower left", bbox_to_anchor=(-0.24, 1.0), handlelength=1, columnspacing=1.4)
    return figure


def tracks(theme: Theme):
    """Accuracy on River's tracks: ours, River's here, and what River published."""
    figure, axes = panels(2, 2, 10.5, 6.2)
    for panel, (name, title) in zip(axes.flat, TRACKS.items(), strict=True):
        measured = RESULTS.pick("river_tracks-scores", "accuracy", set=name).by("learner")
        ours = {key: value for key, value in measured.items() if "SVM" in key}
        river = {
            key.removeprefix("River, "): value for key, value in measured.items() if key.startswith("River")
        }
        best = dict(sorted(river.items(), key=lambda item: -item[1])[:SHOWN])
        best = {key: value for key, value in best.items() if value > LEAST}
        lines = [
            *((key, value, theme.one, True) for key, value in ours.items()),
            *((key, value, theme.gray, True) for key, value in best.items()),
            *(
                (f"{key}, 2023", value, theme.other, False)
                for key, value in PUBLISHED[name].items()
                if value > 0.7
            ),
        ]
        lines.sort(key=lambda line: line[1])
        low = min(line[1] for line in lines)
        for place, (_, value, color, filled) in enumerate(lines):
            face = color if filled else theme.page
            panel.plot(
                100 * value,
                place,
                "o",
                markersize=7,
                markerfacecolor=face,
                markeredgecolor=color,
                markeredgewidth=1.6,
            )
            panel.axhline(place, color=theme.line, linewidth=0.6, zorder=0)
        panel.set(
            title=title, ylim=(-0.7, len(lines) - 0.3), xlim=(100 * low - 1.5, 100 * lines[-1][1] + 1.5)
        )
        panel.set_yticks(range(len(lines)), [line[0] for line in lines], fontsize=9)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
    for panel in axes[1]:
        panel.set_xlabel("accuracy, %")
    key = (
        ("ours", theme.one, True),
        ("River, run here", theme.gray, True),
        ("River, published", theme.other, False),
    )
    marks = [
        Line2D(
            [],
            [],
            marker="o",
            linestyle="",
            color=color,
            markerfacecolor=color if filled else theme.page,
            label=text,
        )
        for text, color, filled in key
    ]
    figure.legend(handles=marks, ncols=3, loc="outside upper left")
    return figure


FIGURES = {"verdicts": verdicts, "river-tracks": tracks}

if __name__ == "__main__":
    save(FIGURES)
