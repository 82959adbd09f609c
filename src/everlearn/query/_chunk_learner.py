"""The base of learners that train on chunks: a solver for each chunk, the rows used, the labels read."""

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_random_state, get_tags

from .._base import checked, constraints, persist
from .._base.decision import Decision, describe
from .._base.estimator import Estimator, ScoringClassifier
from .._base.parameters import Table
from .._base.validate import Array, Rows, check_rows, check_table
from ..svm import LASVM

Self = TypeVar("Self", bound="ChunkLearner")
Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_MOST_DRAWS = 100  # of a first chunk, until rows of the classes it lacks are looked for
_LEAST_CHUNK = 10
_EPOCHS = 10  # two come near the exact machine on chunks of some hundred rows, five reach it

CLASSIFIER = constraints.Constraint(
    "a classifier with support_ and a decision_function",
    lambda value: not isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "get_params"),
)
FRACTION = constraints.Constraint(
    "a number above 0, at most 1", lambda value: constraints.POSITIVE.test(value) and value <= 1
)


class ChunkRun:
    """The state of one fit: the rows, the current SVM, and which labels were read.

    ``support`` has the row numbers of the support vectors, ascending. Rows are learned only in `solve`.
    Labels are read only in `draw_first` and where ``examined`` is set.
    """

    def __init__(self, X: Rows, y: Array, labels: Places, chunk: int, solver: Any, random: Any) -> None:
        self.X, self.y, self.labels, self.chunk = X, y, labels, chunk
        self.solver, self.random = solver, random
        self.used = np.zeros(len(y), dtype=np.bool_)
        self.examined = np.zeros(len(y), dtype=np.bool_)
        self.history: list[dict[str, Any]] = []
        self.machine: Any = None
        self.support: Places = np.zeros(0, dtype=np.intp)
        self.queried = 0  # rows added by steps, those added again included

    def draw_first(self) -> Places:
        """Rows of the first chunk: drawn again until every class is there, then completed."""
        for _ in range(_MOST_DRAWS):
            order = self.random.permutation(len(self.y))
            first = order[: self.chunk]
            self.examined[first] = True
            missing = np.setdiff1d(self.labels, self.labels[first])
            if len(missing) == 0:
                return np.sort(first)
        finds = [int(np.flatnonzero(self.labels[order] == number)[0]) for number in missing]
        self.examined[order[: max(finds) + 1]] = True
        return np.sort(np.concatenate([first, order[finds]]))

    def solve(self, rows: Places) -> None:
        """Train an SVM on these rows; its support vectors become the current ones."""
        self.used[rows] = True
        self.examined[rows] = True
        self.machine = clone(self.solver).fit(self.X[rows], self.y[rows])
        places = getattr(self.machine, "support_", None)
        if places is None:
            raise TypeError(
                f"{type(self.machine).__name__} has no support_, the row numbers of its support vectors: "
                "use an SVM such as LASVM or SVC as estimator."
            )
        self.support = np.sort(rows[np.asarray(places, dtype=np.intp)])

    def scores(self, rows: Places) -> Floats:
        """Decision values, a column for each binary problem."""
        values = np.asarray(self.machine.decision_function(self.X[rows]), dtype=np.float64)
        return values.reshape(len(rows), -1)

    def margins(self, rows: Places, scores: Floats) -> Floats:
        """Margins y f(x) of rows; with several classes the least over one class against the rest.

        So a row has a margin above 1 exactly if it lies outside the margin in every binary problem, and can
        not be a support vector of any.
        """
        numbers = [1] if scores.shape[1] == 1 else range(scores.shape[1])
        signs = np.where(self.labels[rows][:, np.newaxis] == np.asarray(numbers), 1.0, -1.0)
        return np.asarray((signs * scores).min(axis=1))

    def others(self, rows: Places) -> Places:
        """All rows but these, ascending."""
        apart = np.ones(len(self.y), dtype=np.bool_)
        apart[rows] = False
        return np.flatnonzero(apart)

    def record(self, **more: Any) -> None:
        """Add an entry to the history."""
        self.history.append(
            {
                "step": len(self.history),
                "used": int(self.used.sum()),
                "examined": int(self.examined.sum()),
                "n_support": len(self.support),
                **more,
            }
        )


class ChunkLearner(ScoringClassifier, Estimator):
    """Base of learners that repeatedly train an SVM on its support vectors and a few more rows."""

    forgetting: ClassVar[str] = "replay"
    _mark_of_fit = "estimator_"
    _constraints: ClassVar[Table] = {
        "estimator": constraints.NONE | CLASSIFIER,
        "chunk_size": constraints.NONE | constraints.integer_from(2),
        "max_iter": constraints.integer_from(-1),
    }
    _fitted_attributes: ClassVar[tuple[str, ...]] = (
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "support_",
        "used_",
        "examined_",
        "history_",
        "n_iter_",
        "stop_reason_",
    )

    def fit(self: Self, X: Any, y: Any) -> Self:
        """Learn from scratch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their labels, of which only those in `examined_` are read.

        Returns
        -------
        object
            The learner itself.
        """
        constraints.check(self)
        with self._unchanged_on_error():
            run = self._begin(X, y)
            run.solve(run.draw_first())
            self.stop_reason_ = self._run(run)
        self.estimator_ = run.machine
        self.support_ = run.support
        self.used_ = np.flatnonzero(run.used)
        self.examined_ = np.flatnonzero(run.examined)
        self.history_ = run.history
        return self

    def _begin(self, X: Any, y: Any) -> ChunkRun:
        """Validate the rows and choose the solver."""
        X, classes, labels = check_table(self, X, y)
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        solver = LASVM(kernel="linear", epochs=_EPOCHS) if self.estimator is None else self.estimator
        params = solver.get_params(deep=False)
        name = type(solver).__name__
        if params.get("kernel") == "precomputed":
            raise ValueError(f"{name} has kernel='precomputed': chunks need the rows, pass features as X.")
        if len(classes) > 2 and "decision_function_shape" in params:
            raise ValueError(
                f"y has {len(classes)} classes, and {name} is one-vs-one, which has no one-vs-rest margins: "
                "use LASVM as estimator, or two classes."
            )
        if "random_state" in params and params["random_state"] is None:
            solver = clone(solver).set_params(random_state=seed)
        self.classes_ = classes
        chunk = (
            max(_LEAST_CHUNK, round(X.shape[0] ** 0.5)) if self.chunk_size is None else int(self.chunk_size)
        )
        return ChunkRun(X, classes[labels], labels.astype(np.intp), chunk, solver, random)

    @abstractmethod
    def _run(self, run: ChunkRun) -> str:
        """Take the steps after the first SVM, set `n_iter_`, and return why they ended."""

    def _scores(self, X: Any) -> Floats:
        self._check_fitted()
        scores = np.asarray(self.estimator_.decision_function(check_rows(self, X, reset=False)), np.float64)
        return scores.reshape(len(scores), -1)

    def describe_decision(self) -> Decision:
        """Describe the decision function as data, for export.

        Returns
        -------
        Decision
            That of the last SVM.
        """
        found = describe(self.estimator_)
        if not np.array_equal(found.classes, self.classes_):
            raise ValueError(
                f"The last SVM of this {type(self).__name__} has seen only the classes {found.classes!r} of "
                f"{self.classes_!r}: fit it again with a larger chunk_size."
            )
        return found

    @property
    def n_used_(self) -> int:
        """Rows that were ever part of a training set."""
        return len(self.used_)

    @property
    def n_examined_(self) -> int:
        """Rows whose label was read."""
        return len(self.examined_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.estimator is None or get_tags(self.estimator).input_tags.sparse
        return tags

    # ------------------------------------------------------------------------------------------------ state

    def _parts(self) -> dict[str, Any]:
        return {"estimator": persist.describe(self.estimator_)}

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        for name in ("support_", "used_", "examined_", "confidence_rows_"):
            if name in self._fitted_attributes:
                checked.integers(name, fitted[name], (None,))
        checked.integer("n_iter_", fitted["n_iter_"])
        checked.items("history_", fitted["history_"])
        super()._resume(state, fitted)
        self.estimator_ = persist.revive(state["estimator"])
        checked.classifier("estimator", self.estimator_, fitted)
