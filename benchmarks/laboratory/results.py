"""Recorded runs as one tidy table: a row for each measured value.

The JSON files of the parts nest differently. A walk over them turns every number into a row: names of data
sets and learners come from fields and from the keys of some containers, the seed from a field or the place in
a list, and settings such as the number of labels are kept in `at`.
"""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from statistics import fmean, median
from typing import Any

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "benchmarks" / "results"
COLUMNS = ("id", "part", "set", "learner", "metric", "at", "value", "seed", "commit", "machine", "date")

SET_FIELDS = ("set", "stream")
LEARNER_FIELDS = ("learner", "reader", "peer", "rule", "who", "tool")
AT_FIELDS = (
    "noise",
    "rate",
    "protocol",
    "part",
    "question",
    "ask",
    "share",
    "labels",
    "rows",
    "C",
    "gamma",
    "s",
)
# The keys of these are names of learners; those of the second set also stay in the name of the metric.
STRUCTURE = ("peers", "learners", "methods", "readers")
NAMED = {
    "active_learning-aubc": ("aubc", "mean", "seconds"),
    "active_learning-imbalance": ("runs", "means"),
    "linkage-authors": (),
    "query_strategies-pools": ("runs",),
    "semi-accuracy": ("every_split",),
    "semi-size": ("alone",),
    "streams-cost": ("cpu_ms",),
}
# Of lists in these files a single number is a name of a metric, not a seed.
POSITIONS = {
    "active_learning-imbalance": ("g_means", "auc", "prbep"),
}


@dataclass(frozen=True)
class Row:
    """A measured value."""

    part: str
    set: str
    learner: str
    metric: str
    value: float
    seed: int | None = None
    at: tuple[tuple[str, Any], ...] = ()

    def cells(self, ids: Iterable[str], source: dict[str, str]) -> list[Any]:
        """The row of the CSV file."""
        at = " ".join(f"{key}={value}" for key, value in self.at)
        seed = "" if self.seed is None else self.seed
        return [
            " ".join(ids), self.part, self.set, self.learner, self.metric, at, repr(self.value), seed,
            source["commit"], source["machine"], source["date"],
        ]  # fmt: skip


@dataclass(frozen=True)
class _Place:
    part: str
    set: str = ""
    learner: str = ""
    metric: tuple[str, ...] = ()
    seed: int | None = None
    at: dict[str, Any] = field(default_factory=dict)

    def row(self, value: float) -> Row:
        metric = ".".join(self.metric)
        return Row(self.part, self.set, self.learner, metric, float(value), self.seed, tuple(self.at.items()))


def _number(value: Any) -> bool:
    return isinstance(value, int | float)


def _walk(node: Any, place: _Place) -> Iterator[Row]:
    if _number(node):
        yield place.row(node)
    elif isinstance(node, dict):
        yield from _walk_dict(node, place)
    elif isinstance(node, list):
        yield from _walk_list(node, place)


def _walk_dict(node: dict[str, Any], place: _Place) -> Iterator[Row]:
    for name in SET_FIELDS:
        if isinstance(node.get(name), str):
            place = replace(place, set=node[name])
    for name in LEARNER_FIELDS:
        if isinstance(node.get(name), str):
            place = replace(place, learner=node[name])
    if isinstance(node.get("seed"), int):
        place = replace(place, seed=node["seed"])
    at = {
        name: node[name] for name in AT_FIELDS if _number(node.get(name)) or isinstance(node.get(name), str)
    }
    place = replace(place, at=place.at | at)
    for key, value in node.items():
        if key == "seed":
            continue
        names = key in STRUCTURE or key in NAMED.get(place.part, ())
        if names and isinstance(value, dict):
            inner = place if key in STRUCTURE else replace(place, metric=(*place.metric, key))
            for name, child in value.items():
                yield from _walk(child, replace(inner, learner=name))
        elif key in STRUCTURE and isinstance(value, list):
            yield from _walk(value, place)
        else:
            yield from _walk(value, replace(place, metric=(*place.metric, key)))


def _walk_list(node: list[Any], place: _Place) -> Iterator[Row]:
    named = POSITIONS.get(place.part)
    if named and len(node) == len(named) and all(map(_number, node)):
        for name, value in zip(named, node, strict=True):
            yield from _walk(value, replace(place, metric=(*place.metric, name)))
        return
    for index, item in enumerate(node):
        seed = index if place.seed is None else place.seed
        yield from _walk(item, replace(place, seed=seed))


def tidy(part: str, data: Any) -> list[Row]:
    """The rows of the JSON data of a part."""
    results = data["results"] if isinstance(data, dict) else data
    results = list(results.values()) if isinstance(results, dict) else results
    return [row for item in results for row in _walk(item, _Place(part))]


class Selection(list[Row]):
    """Some rows, and their summaries."""

    @property
    def values(self) -> list[float]:
        return [row.value for row in self]

    def mean(self) -> float:
        if not self:
            raise LookupError("no such rows among the results")
        return fmean(self.values)

    def median(self) -> float:
        if not self:
            raise LookupError("no such rows among the results")
        return median(self.values)

    def by(self, name: str, metric: str | None = None) -> dict[Any, float]:
        """Means by the set, the learner or a field of `at`."""
        groups: dict[Any, list[float]] = {}
        for row in self:
            if metric is None or row.metric == metric:
                key = (
                    getattr(row, name) if name in ("set", "learner", "metric", "seed") else dict(row.at)[name]
                )
                groups.setdefault(key, []).append(row.value)
        return {key: fmean(values) for key, values in groups.items()}


class Results:
    """The recorded results of all parts; read when they are asked for."""

    def __init__(self, folder: Path = RECORDED) -> None:
        self.folder = folder
        self._rows: dict[str, list[Row]] = {}

    def parts(self) -> list[str]:
        """The names of the recorded parts."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def has(self, part: str) -> bool:
        return (self.folder / f"{part}.json").is_file()

    def data(self, part: str) -> Any:
        """The JSON data of a part."""
        path = self.folder / f"{part}.json"
        if not path.is_file():
            raise LookupError(f"no result {part}")
        return json.loads(path.read_text())

    def rows(self, part: str) -> list[Row]:
        if part not in self._rows:
            self._rows[part] = tidy(part, self.data(part))
        return self._rows[part]

    def pick(
        self, part: str, metric: str | None = None, *, at: dict[str, Any] | None = None, **fields: Any
    ) -> Selection:
        """Rows of a part with this metric, these fields (set, learner, seed) and these settings."""
        found = Selection()
        for row in self.rows(part):
            if metric is not None and row.metric != metric:
                continue
            if any(getattr(row, key) != value for key, value in fields.items()):
                continue
            if at and any(dict(row.at).get(key) != value for key, value in at.items()):
                continue
            found.append(row)
        return found

    def source(self, part: str) -> dict[str, str]:
        """Commit, machine and date of a part."""
        data = self.data(part)
        about = data.get("machine", {}) if isinstance(data, dict) else {}
        simd = " ".join(about.get("simd", [])[-2:])
        machine = f"{about.get('cpu', '')}, {about.get('cores', '?')} cores, {simd}" if about else ""
        commit = about.get("commit") or _recorded_in(self.folder / f"{part}.json")
        return {"commit": commit, "machine": machine, "date": about.get("date", "")[:10]}

    def write(self, path: Path, ids: dict[str, list[str]]) -> int:
        """Write the table as CSV; `ids` has the claims of each part. Returns the number of rows."""
        path.parent.mkdir(parents=True, exist_ok=True)
        count = 0
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for part in self.parts():
                source, claims = self.source(part), ids.get(part, [])
                for row in self.rows(part):
                    writer.writerow(row.cells(claims, source))
                    count += 1
        return count


@cache
def _recorded_in(path: Path) -> str:
    """The commit that recorded a file, for runs that do not note theirs."""
    command = ["git", "log", "-1", "--format=%h", "--", str(path)]
    try:
        done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()
