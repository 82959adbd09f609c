"""How far the model of `LASVM` is from that of `SVC` at the same C and gamma, on sets of no other table."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from everlearn import LASVM

from ..harness.data import load
from ..harness.machine import say
from ..harness.report import head, markdown
from ..harness.run import Data, Run

NAMES = (
    "heart_statlog",
    "diabetes",
    "german_numer",
    "australian",
    "ionosphere",
    "svmguide3",
    "fourclass",
    "dna",
    "vehicle",
    "vowel",
    "weather_noaa",
    "elec2",
    "sea",
    "spambase",
    "cod_rna",
    "satimage",
    "svmguide2",
    "sonar",
    "glass",
)
C = 10.0
MOST = 6_000  # rows of a set, training and test together
SHUFFLES = 20
WAYS = ("all", "kept", "stream")


def _fit(way: str, X: np.ndarray, y: np.ndarray, gamma: float, seed: int) -> LASVM:
    """One model: the default, the single pass of the paper, or a stream in blocks that ends with `finish`."""
    if way != "stream":
        return LASVM(C, gamma=gamma, finishing=way, random_state=seed).fit(X, y)
    model = LASVM(C, gamma=gamma)
    for start in range(0, len(y), 100):
        model.partial_fit(X[start : start + 100], y[start : start + 100], classes=np.unique(y))
    return model.finish()


def _dual(coefficients: np.ndarray, support: np.ndarray, sign: np.ndarray, K: np.ndarray) -> float:
    kernel = K[np.ix_(support, support)]
    return float(coefficients @ sign[support] - 0.5 * coefficients @ kernel @ coefficients)


def _duals(model: LASVM, peers: list[SVC], y: np.ndarray, K: np.ndarray) -> float:
    """The largest relative difference of the dual objectives, over the binary problems."""
    classes = model.classes_[1:] if len(peers) == 1 else model.classes_
    found = []
    for peer, label, line in zip(peers, classes, model.dual_coef_, strict=True):
        sign = np.where(y == label, 1.0, -1.0)
        best = _dual(peer.dual_coef_[0], peer.support_, sign, K)
        found.append(abs(_dual(line, model.support_, sign, K) - best) / best)
    return max(found)


def _shuffle(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Any]:
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
    gamma = 1 / (X.shape[1] * X.var())
    svc = partial(SVC, C=C, gamma=gamma, tol=1e-6)
    peer = svc().fit(X, y) if len(np.unique(y)) == 2 else OneVsRestClassifier(svc()).fit(X, y)
    peers = [peer] if isinstance(peer, SVC) else peer.estimators_
    theirs, K = peer.predict(X_test), rbf_kernel(X, gamma=gamma)
    result: dict[str, Any] = {"svc": float(np.mean(theirs != y_test))}
    for way in WAYS:
        model = _fit(way, X, y, gamma, seed)
        ours = model.predict(X_test)
        result[way] = {
            "error": float(np.mean(ours != y_test)),
            "differ": float(np.mean(ours != theirs)),
            "dual": _duals(model, peers, y, K),
            "rounds": getattr(model, "n_rounds_", 0),
        }
    return result


def run_part(run: Run) -> None:
    """Fit every set with every shuffle; results are on disk after every set."""
    for name in run.missing(run.chosen(NAMES)):
        say(f"{name}: {SHUFFLES} shuffles")
        data = load(name)
        some = np.random.default_rng(0).permutation(len(data.y))[: run.settings["rows"] or MOST]
        X = data.X[some].toarray() if sparse.issparse(data.X) else np.asarray(data.X)[some]
        X, y = StandardScaler().fit_transform(X.astype(np.float64)), np.asarray(data.y)[some]
        shuffles = [_shuffle(X, y, seed) for seed in range(3 if run.quick else SHUFFLES)]
        run.add({"set": name, "rows": len(y), "classes": len(np.unique(y)), "shuffles": shuffles})


def report(data: Data) -> str:
    """One line a set: the excess error over SVC in points, and how much else differs."""
    lines = []
    for result in data["results"]:
        shuffles = result["shuffles"]
        excess = {w: 100 * np.array([s[w]["error"] - s["svc"] for s in shuffles]) for w in WAYS}
        of = {
            w: {key: np.array([s[w][key] for s in shuffles]) for key in ("differ", "dual", "rounds")}
            for w in WAYS
        }
        lines.append(
            [
                result["set"],
                str(result["rows"]),
                str(result["classes"]),
                f"{100 * np.mean([s['svc'] for s in shuffles]):.2f}",
                *[f"{excess[w].mean():+.3f} ({excess[w].max():+.2f})" for w in WAYS],
                *[f"{100 * of[w]['differ'].mean():.3f}" for w in WAYS],
                *[f"{of[w]['dual'].max():.0e}" for w in WAYS],
                f"{of['all']['rounds'].mean():.1f}",
            ]
        )
    ways = [f"{way} {what}" for what in ("excess", "differ %", "dual") for way in WAYS]
    parts = head("LASVM and SVC: the same model", data)
    parts.append(markdown(["set", "rows", "classes", "SVC error %", *ways, "rounds"], lines))
    parts.append(
        f"C = {C:g}, gamma = 1 / (features x variance), features standardized, 70 % of the rows to train,\n"
        'means over shuffles. all: the default; kept: `finishing="kept"`, the pass of the paper; stream:\n'
        "blocks of 100 rows, then `finish`, with the default reserve, which was chosen on diabetes,\n"
        "german_numer, svmguide3, vehicle, vowel, weather_noaa and elec2. Excess: test error minus that of\n"
        "SVC(tol=1e-6), one-vs-rest with several classes, in points, the largest in parentheses. Differ:\n"
        "test rows that are predicted differently. Dual: the largest relative difference of the dual\n"
        "objectives.\n"
    )
    return "\n".join(parts)
