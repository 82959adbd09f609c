"""CalibratedClassifier: calibrated probabilities for any classifier, in `fit` or along a stream."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from .._base import checked, constraints, persist
from .._base.estimator import Estimator, ScoringClassifier
from .._base.parameters import Table
from .._base.validate import Array, Rows, check_rows, check_rows_and_labels, check_table
from ..svm import LASVM
from ._scores import log_scores, scores_of
from .online import OnlineCalibrator

Floats = NDArray[np.float64]

_CLASSIFIER = constraints.Constraint(
    "a classifier with fit and decision_function or predict_proba",
    lambda value: (
        hasattr(value, "fit")
        and not isinstance(value, type)
        and (hasattr(value, "decision_function") or hasattr(value, "predict_proba"))
    ),
)


def _forgets(classifier: Any) -> bool:
    """Whether the wrapped learner, fitted or not, has ``forget``."""
    learner = getattr(classifier, "estimator_", classifier.estimator)
    return hasattr(LASVM if learner is None else learner, "forget")


@persist.register
class CalibratedClassifier(MetaEstimatorMixin, ScoringClassifier, Estimator):  # type: ignore[misc]
    """Give a learner calibrated probabilities.

    `fit` calibrates on scores of rows that the learner was not trained on: exact leave-one-out scores if the
    learner has ``leave_one_out``, as `IDSVM` does, otherwise out-of-fold scores of a stratified
    cross-validation. The learner itself is fitted on all rows. `partial_fit` scores each block before the
    learner is trained on it, so that probabilities follow concept drift without additional training.

    Parameters
    ----------
    estimator : classifier, default=None
        The classifier to calibrate; it is cloned. None is ``LASVM()``.
    method : {"auto", "saturating", "sigmoid", "temperature", "venn_abers"}, default="auto"
        How scores become probabilities; see `OnlineCalibrator`.
    window : int, default=1000
        Number of labeled scores that `partial_fit` keeps. `fit` uses all scores.
    half_life : float or None, default=200
        Number of labels in a stream after which the weight of a label is halved. With None all labels in the
        window have the same weight.
    cv : int, default=5
        Number of folds of the cross-validation.
    random_state : int, RandomState instance or None, default=None
        Random generator for the folds. If it is not None, it also seeds an `estimator` whose `random_state`
        is None.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features; only if X has feature names that are all strings.
    estimator_ : classifier
        The fitted learner.
    calibrator_ : OnlineCalibrator
        Turns the scores of the learner into probabilities.

    Examples
    --------
    >>> from everlearn import IDSVM
    >>> from everlearn.calibration import CalibratedClassifier
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(600, random_state=0)
    >>> clf = CalibratedClassifier(IDSVM(C=10)).fit(X[:300], y[:300])
    >>> clf.predict_proba(X[300:302]).shape, clf.score(X[300:], y[300:]) > 0.9
    ((2, 2), True)
    """

    _constraints: ClassVar[Table] = {
        "estimator": constraints.NONE | _CLASSIFIER,
        **OnlineCalibrator._constraints,
        "cv": constraints.integer_from(2),
    }
    _mark_of_fit = "estimator_"
    _fitted_attributes: ClassVar[tuple[str, ...]] = ("classes_", "n_features_in_", "feature_names_in_")

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "auto",
        window: int = 1000,
        half_life: float | None = 200,
        cv: int = 5,
        random_state: Any = None,
    ) -> None:
        self._store(locals())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CalibratedClassifier:
        """Fit from scratch, and calibrate on leave-one-out or out-of-fold scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the learner and for the calibration.

        Returns
        -------
        CalibratedClassifier
            The classifier itself.
        """
        constraints.check(self)
        with self._unchanged_on_error():
            X, classes, codes = check_table(self, X, y)
            y = classes[codes]
            weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
            random = check_random_state(self.random_state)
            learner = _fitted(self._fresh(random), X, y, weights)
            if hasattr(learner, "leave_one_out"):
                left_out = learner.leave_one_out()
                scores, rows = left_out.scores, np.asarray(left_out.ids)
            else:
                scores = self._out_of_fold(learner, X, codes, classes, weights, random)
                rows = np.arange(len(y))
            calibrator = OnlineCalibrator(self.method, self.window, self.half_life)
            calibrator.fit(scores, y[rows], None if weights is None else weights[rows], learner.classes_)
        self.classes_, self.estimator_, self.calibrator_ = classes, learner, calibrator
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, ids: Any = None
    ) -> CalibratedClassifier:
        """Score the rows, learn them, and update the calibration with the scores.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        classes : array-like of shape (n_classes,), default=None
            All labels. Required in the first call, unless the learner accepts new classes at any time.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the learner and for the calibration.
        ids : array-like of int of shape (n_samples,), default=None
            Ids of the rows for `forget`, if the learner accepts them; None continues the running row number.

        Returns
        -------
        CalibratedClassifier
            The classifier itself.
        """
        constraints.check(self)
        first = not hasattr(self, "estimator_")
        with self._unchanged_on_error():
            X, y = check_rows_and_labels(self, X, y, reset=first)
            check_classification_targets(y)
            scores, known = None, None
            if first:
                learner = self._fresh(check_random_state(self.random_state))
                calibrator = OnlineCalibrator(self.method, self.window, self.half_life)
            else:
                learner, calibrator = self.estimator_, self.calibrator_
                scores, known = scores_of(learner, X), np.array(learner.classes_)
            weights = None if sample_weight is None else _check_sample_weight(sample_weight, X)
            options = {} if classes is None else {"classes": classes}
            options |= {} if weights is None else {"sample_weight": weights}
            options |= {} if ids is None else {"ids": ids}
            learner.partial_fit(X, y, **options)
        if scores is not None:
            calibrator.update(scores, y, weights, classes=known)
        self.classes_, self.estimator_, self.calibrator_ = learner.classes_, learner, calibrator
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities; each row sums to 1.
        """
        self._check_fitted()
        X = check_rows(self, X, reset=False)
        return self.calibrator_.predict_proba(scores_of(self.estimator_, X), classes=self.classes_)

    def decision_function(self, X: Any) -> Floats:
        """Calibrated scores: log-odds of the second class, or log-probabilities for more than two classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            The scores.
        """
        return log_scores(self.predict_proba(X))

    @available_if(_forgets)  # type: ignore[untyped-decorator]
    def forget(self, ids: Any) -> CalibratedClassifier:
        """Make the learner forget rows. The calibration keeps their scores, but not their features.

        Parameters
        ----------
        ids : int or array-like of int
            Ids of the rows: running row numbers from 0, unless `ids` were given to `partial_fit`. If the
            learner does not keep one of the rows, it raises an error and forgets nothing.

        Returns
        -------
        CalibratedClassifier
            The classifier itself.
        """
        self._check_fitted()
        self.estimator_.forget(ids)
        return self

    @property
    def forgetting(self) -> str:
        """The guarantee of `forget`: at most "removal", because the calibration keeps the scores."""
        return "removal" if _forgets(self) else "replay"

    @property
    def grows_classes(self) -> bool:
        """Whether `partial_fit` accepts new classes at any time, because the learner does."""
        return bool(getattr(self.estimator, "grows_classes", False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(LASVM() if self.estimator is None else self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags

    def _fresh(self, random: Any) -> Any:
        """An unfitted learner."""
        learner = LASVM() if self.estimator is None else clone(self.estimator)
        if self.random_state is not None:
            params = learner.get_params()
            if params.get("random_state", 0) is None:
                learner.set_params(random_state=random.randint(2**31 - 1))
        return learner

    def _out_of_fold(
        self,
        learner: Any,
        X: Rows,
        codes: NDArray[np.int32],
        classes: Array,
        weights: Floats | None,
        random: Any,
    ) -> Floats:
        """Scores of each row from a learner fitted on the other folds; NaN for classes missing there."""
        folds = np.empty(len(codes), dtype=np.intp)
        for code in range(len(classes)):
            rows = np.flatnonzero(codes == code)
            folds[random.permutation(rows)] = (np.arange(len(rows)) + random.randint(self.cv)) % self.cv
        pairwise = get_tags(learner).input_tags.pairwise
        scores = np.full((len(codes), len(classes)), np.nan)
        for fold in range(self.cv):
            test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
            usable = train if weights is None else train[weights[train] > 0]
            if not len(test) or len(np.unique(codes[usable])) < 2:
                continue
            inside, outside = X[train], X[test]
            if pairwise:
                inside, outside = inside[:, train], outside[:, train]
            part = _fitted(
                clone(learner), inside, classes[codes[train]], None if weights is None else weights[train]
            )
            found = scores_of(part, outside)
            found = np.column_stack((-found, found)) if found.ndim == 1 else found
            scores[np.ix_(test, np.searchsorted(classes, part.classes_))] = found
        return scores

    # ------------------------------------------------------------------------------------------------ state

    def _parts(self) -> dict[str, Any]:
        return {"estimator": persist.describe(self.estimator_), "calibrator": self.calibrator_.state()}

    def _resume(self, state: dict[str, Any], fitted: dict[str, Any]) -> None:
        super()._resume(state, fitted)
        self.estimator_ = persist.revive(state["estimator"])
        checked.classifier("estimator", self.estimator_, fitted)
        self.calibrator_ = OnlineCalibrator.from_state(checked.table("calibrator", state["calibrator"]))


def _fitted(learner: Any, X: Rows, y: Array, weights: Floats | None) -> Any:
    return learner.fit(X, y) if weights is None else learner.fit(X, y, sample_weight=weights)
