"""Who reads the streams: everlearn as it comes and with a part exchanged, River, scikit-learn, baselines.

Peers are plain but for two settings of River: its logistic regression has two steps, the default and a larger
one, and its forest the grace period that was better on development streams.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .players import Constant, Make, Ours, Player, Refitted, Rivers

OURS, PEER, BASELINE = "everlearn", "peer", "baseline"
FEW, ALL = (0.01, 0.1), (0.01, 0.1, 1.0)
AS_IT_COMES = "everlearn, as it comes"


class Reader(NamedTuple):
    """A learner, its family, at which shares of labels it is run, and whether it takes long."""

    family: str
    make: Make
    rates: tuple[float, ...] = ALL
    slow: bool = False


def _ours(
    learner: Callable[[], Any], rates: tuple[float, ...] = ALL, slow: bool = False, **options: Any
) -> Reader:
    def make(rate: float, seed: int, classes: int) -> Player:
        return Ours(learner(), rate, seed, **options)

    return Reader(OURS, make, rates, slow)


def _lasvm() -> Any:
    from everlearn.svm import LASVM

    return LASVM(C=10)


def _with_forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    from everlearn import AdaptiveSVM

    return AdaptiveSVM(["auto", RandomForestClassifier(random_state=0)], scaling="none")


def _logistic(step: float) -> Reader:
    def make(rate: float, seed: int, classes: int) -> Player:
        from river import linear_model, multiclass, optim

        model = linear_model.LogisticRegression(optim.SGD(step))
        several = model if classes == 2 else multiclass.OneVsRestClassifier(model)
        return Rivers(several, rate, seed, entropy=True, scaled=True)

    return Reader(PEER, make)


def _adaptive_forest(rate: float, seed: int, classes: int) -> Player:
    from river import forest

    return Rivers(forest.ARFClassifier(n_models=10, seed=seed, grace_period=50), rate, seed, entropy=True)


def _neighbors(rate: float, seed: int, classes: int) -> Player:
    from river import neighbors

    model = neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.LazySearch(window_size=500))
    return Rivers(model, rate, seed, scaled=True)


READERS: dict[str, Reader] = {
    AS_IT_COMES: _ours(lambda: None),
    "everlearn, asking at random": _ours(lambda: None, FEW, query_strategy="random"),
    "everlearn, LASVM(C=10) alone": _ours(_lasvm),
    "everlearn, with a random forest": _ours(_with_forest, FEW, slow=True),
    "River LogisticRegression(0.01)": _logistic(0.01),
    "River LogisticRegression(0.1)": _logistic(0.1),
    "River KNNClassifier": Reader(PEER, _neighbors),
    "River ARFClassifier": Reader(PEER, _adaptive_forest, slow=True),
    "scikit-learn forest, all labels": Reader(
        PEER, lambda rate, seed, classes: Refitted(rate, seed), slow=True
    ),
    "scikit-learn forest, last 200": Reader(
        PEER, lambda rate, seed, classes: Refitted(rate, seed, window=200), (0.1, 1.0), slow=True
    ),
    "no change": Reader(BASELINE, lambda rate, seed, classes: Constant(rate, seed, majority=False)),
    "majority": Reader(BASELINE, lambda rate, seed, classes: Constant(rate, seed, majority=True)),
}
