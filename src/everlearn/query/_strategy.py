"""The base classes of query strategies: what loops can ask of them, and parameters as in scikit-learn."""

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints
from ._rows import Places, count_rows
from ._scores import class_scores, margins

Utilities = npt.NDArray[np.float64]

LIMIT = constraints.NONE | constraints.integer_from(0)


class QueryStrategy(ABC):
    """Selects the rows that are worth a label; the base of `PoolQueryStrategy` and `StreamQueryStrategy`.

    A query strategy is not an estimator: it learns nothing, and its parameters are its only state. It has
    `get_params` and `set_params`, so that `sklearn.base.clone` copies it and a search can vary them.

    Loops depend on the attributes below, never on the class.

    Attributes
    ----------
    needs_pool : bool
        Whether it selects from a pool. Then `query` takes ``draw``, the number of the draw.
    needs_labels : bool
        Whether `query` and `utilities` need the labels of all rows, as ``y``.
    is_random_sample : bool
        Whether the selected rows are a uniform random sample: estimates from their labels are unbiased.
    uses_margin : bool
        Whether the utility of a row is minus its margin, its distance from the decision boundary.
    uses_scores_only : bool
        Whether the model is used for the decision values of the rows only: then `utilities_from_scores`
        gives the utilities where these values are known already.
    explore_every, reask_every : int or None
        In a loop over a pool, after how many questions one goes to a row far from all rows asked about, and
        one to a row whose label the model contradicts. None is never.
    cold_start_labels : int
        In a loop over a pool, up to how many labels every second question continues the cold start.
    """

    needs_pool: ClassVar[bool] = False
    needs_labels: ClassVar[bool] = False
    is_random_sample: ClassVar[bool] = False
    uses_margin: ClassVar[bool] = False
    uses_scores_only: ClassVar[bool] = False
    cold_start_labels: ClassVar[int] = 0
    explore_every: int | None = None
    reask_every: int | None = None

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {}

    def __init_subclass__(cls) -> None:
        """Let a subclass that selects in another way be called, not replaced by its base's utilities."""
        overridden = {"query", "utilities", "_utilities"} & vars(cls).keys()
        if overridden and "uses_scores_only" not in vars(cls):
            cls.uses_scores_only = False

    @property
    def name(self) -> str:
        """The name in reasons and in `History`."""
        return type(self).__name__

    @property
    def max_batch_size(self) -> int | None:
        """How many rows `query` can select at once; None for no limit."""
        return None

    def utilities(self, model: Any, X: Any) -> Utilities:
        """Compute how much a label of each row is worth; changes neither the model nor the strategy.

        Parameters
        ----------
        model : object
            A fitted classifier with a ``decision_function``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as the model takes them.

        Returns
        -------
        ndarray of shape (n_samples,)
            The utilities; higher is better.
        """
        constraints.check(self)
        return self._utilities(model, X)

    def utilities_from_scores(self, scores: Utilities) -> Utilities:
        """Compute the utilities of rows from their decision values, if ``uses_scores_only``.

        Parameters
        ----------
        scores : ndarray of shape (n_samples, n_columns)
            The decision values: one column for two classes, otherwise one for each class.

        Returns
        -------
        ndarray of shape (n_samples,)
            The utilities; higher is better.
        """
        if not self.uses_margin:
            raise NotImplementedError(
                f"{self.name} needs more than decision values: call utilities(model, X)."
            )
        return 0.0 - margins(scores)

    def reasons(self, model: Any, X: Any) -> list[str]:
        """Explain why rows were selected.

        Parameters
        ----------
        model : object
            The classifier with which they were selected; used only if ``uses_margin``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The selected rows.

        Returns
        -------
        list of str
            A reason for each row.
        """
        if self.uses_margin:
            return boundary_reasons(class_scores(model, X), model.classes_)
        return [f"chosen by {self.name}"] * count_rows(X)

    @abstractmethod
    def query(self, model: Any, X: Any, n: int | None = None) -> Places:
        """Select rows to ask about; changes neither the model nor the strategy.

        Parameters
        ----------
        model : object
            A fitted classifier.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as the model takes them.
        n : int, default=None
            The number of rows to select.

        Returns
        -------
        ndarray of int
            The indices of the selected rows.
        """

    def _utilities(self, model: Any, X: Any) -> Utilities:
        """The utilities, with checked parameters."""
        return self.utilities_from_scores(class_scores(model, X))

    # ------------------------------------------------------------------------------------------- parameters

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters.

        Parameters
        ----------
        deep : bool, default=True
            As in scikit-learn; no effect, because parameters are not nested.

        Returns
        -------
        dict
            Values by parameter name.
        """
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: Any) -> "QueryStrategy":
        """Set parameters.

        Parameters
        ----------
        params : dict
            The parameters to set.

        Returns
        -------
        QueryStrategy
            The strategy itself.
        """
        names = self._parameter_names()
        for name in params:
            if name not in names:
                raise ValueError(f"{self.name} has no parameter {name!r}; its parameters are {names!r}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({given})"


class StreamQueryStrategy(QueryStrategy):
    """Selects from rows in the order of a stream.

    Invariant: the rows are cut into consecutive groups of `rows_per_question`, and the decision about a group
    depends on the group and the model only, not on other groups of the same call or of earlier ones.
    """

    @property
    def rows_per_question(self) -> int:
        """How many consecutive rows are compared with each other."""
        return 1

    @property
    def asks_every_row(self) -> bool:
        """Whether every row is selected, whatever the model is."""
        return False

    def query(self, model: Any, X: Any, n: int | None = None) -> Places:
        """Select rows to ask about; changes neither the model nor the strategy.

        Parameters
        ----------
        model : object
            A fitted classifier with a ``decision_function``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as the model takes them.
        n : int, default=None
            The maximum number of rows. Those with the highest utilities are selected, the first in case of
            ties. None sets no limit.

        Returns
        -------
        ndarray of shape (n_selected,)
            Row numbers, ascending.
        """
        constraints.check(self)
        if not LIMIT.test(n):
            raise ValueError(f"n must be {LIMIT.accepts}, got {n!r}.")
        utilities = self._utilities(model, X)
        selected = self._selected(utilities)
        if n is None or n >= len(selected):
            return selected
        best = np.argsort(-utilities[selected], kind="stable")[:n]
        return np.sort(selected[best])

    @abstractmethod
    def _selected(self, utilities: Utilities) -> Places:
        """The rows to ask about by their utilities, ascending."""


def boundary_reasons(scores: Utilities, classes: Any) -> list[str]:
    """Reasons for rows near the decision boundary: between which classes each lies, and its margin.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_columns)
        Scores as `class_scores` returns them.
    classes : array-like of shape (n_classes,)
        The labels, in the order of the columns.

    Returns
    -------
    list of str
        A reason for each row.
    """
    names, gaps = np.asarray(classes).tolist(), margins(scores).tolist()
    if scores.shape[1] == 1:
        pairs = [[0, 1]] * len(scores)
    else:
        pairs = np.sort(np.argsort(scores, axis=1)[:, -2:], axis=1).tolist()
    return [
        f"near the boundary between {names[a]} and {names[b]} (margin {gap:.2g})"
        for (a, b), gap in zip(pairs, gaps, strict=True)
    ]
