"""The state of a never-ending learner, and how each event changes it.

The state is a fold (a reduction) over the events of the log. It uses no clock, no file and no random
generator but its own: the same events give the same state, bit for bit, whether they arrive one by one, after
a crash, or in a replay. Rows to be labeled are fetched by their numbers, from memory or from the log.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._base import persist
from .._base.validate import Rows
from ..evaluate.drift import DriftDetector
from ..evaluate.pending_predictions import PendingPredictions
from ..evaluate.prequential import Prequential
from ..evaluate.score_history import UNMEASURED, ScoreHistory
from ..evaluate.window_scores import WindowScores
from ..store.events import (
    Answered,
    Arrived,
    Asked,
    Described,
    Erased,
    Event,
    Expired,
    Floats,
    Ints,
    Labeled,
    Scaled,
    Withdrawn,
    as_labels,
)
from ._candidates import Candidates
from ._probabilities import Probabilities
from ._questions import Question, QuestionQueue
from ._row_buffer import RowBuffer, recency_keys
from ._running_moments import RunningMoments
from ._scoring import AFTER_DRIFT, score_predictions
from ._serialize import restore, state_dict
from ._settings import StreamSettings
from ._training import predict_scored, train, train_new
from ._unlearning import drop_rows

_HALF_LIFE = 4  # of a row in the pool, in units of memory_rows
_MIN_RECENT, _MAX_RECENT = 100, 500  # recent rows that are candidates for questions if batches are small
RowsOf = Callable[[Ints], Rows]


@dataclass
class EventResult:
    """The result of an event."""

    predictions: list[Any] = field(default_factory=list)
    scores: Any = None
    probabilities: Any = None
    sets: Any = None
    questions: list[Question] = field(default_factory=list)
    measured: WindowScores | None = None
    drift: bool = False


class LearnerState:
    """The model, the rows in memory, the questions and the scores of a never-ending learner.

    Parameters
    ----------
    settings : StreamSettings
        The settings of the store.
    """

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings
        self.n_rows = self.n_labels = self.n_withdrawn = self.n_erased = self.n_failures = 0
        self.n_trained = 0  # labeled rows learned since the last retraining
        self.scaled_at = 0  # the number of rows when the scale was set, including those it comes from
        self.learner: Any = None
        self.semi_supervised = None if settings.semi_supervised is None else clone(settings.semi_supervised)
        self.late = RowBuffer()  # rows labeled after their batch, not yet passed to semi_supervised
        self.classes: list[Any] = [] if settings.classes is None else settings.classes.tolist()
        self.mean: Floats | None = None
        self.scale: Floats | None = None
        self.schema: dict[str, Any] | None = None
        self.pool, self.labeled, self.moments = RowBuffer(), RowBuffer(), RunningMoments()
        self.reset_scores()
        self.drift = None if settings.drift is None else DriftDetector.from_state(settings.drift.state())
        self.alarms: list[dict[str, Any]] = []
        self.questions = QuestionQueue(settings)
        self.random = np.random.default_rng(settings.seed)

    def reset_scores(self) -> None:
        """Reset what depends on the classes: pending predictions, scores, probabilities, history."""
        self.pending, self.history = PendingPredictions(), ScoreHistory()
        self.scores, self.audit = (Prequential(window=self.settings.window) for _ in range(2))
        self.probabilities = Probabilities(self.settings.coverage)

    def apply(self, event: Event, rows_of: RowsOf) -> EventResult:
        """Apply an event; labels that it replaces must have been unlearned before."""
        match event:
            case Arrived():
                return self._apply_batch(event)
            case Labeled() if len(event.numbers):
                rows = self._fetch(event.numbers, rows_of)
                return EventResult(drift=self._learn(event.numbers, rows, event.labels.tolist(), event.time))
            case Asked():
                count = self.questions.within_budget(event.count - len(self.questions.open))
                return EventResult(questions=self._ask(count, RowBuffer(), recent=self.n_rows))
            case Scaled():
                self._rescale(event)
            case Described():
                self.schema = event.schema
            case Erased():
                self.n_erased += len(event.numbers)  # earlier events were rewritten without the rows
            case Expired():
                drop_rows(self, event.numbers, event.n_labels)
            case Labeled() | Withdrawn():
                pass  # labels are unlearned before the event is applied: see _replay
            case Answered():
                pass  # kept in the log; the majority is learned
        return EventResult()

    @property
    def forgets(self) -> bool:
        """Whether labels can be unlearned exactly, without a replay."""
        return getattr(self.settings.learner, "forgetting", None) == "exact" and self.semi_supervised is None

    def predict_scored(self, X: Rows) -> tuple[list[Any], Any]:
        """Predictions and decision values of scaled rows; None for each until there is a model."""
        return predict_scored(self.learner, X)

    def shares(self, scores: Any) -> Any:
        """The class probabilities of rows with these decision values; None until there is a model."""
        if scores is None or self.learner is None:
            return None
        return self.probabilities.of(scores, self.learner.classes_.tolist())

    def scaled(self, X: Rows) -> Rows:
        """Scale rows for the learner."""
        if self.mean is None or self.scale is None:
            return X
        if sparse.issparse(X) and not self.mean.any():
            return sparse.csr_matrix(X @ sparse.diags(1 / self.scale))
        return ((X.toarray() if sparse.issparse(X) else X) - self.mean) / self.scale

    def raw(self, kept: RowBuffer) -> Rows:
        """Undo the scaling of rows in memory."""
        if self.mean is None or self.scale is None or len(kept) == 0:
            return kept.X
        if sparse.issparse(kept.X):
            return sparse.csr_matrix(kept.X @ sparse.diags(self.scale))
        return kept.X * self.scale + self.mean

    # ------------------------------------------------------------------------------------------------- events

    def _apply_batch(self, event: Arrived) -> EventResult:
        self.moments.add(event.X)
        X, numbers = self.scaled(event.X), event.numbers
        self.n_rows += event.count
        self.scaled_at = self.scaled_at or self.n_rows  # the first scale was set from this batch
        predictions, scores = self.predict_scored(X)
        if self.semi_supervised is not None:
            predictions = self._label_batch(event, X, predictions)
        shares = self.shares(scores)
        sets = None if shares is None else self.probabilities.sets(shares, self.learner.classes_.tolist())
        if len(numbers):
            self.pending.add(numbers.tolist(), predictions, scores)
        unlabeled = RowBuffer()
        if len(event.labeled) < len(numbers):
            open_ = np.ones(len(numbers), dtype=bool)
            open_[event.labeled] = False
            unlabeled = RowBuffer(X[np.flatnonzero(open_)], numbers[open_])
            self.pool.add(unlabeled.X, unlabeled.numbers)
            self._shrink()
        drift = False
        if len(event.labeled):
            drift = self._learn(
                numbers[event.labeled], X[event.labeled], event.labels.tolist(), event.time, late=False
            )
        # The decision values are those of the current model if it has not learned since.
        known = None if len(event.labeled) else scores
        questions = self._ask(self.questions.allowance(self.n_rows), unlabeled, known)
        measured = self.scores.now() if self.scores.n_seen else None
        self._note(measured)
        return EventResult(predictions, scores, shares, sets, questions, measured, drift)

    def _learn(self, numbers: Ints, X: Rows, labels: list[Any], time: float, late: bool = True) -> bool:
        """Score the predictions of newly labeled rows, then learn; returns whether drift was detected."""
        drift = score_predictions(self, numbers, X, labels, time)
        self.n_labels += len(numbers)
        if late:  # rows that came with their label are not in the pool
            self.pool.remove(numbers)
        new = sorted(set(labels) - set(self.classes), key=labels.index)
        self.labeled.add(X, numbers, labels)
        self.labeled.keep_last(self.settings.memory_rows)
        if late and self.semi_supervised is not None:
            self.late.add(X, numbers, labels)
            self.late.keep_last(self.settings.memory_rows)
        if new:
            self.classes = np.unique(as_labels([*self.classes, *new])).tolist()
        if drift and self.drift is not None and self.drift.policy != "alarm":
            enough = self.n_restart_rows()
            if self.drift.policy == "forget":
                self.labeled.keep_last(enough)
                self.pool.keep_last(len(self.pool) // 10)
            self.retrain(enough)
        elif self.learner is None or new:
            self.retrain(len(self.labeled))
        else:
            self._train(X, labels, numbers)
        self.history.add_matrix(self.scores, self.n_rows)
        return drift

    def _rescale(self, event: Scaled) -> None:
        """Set the scale; if it replaces another one, rescale all rows in memory and retrain."""
        first = self.mean is None
        raw = [self.raw(kept) for kept in (self.pool, self.labeled, self.late)]
        self.mean, self.scale, self.scaled_at = event.mean, event.scale, self.n_rows
        if first:
            return
        for kept, rows in zip((self.pool, self.labeled, self.late), raw, strict=True):
            if len(kept):
                kept.X = self.scaled(rows)
        if self.semi_supervised is not None:
            self.semi_supervised = clone(self.settings.semi_supervised)
        self.retrain(len(self.labeled) if self.learner is None else self.n_trained)

    # ----------------------------------------------------------------------------------------------- helpers

    def retrain(self, count: int, before: Any = None) -> None:
        """Retrain on the newest ``count`` labeled rows; no model if there is only one class.

        An `AdaptiveSVM` keeps the expert weights of the learner ``before``, or of the current one.
        """
        rows = RowBuffer(self.labeled.X, self.labeled.numbers, list(self.labeled.labels))
        rows.keep_last(count)
        named = self.settings.classes is not None
        if len(rows) == 0 or (len(set(rows.labels)) < 2 and not named) or len(self.classes) < 2:
            if len(set(self.labeled.labels)) < 2 or self.learner is None:
                self.learner = None
            return
        learner = train_new(
            self.settings.learner, rows, self.pool, self.classes, self.learner if before is None else before
        )
        if learner is None:
            self.n_failures += 1
        else:
            self.learner, self.n_trained = learner, len(rows)

    def n_restart_rows(self) -> int:
        """The number of labeled rows to retrain on after drift: 100, or more to include two classes."""
        labels = self.labeled.labels[::-1]
        if not labels:
            return AFTER_DRIFT
        other = next((i for i, label in enumerate(labels) if label != labels[0]), len(labels))
        return max(AFTER_DRIFT, other + 1)

    def _train(self, X: Rows, labels: list[Any], numbers: Ints) -> None:
        if train(self.learner, X, labels, numbers):
            self.n_trained += len(labels)
        else:
            self.n_failures += 1

    def _label_batch(self, event: Arrived, X: Rows, predictions: list[Any]) -> list[Any]:
        """Predict the unlabeled rows of a batch with the semi-supervised learner."""
        y: list[Any] = [None] * X.shape[0]
        for index, label in zip(event.labeled.tolist(), event.labels.tolist(), strict=True):
            y[index] = label
        batch = RowBuffer(X, event.numbers, y)
        assert self.semi_supervised is not None
        most = self.semi_supervised.memory_rows  # it takes batches of half as many
        room = len(self.late) if most is None else min(len(self.late), max(0, most // 2 - len(batch)))
        if room:
            batch.add(self.late.X[:room], self.late.numbers[:room], self.late.labels[:room])
            self.late.keep_last(len(self.late) - room)
        if len(batch) == 0:
            return predictions
        answers = np.array(batch.labels, dtype=object)
        self.semi_supervised.partial_fit(batch.X, answers)
        found = self.semi_supervised.transduction_[: X.shape[0]].tolist()
        return [
            old if given is not None or new is None else new
            for old, given, new in zip(predictions, y, found, strict=True)
        ]

    def _ask(
        self, count: int, fresh: RowBuffer, scores: Any = None, recent: int | None = None
    ) -> list[Question]:
        """Ask about rows of a batch and, if it is small, about recent earlier rows.

        Older rows are not asked about: under concept drift, their labels say little about the next rows.
        """
        if count <= 0 or len(self.pool) == len(fresh) == 0:
            return []
        first = self.n_rows - (recent or self._recent_rows(len(fresh)))
        newest = RowBuffer(self.pool.X, self.pool.numbers)
        newest.keep(np.flatnonzero(self.pool.numbers >= first))
        newest.remove(np.concatenate([fresh.numbers, self.questions.open_numbers()]))
        newest.add(fresh.X, fresh.numbers)
        rows = Candidates(newest, len(fresh), self.learner, scores)
        return self.questions.choose(count, rows, self.labeled, self.n_rows, self.n_labels, self.random)

    def _recent_rows(self, n_fresh: int) -> int:
        """The number of last rows that are candidates: those of the batch, or about 1 / label_rate."""
        apart = 1 / self.settings.label_rate if self.settings.label_rate > 0 else _MAX_RECENT
        return max(n_fresh, min(max(_MIN_RECENT, int(apart)), _MAX_RECENT))

    def _shrink(self) -> None:
        """Reduce the pool to memory_rows: keep exemplars, or a random sample that favors recent rows."""
        most = self.settings.memory_rows
        if len(self.pool) <= most:
            return
        if self.settings.exemplars is not None:
            exemplars = copy.deepcopy(self.settings.exemplars).set_params(n_exemplars=max(1, most // 2))
            self.pool.keep(exemplars.fit(self.pool.X).indices_)
            return
        keys = recency_keys(self.pool.numbers, _HALF_LIFE * most, self.random)
        if len(keys) == most + 1:
            self.pool.drop(most - int(keys[::-1].argmin()))
        else:
            self.pool.keep(np.argsort(-keys, kind="stable")[:most])

    def _fetch(self, numbers: Ints, rows_of: RowsOf) -> Rows:
        places = self.pool.find(numbers)
        if len(self.pool) and (places >= 0).all():
            return self.pool.X[places]
        return self.scaled(rows_of(numbers))

    def _note(self, measured: WindowScores | None) -> None:
        self.history.add(self._entry(measured) if self.history.is_due() else {}, measured)

    def _entry(self, measured: WindowScores | None) -> dict[str, float]:
        """The entry of the history for the present."""
        entry: dict[str, float] = {
            "rows": self.n_rows,
            "labels": self.n_labels,
            "asked": self.questions.n_asked,
            "support_vectors": self.n_support,
            "kept": len(self.pool) + len(self.labeled),
        }
        if measured is not None:
            entry |= UNMEASURED
        if self.audit.n_seen:
            entry["audit"], entry["audit_n"] = self.audit.accuracy("window")
        return entry

    def curves(self) -> dict[str, list[float]]:
        """The columns of the history up to now, with the answers since the last batch."""
        measured = self.scores.now() if self.scores.n_seen else None
        return self.history.until(self._entry(measured), measured)

    def needed(self) -> Ints:
        """The numbers of the rows that may be needed again: those in memory and those in open questions."""
        numbers = [self.pool.numbers, self.labeled.numbers, self.late.numbers]
        return np.unique(np.concatenate([*numbers, self.questions.open_numbers()]))

    @property
    def n_support(self) -> int:
        """The number of support vectors of the learner."""
        return len(getattr(self.learner, "support_", ())) if self.learner is not None else 0

    def state(self) -> dict[str, Any]:
        """The complete state as plain values, for `from_state`."""
        return state_dict(self)

    def packed(self) -> bytes:
        """The state as bytes, as a snapshot stores it."""
        return persist.pack(self.state())

    @classmethod
    def from_state(cls, state: dict[str, Any], settings: StreamSettings) -> "LearnerState":
        """Create a state from its plain values."""
        made = cls(settings)
        restore(made, state)
        return made
