"""Who reads the streams, with the settings that were chosen on the development streams for both sides alike.

`candidates` is what --develop tries, `CHOSEN` names those that --scores reports: of River's linear models and
its forest the setting with the highest mean MCC at 1 % and 10 %, its trees with the forest's grace period,
which was nowhere a point behind the other; of ours the default of `NeverEndingLearner`, what asking at random
or forgetting does to it, and the one with the highest mean MCC.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from _streams_players import Make, Ours, Player, Rivers

OURS, RIVER = "everlearn", "River"


FEW, ALL = (0.01, 0.1), (0.01, 0.1, 1.0)


class Reader(NamedTuple):
    """A learner, its family, how it asks, and at which shares of labels it makes sense."""

    family: str
    make: Make
    asks: str
    rates: tuple[float, ...] = ALL


def _ours(learner: Callable[[], Any], asks: str = "margin", **options: Any) -> Reader:
    def make(rate: float, seed: int) -> Player:
        return Ours(learner(), rate, seed, **options)

    asking = asks in ("margin", "random")  # is all that it is there for
    return Reader(OURS, make, asks, FEW if asking else ALL)


def _river(
    model: Callable[[], Any], entropy: bool = False, scaled: bool = False, rates: tuple[float, ...] = ALL
) -> Reader:
    def make(rate: float, seed: int) -> Player:
        return Rivers(model(), rate, seed, entropy, scaled)

    return Reader(RIVER, make, "entropy" if entropy else "random", FEW if entropy else rates)


MIXED = "margin, random"


def _lasvm(C: float = 10.0, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        from everlearn.svm import LASVM

        return LASVM(C=C, **options)

    return make


def _idsvm(window: int) -> Callable[[], Any]:
    def make() -> Any:
        from everlearn.svm import IDSVM

        return IDSVM(C=10.0, gamma=0.03, window=window)

    return make


def _drift(detector: str) -> Any:
    from everlearn.stream import Drift

    return Drift(detector, policy="window")


def _linear(name: str, *args: Any, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        from river import linear_model

        return getattr(linear_model, name)(*args, **options)

    return make


def _logistic(rate: float) -> Callable[[], Any]:
    def make() -> Any:
        from river import linear_model, optim

        return linear_model.LogisticRegression(optim.SGD(rate))

    return make


def _tree(name: str, **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        from river import forest, tree

        return getattr(forest if name.startswith("ARF") else tree, name)(**options)

    return make


def candidates() -> dict[str, Reader]:
    """Everyone that --develop tries, by a name that says the settings."""
    return {
        "LASVM(C=10)": _ours(_lasvm()),
        "LASVM(C=10), scale fixed": _ours(_lasvm(), "margin, 1 in 10 random", rescale=False, audit=0.1),
        "LASVM(C=10), random": _ours(_lasvm(), "random", query="random"),
        "LASVM(C=10), half random": _ours(_lasvm(), MIXED, audit=0.5),
        "LASVM(C=1), half random": _ours(_lasvm(1.0), MIXED, audit=0.5),
        "LASVM(C=10, gamma=0.03)": _ours(_lasvm(gamma=0.03), MIXED, audit=0.5),
        "LASVM(C=10, gamma=0.03), adwin": _ours(_lasvm(gamma=0.03), MIXED, audit=0.5, drift=_drift("adwin")),
        "IDSVM(C=10, gamma=0.03, window=100)": _ours(_idsvm(100), MIXED, audit=0.5),
        "IDSVM(C=10, gamma=0.03, window=500)": _ours(_idsvm(500), MIXED, audit=0.5),
        **{
            f"LogisticRegression({rate:g})": _river(_logistic(rate), scaled=True) for rate in (0.01, 0.1, 1.0)
        },
        **{
            f"LogisticRegression({rate:g}), entropy": _river(_logistic(rate), True, True)
            for rate in (0.01, 0.1, 1.0)
        },
        **{f"PAClassifier({C:g})": _river(_linear("PAClassifier", C), scaled=True) for C in (0.01, 0.1, 1.0)},
        "ALMAClassifier": _river(_linear("ALMAClassifier"), scaled=True),
        **{
            f"{name}({grace}){', entropy' * entropy}": _river(
                _tree(f"Hoeffding{kind}Classifier", grace_period=grace, **seeded), entropy
            )
            for name, kind, seeded in (("HoeffdingTree", "Tree", {}), ("HAT", "AdaptiveTree", {"seed": 0}))
            for grace in (50, 200)
            for entropy in (False, True)
        },
        **{
            f"ARF({grace}){', entropy' * entropy}": _river(
                _tree("ARFClassifier", n_models=10, seed=0, grace_period=grace),
                entropy,
                rates=(1.0,),  # at random it was behind on the development streams, and it is slow
            )
            for grace in (20, 50)
            for entropy in (False, True)
        },
    }


DEFAULT = "LASVM(C=10), scale fixed"  # as `NeverEndingLearner.open` has it
RECOMMENDED = "IDSVM(C=10, gamma=0.03, window=500)"
CHOSEN = (
    DEFAULT,
    "LASVM(C=10)",
    "LASVM(C=10), random",
    RECOMMENDED,
    "LASVM(C=10, gamma=0.03), adwin",
    "LogisticRegression(0.1)",
    "LogisticRegression(0.01), entropy",
    "PAClassifier(0.1)",
    "HoeffdingTree(50)",
    "HoeffdingTree(50), entropy",
    "HAT(50)",
    "HAT(50), entropy",
    "ARF(50)",
    "ARF(50), entropy",
)
