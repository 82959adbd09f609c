"""The native expansion and a solver on it, with a state that can be copied, pickled and saved."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.extmath import row_norms

from .. import _core
from . import checked, halves
from .device_table import DeviceTable
from .kernels import Kernel, kernel_named
from .layout import compressed, stacked
from .validate import Rows, as_block

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


_LARGEST_CACHED = float(np.finfo(np.float32).max)
_LONGEST_SAFE = 2.0**100  # squared length: rounding and single precision are far from mattering
_SPEC = {"kernel", "gamma", "coef0", "degree", "layout", "precision", "width", "classes", "center"}


class Expansion(NamedTuple):
    """A decision function: the sum of weights_i k(rows_i - center, x - center), plus the bias.

    ``rounded`` says that x - center is rounded to 16 bits, as the rows were.
    """

    kernel: Kernel
    rows: Rows
    center: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]  # of shape (n_rows, n_columns)
    bias: npt.NDArray[np.float64]
    rounded: bool = False


class Machine:
    """A native solver, by its name here, together with what its expansion was built from.

    ``spec`` holds the arguments of the native constructor: kernel, gamma, coef0, degree, layout, precision,
    width, classes and center.
    """

    def __init__(self, solver: str, spec: dict[str, Any]) -> None:
        self.solver = solver
        self.spec = spec
        self.native = _SOLVERS[solver](**spec)
        self.kernel = kernel_named(*(spec[name] for name in ("kernel", "gamma", "coef0", "degree")))
        self.parameters: dict[str, Any] = {}
        self.configured_for: tuple[Any, ...] = ()  # the values of the learner's parameters at that time
        self.in_halves = spec["precision"] == "float16"
        # A row whose squared length is between the two needs no further check.
        self.safe_from = 0.0
        if self.in_halves:
            self.safe_from = halves.shortest(self.kernel, spec["center"], spec["width"])
        self.safe_length = self._find_safe_length()

    def configure(self, cache_bytes: int, threads: int, parameters: dict[str, Any]) -> None:
        """Pass on what may change between calls; ``parameters`` are those of the solver."""
        self.parameters = parameters
        self.native.configure(cache_bytes, threads)
        self.native.set_parameters(**parameters)

    @contextmanager
    def changed(self, **parameters: Any) -> Iterator[None]:
        """Give the core other values of some parameters for a while."""
        usual = self.parameters
        self.native.set_parameters(**(usual | parameters))
        try:
            yield
        finally:
            self.native.set_parameters(**usual)

    def check_range(self, X: Rows | DeviceTable) -> None:
        """Refuse rows whose kernel values overflow, before anything is learned from them."""
        if self.spec["layout"] == "external" or X.shape[0] == 0:
            return
        if isinstance(X, DeviceTable):
            self._check_length(X.summary.longest)
            return
        is_sparse = sparse.issparse(X)
        is_safe = not is_sparse and _core.longest_row(X) < self.safe_length
        if self.in_halves and not (is_safe and self.safe_from == 0):
            halves.check_range(self.kernel, self.spec["center"], X)
        if is_safe:
            return
        with np.errstate(over="ignore", invalid="ignore"):
            if is_sparse:
                squares = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)
            else:
                squares = np.einsum("ij,ij->i", X, X).astype(np.float64)
            self._check_length(float(squares.max()))

    def _check_length(self, longest: float) -> None:
        kernel = self.kernel
        if not self._fits(longest):
            remedy = f", or choose a smaller {', '.join(kernel.uses)}" if "coef0" in kernel.uses else ""
            raise ValueError(
                f"The {kernel.name} kernel overflows on rows of squared length {longest:.3g} with "
                f"gamma={kernel.gamma:.3g}: scale the features (for example with StandardScaler){remedy}."
            )

    def _fits(self, longest: float) -> bool:
        """Whether nothing overflows for rows whose squared lengths are ``longest`` at most."""
        kernel, most = self.kernel, float(np.finfo(self._computed_in()).max)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = max(longest, kernel.largest_step(longest))
            highest = kernel.highest(longest)
        return bool(8 * steps < most and 8 * highest < _LARGEST_CACHED and kernel.gamma < most)

    def _find_safe_length(self) -> float:
        """A squared length, with room to spare, below which rows fit; 0 if rows are kernel values."""
        longest = 0.0 if self.spec["layout"] == "external" else _LONGEST_SAFE
        if self.in_halves:
            longest = min(longest, halves.longest(self.kernel, self.spec["center"], self.spec["width"]))
        while longest > 1 and not self._fits(2 * longest):
            longest /= 2**10
        return longest if longest > 1 else 0.0

    def _computed_in(self) -> str:
        """The type that kernel values are computed in."""
        return "float32" if self.in_halves else str(self.spec["precision"])

    def seed(self, random: np.random.RandomState) -> None:
        """Seed the generator of the native solver."""
        words = random.randint(1, 2**63 - 1, size=4, dtype=np.int64)
        self.native.seed_generator(words.astype(np.uint64))

    def support(self) -> npt.NDArray[np.intp]:
        """Slots whose coefficient is not zero in some column."""
        alpha = self.native.alpha
        return np.flatnonzero(alpha[0] if len(alpha) == 1 else (alpha != 0).any(axis=0))

    def rows(self, slots: npt.NDArray[np.intp]) -> Rows:
        """Features of kept rows, as they were given; rounded if they are stored in 16 bits."""
        image = self.native.rows(slots.astype(np.int64), as_stored=False)
        # A sum with the center in single precision could become another row when it is rounded to 16 bits.
        is_sum = self.in_halves and len(self.spec["center"]) > 0
        return self._matrix(image, len(slots), "float64" if is_sum else None)

    def reserved_rows(self) -> Rows:
        """Features of the rows in the reserve, as `rows` returns those of kept rows."""
        reserve = self.native.reserve
        stored, center = self._matrix(reserve, len(reserve["ids"]), "float64"), self.spec["center"]
        given = stored + center if len(center) else stored
        return given if self.in_halves and len(center) else given.astype(self._computed_in())

    def expansion(self, slots: npt.NDArray[np.intp]) -> Expansion:
        """The decision function over the rows in some slots, such as those of `support`."""
        spec = self.spec
        center = spec["center"] if len(spec["center"]) else np.zeros(spec["width"])
        weights = np.ascontiguousarray(self.native.alpha[:, slots].T)
        bias = np.array(self.native.bias)
        return Expansion(self.kernel, self.rows(slots), center, weights, bias, self.in_halves)

    def is_center(self, ids: npt.NDArray[np.int64]) -> bool:
        """Whether one of some rows that are kept is the center, as the only row of a first block is."""
        if len(self.spec["center"]) == 0 or len(ids) == 0 or self.in_halves:
            return False
        slots = np.flatnonzero(np.isin(self.native.ids, ids))
        stored = self._matrix(self.native.rows(slots, as_stored=True), len(slots))
        reserve = self.native.reserve
        reserved = self._matrix(reserve, len(reserve["ids"]))[np.isin(reserve["ids"], ids)]
        return any(bool((rows == 0).all(axis=1).any()) for rows in (stored, reserved))

    def recentered(self) -> "Machine":
        """The same machine with the mean of the rows that it keeps for its center.

        Only for kernels of differences of rows: coefficients and gradients stay as they are.
        """
        state = self.get_state()
        parts = [state[name] for name in ("native", "reserve") if name in state]
        given = [self._stored(part).astype(np.float64) + self.spec["center"] for part in parts]
        center = np.vstack(given).mean(axis=0) if any(map(len, given)) else np.zeros(0)
        for part, rows in zip(parts, given, strict=True):
            moved = rows - center if len(center) else rows
            part["values"] = moved.ravel().astype(self.spec["precision"])
        state["spec"] = self.spec | {"center": center}
        return Machine.from_state(state)

    def get_state(self) -> dict[str, Any]:
        """Everything that determines how the machine continues, as plain arrays and numbers.

        The number of kernel evaluations is not in it: it depends on what the cache held.
        """
        native, reserve = self.native.get_state(), self.native.reserve
        for part in (native, reserve):
            part["values"] = part["values"].astype(self.spec["precision"])
        state = {
            "solver": self.solver,
            "spec": dict(self.spec),
            "parameters": dict(self.parameters),
            "native": native,
        }
        return state | {"reserve": reserve} if len(reserve["ids"]) else state

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Machine":
        """Build the machine that `get_state` described; a `ValueError` if its parts do not fit together."""
        solver = checked.word("solver", state["solver"], tuple(_SOLVERS))
        native = checked.table("native", state["native"])
        spec = _checked_spec(checked.table("spec", state["spec"]), native)
        machine = cls(solver, spec)
        machine.parameters = checked.table("parameters", state["parameters"])
        machine.native.set_parameters(**machine.parameters)
        stored = native["kernel"] if spec["layout"] == "external" else machine._stored(native)
        machine.native.set_state(as_block(stored), native)
        if "reserve" in state:
            reserve = checked.table("reserve", state["reserve"])
            machine.native.set_reserve(as_block(machine._stored(reserve)), reserve)
        return machine

    def _stored(self, part: dict[str, Any]) -> Rows:
        """The rows of a part of a state, as stored."""
        checked.array("values", part["values"], self.spec["precision"], (None,))
        return self._matrix(part, len(part["ids"]))

    @classmethod
    def one_vs_rest(
        cls,
        machines: "Sequence[Machine]",
        ids: Sequence[npt.NDArray[np.int64]],
        labels: Sequence[npt.NDArray[np.int32]],
        kernel: npt.NDArray[np.float64] | None = None,
    ) -> "Machine":
        """Combine one-vs-rest LASVM machines into one: a column for each class.

        Parameters
        ----------
        machines : sequence of Machine
            The binary machines, in the order of their classes, which are their second ones.
        ids : sequence of ndarray
            The id of each slot of each machine. Slots with the same id hold the same row.
        labels : sequence of ndarray
            The class number of each slot.
        kernel : ndarray of shape (n_rows, n_rows), default=None
            Kernel values between all rows in the order of their ids, for the layout "external".
        """
        first = machines[0]
        states = [machine.native.get_state() for machine in machines]
        names, where, places = np.unique(np.concatenate(ids), return_index=True, return_inverse=True)
        numbers = np.concatenate(labels)[where].astype(np.int32)
        parts = np.split(places, np.cumsum([len(part) for part in ids])[:-1])
        shape = (len(machines), len(names))
        merged: dict[str, Any] = {
            "ids": names,
            "labels": numbers,
            "costs": np.concatenate([state["costs"] for state in states])[where],
            "diagonal": np.concatenate([state["diagonal"] for state in states])[where],
            "alpha": np.zeros(shape),
            "edge": np.zeros(shape),
            "member": np.zeros(shape, dtype=np.uint8),
            "iterations": sum(state["iterations"] for state in states),
            "seen": np.ones(len(machines), dtype=np.uint8),
            "generator": states[0]["generator"],
        }
        for name in ("bias", "delta", "live"):
            merged[name] = np.concatenate([state[name] for state in states])
        for c, (state, part) in enumerate(zip(states, parts, strict=True)):
            for name in ("alpha", "edge", "member"):
                merged[name][c, part] = state[name][0]
        sign = np.where(numbers == np.arange(len(machines))[:, np.newaxis], 1.0, -1.0)
        if kernel is None:
            every = [np.arange(len(part)) for part in parts]
            stored = [
                machine._matrix(state, len(at))
                for machine, state, at in zip(machines, states, every, strict=True)
            ]
            given = stacked([machine.rows(at) for machine, at in zip(machines, every, strict=True)])[where]
            scores = [machine.native.decide(as_block(given), 1)[:, 0] for machine in machines]
            merged["g"] = sign - (np.array(scores) - merged["bias"][:, np.newaxis])
            rows = stacked(stored)[where]
            is_sparse = sparse.issparse(rows)
            merged["values"] = rows.data if is_sparse else rows.ravel()
            merged["values"] = merged["values"].astype(first.spec["precision"])
            merged["columns"] = np.asarray(rows.indices if is_sparse else [], dtype=np.int32)
            merged["starts"] = np.asarray(rows.indptr if is_sparse else [], dtype=np.int64)
        else:
            merged["g"] = sign - merged["alpha"] @ kernel
            merged["kernel"] = kernel.astype(np.float32)
        whole = cls.from_state(
            {
                "solver": first.solver,
                "spec": first.spec | {"classes": len(machines)},
                "parameters": first.parameters,
                "native": merged,
            }
        )
        whole.native.evaluations = sum(machine.native.evaluations for machine in machines)
        return whole

    def holding(
        self,
        X: Rows,
        ids: npt.NDArray[np.int64],
        labels: npt.NDArray[np.int32],
        costs: npt.NDArray[np.float64],
        alpha: npt.NDArray[np.float64],
        gradients: npt.NDArray[np.float64],
        ends: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
        with_idle: bool = False,
    ) -> "Machine":
        """Return a LASVM machine like this one, without rows, that has learned these rows elsewhere.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_rows, n_features)
            The rows to keep.
        ids, labels, costs : ndarray of shape (n_rows,)
            Their ids, class numbers and costs.
        alpha, gradients : ndarray of shape (n_columns, n_rows)
            Their coefficients and gradients in each binary problem.
        ends : pair of ndarray of shape (n_columns,)
            The largest gradient of a coefficient that may rise, and the smallest of one that may fall.
        with_idle : bool, default=False
            Whether rows belong to binary problems in which their coefficient is zero, too.
        """
        native = self.native.get_state()
        high, low = ends
        numbers = np.arange(len(alpha)) if len(alpha) > 1 else np.array([1])
        signs = np.where(labels == numbers[:, np.newaxis], 1.0, -1.0)
        native |= {
            "ids": ids,
            "labels": labels,
            "costs": costs,
            "diagonal": self._diagonal(X),
            "alpha": alpha,
            "g": gradients,
            "edge": signs * costs,
            "member": ((alpha != 0) | with_idle).astype(np.uint8),
            "bias": (high + low) / 2,
            "delta": high - low,
            "live": np.ones(len(alpha), dtype=np.uint8),
            "seen": np.ones(len(native["seen"]), dtype=np.uint8),
        }
        machine = Machine(self.solver, self.spec)
        machine.parameters = self.parameters
        machine.native.set_parameters(**self.parameters)
        machine.native.set_state(self._to_store(X), native)
        return machine

    def reserve(
        self, X: Rows, ids: Any, labels: Any, costs: Any, margins: npt.NDArray[np.float64], most: int
    ) -> None:
        """Replace the rows of the reserve, which has a capacity of ``most``."""
        self.native.set_parameters(**(self.parameters | {"reserve": 0}))
        self.native.set_parameters(**self.parameters)
        part = {"ids": ids, "labels": labels, "costs": costs, "margins": margins}
        part["ceiling"] = float(margins.max()) if 0 < len(margins) == most else np.inf
        self.native.set_reserve(self._to_store(X), part)

    def _to_store(self, X: Rows) -> _core.Block:
        """Rows from which the core makes those it stores, in its layout and rounded to 16 bits."""
        stored = self.centered(X)
        return as_block(stored if self.in_halves else stored.astype(self.spec["precision"], copy=False))

    def _diagonal(self, X: Rows) -> npt.NDArray[np.float32]:
        if self.kernel.unit_diagonal:
            return np.ones(X.shape[0], dtype=np.float32)
        squares = row_norms(self.centered(X).astype(np.float64), squared=True)
        return self.kernel.diagonal(squares).astype(np.float32)

    def centered(self, X: Rows) -> Rows:
        """Rows relative to the center; dense, if there is one."""
        center = self.spec["center"]
        if not len(center):
            return X
        return ((X.toarray() if sparse.issparse(X) else X) - center).astype(X.dtype)

    def _image(self, X: Rows) -> dict[str, Any]:
        """Rows as a state stores them."""
        stored = self.centered(X)
        if self.spec["layout"] == "sparse":
            stored = stored if sparse.issparse(stored) else compressed(stored)
        elif sparse.issparse(stored):
            stored = stored.toarray()
        is_sparse = sparse.issparse(stored)
        return {
            "values": np.asarray(stored.data if is_sparse else stored.ravel()).astype(self.spec["precision"]),
            "columns": np.asarray(stored.indices if is_sparse else [], dtype=np.int32),
            "starts": np.asarray(stored.indptr if is_sparse else [], dtype=np.int64),
        }

    def __getstate__(self) -> dict[str, Any]:
        return self.get_state() | {"evaluations": self.native.evaluations}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = Machine.from_state(state).__dict__
        self.native.evaluations = state.get("evaluations", 0)

    def _matrix(self, image: dict[str, Any], count: int, dtype: str | None = None) -> Rows:
        values = checked.array("values", image["values"], np.float64, (None,))
        values = values.astype(dtype or self._computed_in())
        shape = (count, self.spec["width"])
        if self.spec["layout"] == "sparse":
            columns = checked.array("columns", image["columns"], np.int64, (None,))
            starts = checked.array("starts", image["starts"], np.int64, (count + 1,))
            return sparse.csr_matrix((values, columns, starts), shape=shape)
        if len(values) != count * shape[1]:
            raise ValueError(
                f"values must contain {count} rows of {shape[1]} features, got {len(values)} numbers"
            )
        return values.reshape(shape)


def _checked_spec(spec: dict[str, Any], native: dict[str, Any]) -> dict[str, Any]:
    """A specification as the native constructor takes it, for arrays that are in a state."""
    if set(spec) != _SPEC:
        raise ValueError(f"spec must have {', '.join(sorted(_SPEC))}, got {', '.join(sorted(spec))}")
    checked.number("gamma", spec["gamma"], least=0.0)
    checked.number("coef0", spec["coef0"])
    checked.integer("degree", spec["degree"], most=2**31 - 1)
    checked.integer("width", spec["width"], most=2**31 - 1)
    checked.floats("center", spec["center"], (None,))
    # One column for each class: before memory is allocated for them, the state must have as many.
    columns = len(checked.floats("bias", native["bias"], (None,)))
    classes = checked.integer("classes", spec["classes"], least=2)
    if columns != (1 if classes == 2 else classes):
        raise ValueError(f"classes is {classes}, and the model has {columns} columns")
    return spec
