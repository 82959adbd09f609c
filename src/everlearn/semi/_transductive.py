"""The base of transductive learners: labels for the unlabeled rows, and a classifier for new rows."""

import math
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_random_state

from .._base import checked, constraints
from .._base.decision import (
    Decision,
    MatrixProduct,
    Standardize,
    Step,
    UnitLength,
    dense,
    describe,
    kernel_steps,
    one_class_decision,
    refuse_kernel,
)
from .._base.device import choose_device
from .._base.estimator import kernel_tags
from .._base.kernels import Kernel, Linear
from .._base.parameters import Table
from .._base.validate import Array, Rows, check_rows
from .._submodular.choice import Floats, Ints
from .._submodular.geometry import CONSTRAINTS, Geometry
from ._estimator import SemiSupervised
from ._label_scores import label_scores
from ._labels import UNKNOWN, add_classes, read_labels
from ._nystroem import nystroem_from, nystroem_state
from ._predictor import check_predictor, choose_predictor, decide, train
from ._ratio import SAMPLE, Ratio, estimate_ratio
from ._rho import Solve, choose_rho
from ._space import Space
from ._transduce import Transduction, class_sizes, count_positives, many_classes, members, signed, two_classes

Self = TypeVar("Self", bound="TransductiveLearner")

_IS_ESTIMATOR = constraints.Constraint("a classifier", lambda value: hasattr(value, "fit"))


class TransductiveLearner(SemiSupervised):
    """Base of the transductive learners; subclasses implement the search for the labels."""

    forgetting: ClassVar[str] = "replay"
    _mark_of_fit = "transduction_"
    _constraints: ClassVar[Table] = {
        "rho": constraints.one_of("auto") | constraints.NOT_NEGATIVE,
        "label_scores": constraints.one_of("svm", "similarity"),
        **CONSTRAINTS,
        "positive_fraction": constraints.NONE | constraints.FRACTION | constraints.MAPPING,
        "balance_classes": constraints.one_of("auto") | constraints.BOOLEAN,
        "n_components": constraints.NONE | constraints.integer_from(1),
        "estimator": constraints.one_of("auto") | constraints.NONE | _IS_ESTIMATOR,
    }
    _fitted_attributes: ClassVar[tuple[str, ...]] = (
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "transduction_",
        "supervised_transduction_",
        "scores_",
        "objective_",
        "n_evaluations_",
        "fraction_reliable_",
        "rho_",
        "fraction_depth_",
    )

    def fit(self: Self, X: Any, y: Any) -> Self:
        """Label the unlabeled rows, and train a classifier on all rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows, labeled and unlabeled, in any order; with kernel="precomputed" the matrix of their
            similarities.
        y : array-like of shape (n_samples,)
            The labels; None, NaN or ``unlabeled`` for unlabeled rows.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        with self._unchanged_on_error():
            self._fit(X, y)
        return self

    def predict(self, X: Any) -> Array:
        """Predict the class of rows, which may be new.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; with kernel="precomputed" their similarities to all rows of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted labels.
        """
        self._check_fitted()
        if self._only is not None:
            return np.repeat(self.classes_[self._only], check_rows(self, X, reset=False).shape[0])
        return np.asarray(self._rule().predict(self._features(X)))

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """Decision values: positive for the second of two classes, or one column for each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; with kernel="precomputed" their similarities to all rows of `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The decision values.
        """
        self._check_fitted()
        if len(self.classes_) == 1:
            raise ValueError("y has only one class: decision values need at least two.")
        if self._only is not None:
            rows = check_rows(self, X, reset=False).shape[0]
            if len(self.classes_) == 2:
                return np.full(rows, 1.0 if self._only == 1 else -1.0)
            return np.tile(np.where(np.arange(len(self.classes_)) == self._only, 1.0, -np.inf), (rows, 1))
        return decide(self._rule(), self._features(X), self.classes_)

    # ------------------------------------------------------------------------------------- for the subclasses

    def _transduce(
        self, space: Space, L: Ints, numbers: Ints, U: Ints, sizes: Ints, rho: float
    ) -> Transduction:
        """Label the rows U, with given class sizes, from the class numbers of the rows L."""
        raise NotImplementedError

    def _refuse(self, unlabeled: int) -> None:
        """Raise a ValueError if there are too many unlabeled rows for this learner."""

    # ------------------------------------------------------------------------------------------------- fit

    def _fit(self, X: Any, y: Any) -> None:
        X = check_rows(self, X, reset=True)
        classes, numbers = read_labels(y, self.unlabeled, X.shape[0])
        self.classes_, numbers = add_classes(classes, numbers, self.positive_fraction, self.unlabeled)
        L, U = np.flatnonzero(numbers != UNKNOWN), np.flatnonzero(numbers == UNKNOWN)
        self._refuse(len(U))
        random = check_random_state(self.random_state)
        space = self._space(X, random)
        self._share_out(space, numbers, random)
        self.rho_ = 1.0 if isinstance(self.rho, str) else float(self.rho)
        if isinstance(self.rho, str) and len(self.classes_) > 1:
            with np.errstate(over="ignore", invalid="ignore"):
                self.rho_ = choose_rho(space, L, numbers[L], U, self._shares, self._problem, random)
        with np.errstate(over="ignore", invalid="ignore"):  # overflows raise a ValueError
            found = self._label(space, L, numbers[L], U)
        everything = np.full(len(numbers), 0, dtype=np.int64)
        everything[L], everything[U] = numbers[L], found.numbers
        self.transduction_ = self.classes_[everything]
        everything[U] = found.alone
        self.supervised_transduction_ = self.classes_[everything]
        self.scores_ = np.full((len(numbers), *found.scores.shape[1:]), np.nan)
        with np.errstate(over="ignore"):
            squared = float(np.square(np.float64(self.C)))  # may overflow for a huge C
        self.scores_[U] = found.scores * squared
        self.objective_, self.n_evaluations_ = found.objective * squared, found.evaluations
        self.estimator_ = None
        if self.estimator is not None and len(np.unique(self.transduction_)) > 1:
            seed = int(random.randint(2**31 - 1))
            model = choose_predictor(self.estimator, space, float(self.C), seed, self.n_jobs)
            by_kernel = isinstance(self.estimator, str) and not (space.kernel and space.kernel.is_linear)
            self.estimator_ = train(model, space.X, self.transduction_, numbers != UNKNOWN, by_kernel)

    def _space(self, X: Rows, random: np.random.RandomState) -> Space:
        """Scale the rows and resolve the kernel and the Nystroem map; stored for prediction."""
        self._nystroem: Any = None
        if self.kernel == "precomputed":
            if sparse.issparse(X):
                raise ValueError("A precomputed kernel must be a dense array; X is sparse.")
            if X.shape[0] != X.shape[1]:
                raise ValueError(f"A precomputed kernel must be a square matrix, got shape {X.shape}.")
            if self.n_components is not None:
                raise ValueError(
                    "n_components needs rows, but kernel='precomputed' has none: set it to None."
                )
            if not np.allclose(X, X.T, rtol=1e-5, atol=1e-8 * np.abs(X).max()):
                raise ValueError("A precomputed kernel must be symmetric.")
            self._geometry = Geometry.plain(None)
            self._device_module(X, None)
            return Space(X.astype(np.float64, copy=False), None)
        self._geometry = Geometry.of(X, self)
        Z, kernel = self._geometry.scaled(X), self._geometry.kernel
        if self.n_components is not None and kernel is not None:
            count, seed = min(int(self.n_components), Z.shape[0]), int(random.randint(2**31 - 1))
            found = Nystroem(kernel.name, n_components=count, random_state=seed, **kernel.options)
            self._nystroem = found.fit(Z)
            Z, kernel = found.transform(Z), Linear()
        module = self._device_module(Z, kernel)
        falls_back = getattr(self, "device", "cpu") == "auto"
        return Space(Z, kernel, self.n_jobs, bool(self.verbose), module, falls_back)

    def _device_module(self, X: Rows, kernel: Kernel | None) -> ModuleType | None:
        """The module for a CUDA device, if sums of similarities are to be computed there."""
        device = getattr(self, "device", "cpu")
        obstacle = None
        if kernel is None or not kernel.is_linear:
            obstacle = (
                f"it needs the linear kernel, got {'precomputed' if kernel is None else kernel.name!r}."
            )
        elif sparse.issparse(X):
            obstacle = "it needs dense rows, and X is sparse."
        return choose_device(device, obstacle)

    def _share_out(self, space: Space, numbers: Ints, random: np.random.RandomState) -> None:
        """Determine the fraction of each class among the unlabeled rows."""
        known = numbers[numbers != UNKNOWN]
        Q, n = len(self.classes_), int(np.sum(numbers == UNKNOWN))
        self.fraction_reliable_, self.fraction_depth_ = True, math.nan
        counts = np.bincount(known, minlength=Q)
        if isinstance(self.positive_fraction, Mapping):
            shares = np.array(
                [self.positive_fraction[label] for label in self.classes_.tolist()], dtype=float
            )
            if not (np.isfinite(shares).all() and (shares >= 0).all() and abs(shares.sum() - 1) < 1e-6):
                raise ValueError(
                    f"positive_fraction={self.positive_fraction!r} must have fractions that sum to 1."
                )
        elif self.positive_fraction is not None and Q == 2:
            shares = np.array([1 - self.positive_fraction, self.positive_fraction])
        elif self.positive_fraction is not None:
            raise ValueError(
                f"positive_fraction={self.positive_fraction!r} is the fraction of the second of two classes, "
                f"but y has labels of {Q}. Give a dict with the fraction of each class"
                + (", including the class without a label." if Q == 1 else ".")
            )
        elif n == 0:
            shares = counts / len(known)
        elif Q == 2:
            ratio = self._estimate(space, numbers, random)
            shares = np.array([1 - ratio.share, ratio.share])
            self.fraction_reliable_, self.fraction_depth_ = ratio.reliable, ratio.depth
        else:
            self.fraction_reliable_ = False
            shares = (counts + 1) / (len(known) + Q)
            if Q == 1:
                warnings.warn(
                    f"All labels are {self.classes_[0]!r}, so all rows get this label: if there is another "
                    "class, pass positive_fraction as a dict with the fraction of each class.",
                    stacklevel=4,
                )
        self._shares = shares
        self.positive_fraction_ = (
            float(shares[1]) if Q == 2 else dict(zip(self.classes_.tolist(), shares.tolist(), strict=True))
        )

    def _estimate(self, space: Space, numbers: Ints, random: np.random.RandomState) -> Ratio:
        """Estimate the fraction of the second class, from a sample if there are many rows."""
        kinds = [np.flatnonzero(numbers != UNKNOWN), np.flatnonzero(numbers == UNKNOWN)]
        some = [rows if len(rows) <= SAMPLE else random.permutation(rows)[:SAMPLE] for rows in kinds]
        rows = np.sort(np.concatenate(some))
        K = space.matrix(rows)
        rho = 1.0 if isinstance(self.rho, str) else float(self.rho)
        return estimate_ratio(K, numbers[rows], float(self.C), rho, self._balances(2))

    def _balances(self, classes: int) -> bool:
        return classes > 2 if isinstance(self.balance_classes, str) else bool(self.balance_classes)

    def _label(self, space: Space, L: Ints, numbers: Ints, U: Ints) -> Transduction:
        n, Q = len(U), len(self.classes_)
        if n == 0 or Q == 1:
            shape = (n,) if Q <= 2 else (n, Q)
            same = np.zeros(n, dtype=np.int64)
            return Transduction(same, same, np.zeros(shape), 0.0, 0)
        if Q == 2:
            k = count_positives(float(self._shares[1]), n)
            return self._transduce(space, L, numbers, U, np.array([n - k, k]), self.rho_)
        return self._transduce(space, L, numbers, U, class_sizes(self._shares, n), self.rho_)

    def _problem(self, space: Space, L: Ints, numbers: Ints, U: Ints, sizes: Ints) -> Solve:
        """The problem of labeling U from the labels of L, as a function of solver and rho.

        Both weights, C and Cs, are proportional to C, which does not affect the labels. So C is set to 1
        here, and the reported objective is multiplied by C^2.
        """
        K, Q = space.among(U), len(sizes)
        s, highest = self._label_scores(space, U, L, numbers, Q), K.highest

        def solve(solver: str, rho: float) -> Transduction:
            Cs = self._weight(rho, len(L), len(U), Q)
            if Q == 2:
                return two_classes(K, s, int(sizes[1]), 1.0, Cs, highest, solver)
            return many_classes(K, s, sizes, 1.0, Cs, highest, solver)

        return solve

    def _label_scores(self, space: Space, U: Ints, L: Ints, numbers: Ints, classes: int) -> Floats:
        balanced = self._balances(classes)
        weights = signed(numbers, balanced) if classes == 2 else members(numbers, classes, balanced)
        return label_scores(space, U, L, weights, self.label_scores, float(self.C))

    def _weight(self, rho: float, labels: int, n: int, classes: int) -> float:
        """Cs / C: clusters have rho times the weight of the labels; a class mean counts as one label."""
        if classes > 2 and self._balances(classes):
            labels = classes
        return rho * 2 * labels / n

    # ---------------------------------------------------------------------------------------------- new rows

    @property
    def _only(self) -> int | None:
        """The class number that all rows have, if they have the same; it is then always predicted."""
        if self.estimator is None and len(self.classes_) > 1:
            return None
        found = np.unique(self.transduction_)
        return int(np.searchsorted(self.classes_, found[0])) if len(found) == 1 else None

    def _rule(self) -> Any:
        if self.estimator_ is None:
            raise ValueError(
                f"This {type(self).__name__} has no classifier for new rows: estimator was None in fit. "
                "The labels of the rows of fit are in transduction_."
            )
        return self.estimator_

    def _features(self, X: Any) -> Rows:
        X = self._geometry.scaled(check_rows(self, X, reset=False))
        return X if self._nystroem is None else self._nystroem.transform(X)

    def describe_decision(self) -> Decision:
        """Describe the decision function as data, for export.

        Returns
        -------
        Decision
            The decision function of the classifier, after scaling and the Nystroem map.
        """
        if self.kernel == "precomputed":
            refuse_kernel(self)
        if self._only is not None:
            return one_class_decision(self.classes_, self._only, self.n_features_in_)
        found = describe(self._rule())
        scaling, nystroem, examples = self._geometry, self._nystroem, found.examples
        if nystroem is not None and scaling.kernel is not None:
            examples = dense(nystroem.components_)
            turn = MatrixProduct(np.asarray(nystroem.normalization_, dtype=np.float64).T)
            found = found.after([*kernel_steps(scaling.kernel, examples), turn], examples)
        steps: list[Step] = [UnitLength()] if scaling.unit else []
        if scaling.mean is not None and scaling.scale is not None:
            steps.insert(0, Standardize(scaling.mean, scaling.scale))
            if len(examples) == 0:
                examples = np.random.default_rng(0).standard_normal((500, len(scaling.mean)))
            examples = examples * scaling.scale + scaling.mean
        return found.after(steps, examples).with_classes(self.classes_)

    def __sklearn_tags__(self) -> Any:
        return kernel_tags(super().__sklearn_tags__(), self.kernel)

    # -------------------------------------------------------------------------------------------------- state

    def _parts(self) -> dict[str, Any]:
        return {
            "positive_fraction": self._as_data(self.positive_fraction_),
            "geometry": self._geometry.get_state(),
            "estimator": self._as_data(self.estimator_),
            "nystroem": None if self._nystroem is None else nystroem_state(self._nystroem),
        }

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        classes, width = checked.classes("classes_", fitted["classes_"]), checked.features(fitted)
        rows = len(checked.items_of("transduction_", fitted["transduction_"]))
        for name in ("transduction_", "supervised_transduction_"):
            found = checked.items_of(name, fitted[name], rows)
            if rows == 0 or not np.isin(found, classes).all():
                raise ValueError(f"{name} must have labels of classes_ only")
        checked.array("scores_", fitted["scores_"], np.float64, (rows, *np.shape(fitted["scores_"])[1:]))
        for name in ("objective_", "rho_"):
            checked.number(name, fitted[name], finite=False)
        checked.integer("n_evaluations_", fitted["n_evaluations_"])
        super()._resume(state, fitted)
        self.positive_fraction_ = self._from_data(state["positive_fraction"])
        self._geometry = Geometry.from_state(checked.table("geometry", state["geometry"]), width)
        self._nystroem = None
        if state["nystroem"] is not None:
            self._nystroem = nystroem_from(checked.table("nystroem", state["nystroem"]), width)
        self.estimator_ = self._from_data(state["estimator"])
        if self.estimator_ is not None:
            seen = width if self._nystroem is None else len(self._nystroem.components_)
            check_predictor(self.estimator_, classes, seen)
