"""AdaptiveSVM: a weighted committee of SVMs with different kernels and memories, for streams."""

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .._base import constraints
from .._base.forget import check_ids, refuse_missing
from .._base.parameters import Table
from .._base.persist import register
from .._base.validate import Array, are_class_labels, check_rows_and_labels, check_table, row_weights
from . import _table
from ._committee import Committee
from ._learning import CommitteeLearner, Floats, double, vote_scores
from .experts import Expert

_FIRST_CHUNK, _CHUNK = 10, 100  # rows that are scored at once, before they are learned


@register
class AdaptiveSVM(CommitteeLearner):
    """Committee of SVMs that adapts its kernel, regularization and memory while the stream runs.

    The experts are SVMs with a linear kernel and with RBF kernels of several widths, trained on all stored
    rows, on the last 100 and on the last 25. The prediction is a weighted vote. Each label first updates the
    weights, by the probability that each expert gave to it, and is then learned by all experts. So short
    memories get more weight after concept drift, and long memories in stable periods. There is nothing to
    tune.

    New classes may appear at any time.

    Parameters
    ----------
    experts : "auto" or list of Expert, default="auto"
        The committee. A list may contain `Expert` objects, scikit-learn and River classifiers, and the string
        "auto" for the default experts: ``["auto", DecisionTreeClassifier()]`` adds a tree, which helps if
        class boundaries are parallel to the axes. The loss favors sharp probabilities, so a single tree gets
        more weight than a forest.
    max_rows : int, default=2000
        Maximum number of labeled rows kept, the most recent ones. It bounds memory and the time per label. If
        `fit` gets more rows than this, it keeps all of them, and `partial_fit` then continues with as many.
    fading_factor : float, default=0.97
        Factor by which past losses of experts are multiplied with each label.
    learning_rate : float, default=1.0
        The weight of an expert is proportional to exp(-learning_rate * loss).
    fixed_share : float, default=0.01
        Fraction of the weight that is shared equally (fixed share), so that an expert that was bad for a long
        time recovers within a few labels.
    scaling : {"standard", "none"}, default="standard"
        Whether dense columns are standardized, based on the rows of `fit` or the first 1,000 rows of a
        stream. Sparse rows are not scaled.
    class_weight : dict or "balanced", default=None
        Multiplies C for the rows of a class. "balanced" uses the class frequencies of the labels so far.
    random_state : int, RandomState instance or None, default=None
        Determines the folds in which `fit` compares experts, and seeds experts of scikit-learn and River.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.
    experts_ : list of Expert
        The committee.
    weights_ : ndarray of shape (n_experts,)
        Current weights of the experts; they sum to 1.
    ids_ : ndarray of shape (n_kept_,)
        Ids of the stored rows, oldest first.
    n_kept_ : int
        Number of stored labeled rows.
    support_ : ndarray of shape (n_SV,)
        Ids of the rows that are support vectors of at least one expert.

    Notes
    -----
    `decision_function` returns a quarter of the log-odds of the vote for two classes, and half the logarithm
    of the vote of each class for more classes. `predict_proba` calibrates the vote by temperature scaling,
    fitted to votes made before the label was known.

    Examples
    --------
    >>> from everlearn import AdaptiveSVM
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(1000, random_state=0)
    >>> clf = AdaptiveSVM()
    >>> for start in range(0, 500, 50):
    ...     clf = clf.partial_fit(X[start : start + 50], y[start : start + 50])
    >>> clf.score(X[500:], y[500:]) > 0.9, len(clf.experts_) == len(clf.weights_)
    (True, True)

    `fit` selects the best kernels by leave-one-out or cross-validation:

    >>> clf = AdaptiveSVM(random_state=0).fit(X[:200], y[:200])
    >>> clf.experts_[0].kernel, clf.score(X[200:], y[200:]) > 0.9
    ('rbf', True)
    """

    forgetting: ClassVar[str] = "removal"  # the losses of the experts and the scale stay
    grows_classes: ClassVar[bool] = True  # new classes may appear at any time
    _constraints: ClassVar[Table] = {
        "max_rows": constraints.integer_from(2),
        "fading_factor": constraints.FRACTION,
        "learning_rate": constraints.NOT_NEGATIVE,
        "fixed_share": constraints.FRACTION,
        "scaling": constraints.one_of("standard", "none"),
    }

    def __init__(
        self,
        experts: Any = "auto",
        *,
        max_rows: int = 2000,
        fading_factor: float = 0.97,
        learning_rate: float = 1.0,
        fixed_share: float = 0.01,
        scaling: str = "standard",
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self._store(locals())

    # ---------------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "AdaptiveSVM":
        """Fit from scratch: compare experts by leave-one-out or cross-validation, and keep the best.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; rows with weight 0 are ignored.

        Returns
        -------
        AdaptiveSVM
            The learner itself.
        """
        with self._all_or_nothing():
            self.__dict__.pop("_committee", None)
            experts = self._check()
            X, classes, codes = check_table(self, X, y)
            if self.class_weight is not None:
                compute_class_weight(
                    self.class_weight, classes=classes, y=classes[codes]
                )  # refuses unknown labels
            weights = row_weights(sample_weight, X)
            used = np.flatnonzero(weights > 0)
            if len(np.unique(codes[used])) < 2:
                raise ValueError("Only rows of one class have a weight above 0: at least two are needed.")
            self._begin(classes, experts, max(int(self.max_rows), len(used)))
            X, labels = double(X)[used], codes[used]
            self._scaler.fit(X)
            self._scaler.check(X)
            self._take_in(X, labels, weights[used], used)
            self._next_id = len(codes)
            kept = self._kept().with_rows(self._scaler.transform(X))
            random = check_random_state(self.random_state)
            tried = None if isinstance(self.experts, str) else self._committee.experts
            found = _table.choose(tried, kept, len(classes), random, self._seed)
            self._committee = Committee(found.experts, len(classes), self._seed)
            self._committee.vote.costs = found.losses / max(1.0 - self.fading_factor, 1e-3)
            self._committee.vote.counts += np.bincount(labels, minlength=len(classes))
            self._committee.rebuild(kept)
            self._calibrator.fit(vote_scores(found.given), self._numbers[found.labels], classes=self._numbers)
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, ids: Any = None
    ) -> "AdaptiveSVM":
        """Learn more rows, in the order given.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.
        classes : array-like of shape (n_classes,), default=None
            Labels that may occur. Optional: new labels are accepted at any time.
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies C for each row; rows with weight 0 are ignored.
        ids : array-like of int of shape (n_samples,), default=None
            Ids of the rows for `forget`; None continues the running row number.

        Returns
        -------
        AdaptiveSVM
            The learner itself.
        """
        with self._all_or_nothing():
            experts = self._check()
            first = not hasattr(self, "_committee")
            X, y = check_rows_and_labels(self, X, y, reset=first)
            if not are_class_labels(y):
                check_classification_targets(y)
            named = self._named(y, classes)
            weights = row_weights(sample_weight, X, all_zero=True)
            numbers = self._new_ids(len(y), ids)
            if first:
                self._begin(named, experts)
            if int(self.max_rows) != self._max_rows:
                self._max_rows = self._capacity = int(self.max_rows)
            used = np.flatnonzero(weights > 0)
            X, weights, used_ids = double(X)[used], weights[used], numbers[used]
            self._scaler.check(X)
            self._next_id = max(self._next_id, int(numbers.max(initial=-1)) + 1)
            if len(named) > len(self.classes_):
                self._grow(named)
            elif self._committee.damaged:
                self._rebuild()
            labels = np.searchsorted(self.classes_, y[used]).astype(np.int32)
            start = 0
            while start < len(labels):
                chunk = slice(start, start + min(max(_FIRST_CHUNK, self._rows_seen), _CHUNK))
                self._learn(X[chunk], labels[chunk], weights[chunk], used_ids[chunk])
                start = chunk.stop
        return self

    def forget(self, ids: Any) -> "AdaptiveSVM":
        """Forget rows: every expert becomes one trained on the remaining rows.

        The losses of the experts on these labels, the scale of the features and the calibration stay. Short
        windows are filled up with older rows that are still kept.

        Parameters
        ----------
        ids : int or array-like of int
            Ids of the rows: running row numbers from 0, unless `ids` were given. If one of the rows is not
            stored, an error is raised and nothing is forgotten.

        Returns
        -------
        AdaptiveSVM
            The learner itself.
        """
        self._check_fitted()
        named = check_ids(ids)
        refuse_missing(self, named[~np.isin(named, self._rows.ids)])
        if len(named) == 0:
            return self
        self._check()
        with self._all_or_nothing():
            self._rows.keep(np.flatnonzero(~np.isin(self._rows.ids, named)))
            if self._committee.damaged:
                self._rebuild()
            elif self._committee.ready:
                self._committee.follow(self._kept())
        return self

    # --------------------------------------------------------------------------------------------- decisions

    def _scores(self, X: Any) -> Floats:
        scores = vote_scores(self._votes(X))
        return scores if len(self.classes_) > 2 else _one_column(scores)

    def labels_of(self, scores: Any) -> Array:
        """Turn decision values into labels.

        Parameters
        ----------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Decision values from `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
            The labels.
        """
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(scores))
        return super().labels_of(scores)

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, calibrated on votes made before the label was known.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities; each row sums to 1.
        """
        scores = vote_scores(self._votes(X))
        if len(self.classes_) == 1:
            return np.ones((len(scores), 1))
        return np.asarray(self._calibrator.predict_proba(scores, classes=self._numbers))

    # --------------------------------------------------------------------------------------------- attributes

    @property
    def experts_(self) -> list[Expert]:
        """The committee."""
        return list(self._fitted().experts)

    @property
    def weights_(self) -> Floats:
        """Current weights of the experts."""
        committee = self._fitted()
        constraints.check(self)  # the parameters below may have changed since the last call
        return committee.vote.weights(self.learning_rate, self.fixed_share)

    @property
    def ids_(self) -> npt.NDArray[np.int64]:
        """Ids of the stored rows, oldest first."""
        self._fitted()
        return self._rows.ids.copy()

    @property
    def n_kept_(self) -> int:
        """Number of stored labeled rows."""
        self._fitted()
        return len(self._rows)

    @property
    def support_(self) -> npt.NDArray[np.int64]:
        """Ids of the rows that are support vectors of at least one expert."""
        return self._fitted().support()


def _one_column(scores: Floats) -> Floats:
    """Half the difference of two columns; 0 if there is only one class."""
    if scores.shape[1] < 2:
        return np.zeros((len(scores), 1))
    return np.asarray((scores[:, 1:] - scores[:, :1]) / 2)
