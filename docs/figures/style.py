"""One look for all figures, in a version for light pages and one for dark pages.

A figure is a function that gets a `Theme` and returns a Matplotlib figure. Each file here has a table FIGURES
of them by their names; `save` writes docs/images/NAME.png and docs/images/NAME-dark.png. The tests draw all
of them again and compare.
"""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

matplotlib.use("agg")
IMAGES = Path(__file__).resolve().parents[1] / "images"


@dataclass(frozen=True)
class Theme:
    """The colors of a page."""

    name: str
    ink: str
    gray: str
    line: str
    page: str
    one: str
    other: str
    good: str
    third: str


LIGHT = Theme("light", "#222b33", "#67717b", "#d5dae0", "#ffffff", "#0b6e99", "#c8553d", "#3f7d3a", "#b7791f")
DARK = Theme("dark", "#e6e9ec", "#a3adb7", "#434b54", "#14181e", "#5fb8e0", "#f0937d", "#84c77c", "#e0b25a")


def settings(theme: Theme) -> dict[str, object]:
    """Matplotlib's settings for a theme."""
    return {
        "font.size": 11,
        "axes.titlesize": 11.5,
        "axes.titlelocation": "left",
        "axes.edgecolor": theme.line,
        "axes.labelcolor": theme.gray,
        "axes.titlecolor": theme.ink,
        "axes.facecolor": "none",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "grid.color": theme.line,
        "grid.linewidth": 0.7,
        "text.color": theme.ink,
        "xtick.color": theme.gray,
        "ytick.color": theme.gray,
        "legend.frameon": False,
        "legend.labelcolor": theme.ink,
        "figure.facecolor": theme.page,
        "savefig.facecolor": theme.page,
        "figure.constrained_layout.use": True,
        "hatch.color": theme.gray,
    }


def picture(draw: Callable[[Theme], Figure], theme: Theme) -> Image.Image:
    """A figure as it is drawn."""
    with matplotlib.rc_context(settings(theme)):
        drawn = io.BytesIO()
        draw(theme).savefig(drawn, dpi=120, bbox_inches="tight", pad_inches=0.08)
    return Image.open(drawn).convert("RGB")


def save(figures: dict[str, Callable[[Theme], Figure]]) -> None:
    """Draw figures for both themes."""
    IMAGES.mkdir(exist_ok=True)
    for name, draw in figures.items():
        for theme, ending in ((LIGHT, ""), (DARK, "-dark")):
            # 255 colors are enough, and make the file a third as large.
            colors = picture(draw, theme).quantize(255, dither=Image.Dither.NONE)
            colors.save(IMAGES / f"{name}{ending}.png", optimize=True)


def panels(
    rows: int, columns: int, width: float, height: float, **options: object
) -> tuple[Figure, np.ndarray]:
    """A figure and its panels."""
    figure = Figure(figsize=(width, height))
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def plane(axes: Axes, theme: Theme, view: tuple[float, float, float, float], title: str = "") -> None:
    """A panel that shows rows with two features."""
    axes.set(xlim=view[:2], ylim=view[2:], xticks=[], yticks=[], aspect="equal")
    axes.spines[:].set_visible(True)
    axes.spines[:].set_color(theme.line)
    axes.set_title(title)


def grid(
    view: tuple[float, float, float, float], steps: int = 140
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points that cover a view: coordinates across and up, and all points as rows."""
    across, up = np.meshgrid(np.linspace(*view[:2], steps), np.linspace(*view[2:], steps))
    return across, up, np.column_stack([across.ravel(), up.ravel()])


def boundary(
    axes: Axes, theme: Theme, model: object, view: tuple[float, float, float, float], *, margins: bool = True
) -> None:
    """The sides of a model, its boundary and its margins."""
    across, up, points = grid(view)
    scores = model.decision_function(points).reshape(across.shape)
    axes.contourf(across, up, scores, levels=[-1e9, 0, 1e9], colors=[theme.other, theme.one], alpha=0.13)
    axes.contour(across, up, scores, levels=[0], colors=theme.ink, linewidths=1.8)
    if margins:
        dashes = [(0, (4, 2.5))]
        axes.contour(across, up, scores, levels=[-1, 1], colors=theme.gray, linewidths=1, linestyles=dashes)


def rows(axes: Axes, theme: Theme, X: np.ndarray, y: np.ndarray, size: float = 12, **options: object) -> None:
    """Rows in the colors of their classes."""
    for label, color in ((1, theme.one), (-1, theme.other)):
        axes.scatter(*X[y == label].T, s=size, color=color, linewidth=0, **options)


def rings(axes: Axes, theme: Theme, X: np.ndarray, size: float = 42) -> None:
    """Rings around rows, such as support vectors."""
    axes.scatter(*np.asarray(X).T, s=size, facecolor="none", edgecolor=theme.ink, linewidth=0.9)
