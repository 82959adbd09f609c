"""The page: complete, harmless, small, the same each time, and silent about what it was not told."""

import base64
import hashlib
import itertools
import re

import numpy as np
import pytest

from everlearn.report import render, write_report
from everlearn.report._matrices import DARKEST, brief, combined, frequent, merge
from everlearn.report._style import DARK, LIGHT, SCRIPT, STYLE
from report.report_helpers import Page, assert_inside, drawings, told

PARTS = {
    "curves": ["scores", "questions", "resources"],
    "questions": ["questions"],
    "confusion": ["confusion"],
    "drift": ["drift"],
    "influence": ["influence"],
    "features": ["features"],
}


def headings(page):
    return [attrs["id"] for attrs in Page(page).having("h2")]


def test_a_full_story_has_every_section_and_well_formed_drawings():
    page = render(told())
    order = ["confusion", "scores", "influence", "questions", "drift", "resources", "features"]
    assert headings(page) == order
    found = drawings(page)
    assert len(found) == len(re.findall("<svg", page)) > 10
    for svg in found:
        assert_inside(svg)
        if "aria-hidden" not in svg.attrib:
            assert svg.attrib["role"] == "img"
            assert [child.tag for child in svg[:2]] == ["title", "desc"]
            assert svg[0].text
            assert svg[1].text


def test_only_the_title_is_required():
    page = render({"title": "Nothing yet"})
    assert headings(page) == []
    assert not re.search("<svg|<table|<figure|<dl|<nav|<aside", page)
    assert Page(page).text.count("Nothing yet") == 2  # of the window and of the page


@pytest.mark.parametrize("part", PARTS)
def test_a_part_alone_brings_its_own_sections_only(part):
    data = told()
    assert headings(render({"title": "t", part: data[part]})) == PARTS[part]


@pytest.mark.parametrize(
    "part", [*PARTS, "audit", "peers", "totals", "notes", "classes", "window", "random_rows"]
)
@pytest.mark.parametrize("emptied", [True, False])
def test_a_part_that_is_missing_or_empty_leaves_the_others(part, emptied):
    data = told()
    if emptied and part != "window":
        data[part] = type(data[part])()
        if part == "classes":
            del data["confusion"], data["random_rows"]
    else:
        del data[part]
    page = render(data)
    Page(page)
    assert all(map(len, drawings(page)))
    if part == "drift":
        assert 'class="drift"' not in page


def test_columns_without_a_single_number_vanish():
    nothing = {"rows": [1, 2], "accuracy": [None, float("nan")], "memory_mb": [None, None]}
    assert headings(render({"title": "t", "curves": nothing})) == []


def test_ids_are_unique_and_references_hold():
    page = Page(render(told()))
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    named = [name for _, attrs in page.elements for name in attrs.get("aria-labelledby", "").split()]
    named += [attrs["href"].removeprefix("#") for attrs in page.having("a")]
    assert set(named) <= set(ids)


EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;</svg></td>\x00\ud800\u202e"


def test_text_from_data_stays_text():
    data = told(classes=(EVIL, "b" + EVIL))
    data |= dict.fromkeys(("title", "created", "learner", "source", "store", "features"), EVIL)
    data |= {"notes": [EVIL]}
    data["peers"][0]["name"] = EVIL
    for alarm in data["drift"]:
        alarm |= {"time": EVIL, "policy": EVIL, "note": EVIL}
    for question in data["questions"]:
        question |= {"id": EVIL, "kind": EVIL, "reason": EVIL, "predicted": EVIL}
    page = render(data)
    page.encode("utf-8")
    parsed = Page(page)
    assert len(parsed.having("script")) == 1
    assert parsed.having("img") == []
    assert not [attrs for _, attrs in parsed.elements if any(name.startswith("on") for name in attrs)]
    assert "<script>alert(1)" in parsed.text
    assert "\u202e" not in page
    assert len(drawings(page)) == len(parsed.having("svg"))


def test_the_page_loads_nothing_and_locks_out_what_is_not_its_own():
    page = render(told())
    assert not re.search(r"""(src|href|srcset|action|data)\s*=\s*["'](?!#)""", page)
    assert not re.search(r"url\(|@import|https?:|\bstyle=", page)
    (policy,) = [attrs["content"] for attrs in Page(page).having("meta") if "http-equiv" in attrs]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for tag, text in (("script", SCRIPT), ("style", STYLE)):
        assert re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL) == [text]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_a_hundred_thousand_steps_make_a_small_page_and_always_the_same():
    data = told(n=100_000, questions=10_000, classes=[f"class {i}" for i in range(40)])
    data["drift"] = [{"row": 10_000 * i, "policy": "forget", "note": "<" * 200} for i in range(500)]
    data["peers"] = [data["peers"][0] | {"name": f"peer {i}"} for i in range(4)]
    page = render(data)
    assert len(page.encode()) < 1_000_000
    assert page == render(data)


def test_arrays_tell_the_same_as_lists():
    data = told()
    arrays = data | {"curves": {key: np.array(values) for key, values in data["curves"].items()}}
    arrays |= {"classes": np.array(data["classes"]), "questions": tuple(data["questions"])}
    arrays["confusion"] = [part | {"matrix": np.array(part["matrix"])} for part in data["confusion"]]
    assert render(arrays) == render(data)


def table_rows(page):
    """The texts of the cells of every row."""
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    return [
        [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)]
        for row in rows
    ]


def test_questions_are_counted():
    def question(kind, reason, predicted, label):
        return {"asked_row": 10, "kind": kind, "reason": reason, "predicted": predicted, "label": label}

    asked = (
        [question("strategy", "near", 0, 1)] * 3
        + [question("strategy", "near", 1, 1)]
        + [question("audit", "chance", 0, 0)]
    )
    asked += [question("strategy", "near", 0, None), question("strategy", "near", 0, float("nan"))]
    text = Page(render({"title": "t", "questions": asked})).text
    assert "7 questions, 71% answered; 60% of the answers differ from the prediction." in text
    rows = table_rows(render({"title": "t", "questions": asked}))
    near = next(row for row in rows if row[0] == "near")
    assert near[1:5] == ["strategy", "6", "75%", "4"]
    chance = next(row for row in rows if row[0] == "chance")
    assert chance[1:5] == ["random sample", "1", "0%", "1"]


def test_the_latest_fifty_questions_are_listed_newest_first():
    page = render(told(questions=120))
    listed = re.findall(r">row-(\d+)<", page)
    assert listed == [str(i) for i in range(119, 69, -1)]
    assert "Show the latest 50 of 120 questions" in page


def test_merged_periods_and_combined_classes_lose_no_row():
    rng = np.random.default_rng(1)
    matrices = rng.integers(0, 100, (17, 14, 14)).astype(float)
    periods = [(i, i + 1, matrix) for i, matrix in enumerate(matrices)]
    merged = merge(periods, 6)
    assert len(merged) == 6
    assert (merged[0][0], merged[-1][1]) == (0, 17)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(merged))
    total = sum(matrix for _, _, matrix in merged)
    assert (total == matrices.sum(axis=0)).all()
    order = frequent(total, 10)
    assert order == sorted(set(order))
    small = combined(total, order)
    assert small.shape == (11, 11)
    assert small.sum() == total.sum()
    assert (small[:10, :10] == total[np.ix_(order, order)]).all()
    assert (small[:10, 10] == np.delete(total, order, axis=1)[order].sum(axis=1)).all()
    occur = total.sum(axis=0) + total.sum(axis=1)
    assert occur[order].min() >= np.delete(occur, order).max()


def test_the_classes_have_their_recall_and_precision_with_the_counts_behind_them():
    data = {"title": "t", "classes": ["a", "b"]}
    data["confusion"] = [
        {"row_from": 0, "row_to": 90, "matrix": [[60, 20], [0, 0]]},
        {"row_from": 90, "row_to": 200, "matrix": [[20, 0], [10, 90]]},
    ]
    data["random_rows"] = {"matrix": [[3, 1], [0, 0]], "drawn": "audit"}
    page = render(data)
    rows = table_rows(page)
    assert ["a", "80%, 80 of 100", "89%, 80 of 90", "75%, 3 of 4", "100%, 20 of 20"] in rows
    assert ["b", "90%, 90 of 100", "82%, 90 of 110", "–", "90%, 90 of 100"] in rows  # noqa: RUF001
    assert "Random rows" in page
    del data["random_rows"]
    assert "Random rows" not in render(data)


def test_a_handful_of_rows_is_one_matrix():
    data = {"title": "t", "confusion": [{"row_from": 0, "row_to": 9, "matrix": [[2, 1], [0, 3]]}] * 3}
    page = render(data)
    assert len([svg for svg in drawings(page) if svg.attrib["class"].startswith("matrix")]) == 1
    assert "18 rows, 83% correct" in page


@pytest.mark.parametrize(
    ("value", "text"),
    [(7, "7"), (999, "999"), (1234, "1.2k"), (45_600, "46k"), (999_900, "1.0M"), (2e9, "2.0G")],
)
def test_counts_fit_their_cells(value, text):
    assert brief(value) == text


def test_data_that_would_be_shown_wrongly_are_refused():
    with pytest.raises(ValueError, match="as long as its column 'rows'"):
        render({"title": "t", "curves": {"rows": [1, 2], "accuracy": [1]}})


def test_the_file_is_the_page_and_a_failure_leaves_the_old_one(tmp_path):
    path = tmp_path / "report.html"
    write_report(told(), path)
    before = path.read_bytes()
    assert before.decode("utf-8") == render(told())
    with pytest.raises(ValueError, match="title"):
        write_report({}, path)
    assert path.read_bytes() == before
    write_report({"title": "ä → ß"}, str(path))
    assert path.read_text(encoding="utf-8") == render({"title": "ä → ß"})
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def linear(color):
    """Linear red, green and blue after WCAG 2."""
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def luminance(color):
    return float(linear(color) @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


# Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency",
# 2009: what linear red, green and blue become at full severity.
SIGHT = {
    "all": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array(
    [[0.4339, 0.3762, 0.1899], [0.2127, 0.7152, 0.0722], [0.0178, 0.1095, 0.8728]]
)  # white is 1


def lab(color, sight):
    """The color in CIELAB as such a reader sees it; a distance of 2 is just noticed."""
    seen = np.clip(np.array(sight) @ linear(color), 0, 1)
    x, y, z = np.cbrt(TO_XYZ @ seen)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_lines_keep_apart_for_every_reader(palette, sight):
    for one, other in itertools.combinations(("c1", "c2", "c3", "c4", "c5"), 2):
        apart = lab(palette[one], SIGHT[sight]) - lab(palette[other], SIGHT[sight])
        assert np.linalg.norm(apart) >= 15, (one, other)


def mixed(color, ground, part):
    values = [(int(color[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part * a + (1 - part) * b):02x}" for a, b in values)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_their_ground(palette):
    assert LIGHT.keys() == DARK.keys()
    for ground in ("page", "card", "warn"):
        assert contrast(palette["text"], palette[ground]) >= 7
    for ground in ("page", "card"):
        assert contrast(palette["soft"], palette[ground]) >= 4.5
        assert contrast(palette["c1"], palette[ground]) >= 4.5  # links
    for name in ("c1", "c2", "c3", "c4", "c5", "base", "axis"):
        assert contrast(palette[name], palette["card"]) >= 3
    for name in ("c2", "c3"):
        assert contrast(palette[name], palette["card"]) >= 4.5  # right, wrong
    for shade in ("c1", "c2"):  # numbers on the darkest cell of a matrix
        assert contrast(palette["text"], mixed(palette[shade], palette["card"], DARKEST)) >= 4.5
