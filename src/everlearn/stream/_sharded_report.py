"""One status and one report from those of several shards."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np

_SUMS = (
    "events",
    "rows",
    "labels",
    "withdrawn",
    "erased",
    "failures",
    "asked",
    "open_questions",
    "kept_rows",
)
_TOTALS = ("rows", "labels", "open_questions", "asked", "support_vectors", "seconds", "drift_alarms")
_COUNTS = ("rows", "labels", "asked", "support_vectors")
_POINTS = 200  # of a joint curve


def joint_status(
    folder: str, n_shards: int, numbers: Sequence[int], stores: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """The status of several shards as one."""
    classes = _union([store["classes"] for store in stores])
    budgets = [store["budget"] for store in stores]
    found: dict[str, Any] = {name: sum(store[name] for store in stores) for name in _SUMS}
    return found | {
        "store": folder,
        "shards": n_shards,
        "open_shards": list(numbers),
        "learner": stores[0]["learner"],
        "classes": classes,
        "budget": None if None in budgets else sum(budgets),
        "support_vectors": sum(store["support_vectors"] or 0 for store in stores),
        "memory_mb": max(store["memory_mb"] for store in stores),
        "scores": {
            "window": _pooled([store["scores"]["window"] for store in stores]),
            "total": _pooled([store["scores"]["total"] for store in stores]),
            "majority": _pooled([store["scores"]["baselines"]["majority"]["window"] for store in stores]),
            "audit": _pooled([store["audit"] for store in stores]),
        },
        "drift_alarms": [
            {"shard": number, **alarm}
            for number, store in zip(numbers, stores, strict=True)
            for alarm in store["drift_alarms"]
        ],
        "schema": next((store["schema"] for store in stores if store["schema"]), None),
        "stores": [{"shard": number, **store} for number, store in zip(numbers, stores, strict=True)],
    }


def _pooled(scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The accuracy over the labels of all shards."""
    known = [found for found in scores if found.get("n") and found.get("accuracy") is not None]
    n = sum(int(found["n"]) for found in known)
    return {"n": n, "accuracy": sum(found["n"] * found["accuracy"] for found in known) / n if n else None}


def _union(classes: Sequence[list[Any]]) -> list[Any]:
    return list(dict.fromkeys(label for found in classes for label in found))


def joint_report(folder: str, parts: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """The data of one report from those of several shards.

    Keys are spread evenly, so that the shards grow together: what happened when a shard had a fraction of its
    rows is shown where all had that fraction of theirs. Scores are means, weighted by the labels so far.
    """
    known = {shard: part for shard, part in parts.items() if part["totals"]["rows"]}
    rows = sum(part["totals"]["rows"] for part in known.values())
    classes = _union([part["classes"] for part in known.values()])
    first: Mapping[str, Any] = next(iter(parts.values()))
    totals: dict[str, Any] = {
        name: sum(part["totals"][name] or 0 for part in parts.values()) for name in _TOTALS
    }
    budgets = [part["totals"]["budget"] for part in parts.values()]
    totals["budget"] = None if None in budgets else sum(budgets)
    totals["memory_mb"] = max(part["totals"]["memory_mb"] for part in parts.values())
    totals["rows_per_second"] = rows / totals["seconds"] if totals["seconds"] else None
    joint: dict[str, Any] = {
        "title": "everlearn",
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "learner": first["learner"],
        "store": folder,
        "classes": classes,
        "totals": totals,
        "window": sum(part["window"] for part in known.values()),
        "notes": [
            f"{len(parts)} shards, each with a model of its own. What happened when a shard had a fraction "
            "of its rows is shown where all had that fraction; scores are means over the shards, weighted by "
            "their labels.",
            *(
                f"Shard {shard}: {part['totals']['rows']:,} rows, {part['totals']['labels']:,} labels, "
                f"{part['totals']['support_vectors'] or 0:,} support vectors."
                for shard, part in parts.items()
            ),
            *(note for part in parts.values() for note in part["notes"]),
        ],
    }
    if not known:
        return joint | {"curves": {}, "drift": [], "questions": [], "confusion": []}
    joint["curves"] = _curves([part for part in known.values() if part["curves"].get("rows")], rows)
    drift, questions, matrix = [], [], np.zeros((len(classes), len(classes)))
    drawn = np.zeros_like(matrix)
    for part in known.values():
        stretch = rows / part["totals"]["rows"]
        drift += [alarm | {"row": round(alarm["row"] * stretch)} for alarm in part["drift"]]
        questions += [_stretched(question, stretch) for question in part["questions"]]
        for period in part["confusion"]:
            matrix += _widened(period["matrix"], part["classes"], classes)
        drawn += _widened(part["random_rows"]["matrix"], part["classes"], classes)
    kinds = {part["random_rows"]["drawn"] for part in known.values()}
    return joint | {
        "drift": sorted(drift, key=lambda alarm: alarm["row"]),
        "questions": sorted(questions, key=lambda question: question["asked_row"]),
        "confusion": [{"row_from": 0, "row_to": rows, "matrix": matrix.tolist()}],
        "random_rows": {"matrix": drawn.tolist(), "drawn": kinds.pop() if len(kinds) == 1 else "given"},
    }


def _stretched(question: dict[str, Any], stretch: float) -> dict[str, Any]:
    rows = {name: question[name] for name in ("asked_row", "answered_row")}
    return question | {name: None if row is None else round(row * stretch) for name, row in rows.items()}


def _widened(matrix: Any, classes: list[Any], all_classes: list[Any]) -> Any:
    """A confusion matrix over all classes."""
    found = np.zeros((len(all_classes), len(all_classes)))
    at = [all_classes.index(label) for label in classes]
    if at and len(matrix):
        found[np.ix_(at, at)] = np.array(matrix, dtype=np.float64)
    return found


def _curves(parts: Sequence[Mapping[str, Any]], rows: int) -> dict[str, Any]:
    """Sums of counts, and means of scores, at fractions of the rows of each shard."""
    if not parts:
        return {}
    at = np.linspace(0.0, 1.0, min(_POINTS, max(len(part["curves"]["rows"]) for part in parts)) + 1)[1:]
    shared = set(parts[0]["curves"]).intersection(*(part["curves"] for part in parts)) - {"rows"}
    drawn: dict[str, list[Any]] = {name: [] for name in sorted(shared)}
    for part in parts:
        curve = part["curves"]
        places = np.array(curve["rows"], dtype=np.float64) / part["totals"]["rows"]
        for name in drawn:
            values = np.array([np.nan if value is None else value for value in curve[name]], dtype=np.float64)
            drawn[name].append(np.interp(at, places, values))
    labels = np.array(drawn["labels"]) if "labels" in drawn else np.ones((len(parts), len(at)))
    found: dict[str, Any] = {"rows": np.round(at * rows).tolist()}
    for name, each in drawn.items():
        values = np.array(each)
        if name in (*_COUNTS, "seconds"):
            found[name] = values.sum(axis=0).tolist()
        elif name == "memory_mb":
            found[name] = values.max(axis=0).tolist()
        else:
            weights = np.where(np.isfinite(values), np.maximum(labels, 1e-9), 0.0)
            total = weights.sum(axis=0)
            mean = np.nansum(np.where(np.isfinite(values), values, 0.0) * weights, axis=0)
            found[name] = np.where(total > 0, mean / np.where(total > 0, total, 1.0), np.nan).tolist()
    return found
