"""The native expansion and solver, with a state that can be copied, pickled and saved."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _core
from ._validate import Rows, as_block


class Machine:
    """A native LASVM together with what it was built from.

    ``spec`` holds the arguments of the native constructor: kernel, gamma, coef0, degree, layout, precision,
    width, classes and centre.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.native = _core.Lasvm(**spec)

    def support(self) -> npt.NDArray[np.intp]:
        """Slots whose coefficient is not zero in some column."""
        return np.flatnonzero((self.native.alpha != 0).any(axis=0))

    def rows(self, slots: npt.NDArray[np.intp]) -> Rows:
        """Features of kept rows, as they were given."""
        return self._matrix(self.native.rows(slots.astype(np.int64), as_stored=False), len(slots))

    def get_state(self) -> dict[str, Any]:
        """Everything that decides how the machine goes on, as plain arrays and numbers."""
        return {"spec": dict(self.spec), "native": self.native.get_state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Machine":
        """Build the machine that `get_state` described."""
        machine = cls(dict(state["spec"]))
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
