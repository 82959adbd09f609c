"""Fitted attributes of the learners on a native machine: support vectors, coefficients, counts."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .decision import Decision
from .foreign import ForeignKernel
from .machine import Machine
from .validate import Array, Ints, Rows


class MachineAttributes:
    """Attributes read from the native machine; nothing is computed before it is needed."""

    classes_: Array
    _machine: Machine
    _foreign: ForeignKernel | None
    _sparse_input: bool

    def _check_fitted(self) -> None:
        raise NotImplementedError

    def describe_decision(self) -> Decision:
        """Describe the decision function as data."""
        raise NotImplementedError

    def _fitted(self) -> Machine:
        """The machine of a fitted learner."""
        self._check_fitted()
        return self._machine

    def _of_machine(self, name: str) -> Any:
        """An array that the machine has, usually one number for each binary problem."""
        return np.asarray(getattr(self._fitted().native, name))

    @property
    def support_(self) -> Ints:
        """Row numbers of the support vectors: positions in X for `fit`, ids for `partial_fit`."""
        machine = self._fitted()
        return np.asarray(machine.native.ids[machine.support()])

    @property
    def support_vectors_(self) -> Rows:
        """The support vectors; sparse if X was. Empty with a precomputed kernel, which has no rows."""
        machine = self._fitted()
        slots = machine.support()
        if self._foreign is not None:
            rows = self._foreign.rows_of(machine.native.ids)
            return np.zeros((0, 0)) if rows is None else rows[slots]
        rows = machine.rows(slots)
        if sparse.issparse(rows) == self._sparse_input:
            return rows
        return sparse.csr_matrix(rows) if self._sparse_input else rows.toarray()

    @property
    def dual_coef_(self) -> npt.NDArray[np.float64]:
        """Signed coefficients of the support vectors, one row for each binary problem."""
        machine = self._fitted()
        return np.asarray(machine.native.alpha[:, machine.support()])

    @property
    def coef_(self) -> npt.NDArray[np.float64]:
        """Weights of the features, one row for each binary problem; only with the linear kernel."""
        machine = self._fitted()
        linear = self._foreign is None and machine.kernel.is_linear
        decision = self.describe_decision() if linear else None
        if decision is None or decision.ballots:
            what = "votes" if linear else "has another kernel"
            raise AttributeError(  # so that hasattr returns False
                f'coef_ is only available with kernel="linear" and scores: this {type(self).__name__} {what}.'
            )
        return np.ascontiguousarray(decision.weights.T)

    @property
    def intercept_(self) -> npt.NDArray[np.float64]:
        """Bias of each binary problem."""
        machine = self._fitted()
        bias, center = machine.native.bias, machine.spec["center"]
        if not machine.kernel.is_linear or len(center) == 0:
            return np.asarray(bias)
        # The machine holds rows minus the center: f(x) = <w, x - center> + b.
        return np.asarray(bias - self.coef_ @ center)

    @property
    def gamma_(self) -> float:
        """The value of gamma, also where "scale" or "auto" chose it."""
        return float(self._fitted().kernel.gamma)

    @property
    def n_support_(self) -> npt.NDArray[np.int32]:
        """Number of support vectors of each class."""
        machine = self._fitted()
        counts = np.bincount(machine.native.labels[machine.support()], minlength=len(self.classes_))
        return counts.astype(np.int32)

    @property
    def n_kept_(self) -> int:
        """Number of rows kept."""
        return int(self._fitted().native.kept)

    @property
    def n_kernel_evaluations_(self) -> int:
        """Kernel values computed so far; a value computed again, because the cache was full, counts again."""
        return int(self._fitted().native.evaluations)

    @property
    def n_iter_(self) -> int:
        """Rows processed so far; with several epochs a row counts each time."""
        return int(self._fitted().native.iterations)
