"""Query strategies for pools as strategies of scikit-activeml."""

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import clone

from ._pool import PoolQueryStrategy, best_first
from ._scores import Unfitted


def as_skactiveml(query_strategy: PoolQueryStrategy, missing_label: Any = None) -> Any:
    """Convert a query strategy for pools to one of scikit-activeml.

    Parameters
    ----------
    query_strategy : Random, Margin, AutoMargin or Submodular
        The strategy. `Gradient` is refused: it needs the labels that the loop is to ask for.
    missing_label : scalar, default=None
        The value for a missing label. None is NaN, as in scikit-activeml. If None itself is to mean that a
        label is missing, set the parameter of the returned strategy.

    Returns
    -------
    object
        A ``SingleAnnotatorPoolQueryStrategy`` whose ``query(X, y, clf, ...)`` is like that of
        scikit-activeml's ``UncertaintySampling``: with ``fit_clf=True`` a copy of the classifier, from
        scikit-activeml or scikit-learn, is fitted to the known labels. While fewer than two classes are
        known, every row counts as lying on the boundary. The utilities of rows that are not drawn are NaN,
        like those of labeled rows.

    Notes
    -----
    Needs scikit-activeml. The number of known labels is the number of the draw, so that a strategy with a
    seed draws other rows in every round, and the same in a repeated run.

    Examples
    --------
    >>> from everlearn.query import Margin, as_skactiveml
    >>> strategy = as_skactiveml(Margin(random_state=0))  # doctest: +SKIP
    >>> strategy.query(X, y, SklearnClassifier(LASVM(), classes=[0, 1]), batch_size=5)  # doctest: +SKIP
    array([  7,  12,  99, 120, 250])
    """
    if not isinstance(query_strategy, PoolQueryStrategy) or query_strategy.needs_labels:
        raise TypeError(
            "query_strategy must be a query strategy for pools that needs no labels, such as Margin() or "
            f"Random(), got {query_strategy!r}."
        )
    return _strategy_class()(query_strategy, np.nan if missing_label is None else missing_label)


def _rebuilt(query_strategy: PoolQueryStrategy, missing_label: Any) -> Any:
    """Restore a pickled strategy."""
    return _strategy_class()(query_strategy, missing_label)


@cache
def _strategy_class() -> Any:
    """The class of the strategies, created on first use because its base may not be installed."""
    try:
        base, utils = import_module("skactiveml.base"), import_module("skactiveml.utils")
    except ImportError as error:
        raise ImportError(
            "as_skactiveml needs scikit-activeml, which is not installed: pip install scikit-activeml."
        ) from error
    is_labeled, SkactivemlClassifier = utils.is_labeled, base.SkactivemlClassifier

    class WrappedStrategy(base.SingleAnnotatorPoolQueryStrategy):  # type: ignore[misc, name-defined]
        """A query strategy of everlearn with the interface of scikit-activeml."""

        def __init__(self, query_strategy: PoolQueryStrategy, missing_label: Any = np.nan) -> None:
            super().__init__(missing_label=missing_label, random_state=None)
            self.query_strategy = query_strategy

        def __reduce__(self) -> Any:
            return _rebuilt, (self.query_strategy, self.missing_label)

        def query(
            self,
            X: Any,
            y: Any,
            clf: Any,
            fit_clf: bool = True,
            sample_weight: Any = None,
            candidates: Any = None,
            batch_size: int = 1,
            return_utilities: bool = False,
        ) -> Any:
            """Select candidates, best first; see scikit-activeml."""
            X, y, candidates, batch_size, return_utilities = self._validate_data(
                X, y, candidates, batch_size, return_utilities, reset=True
            )
            rows, mapping = self._transform_candidates(candidates, X, y)
            labeled = is_labeled(y, self.missing_label)
            if fit_clf:
                clf = fitted(clf, X, y, labeled, sample_weight)
            places, utilities = self.query_strategy.candidates(
                scoring(clf), rows, batch_size, int(labeled.sum())
            )
            best = best_first(utilities)[:batch_size]
            shown = np.full((len(best), len(rows)), np.nan)
            shown[:, places] = utilities
            for number in range(1, len(best)):
                shown[number, places[best[:number]]] = np.nan
            if mapping is None:
                return (places[best], shown) if return_utilities else places[best]
            among_all = np.full((len(best), len(X)), np.nan)
            among_all[:, mapping] = shown
            return (mapping[places[best]], among_all) if return_utilities else mapping[places[best]]

    def fitted(clf: Any, X: Any, y: Any, labeled: Any, sample_weight: Any) -> Any:
        """A copy of a classifier, fitted to the labeled rows."""
        clf = clone(clf)
        weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
        if isinstance(clf, SkactivemlClassifier):
            return clf.fit(X, y, **weights)
        known = np.array(y[labeled].tolist())
        if len(np.unique(known)) < 2:
            return Unfitted()
        return clf.fit(X[labeled], known, **{key: value[labeled] for key, value in weights.items()})

    def scoring(clf: Any) -> Any:
        """The model that gives the scores: a wrapper has classes that the model in it has not seen."""
        if getattr(clf, "is_fitted_", True) is False:
            return Unfitted()
        return vars(clf).get("estimator_", clf) if isinstance(clf, SkactivemlClassifier) else clf

    return WrappedStrategy
