"""Who takes part in the budget benchmark, and among which parameters each chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

import everlearn

BUDGET = 100
COMPONENTS = 100
GAMMAS = (0.01, 0.03, 0.1, 0.3)
PERCEPTRONS = ("BudgetKernelPerceptron", "RBP", "Forgetron", "Projectron", "ProjectronPP")
RANDOM = ("RBP", "KOIL", "OAM")  # who takes a random_state that matters
OURS, UNBOUNDED, SKLEARN, RIVER, ADAPTED = "ours", "ours, unbounded", "scikit-learn", "River", "ours in River"


@dataclass(frozen=True)
class Learner:
    """A way to learn a stream: `make(seed, **parameters)` gives a new model."""

    name: str
    family: str
    make: Callable[..., Any]
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    taken_from: str | None = None  # whose parameters it takes instead of choosing

    @property
    def by_dict(self) -> bool:
        return self.family in (RIVER, ADAPTED)

    def candidates(self) -> list[dict[str, Any]]:
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]


class RandomFeatures:
    """Random Fourier features and a linear learner on them, block by block."""

    def __init__(self, components: int, gamma: float, alpha: float, seed: int) -> None:
        from sklearn.kernel_approximation import RBFSampler
        from sklearn.linear_model import SGDClassifier

        self.features = RBFSampler(gamma=gamma, n_components=components, random_state=seed)
        self.model = SGDClassifier(loss="log_loss", alpha=alpha, random_state=seed)
        self.started = False

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> None:
        if not self.started:
            self.features.fit(X)
            self.started = True
        self.model.partial_fit(self.features.transform(X), y, classes=classes)

    def decision_function(self, X: Any) -> np.ndarray:
        return self.model.decision_function(self.features.transform(X))


def _ours(name: str, **fixed: Any) -> Callable[..., Any]:
    kind = getattr(everlearn, name)

    def make(seed: int, **parameters: Any) -> Any:
        if name in RANDOM:
            parameters["random_state"] = seed
        return kind(**fixed, **parameters)

    return make


def _adapted(name: str, **fixed: Any) -> Callable[..., Any]:
    make_model = _ours(name, **fixed)

    def make(seed: int, features: int, **parameters: Any) -> Any:
        from everlearn.compat.river import RiverClassifier

        return RiverClassifier(make_model(seed, **parameters), max_features=features)

    return make


def ours() -> list[Learner]:
    """All at the same budget, KOIL and OAM for each class."""
    gamma: dict[str, tuple[Any, ...]] = {"gamma": GAMMAS}
    pairs = gamma | {"C": (1.0, 10.0)}
    found = [Learner(name, OURS, _ours(name, budget=BUDGET), gamma) for name in PERCEPTRONS]
    found.append(Learner("NORMA", OURS, _ours("NORMA", budget=BUDGET), gamma | {"nu": (None, 0.1)}))
    for way in ("rs++", "fifo++"):
        make = _ours("KOIL", budget=BUDGET, replacement=way)
        found.append(Learner(f"KOIL {way}", OURS, make, pairs))
    found += [
        Learner("OAM", OURS, _ours("OAM", budget=BUDGET), {"C": (0.0001, 0.001, 0.01, 0.1)}),
        Learner("OPAUC", OURS, _ours("OPAUC"), {"learning_rate": (0.0001, 0.001, 0.01)}),
        Learner("KernelPerceptron", UNBOUNDED, _ours("KernelPerceptron"), gamma),
        Learner("KernelPA", UNBOUNDED, _ours("KernelPA"), gamma | {"C": (0.1, 1.0)}),
    ]
    return found


def sklearn_peers() -> list[Learner]:
    grid = {"gamma": GAMMAS, "alpha": (1e-5, 1e-4, 1e-3, 1e-2)}

    def make(components: int) -> Callable[..., Any]:
        return lambda seed, gamma, alpha: RandomFeatures(components, gamma, alpha, seed)

    return [Learner(f"RBFSampler({n}) + SGDClassifier", SKLEARN, make(n), grid) for n in (COMPONENTS, 1000)]


def river_peers() -> list[Learner]:
    """What River has that comes closest, and two of ours driven by River."""
    from river import feature_extraction, linear_model, optim, preprocessing

    def logistic(rate: float) -> Any:
        return linear_model.LogisticRegression(optim.SGD(rate))

    def sampled(components: int, last: Callable[[float], Any]) -> Callable[..., Any]:
        def make(seed: int, gamma: float, step: float) -> Any:
            features = feature_extraction.RBFSampler(gamma=gamma, n_components=components, seed=seed)
            return features | last(step)

        return make

    def aggressive(C: float) -> Any:
        return linear_model.PAClassifier(C=C)

    wide = {"gamma": (0.1, 0.5, 2.0), "step": (1e-4, 1e-3, 1e-2)}
    narrow = {"gamma": (0.1, 0.5, 2.0), "step": (1e-3, 1e-2, 1e-1)}
    return [
        Learner("PAClassifier", RIVER, lambda seed, C: aggressive(C), {"C": (0.001, 0.01, 0.1, 1.0)}),
        Learner(
            "ALMAClassifier",
            RIVER,
            lambda seed, alpha, C: linear_model.ALMAClassifier(alpha=alpha, B=1 / alpha, C=C),
            {"alpha": (0.5, 0.9), "C": (0.1, 2**0.5)},
        ),
        Learner(
            "StandardScaler + LogisticRegression",
            RIVER,
            lambda seed, step: preprocessing.StandardScaler() | logistic(step),
            {"step": (1e-3, 1e-2, 1e-1)},
        ),
        Learner("RBFSampler(5) + LogisticRegression", RIVER, sampled(5, logistic), narrow),
        Learner("RBFSampler(100) + LogisticRegression", RIVER, sampled(COMPONENTS, logistic), wide),
        Learner("RBFSampler(100) + PAClassifier", RIVER, sampled(COMPONENTS, aggressive), wide),
        Learner("RiverClassifier(RBP)", ADAPTED, _adapted("RBP", budget=BUDGET), taken_from="RBP"),
        Learner(
            "RiverClassifier(KOIL rs++)", ADAPTED, _adapted("KOIL", budget=BUDGET), taken_from="KOIL rs++"
        ),
    ]
