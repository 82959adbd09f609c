"""Learners on a budget: each row is met once, scored by what was learned before, and few rows are kept."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from . import constraints
from .forget import NamingLearner
from .online import OnlineLearner
from .validate import Array, Rows

_CACHE_BYTES = 200 * 2**20  # far more than the kernel matrix of a buffer
_NO_LIMIT = 2**31 - 1

BUDGET = constraints.integer_from(1)
OPEN_UNIT = constraints.Constraint(
    "a number between 0 and 1, both excluded", lambda value: constraints.is_real(value) and 0 < value < 1
)


class OnePassLearner(NamingLearner, OnlineLearner):
    """Base of the learners on a budget; a subclass names its solver and its parameters.

    With more than two classes each is learned against the rest, with a buffer of its own; a row that several
    buffers hold is stored once.
    """

    _svm = False
    _constraints: ClassVar[dict[str, constraints.Constraint]] = {
        name: constraint
        for name, constraint in OnlineLearner._constraints.items()
        if name not in ("C", "tol", "cache_size")
    }

    def _start(self, X: Rows, classes: Array) -> None:
        super()._start(X, classes)
        words = check_random_state(self.random_state).randint(1, 2**63 - 1, size=4, dtype=np.int64)
        self._machine.native.seed_generator(words.astype(np.uint64))

    def _configure(self) -> None:
        threads = effective_n_jobs(self.n_jobs)
        self._machine.configure(_CACHE_BYTES, threads, self._solver_parameters())

    @property
    def n_mistakes_(self) -> npt.NDArray[np.int64]:
        """Rows that were on the wrong side when they came, one number for each binary problem."""
        return np.asarray(self._fitted().native.mistakes)


def limit(budget: int | None) -> int:
    """A budget in the core's words; None is no limit."""
    return _NO_LIMIT if budget is None else int(budget)
