"""The base of learners on a budget: each row is processed once, and few rows are kept."""

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from . import constraints
from .learner import KernelLearner
from .merging import RowUnion
from .mixing import learn_mean

_NO_LIMIT = 2**31 - 1

OPEN_UNIT = constraints.Constraint(
    "a number between 0 and 1, both excluded", lambda value: constraints.is_real(value) and 0 < value < 1
)


class OnePassLearner(KernelLearner):
    """Base of the learners on a budget.

    With more than two classes each is learned one-vs-rest, with a buffer of its own; a row that several
    buffers hold is stored once.
    """

    # Not parameters of these learners. A class whose C is a parameter has it in its constructor.
    C: float = 1.0
    cache_size: float = 200  # MB: far more than the kernel matrix of a buffer
    _svm = False
    _mergeable: ClassVar[bool] = True
    _draws = True

    def _learn_union(self, union: RowUnion) -> None:
        learn_mean(self, union, limit(getattr(self, "budget", None)))

    @property
    def n_mistakes_(self) -> npt.NDArray[np.int64]:
        """Number of rows that were misclassified when they arrived, for each binary problem."""
        return np.asarray(self._of_machine("mistakes"))


def limit(budget: int | None) -> int:
    """A budget as the core takes it; None is no limit."""
    return _NO_LIMIT if budget is None else int(budget)
