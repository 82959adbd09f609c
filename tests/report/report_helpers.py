"""Stories that never happened, and what a test wants to know of a page."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
VOID = {"meta", "br", "hr", "img", "link", "input"}


def told(n=400, questions=120, classes=("no", "yes"), seed=0):
    """A data with everything in it."""
    rng = np.random.default_rng(seed)
    rows = np.arange(1, n + 1) * 50

    def score():
        return np.clip(1 - np.exp(-np.arange(n) / (n / 4)) + rng.normal(0, 0.02, n), 0, 1)

    measures = ("accuracy", "g_means", "mcc", "auc")
    curves = {prefix + m: score() for prefix in ("", "fading_", "no_change_", "majority_") for m in measures}
    curves |= {"rows": rows, "labels": rows // 40, "asked": rows // 30, "seconds": rows / 7.0}
    curves |= {"support_vectors": 90 - 80 / (1 + np.arange(n)), "memory_mb": np.linspace(1, 4, n)}
    k = len(classes)
    return {
        "title": "A stream",
        "created": "2026-01-02T03:04:05Z",
        "learner": "LASVM(C=10)",
        "source": "rows.csv",
        "store": "rows.everlearn",
        "classes": list(classes),
        "window": 1000,
        "totals": {
            "rows": int(rows[-1]),
            "labels": int(rows[-1]) // 40,
            "asked": int(rows[-1]) // 30,
            "open_questions": 3,
            "budget": 5000,
            "support_vectors": 90,
            "memory_mb": 4.0,
            "seconds": 4213.0,
            "rows_per_second": 7.0,
            "drift_alarms": 2,
            "quarantined": 7,
        },
        "curves": {key: np.asarray(values).tolist() for key, values in curves.items()},
        "audit": {
            "rows": rows[::4].tolist(),
            "accuracy": [0.8] * len(rows[::4]),
            "lower": [0.7] * len(rows[::4]),
            "upper": [0.9] * len(rows[::4]),
            "confidence": 0.95,
        },
        "peers": [{"name": "asking at random", "rows": rows.tolist(), "g_means": score().tolist()}],
        "drift": [
            {"row": int(rows[n // 3]), "time": "2026-01-02", "policy": "forget", "note": "error rose"},
            {"row": int(rows[2 * n // 3]), "time": None, "policy": "restart", "note": None},
        ],
        "questions": [
            {
                "id": f"row-{i}",
                "asked_row": int(rows[i * n // questions]),
                "kind": "audit" if i % 7 == 0 else "strategy",
                "reason": "by chance" if i % 7 == 0 else "near the boundary",
                "utility": i / questions,
                "predicted": classes[i % k],
                "label": None if i >= questions - 3 else classes[(i + (i % 5 == 0)) % k],
                "answered_row": None if i >= questions - 3 else int(rows[i * n // questions]) + 60,
            }
            for i in range(questions)
        ],
        "confusion": [
            {"row_from": 1000 * i, "row_to": 1000 * (i + 1), "matrix": rng.integers(0, 50, (k, k)).tolist()}
            for i in range(8)
        ],
        "random_rows": {"matrix": (np.eye(k, dtype=int) * 8 + 1).tolist(), "drawn": "audit"},
        "influence": {
            "sample": 200,
            "fields": [
                {"field": "amount", "change": 0.8, "flips": 0.25, "toward": classes[1]},
                {"field": "country", "change": 0.1, "flips": 0.0, "toward": None},
            ],
            "rows": [
                {"id": "r1", "label": classes[0], "predicted": classes[1], "change": 0.3, "flips": 0.02},
                {"id": "r2", "label": classes[0], "predicted": classes[0], "change": 0.1, "flips": 0.0},
            ],
        },
        "features": "amount float\ncountry category",
        "notes": ["7 rows in quarantine"],
    }


class Page(HTMLParser):
    """Elements of a page, closed in order, with their attributes; and the text outside style and script."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.open = [], "", []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.text += data

    def having(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]


def drawings(page):
    """The SVG elements of a page, parsed as XML."""
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg .*?</svg>", page, re.DOTALL)]


def absolute_points(path):
    """The points of a path in the dialect of the report: M x,y then x,y pairs, H, V, h, v, l, m, z, Z."""
    points, x, y = [], 0.0, 0.0
    for command, rest in re.findall(r"([MmHVhvlzZ])([^MmHVhvlzZ]*)", path):
        values = [float(value) for value in NUMBER.findall(rest)]
        if command == "M":
            pairs = list(zip(values[::2], values[1::2], strict=True))
            points += pairs
            x, y = pairs[-1]
        elif command in "lm":
            x, y = x + values[0], y + values[1]
        elif command in "Hh":
            x = values[0] if command == "H" else x + values[0]
        elif command in "Vv":
            y = values[0] if command == "V" else y + values[0]
        points.append((x, y))
    return points


def assert_inside(svg):
    """Every point, rectangle and text of a drawing lies in its view box."""
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    for element in svg.iter():
        points = absolute_points(element.attrib.get("d", ""))
        if "x" in element.attrib:
            x, y = float(element.attrib["x"]), float(element.attrib["y"])
            wide, high = (float(element.attrib.get(key, 0)) for key in ("width", "height"))
            points += [(x, y), (x + wide, y + high)]
        for x, y in points:
            assert -0.06 <= x <= width + 0.06, (element.tag, element.attrib)
            assert -0.06 <= y <= height + 0.06, (element.tag, element.attrib)
