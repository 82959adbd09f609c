"""Rows of embeddings in 16 bits against single precision: memory, time and accuracy."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from ..harness.data import SEED, Task, load, unit_rows
from ..harness.machine import say, trimmed_memory
from ..harness.process import in_own_process
from ..harness.report import NONE, fill, head, markdown, number
from ..harness.run import Data, Run

WIDTHS = (384, 768, 1536)
SETS = {"drawn": "drawn clusters", "newsgroups": "20 newsgroups, computers"}
NAMES = tuple(f"{name}-{width}" for name in SETS for width in WIDTHS)
TYPES = {"float32": None, "float16": "float16"}
C, GAMMA = 10.0, 1.0
ROWS, TEST_ROWS = 12_000, 6_000  # of the drawn set
SINGLES = 200  # rows predicted one by one
REPEATS = 3
COMPUTERS = range(1, 6)  # the labels of the five groups comp.*


def _drawn(width: int) -> tuple[np.ndarray, ...]:
    """Clusters of two classes, most of their variance in few directions; 5 % of the labels are wrong."""
    random = np.random.default_rng(SEED)
    count, clusters = ROWS + TEST_ROWS, 40
    spread = 1 / np.sqrt(1 + np.arange(width))
    which = random.integers(clusters, size=count)
    X = random.standard_normal((clusters, width))[which] + 1.3 * random.standard_normal((count, width))
    y = np.where((which % 2 == 1) ^ (random.random(count) < 0.05), 1, -1)
    X = unit_rows(X * spread).astype(np.float32)
    return X[:ROWS], y[:ROWS], X[ROWS:], y[ROWS:]


def _newsgroups(width: int) -> tuple[np.ndarray, ...]:
    """Words of 20 newsgroups as latent semantic embeddings: of the training rows, TF-IDF and an SVD."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    data = load("20newsgroups_bydate")
    words = TfidfTransformer(sublinear_tf=True).fit(data.X_train)
    svd = TruncatedSVD(width, n_iter=2, random_state=SEED).fit(words.transform(data.X_train))
    parts: list[np.ndarray] = []
    for X, y in ((data.X_train, data.y_train), (data.X_test, data.y_test)):
        rows = svd.transform(words.transform(X))
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        parts += [rows.astype(np.float32), np.where(np.isin(y, COMPUTERS), 1, -1)]
    return tuple(parts)


def _task(name: str) -> Task:
    kind, width = name.split("-")
    arrays = (_drawn if kind == "drawn" else _newsgroups)(int(width))
    return Task(name, f"{SETS[kind]}, {width} columns", C, GAMMA, *arrays)


def _loaded(path: str) -> float | None:
    """What a saved model adds to the memory of a process that loads it, in MB."""
    import everlearn

    everlearn.LASVM().fit(np.eye(4), [0, 1, 0, 1])  # loads what is loaded lazily
    before = trimmed_memory()
    model = everlearn.load(path)
    after = trimmed_memory()
    del model  # kept until here
    return None if before is None or after is None else after - before


def _once(task: Task, dtype: str | None, settings: dict[str, Any]) -> tuple[dict[str, float], Any]:
    """One fit and its predictions."""
    from everlearn import LASVM

    model = LASVM(
        C=task.C,
        gamma=task.gamma,
        row_dtype=dtype,
        cache_size=settings["cache"],
        n_jobs=settings["threads"],
        random_state=0,
    )
    start = process_time()
    model.fit(task.X_train, task.y_train)
    fitted = process_time()
    model.predict(task.X_test)
    predicted = process_time()
    singles = []
    for row in range(min(SINGLES, len(task.y_test))):
        begin = perf_counter()
        model.predict(task.X_test[row : row + 1])
        singles.append(perf_counter() - begin)
    return {
        "fit_cpu": fitted - start,
        "predict_cpu": predicted - fitted,
        "single_us": 1e6 * median(singles),
    }, model


def _facts(task: Task, model: Any) -> dict[str, Any]:
    """What does not depend on the clock."""
    import everlearn

    scores = model.decision_function(task.X_test)
    with tempfile.TemporaryDirectory(prefix="everlearn-bench-") as folder:
        path = Path(folder) / "model"
        everlearn.save(model, path)
        size, grown = path.stat().st_size / 2**20, in_own_process(_loaded, str(path))
    return {
        "n_sv": len(model.support_),
        "file_mb": size,
        "loaded_mb": grown,
        "error": float(np.mean(model.labels_of(scores) != task.y_test)),
        "scores": scores,
    }


def run_part(run: Run) -> None:
    """Fit each set with both types in turn."""
    settings = run.settings
    for name in run.missing(run.chosen(NAMES)):
        task = _task(name).head(settings["rows"])
        runs: dict[str, list[dict[str, float]]] = {label: [] for label in TYPES}
        facts: dict[str, dict[str, Any]] = {}
        for _ in range(min(REPEATS, settings["repeats"])):
            for label, dtype in TYPES.items():
                measured, model = _once(task, dtype, settings)
                runs[label].append(measured)
                say(f"{task.title}: {label} {number(measured['fit_cpu'])} s")
                if label not in facts:
                    facts[label] = _facts(task, model)
        single, half = (facts[label].pop("scores") for label in TYPES)
        result = {
            "median": {k: {m: median(r[m] for r in v) for m in v[0]} for k, v in runs.items()},
            "facts": facts,
            "equal": float(np.mean((single > 0) == (half > 0))),
            "apart": float(np.abs(single - half).max()),
        }
        run.add(task.describe() | {"runs": runs} | result)


def report(data: Data) -> str:
    """Two lines a set; ratios are float32 / float16."""
    lines = []
    keys = ("fit_cpu", "predict_cpu", "single_us")
    for result in data["results"]:
        single, half = (result["median"][label] for label in TYPES)
        for label in TYPES:
            facts, times = result["facts"][label], result["median"][label]
            grown, last = facts["loaded_mb"], label == "float16"
            lines.append(
                [
                    f"{result['title']}, {label}",
                    f"{facts['n_sv']}",
                    f"{facts['n_sv'] * result['features'] * (2 if last else 4) / 2**20:.1f}",
                    NONE if grown is None else f"{grown:.1f}",
                    f"{facts['file_mb']:.1f}",
                    *[
                        number(times[key]) + (f" ({single[key] / half[key]:.2f})" if last else "")
                        for key in keys
                    ],
                    f"{100 * facts['error']:.2f}",
                    f"{100 * result['equal']:.2f}" if last else "",
                    f"{result['apart']:.1e}" if last else "",
                ]
            )
    header = ["set, row_dtype", "SVs", "rows MB", "loaded MB", "file MB", "fit CPU s", "predict CPU s"]
    header += ["one row us", "error %", "equal %", "difference"]
    return "\n".join(
        [
            *head("Rows of embeddings in 16 bits", data),
            markdown(header, lines),
            fill(
                f"Rows of length 1, C = {C:g}, gamma = {GAMMA:g}, exact fit, medians of interleaved fits. In "
                "parentheses: float32 / float16, above 1 where float16 is faster. Rows MB: support vectors x "
                "columns x bytes. Loaded MB: what loading the saved model adds to the resident memory of a "
                "process. Equal: test rows that both predict the same. Difference: in scores, the largest."
            ),
        ]
    )
