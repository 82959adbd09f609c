"""Stored pictures are what their code draws now, up to what another version of Matplotlib may move."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
PROGRAMS = ("algorithms", "laboratory", "map", "parameters")
WIDTH = 160  # pictures are compared at this width
MEAN, LARGEST = 0.5, 25  # of 255


@pytest.fixture(scope="module")
def figures():
    """All figures by their names, and the module with their look."""
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    try:
        look = importlib.import_module("style")
        found = {}
        for name in PROGRAMS:
            found |= importlib.import_module(name).FIGURES
        yield look, found
    finally:
        sys.path.remove(str(FOLDER))
        for name in {"style", *PROGRAMS} - before:
            sys.modules.pop(name, None)


def reduced(picture):
    size = (WIDTH, max(20, WIDTH * picture.height // picture.width))
    return np.asarray(picture.convert("RGB").resize(size, Image.Resampling.BOX), dtype=float)


def differs(drawn, stored):
    """Whether two pictures show something else."""
    if abs(drawn.width - stored.width) > 4 or abs(drawn.height - stored.height) > 4:
        return True
    difference = np.abs(reduced(drawn) - reduced(stored.resize(drawn.size))).mean(axis=2)
    return bool(difference.mean() > MEAN or difference.max() > LARGEST)


def test_every_program_that_draws_is_compared():
    others = {"style", "screens"}  # the look; screens of the page, which its own tests make
    assert {path.stem for path in FOLDER.glob("*.py")} - others == set(PROGRAMS)


def test_stored_figures_are_what_the_code_draws(figures):
    look, found = figures
    changed = [
        name
        for name, draw in found.items()
        if differs(look.picture(draw, look.LIGHT), Image.open(look.IMAGES / f"{name}.png"))
    ]
    assert changed == [], "run python docs/figures/NAME.py, and look at the picture"


def test_a_figure_that_has_changed_is_caught(figures):
    look, found = figures
    stored = Image.open(look.IMAGES / "ramp.png")
    assert not differs(stored, stored)
    assert differs(look.picture(found["ramp"], look.DARK), stored)
    part = np.asarray(stored.convert("RGB")).copy()
    part[200:300, 200:300] = part[5, 5]
    assert differs(Image.fromarray(part), stored)
