"""The ramp loss on rows in memory: hinge problems until the rows within the ramp stay the same."""

import warnings
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from .._base.learner import KernelLearner, LabeledRows
from .._base.merging import RowUnion, begin, problem_of
from .._base.validate import Ints


class RampRounds(KernelLearner):
    """Capability: find an optimum of the ramp loss on many rows at once."""

    _mergeable: ClassVar[bool] = True

    @property
    def _most_rounds(self) -> int:
        """Rounds after the start at most; -1 is no limit. A learner without ``max_iter`` has 100."""
        return int(getattr(self, "max_iter", 100))

    def _solve_union(self, union: RowUnion) -> npt.NDArray[np.float64]:
        """Learn a union from scratch; the objective after the start and after each round."""
        with problem_of(self, union):
            rows = begin(self, union)
        self._configure()
        return self._solve_gathered(rows, np.flatnonzero(rows.costs > 0))

    def _solve_gathered(self, rows: LabeledRows, usable: Ints) -> npt.NDArray[np.float64]:
        self._feed(self._machine.native.gather, rows, usable.astype(np.int64))
        return self._rounds()

    def _rounds(self) -> npt.NDArray[np.float64]:
        """Solve hinge problems until the rows within the ramp stay the same; the objective after each."""
        native = self._machine.native
        self._optimize(native.solve, "start")
        path: list[npt.NDArray[np.float64]] = [native.objective]
        while (changed := native.redraw(commit=False)) and len(path) != self._most_rounds + 1:
            native.redraw(commit=True)
            self._optimize(native.solve, f"round {len(path)}")
            path.append(native.objective)
        self._warn_if_unsolved("The last round", stacklevel=4)
        if changed:
            warnings.warn(
                f"The rows within the ramp still change after {self._most_rounds} rounds (max_iter), in "
                f"{changed} binary problems. Choose a smaller tol, or a larger max_iter if there is one: "
                "where rounds are solved too coarsely, rows may alternate without end.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return np.array(path)
