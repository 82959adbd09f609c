"""StreamS3VM: labels for a stream of batches with few labels, in constant memory.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), section IV.4.
"""

import warnings
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import _num_samples

from .._base import constraints
from .._base.kernels import parameters_of
from .._base.parameters import Table
from .._base.persist import register
from .._base.validate import Array, Rows, check_rows
from .._submodular.choice import Ints
from ._labels import read_labels
from ._rows import Choosing, Held, merge_classes, read_batch
from ._stream_base import StreamBase
from ._transductive import TransductiveLearner
from .s3vm import SubmodS3VM

Self = TypeVar("Self", bound="StreamS3VM")

_GROWTH = 0.1  # fraction of the stored rows by which a summary grows until it is good enough
_MAX_HISTORY = 1000

_S3VM = constraints.Constraint(
    "a SubmodS3VM or QPS3VM whose kernel is not precomputed",
    lambda value: isinstance(value, TransductiveLearner) and value.kernel != "precomputed",
)


@register
class StreamS3VM(StreamBase):
    """Semi-supervised SVM for an endless stream of batches with few labels.

    It keeps the last batch and a summary of all earlier ones: labeled rows, and exemplars of the others. A
    new batch is labeled together with both, as in `SubmodS3VM`. The new summary then has as few exemplars as
    still label the batch in the same way, except for a fraction `max_disagreement`. Found labels are never
    kept as labels, so errors do not propagate.

    Forgetting: `forget` drops stored rows, then labels the last batch and trains the classifier again from
    the remaining rows. The earlier choice of exemplars is not revised.

    Time and memory per batch are bounded if `max_labeled_per_class` or `memory_rows` is set; otherwise all
    labeled rows are kept.

    Parameters
    ----------
    s3vm : SubmodS3VM or QPS3VM, default=None
        The learner that labels a batch, with its kernel, scaling and class fractions. None is
        ``SubmodS3VM()``, which estimates the fractions for every batch; pass ``positive_fraction`` if you
        know it.
    mode : {"incremental", "online"}, default="incremental"
        "incremental": the labels of a batch are used to label it. "online": the whole batch is labeled
        without them, and they are learned afterwards.
    max_disagreement : float, default=0.05
        The fraction of the batch that may be labeled differently with the summary than with all stored rows.
        0 costs several times as much.
    max_exemplars : int, default=None
        Maximum number of unlabeled exemplars, whatever `max_disagreement` requires. None is the number of
        rows in the batch.
    max_labeled_per_class : int, default=None
        Maximum number of labeled rows per class in the summary, chosen as exemplars. None keeps all.
    memory_rows : int, default=None
        Maximum number of rows stored between two batches. Exemplars are dropped first, then labeled rows,
        equally from each class. A batch may have half as many rows.
    use_next_batch : bool, default=False
        Whether exemplars are also chosen for their similarity to the batch that has just arrived.
    estimator : classifier, "auto" or None, default="auto"
        The classifier for new rows, trained after every batch, as in `SubmodS3VM`. None trains no classifier.
    random_state : int, RandomState instance or None, default=None
        Determines samples, landmarks, and the random state of the classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels seen so far, and those passed as `classes`.
    transduction_ : ndarray of shape (n_batch,)
        A label for every row of the last batch; given labels are kept, except with mode="online". None for
        every row until a label has been seen.
    positive_fraction_ : float, dict or None
        The fraction of the second class, or of each class, given or estimated for the last batch.
    one_class_ : bool
        Whether all labels seen are of one class, which is then always predicted.
    estimator_ : classifier or None
        The classifier for new rows, trained on scaled rows.
    summary_ : tuple of (X, y)
        The stored rows of all batches but the last, and their labels; None for unlabeled rows.
    n_stored_ : int
        Number of stored rows, including the last batch.
    ids_ : ndarray of shape (n_stored_,)
        Ids of the stored rows, those of the summary first.
    n_batches_ : int
        Number of batches with rows.
    history_ : list of dict
        For each of the last 1,000 batches: "batch", its number; "rows" and "labels" in it; "exemplars" in the
        summary of the earlier rows; "trials" to find it; "disagreement", the fraction of the batch that is
        labeled differently with the summary; and "stored" rows afterwards. The first batch has no summary.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    References
    ----------
    W. Emara, *A Submodular Optimization Framework for Never-Ending Learning: Semi-Supervised, Online, and
    Active Learning*, thesis, 2012, section IV.4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from everlearn import StreamS3VM, SubmodS3VM
    >>> X, digit = load_digits(n_class=2, return_X_y=True)
    >>> clf = StreamS3VM(SubmodS3VM(positive_fraction=0.5), memory_rows=120, random_state=0)
    >>> right = []
    >>> for rows in np.array_split(np.arange(len(X)), 6):
    ...     y = np.where(np.arange(len(rows)) < 2, digit[rows], np.nan)  # two labels a batch
    ...     clf = clf.partial_fit(X[rows], y)
    ...     right.append(np.mean(clf.transduction_ == digit[rows]))
    >>> bool(np.mean(right) > 0.95), bool(clf.score(X, digit) > 0.95), clf.n_stored_ <= 120
    (True, True, True)
    """

    forgetting: ClassVar[str] = "removal"
    _constraints: ClassVar[Table] = {
        "s3vm": constraints.NONE | _S3VM,
        "mode": constraints.one_of("incremental", "online"),
        "max_disagreement": constraints.FRACTION,
        "max_exemplars": constraints.NONE | constraints.integer_from(0),
        "max_labeled_per_class": constraints.NONE | constraints.integer_from(1),
        "memory_rows": constraints.NONE | constraints.integer_from(2),
        "use_next_batch": constraints.BOOLEAN,
        "estimator": TransductiveLearner._constraints["estimator"],
    }
    _fitted_attributes: ClassVar[tuple[str, ...]] = (
        "classes_",
        "one_class_",
        "n_batches_",
        "history_",
        "n_features_in_",
        "feature_names_in_",
        "_seed",
        "_rows_seen",
    )

    def __init__(
        self,
        s3vm: Any = None,
        *,
        mode: str = "incremental",
        max_disagreement: float = 0.05,
        max_exemplars: int | None = None,
        max_labeled_per_class: int | None = None,
        memory_rows: int | None = None,
        use_next_batch: bool = False,
        estimator: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self._store(locals())

    def fit(self: Self, X: Any, y: Any) -> Self:
        """Reset, and learn one batch, which must have at least one label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels; None or NaN for unlabeled rows.

        Returns
        -------
        object
            The learner itself.
        """
        with self._unchanged_on_error():
            return self._learn_batch(X, y, None, None, reset=True)

    def partial_fit(self: Self, X: Any, y: Any = None, classes: Any = None, ids: Any = None) -> Self:
        """Label a batch, store it, and summarize the rows stored before.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The batch; a batch without rows changes nothing.
        y : array-like of shape (n_samples,), default=None
            The labels; None or NaN for unlabeled rows. None means that all rows are unlabeled.
        classes : array-like of shape (n_classes,), default=None
            Labels that may occur. Optional: new labels are accepted at any time.
        ids : array-like of int of shape (n_samples,), default=None
            Ids of the rows for `forget`; None continues the running row number. The id of a stored row raises
            an error.

        Returns
        -------
        object
            The learner itself.
        """
        with self._unchanged_on_error():
            return self._learn_batch(X, y, classes, ids, reset=False)

    @property
    def summary_(self) -> tuple[Rows, Array]:
        """The stored rows of all batches but the last, and their labels."""
        return self._held[0].X.copy(), self._held[0].labels(self.classes_)

    @property
    def n_stored_(self) -> int:
        """Number of stored rows."""
        return len(self._held[0]) + len(self._held[1])

    # --------------------------------------------------------------------------------------------- one batch

    def _learn_batch(self: Self, X: Any, y: Any, classes: Any, ids: Any, reset: bool) -> Self:
        constraints.check(self)
        first = reset or not hasattr(self, "_held")
        if not reset and _num_samples(X) == 0:
            check_rows(copy(self), X, reset=first, ensure_min_samples=0)  # a copy, so that nothing changes
            return self
        X = check_rows(self, X, reset=first)
        if self.memory_rows is not None and 2 * X.shape[0] > self.memory_rows:
            raise ValueError(
                f"The batch has {X.shape[0]} rows, but memory_rows={self.memory_rows} allows batches of half "
                "as many, to leave room for a summary: pass smaller batches, or increase memory_rows."
            )
        unlabeled = (SubmodS3VM() if self.s3vm is None else self.s3vm).unlabeled
        read = read_labels if reset else read_batch  # `fit` needs at least one label
        new, numbers = read(y, unlabeled, X.shape[0])
        if first:
            self._begin(X)
        batch = self._number(X, new, numbers, self._name(ids, X.shape[0]), classes)
        self._step(self._new_s3vm(self.n_batches_), batch)
        return self

    def _new_s3vm(self, batch: int) -> Any:
        """The unfitted S3VM for a batch, given the batch number from 0."""
        seed = int(np.random.SeedSequence([self._seed, batch]).generate_state(1)[0])
        s3vm = SubmodS3VM() if self.s3vm is None else clone(self.s3vm)
        return s3vm.set_params(random_state=seed, estimator=self.estimator)

    def _begin(self, X: Rows) -> None:
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.n_batches_, self.classes_, self._rows_seen = 0, np.zeros(0), 0
        self.history_: list[dict[str, Any]] = []
        nothing = Held(X[:0].copy(), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
        self._held = (nothing, nothing)
        self._model: Any = None

    def _number(self, X: Rows, new: Array, numbers: Any, ids: Ints, classes: Any) -> Held:
        """The batch in the format and the class numbers of the stored rows, which may be renumbered."""
        if classes is not None:
            named = unique_labels(classes)
            unknown = [label for label in new.tolist() if label not in named.tolist()]
            if unknown:
                raise ValueError(f"y has labels that are not in classes: {unknown[0]!r}.")
            self.classes_, places, _ = merge_classes(self.classes_, named)
            self._held = (self._held[0].renumbered(places), self._held[1].renumbered(places))
        self.classes_, places, at = merge_classes(self.classes_, new)
        self._held = (self._held[0].renumbered(places), self._held[1].renumbered(places))
        kept = self._held[1].X
        if sparse.issparse(kept) != sparse.issparse(X):
            X = sparse.csr_matrix(X) if sparse.issparse(kept) else X.toarray()
        else:
            X = X.copy()  # so that the caller cannot change the stored rows
        return Held(X, numbers, ids).renumbered(at)

    def _step(self, s3vm: Any, batch: Held) -> None:
        """Label the batch, then keep its rows and a summary of the earlier rows."""
        old, rows = self._held[0] + self._held[1], len(batch)
        shown, found = self._learn(s3vm, old, batch)
        labels = None if found is None else self.transduction_
        M, trials, cost, summary = 0, 0, 0.0, self._held[0]
        if len(self._held[1]):
            M, trials, cost, summary = self._summarize(s3vm, found, old, shown, labels)
        self._held = summary, batch
        self.n_batches_ += 1
        record = {
            "batch": self.n_batches_,
            "rows": rows,
            "labels": int(batch.known.sum()),
            "exemplars": M,
            "trials": trials,
            "disagreement": cost,
            "stored": self.n_stored_,
        }
        self.history_ = [*self.history_, record][-_MAX_HISTORY:]

    def _learn(self, s3vm: Any, old: Held, batch: Held) -> tuple[Held, Any]:
        """Label the batch and train the classifier; the batch as used for that, and the fitted S3VM."""
        shown = batch if self.mode == "incremental" else batch.hidden()
        found = self._label(s3vm, old + shown)
        nothing = np.full(len(batch), None, dtype=object)
        self.transduction_ = nothing if found is None else found.transduction_[len(old) :]
        self._model = found
        if shown is not batch and batch.known.any():  # the classifier learns from these labels
            self._model = self._label(s3vm, old + batch)
        self.positive_fraction_ = None if self._model is None else self._model.positive_fraction_
        self.one_class_ = self._model is not None and len((old + batch).classes()) == 1
        return shown, found

    def _label(self, s3vm: Any, held: Held) -> Any:
        """The fitted S3VM; None if there are no labels."""
        seen = np.unique(held.numbers[held.known])
        if len(seen) == 0:
            return None
        model = clone(s3vm)
        # If only one of two classes has labels, positive_fraction must name the other one.
        if len(seen) == 1 and constraints.FRACTION.test(model.positive_fraction):
            shares = (1 - model.positive_fraction, model.positive_fraction)
            known = len(self.classes_) == 2
            named = dict(zip(self.classes_.tolist(), shares, strict=True)) if known else None
            model.set_params(positive_fraction=named)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "All labels are", UserWarning)  # `one_class_` says so
            return model.fit(held.X, held.labels(self.classes_))

    def _summarize(
        self, s3vm: Any, found: Any, old: Held, shown: Held, labels: Any
    ) -> tuple[int, int, float, Held]:
        """The smallest summary that labels the batch like all rows, up to `max_disagreement`; and trials.

        Scaling and class fractions are those of all rows together, so trials differ only in the rows that are
        left out.
        """
        everything = old + shown
        seed = check_random_state(s3vm.random_state)
        space = clone(s3vm)._space(everything.X, seed)
        room = None if self.memory_rows is None else int(self.memory_rows) - len(shown)
        choosing = Choosing(space, old, bool(self.use_next_batch), self.max_labeled_per_class, room)
        most = min(len(shown) if self.max_exemplars is None else int(self.max_exemplars), choosing.most)
        more = max(1, int(np.floor(_GROWTH * len(old) + 0.5)))
        trial = clone(s3vm).set_params(
            **parameters_of(space.kernel), scaling="none", n_components=None, estimator=None
        )
        if found is not None:
            trial.set_params(rho=found.rho_)
        if found is not None and len(found.classes_) > 1 and s3vm.positive_fraction is None:
            trial.set_params(positive_fraction=found.positive_fraction_)
        at = np.arange(len(old), len(everything))
        M, trials = min(more, most), 1
        while True:
            rows = choosing.keep(M)
            cost = 0.0
            if found is not None:
                part = replace(everything, X=space.X).of(np.concatenate([rows, at]))
                cost = 1.0
                if part.classes() == everything.classes():  # no class was dropped for lack of room
                    again = self._label(trial, part)
                    cost = float(np.mean(again.transduction_[-len(at) :] != labels))
            if cost <= self.max_disagreement or most == M:
                return M, trials, cost, old.of(rows)
            M, trials = min(M + more, most), trials + 1
