"""Plain NumPy labels for a stream of batches with few labels: the slow twin of StreamS3VM.

W. Emara (2012), section IV.4. Between batches two things are held: E, the summary of all batches but the
last, and P, the last batch in full. A row has a label only if it is a true one: labels found here are never
stored as labels, so that an error is not passed on.

incremental: the labels that come with a batch take part in labeling it; online: they come after it.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.svm import SVC

from reference.exemplars import exemplars, keep_labeled
from reference.s3vm import from_matrix, transduce


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray  # −1, +1, or 0: unknown

    def __add__(self, other):
        X = (
            sparse.vstack([self.X, other.X], "csr")
            if sparse.issparse(self.X)
            else np.vstack([self.X, other.X])
        )
        return Rows(X, np.concatenate([self.y, other.y]))

    def of(self, rows):
        rows = np.asarray(rows, int)
        return Rows(self.X[rows], self.y[rows])


class Summary(NamedTuple):
    """What a step did to the summary."""

    exemplars: int
    trials: int
    cost: float  # the share of the batch that would be labeled otherwise with the summary than with E + P


def induce(kernel, X, y, labels, C=1.0):
    """f of the SVM on true labels at weight C and found ones at C l/n, so that both count the same in all.

    Before any label there is none; while all labels are of one class, it says that class.
    """
    if not np.any(y):
        return None
    if np.all(labels == labels[0]):
        return lambda Z: np.full(Z.shape[0], labels[0])
    weights = np.where(y != 0, C, C * np.count_nonzero(y) / max(1, np.count_nonzero(y == 0)))
    machine = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(kernel(X, X), labels, sample_weight=weights)
    return lambda Z: machine.decision_function(kernel(Z, X))


class ReferenceStreamS3VM:
    """`ratio`: the fraction of positives, or a function of (K, y). `max_disagreement` 0 is strict.

    `max_exemplars`: at most so many unlabeled exemplars whatever `max_disagreement` asks (None: as many as
    rows in a batch); `max_labeled_per_class`: at most so many labeled rows of a class in E. `use_next_batch`:
    exemplars look at the batch that has just arrived.
    """

    def __init__(
        self,
        kernel,
        ratio=0.5,
        mode="incremental",
        max_disagreement=0.05,
        max_exemplars=None,
        max_labeled_per_class=None,
        use_next_batch=False,
        **options,
    ):
        self.kernel, self.ratio, self.mode, self.max_disagreement, self.use_next_batch = (
            kernel,
            ratio,
            mode,
            max_disagreement,
            use_next_batch,
        )
        self.max_exemplars, self.max_labeled_per_class, self.options = (
            max_exemplars,
            max_labeled_per_class,
            options,
        )
        self.E = self.P = self.f = None
        self.history = []

    def held(self):
        return [rows for rows in (self.E, self.P) if rows is not None]

    def label(self, rows):
        K = self.kernel(rows.X, rows.X)
        r = self.ratio(K, rows.y) if callable(self.ratio) else self.ratio
        return transduce(from_matrix(K, rows.y), rows.y, r, **self.options)

    def step(self, X, y):
        """Label a batch; then forget all but its rows and a summary of the rest."""
        y = np.asarray(y, float)
        if not len(y):
            return y
        batch = Rows(X, y if self.mode == "incremental" else np.zeros(len(y)))
        old = sum(self.held(), Rows(X[:0], y[:0]))
        everything = old + batch
        found = self.label(everything)
        self.f = induce(self.kernel, everything.X, everything.y, found)
        labels = found[-len(y) :]
        if self.P is not None:
            self.E = self.summarize(old, batch, labels)
        self.P = Rows(X, y)
        return labels

    def forget(self, gone):
        """Drop rows by their places in E and P together; label what is left of the last batch again."""
        E = self.P.of([]) if self.E is None else self.E
        rows = E + self.P
        left = np.setdiff1d(np.arange(len(rows.y)), gone)
        E, P = rows.of(left[left < len(E.y)]), rows.of(left[left >= len(E.y)])
        self.E, self.P = (part if len(part.y) else None for part in (E, P))
        batch = P if self.mode == "incremental" else Rows(P.X, np.zeros(len(P.y)))
        found = self.label(E + batch) if len(left) else np.zeros(0)
        return found[len(E.y) :]

    def summarize(self, old, batch, labels):
        """All labeled rows, and as few exemplars as label the batch as E + P, up to `max_disagreement`."""
        U, most = (
            np.flatnonzero(old.y == 0),
            len(labels) if self.max_exemplars is None else self.max_exemplars,
        )
        most = min(most, len(U))
        more = max(1, int(np.floor(0.1 * len(old.y) + 0.5)))
        M, trials = min(more, most), 1
        while True:
            E = self.summary(old, M, batch)
            cost = float(np.mean(self.label(E + batch)[-len(labels) :] != labels))
            if cost <= self.max_disagreement or most == M:
                self.history.append(Summary(M, trials, cost))
                return E
            M, trials = min(M + more, most), trials + 1

    def summary(self, old, M, batch):
        L, U = np.flatnonzero(old.y), np.flatnonzero(old.y == 0)
        if self.max_labeled_per_class is not None:
            L = L[keep_labeled(self.kernel(old.X[L], old.X[L]), old.y[L], self.max_labeled_per_class)]
        chosen = self.choose(old.of(U), old.of(L), M, batch if self.use_next_batch else None)
        return old.of([*L, *U[np.sort(np.asarray(chosen, int))]])

    def choose(self, unlabeled, labeled, M, use_next_batch):
        K_NU = None if use_next_batch is None else self.kernel(use_next_batch.X, unlabeled.X)
        inner = self.kernel(unlabeled.X, unlabeled.X)
        return exemplars(inner, self.kernel(labeled.X, unlabeled.X), M, K_NU=K_NU)
