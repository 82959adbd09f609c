"""What every query strategy shares: parameters as scikit-learn has them, and the two ways of looking."""

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._base import constraints

Places = npt.NDArray[np.intp]

_LIMIT = constraints.NONE | constraints.integer_from(0)


class QueryStrategy(ABC):
    """Says which rows are worth a label; a subclass says how much a row is worth and which are asked about.

    A query strategy is not an estimator: it learns nothing and has no state but its parameters. Like an
    estimator it has `get_params` and `set_params`, so that `sklearn.base.clone` copies it and a search may
    vary it.

    Invariant: rows are judged in consecutive groups of `rows_per_question`, each group on its own. So the
    answer for a group does not depend on what was asked about before or with it, as long as the model stays
    the same.
    """

    _constraints: ClassVar[dict[str, constraints.Constraint]] = {}

    @property
    def rows_per_question(self) -> int:
        """How many consecutive rows are judged together."""
        return 1

    @property
    def asks_every_row(self) -> bool:
        """Whether every row is asked about, whatever the model says."""
        return False

    def utilities(self, model: Any, X: Any) -> npt.NDArray[np.float64]:
        """How much each row is worth asking about; nothing is changed.

        Parameters
        ----------
        model : object
            A classifier that has learned something and has a ``decision_function``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as the model takes them.

        Returns
        -------
        ndarray of shape (n_samples,)
            The larger, the more worth asking.
        """
        constraints.check(self)
        return self._worth(model, X)

    def query(self, model: Any, X: Any, n: int | None = None) -> Places:
        """Which rows to ask about; nothing is changed.

        Parameters
        ----------
        model : object
            A classifier that has learned something and has a ``decision_function``.
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, as the model takes them.
        n : int, default=None
            At most so many rows, those of the highest utilities; of equal ones the first. None sets no limit.

        Returns
        -------
        ndarray of shape (n_asked,)
            Row numbers, ascending.
        """
        constraints.check(self)
        if not _LIMIT.test(n):
            raise ValueError(f"n must be {_LIMIT.accepts}, got {n!r}.")
        worth = self._worth(model, X)
        asked = self._asked(worth)
        if n is None or n >= len(asked):
            return asked
        best = np.argsort(-worth[asked], kind="stable")[:n]
        return np.sort(asked[best])

    @abstractmethod
    def _worth(self, model: Any, X: Any) -> npt.NDArray[np.float64]:
        """The utilities."""

    @abstractmethod
    def _asked(self, worth: npt.NDArray[np.float64]) -> Places:
        """The rows to ask about, ascending, by their utilities."""

    # ------------------------------------------------------------------------------------------- parameters

    @classmethod
    def _names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by their names.

        Parameters
        ----------
        deep : bool, default=True
            As in scikit-learn; a query strategy has no parameters within parameters.

        Returns
        -------
        dict
            The parameters.
        """
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> "QueryStrategy":
        """Set parameters by their names.

        Parameters
        ----------
        params : dict
            The parameters to set.

        Returns
        -------
        QueryStrategy
            The query strategy itself.
        """
        names = self._names()
        for name in params:
            if name not in names:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; its parameters are {names!r}."
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({given})"
