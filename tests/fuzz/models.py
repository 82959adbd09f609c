"""A small object of every registered class, fitted in several ways, whose files are to be mutated."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import everlearn.compat
import everlearn.query  # noqa: F401  (registers its classes)
from everlearn import LASVM
from everlearn._base import persist
from everlearn._base.pipelines import SavedPipeline
from everlearn.adaptive import AdaptiveSVM, Expert
from everlearn.calibration import AdaptiveConformal, CalibratedClassifier, OnlineCalibrator
from everlearn.linkage import Pairs, PairwiseLinker
from everlearn.select import Exemplars
from everlearn.semi import StreamS3VM

N, WIDTH = 36, 3


def table(n_classes, n=N, width=WIDTH, seed=0):
    """Rows in clouds that overlap, with the number of their cloud."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    centers = random.normal(size=(n_classes, width))
    return centers[y] + 0.8 * random.normal(size=(n, width)), y


def registered():
    """The registered classes of everlearn itself, by name."""
    return {
        name: kind for name, kind in persist.registered().items() if kind.__module__.startswith("everlearn.")
    }


def made(name):
    """Objects of a class under the names of their variants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {variant: build() for variant, build in _builders(name).items()}


def _builders(name):
    kind = registered()[name]
    if name in _SPECIAL:
        return {variant: _call(build) for variant, build in _SPECIAL[name].items()}
    if hasattr(kind, "_solver"):
        return _kernel_builders(kind)
    return {
        "two": lambda: _learned(kind(), *table(2)),
        "three": lambda: _learned(kind(), *table(3)),
        "words": lambda: _learned(kind(), *_worded()),
        "unfitted": lambda: kind(),
    }


def _kernel_builders(kind):
    def precomputed(n_classes=2):
        X, y = table(n_classes)
        return _learned(kind(kernel="precomputed"), np.exp(-((X[:, None] - X) ** 2).sum(axis=2)), y)

    def wide():
        X = sparse.random(N, 120, density=0.1, format="csr", random_state=0)
        return _learned(kind(), X, np.arange(N) % 2)

    found = {
        "two": lambda: _learned(kind(), *table(2)),
        "three": lambda: _learned(kind(), *table(3)),
        "words": lambda: _learned(kind(), *_worded()),
        "single": lambda: _learned(kind(), table(2)[0].astype(np.float32) + 50, table(2)[1]),
        "unfitted": lambda: kind(),
        "sparse": wide,
    }
    if "kernel" in kind().get_params():
        found["linear"] = lambda: _learned(kind(kernel="linear"), *_unit())
        if kind.__name__ != "VIRTUAL":  # it makes rows between rows
            found["precomputed"] = precomputed
    return found


def _unit():
    X, y = table(3)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def _worded():
    X, y = table(3)
    return X, np.array(["bird", "cat", "dog"])[y]


def _learned(model, X, y):
    if hasattr(model, "partial_fit"):
        half = N // 2
        return model.partial_fit(X[:half], y[:half], classes=np.unique(y)).partial_fit(X[half:], y[half:])
    return model.fit(X, y)


def _call(build):
    return lambda: build()


def _partly_labeled(n_classes):
    X, y = table(n_classes)
    labels = y.astype(object)
    labels[n_classes * 3 :] = None
    return X, labels


def _scores(n_classes):
    X, y = table(n_classes, width=n_classes)
    return (X, y) if n_classes > 2 else (X[:, 0], y)


def _s3vm(name, n_classes, **params):
    return registered()[name](**params).fit(*_partly_labeled(n_classes))


def _stream(n_classes):
    X, labels = _partly_labeled(n_classes)
    half = N // 2
    return (
        StreamS3VM(random_state=0).partial_fit(X[:half], labels[:half]).partial_fit(X[half:], labels[half:])
    )


def _linker():
    names = ["Ann Lee", "Anne Lee", "Bob Ray", "Bob Rae"]
    pairs = Pairs(np.array([0, 2, 0, 1]), np.array([1, 3, 2, 3]))
    return PairwiseLinker().fit({"name": names, "team": list("aabb")}, pairs=pairs, y=[1, 1, 0, 0])


_FEW = [Expert("rbf"), Expert("linear", window=10), Expert("rbf", relevance=True), Expert("no-change")]

_SPECIAL = {
    "SavedPipeline": {
        "scaled": lambda: SavedPipeline(make_pipeline(StandardScaler(), LASVM()).fit(*table(2))),
        "projected": lambda: SavedPipeline(make_pipeline(MinMaxScaler(), PCA(2), LASVM()).fit(*table(3))),
    },
    "AdaptiveSVM": {
        "two": lambda: _learned(AdaptiveSVM(experts=_FEW, random_state=0), *table(2)),
        "three": lambda: _learned(AdaptiveSVM(experts=_FEW, random_state=0), *_worded()),
        "foreign": lambda: _learned(
            AdaptiveSVM(experts=[Expert("rbf"), Expert(estimator=DecisionTreeClassifier(max_depth=2))]),
            *table(2),
        ),
        "sparse": lambda: _learned(
            AdaptiveSVM(experts=_FEW[:2]),
            sparse.csr_matrix(table(2, width=120)[0] > 1, dtype=float),
            table(2)[1],
        ),
        "unfitted": lambda: AdaptiveSVM(experts=_FEW),
    },
    "OnlineCalibrator": {
        **{
            method: lambda method=method: OnlineCalibrator(method).update(*_scores(3), classes=[0, 1, 2])
            for method in ("auto", "temperature", "venn_abers")
        },
        "two": lambda: OnlineCalibrator().update(*_scores(2)),
        "unfitted": lambda: OnlineCalibrator(),
    },
    "AdaptiveConformal": {
        "three": lambda: AdaptiveConformal().update(*_scores(3), classes=[0, 1, 2]),
        "two": lambda: AdaptiveConformal().update(*_scores(2)),
    },
    "CalibratedClassifier": {
        "two": lambda: _learned(CalibratedClassifier(random_state=0), *table(2)),
        "three": lambda: CalibratedClassifier(cv=2, random_state=0).fit(*_worded()),
        "unfitted": lambda: CalibratedClassifier(),
    },
    "Exemplars": {
        "greedy": lambda: Exemplars(5).fit(table(2)[0]),
        "labels": lambda: Exemplars(5, method="qp").fit(*_partly_labeled(2)),
    },
    "PairwiseLinker": {"one": _linker, "unfitted": lambda: PairwiseLinker()},
    "StreamS3VM": {"two": lambda: _stream(2), "three": lambda: _stream(3), "unfitted": lambda: StreamS3VM()},
    **{
        name: {
            "two": lambda name=name: _s3vm(name, 2),
            "three": lambda name=name: _s3vm(name, 3, kernel="rbf"),
            "linear": lambda name=name: _s3vm(name, 2, kernel="linear"),
            "nystroem": lambda name=name: _s3vm(name, 2, kernel="rbf", n_components=8),
            "none": lambda name=name: _s3vm(name, 2, estimator=None),
        }
        for name in ("SubmodS3VM", "QPS3VM")
    },
}
