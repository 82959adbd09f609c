"""Ways to learn a rare class, side by side: as it is, undersampled, with costs, SMOTE, active, VIRTUAL.

    python benchmarks/imbalance.py                 waveform at imbalance 2 to 32, letter A, satimage 4
    python benchmarks/imbalance.py --runs 3 --only waveform-8,letter

All use the same C and gamma (the thesis', S. Ertekin 2009) and the same draws; one thread. For each: g-means
on test rows, support vectors, rows learnt, CPU seconds, and how many rows that were made became support
vectors. The last column is the p-value of a Wilcoxon test of VIRTUAL's g-means against active learning's.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

from _report import machine, machine_lines, markdown, say
from _worker import limit_threads

RATIOS = (2, 4, 8, 16, 32)
Rows = tuple[Any, Any, Any, Any]


def waveform(ratio: int, seed: int) -> Rows:
    import numpy as np

    from everlearn.datasets import make_waveform

    (X, y), (X_test, y_test) = (
        make_waveform(n, random_state=s) for n, s in ((4000, seed), (2000, 1000 + seed))
    )
    y, y_test = np.where(y == y.min(), 1, -1), np.where(y_test == y_test.min(), 1, -1)
    few = np.random.default_rng(seed).permutation(np.flatnonzero(y == 1))[: np.sum(y == -1) // ratio]
    keep = np.concatenate([np.flatnonzero(y == -1), few])
    return X[keep], y[keep], X_test, y_test


def real(name: str, positive: int, seed: int) -> Rows:
    import numpy as np

    from everlearn.datasets import load

    data = load(name)
    X, X_test = data.X_train.astype(float), data.X_test.astype(float)
    centre, spread = X.mean(axis=0), X.std(axis=0)
    y, y_test = (np.where(labels == positive, 1, -1) for labels in (data.y_train, data.y_test))
    keep = np.random.default_rng(seed).permutation(len(y))[: int(0.9 * len(y))]  # runs differ in their rows
    return ((X - centre) / spread)[keep], y[keep], (X_test - centre) / spread, y_test


SETS: dict[str, tuple[Callable[[int], Rows], float, float]] = {
    **{f"waveform-{ratio}": (lambda seed, r=ratio: waveform(r, seed), 1.0, 0.05) for ratio in RATIOS},
    "letter": (lambda seed: real("letter", 0, seed), 10.0, 0.01),
    "satimage": (lambda seed: real("satimage", 4, seed), 50.0, 0.001),
}


def learners(C: float, gamma: float, seed: int) -> dict[str, Callable[[Any, Any], Any]]:
    """Each takes rows and labels and returns a model with what it made beside it."""
    import numpy as np

    from everlearn import LASVM, VIRTUAL

    def svm(**options: Any) -> Any:
        return LASVM(C, gamma=gamma, epochs=3, cache_size=500, random_state=seed, **options)

    def undersampled(X: Any, y: Any) -> Any:
        rare = np.flatnonzero(y == 1)
        many = np.random.default_rng(seed).permutation(np.flatnonzero(y == -1))[: len(rare)]
        keep = np.concatenate([rare, many])
        return svm().fit(X[keep], y[keep])

    def smote(X: Any, y: Any) -> Any:
        from imblearn.over_sampling import SMOTE

        more, labels = SMOTE(random_state=seed).fit_resample(X, y)
        model = svm().fit(more, labels)
        model.made = len(labels) - len(y)
        model.made_support = int(np.sum(model.support_ >= len(y)))
        return model

    def virtual(n_virtual: int) -> Callable[[Any, Any], Any]:
        def fit(X: Any, y: Any) -> Any:
            options = {"cache_size": 500, "random_state": seed, "positive": 1}
            model = VIRTUAL(C, gamma=gamma, n_virtual=n_virtual, **options).fit(X, y)
            model.made, model.made_support = model.n_virtual_, model.n_virtual_support_
            return model

        return fit

    return {
        "batch": lambda X, y: svm().fit(X, y),
        "undersampled": undersampled,
        "costs": lambda X, y: svm(class_weight="balanced").fit(X, y),
        "SMOTE": smote,
        "active": virtual(0),
        "VIRTUAL": virtual(1),
    }


def measure(name: str, seed: int) -> list[dict[str, Any]]:
    from everlearn.metrics import g_means

    draw, C, gamma = SETS[name]
    X, y, X_test, y_test = draw(seed)
    found = []
    for learner, fit in learners(C, gamma, seed).items():
        start = process_time()
        model = fit(X, y)
        spent = process_time() - start
        found.append(
            {
                "set": name,
                "seed": seed,
                "learner": learner,
                "rows": len(y),
                "positives": int((y == 1).sum()),
                "g_means": float(g_means(y_test, model.predict(X_test))),
                "support": len(model.support_),
                "support_positives": int(model.n_support_[1]),
                "learnt": -(-int(model.n_iter_) // getattr(model, "epochs", 1)),
                "cpu": spent,
                "made": getattr(model, "made", 0),
                "made_support": getattr(model, "made_support", 0),
            }
        )
    return found


def report(results: list[dict[str, Any]]) -> str:
    import numpy as np
    from scipy.stats import wilcoxon

    parts = []
    for name in dict.fromkeys(r["set"] for r in results):
        mine = [r for r in results if r["set"] == name]
        by = {
            who: [r for r in mine if r["learner"] == who] for who in dict.fromkeys(r["learner"] for r in mine)
        }
        lines = []
        for who, runs in by.items():
            mean = {
                key: np.mean([r[key] for r in runs])
                for key in runs[0]
                if isinstance(runs[0][key], int | float)
            }
            p = "–"  # noqa: RUF001
            if who == "VIRTUAL" and len(runs) > 1:
                gain = [a["g_means"] - b["g_means"] for a, b in zip(runs, by["active"], strict=True)]
                p = f"{wilcoxon(gain).pvalue:.3f}" if np.any(gain) else "1"
            lines.append(
                [
                    who,
                    f"{100 * mean['g_means']:.2f} ± {100 * np.std([r['g_means'] for r in runs]):.2f}",
                    f"{mean['support']:.0f}",
                    f"{mean['support'] / max(1, mean['support_positives']) - 1:.1f}",
                    f"{mean['learnt']:.0f}",
                    f"{mean['made_support']:.0f} of {mean['made']:.0f}",
                    f"{mean['cpu']:.2f}",
                    p,
                ]
            )
        n, positives = mine[0]["rows"], mine[0]["positives"]
        ratio = (n - positives) / positives
        header = ["learner", "g-means %", "SVs", "neg/pos SVs", "rows learnt", "made SVs", "CPU s", "p"]
        parts.append(
            f"## {name}: {n} rows, {ratio:.1f} negatives for a positive\n\n{markdown(header, lines)}"
        )
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10, help="draws of each set (default 10)")
    parser.add_argument("--only", help="comma-separated sets")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args()
    chosen = args.only.split(",") if args.only else list(SETS)
    if unknown := [name for name in chosen if name not in SETS]:
        parser.error(f"unknown sets {', '.join(unknown)}; there are {', '.join(SETS)}")
    limit_threads(1)
    about = machine(1)
    results = []
    for name in chosen:
        for seed in range(args.runs):
            results += measure(name, seed)
            say(f"{name}, run {seed + 1} of {args.runs}")
    args.out.mkdir(parents=True, exist_ok=True)
    text = machine_lines(about) + "\n" + report(results)
    (args.out / "imbalance.json").write_text(json.dumps({"machine": about, "results": results}, indent=1))
    (args.out / "imbalance.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
