"""Capability of learners: `fit` and predictions on a CUDA device, by the parameter ``device``."""

from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from ..errors import DeviceError
from . import device
from .device_table import DeviceTable, in_device_memory, labels_like, on_host, table_of
from .learner import KernelLearner, LabeledRows
from .validate import Ints, Rows

Learner = TypeVar("Learner", bound="DeviceLearner")


class DeviceLearner(KernelLearner):
    """Capability: find the SVM of all rows on a device, and score rows there; before an `OnlineLearner`."""

    device: str
    cache_size: float
    tol: float
    _keeps_rows: bool
    _solved_on_device = False  # by the present `fit`

    def fit(self: Learner, X: Any, y: Any, sample_weight: Any = None) -> Learner:
        """Learn from scratch: the SVM of all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; with ``device="cuda"`` or "auto" also an array in the memory of a CUDA device.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; a row of weight 0 is skipped.

        Returns
        -------
        object
            The learner itself.
        """
        before = dict(vars(self))
        try:
            super().fit(X, y, sample_weight)
        except KeyboardInterrupt:
            if self._solved_on_device:  # which has learned nothing before it has learned everything
                self.__dict__ = before
            raise
        finally:
            self.__dict__.pop("_solved_on_device", None)
        return self

    def _device_obstacle(self) -> str | None:
        """Why a fit with these parameters cannot run on a device, if so."""
        for name, needed in (
            ("finishing", "all"),
            ("selection", "random"),
            ("max_iter", -1),
            ("row_dtype", None),
        ):
            if (value := getattr(self, name)) != needed:
                return f"it needs {name}={needed!r}, got {value!r}."
        return device.kernel_obstacle(self.kernel)

    def _take_all(
        self, X: Any, y: Any, sample_weight: Any, ids: Ints | None = None
    ) -> tuple[LabeledRows, Ints]:
        module = device.choose_device(self.device, self._device_obstacle() if self.device != "cpu" else None)
        self._solved_on_device = module is not None
        if module is None:
            return super()._take_all(X, y, sample_weight, ids)
        table = table_of(module, X)
        try:
            weights = on_host(module, sample_weight)
            return super()._take_all(X if table is None else table, y, weights, ids)
        except DeviceError as error:
            self._fall_back(error)
        if table is not None and table.on_device:
            X, y, sample_weight = table[:], on_host(module, y), on_host(module, sample_weight)
        return super()._take_all(X, y, sample_weight, ids)

    def _fall_back(self, error: DeviceError) -> None:
        """Go on on the CPU after a device has failed, if the user left the choice of the device to us."""
        if self.device == "cuda":
            raise error
        self._solved_on_device = False
        device.warn_of_cpu(error)

    def _scores(self, X: Any) -> Any:
        found = self._scores_there(X) if self.device != "cpu" and hasattr(self, "_machine") else None
        return super()._scores(X) if found is None else found

    def _scores_there(self, X: Any) -> Any:
        """Decision values by the device of rows that it reads as they are; None for all others."""
        plain = type(X) is np.ndarray and X.ndim == 2
        if not (plain and device.worth_copying(self._machine, X)) and not in_device_memory(X):
            return None  # before the driver is asked for devices, which takes longer than a small batch
        module = self._present_device()
        table = None if module is None else table_of(module, X)
        if module is None or table is None:
            return None
        if table.on_device:
            validate_data(self, table, reset=False, skip_check_array=True)
        elif hasattr(self, "feature_names_in_") or table.shape[1] != self.n_features_in_:
            return None
        found = self._on_device(module, table)
        if found is None and table.on_device:  # what is wrong is found on the host
            super()._scores(table.on_host())
            raise ValueError("X has values that are too large for the device: scale the features.")
        return found

    def _present_device(self) -> ModuleType | None:
        """The module, if the device can score; a model may be loaded where there is none."""
        try:
            return None if device.kernel_obstacle(self.kernel) else device.cuda_module()
        except DeviceError:
            return None

    def _on_device(self, module: ModuleType, X: Rows | DeviceTable) -> Any:
        """Decision values by the device; None if rows do not fit into its numbers."""
        try:
            return device.scores(module, self._machine, X)
        except DeviceError as error:
            if self.device == "cuda" or (isinstance(X, DeviceTable) and X.on_device):
                raise
            device.warn_of_cpu(error, "Predicting")
            return None

    def labels_of(self, scores: Any) -> Any:
        """Turn decision values into labels; on a device they stay there, if labels are numbers.

        Parameters
        ----------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            From `decision_function`.

        Returns
        -------
        array of shape (n_samples,)
            The labels.
        """
        if isinstance(scores, np.ndarray):
            return super().labels_of(scores)
        return labels_like(scores, self.classes_)

    def score_validated(self, X: Rows) -> npt.NDArray[np.float64]:
        """Score rows from `validate_rows`; many rows on the device, if there is one.

        Parameters
        ----------
        X : ndarray or CSR matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, 1) or (n_samples, n_classes)
            The decision values, one column for each binary problem.
        """
        there = self.device != "cpu" and device.worth_copying(self._machine, X)
        module = self._present_device() if there else None
        found = None if module is None else self._on_device(module, X)
        if found is not None:
            return np.asarray(found)
        return super().score_validated(X)

    def _solve_on_device(self, rows: LabeledRows, usable: Ints) -> bool:
        """The SVM of all rows by a device, handed over to the machine; False if the CPU has to solve it."""
        try:
            self._solve_and_hand_over(rows, usable)
            return True
        except DeviceError as error:
            self._fall_back(error)
        rows.X = rows.X[:] if isinstance(rows.X, DeviceTable) else rows.X
        return False

    def _solve_and_hand_over(self, rows: LabeledRows, usable: Ints) -> None:
        module = device.cuda_module()
        columns = len(self._machine.native.bias)
        numbers = np.arange(columns) if columns > 1 else np.array([1])
        signs = np.where(rows.labels == numbers[:, np.newaxis], 1.0, -1.0)
        edge = signs * rows.costs
        cache = int(self.cache_size * 2**20)
        fit = device.solve(module, self._machine, rows.X, edge, self.tol, cache)
        may_rise, may_fall = fit.alpha < np.maximum(edge, 0), fit.alpha > np.minimum(edge, 0)
        high = np.max(fit.gradients, axis=1, where=may_rise, initial=-np.inf)
        low = np.min(fit.gradients, axis=1, where=may_fall, initial=np.inf)
        kept = usable if self._keeps_rows else np.flatnonzero(fit.alpha.any(axis=0))
        machine = self._machine.holding(
            rows.X[kept],
            rows.ids[kept],
            rows.labels[kept],
            rows.costs[kept],
            fit.alpha[:, kept],
            fit.gradients[:, kept],
            (high, low),
            with_idle=self._keeps_rows,
        )
        most = self._reserve_size()
        dropped = usable[:0] if self._keeps_rows else usable
        near, margins = device.nearest_dropped(fit, signs, (high + low) / 2, dropped, most)
        reserved = rows.X[near], rows.ids[near], rows.labels[near], rows.costs[near]
        # Nothing asks the device from here on: if it fails, the learner is as it was.
        machine.native.set_iterations(len(usable))
        self._machine = machine
        self._configure()
        machine.reserve(*reserved, margins, most)
