"""The native expansion and a solver on it, with a state that can be copied, pickled and saved."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _core
from ._validate import Rows, as_block

_SOLVERS: dict[str, Any] = {
    "lasvm": _core.Lasvm,
    "gap": _core.Gap,
    "ramp": _core.RampLoss,
    "incremental": _core.Incremental,
    "perceptron": _core.Perceptron,
    "passive_aggressive": _core.PassiveAggressive,
    "norma": _core.Norma,
    "projectron": _core.Projectron,
    "koil": _core.Koil,
    "local": _core.LocalUpdates,
}


class Machine:
    """A native solver, by its name here, together with what its expansion was built from.

    ``spec`` holds the arguments of the native constructor: kernel, gamma, coef0, degree, layout, precision,
    width, classes and centre.
    """

    def __init__(self, solver: str, spec: dict[str, Any]) -> None:
        self.solver = solver
        self.spec = spec
        self.native = _SOLVERS[solver](**spec)
        self.parameters: dict[str, Any] = {}

    def configure(self, cache_bytes: int, threads: int, parameters: dict[str, Any]) -> None:
        """Pass on what may change between calls; ``parameters`` are those of the solver."""
        self.parameters = parameters
        self.native.configure(cache_bytes, threads)
        self.native.set_parameters(**parameters)

    def support(self) -> npt.NDArray[np.intp]:
        """Slots whose coefficient is not zero in some column."""
        return np.flatnonzero((self.native.alpha != 0).any(axis=0))

    def rows(self, slots: npt.NDArray[np.intp]) -> Rows:
        """Features of kept rows, as they were given."""
        return self._matrix(self.native.rows(slots.astype(np.int64), as_stored=False), len(slots))

    def get_state(self) -> dict[str, Any]:
        """Everything that decides how the machine goes on, as plain arrays and numbers."""
        return {
            "solver": self.solver,
            "spec": dict(self.spec),
            "parameters": dict(self.parameters),
            "native": self.native.get_state(),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Machine":
        """Build the machine that `get_state` described."""
        machine = cls(state["solver"], dict(state["spec"]))
        machine.parameters = dict(state["parameters"])
        machine.native.set_parameters(**machine.parameters)
        native = dict(state["native"])
        count = len(native["ids"])
        stored = native["kernel"] if machine.spec["layout"] == "external" else machine._matrix(native, count)
        machine.native.set_state(as_block(stored), native)
        return machine

    def __getstate__(self) -> dict[str, Any]:
        return self.get_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = Machine.from_state(state).__dict__

    def _matrix(self, image: dict[str, Any], count: int) -> Rows:
        values = np.asarray(image["values"]).astype(self.spec["precision"])
        shape = (count, self.spec["width"])
        if self.spec["layout"] == "sparse":
            return sparse.csr_matrix((values, image["columns"], image["starts"]), shape=shape)
        return values.reshape(shape)
