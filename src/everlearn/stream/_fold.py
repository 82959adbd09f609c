"""The fold: from a state and an event to the next state and what comes of it.

Nothing here looks at a clock, a file or a generator of its own: the same events give the same state, bit for
bit, whether they come one by one, after a crash, or in a replay. Rows that a label is for are fetched by
their number, from those kept or from the log.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._base.validate import Rows
from ..evaluate.drift import DriftDetector
from ..evaluate.prequential import Prequential, Remembered
from ..evaluate.trace import Trace, measured
from ..store.events import (
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
from ._asking import Asking, Question
from ._candidates import Candidates
from ._kept import Kept, newer_first
from ._model import begin, judge, teach
from ._moments import Moments
from ._probabilities import Probabilities
from ._state import restore, state_of
from ._unlearning import drop_rows
from .settings import Settings

_HALF_LIFE = 4  # of a row in the pool, in units of memory_rows
_LEAST_RECENT, _MOST_RECENT = 100, 500  # rows among which questions are looked for where batches are small
_AFTER_DRIFT = 100  # labeled rows from which a learner begins anew
_MOST_ALARMS = 1000
RowsOf = Callable[[Ints], Rows]


@dataclass
class Effect:
    """What comes of an event."""

    predictions: list[Any] = field(default_factory=list)
    scores: Any = None
    probabilities: Any = None
    sets: Any = None
    questions: list[Question] = field(default_factory=list)
    measures: dict[str, float] = field(default_factory=dict)
    drift: bool = False


class Fold:
    """The state of a never-ending learner.

    Parameters
    ----------
    settings : Settings
        What it is made of.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.n_rows = self.n_labels = self.n_withdrawn = self.n_erased = self.n_failures = 0
        self.taught = 0  # labeled rows that the learner has learned since it began anew
        self.scaled_at = 0  # rows that had come when the scale was fixed, those it was taken from included
        self.learner: Any = None
        self.semi_supervised = None if settings.semi_supervised is None else clone(settings.semi_supervised)
        self.late = Kept()  # labeled rows that the semi_supervised has not seen with their labels
        self.classes: list[Any] = [] if settings.classes is None else settings.classes.tolist()
        self.mean: Floats | None = None
        self.scale: Floats | None = None
        self.schema: dict[str, Any] | None = None
        self.pool, self.labeled, self.moments = Kept(), Kept(), Moments()
        self.begin_scores()
        self.drift = None if settings.drift is None else DriftDetector.from_state(settings.drift.state())
        self.alarms: list[dict[str, Any]] = []
        self.asking = Asking(settings)
        self.random = np.random.default_rng(settings.seed)

    def begin_scores(self) -> None:
        """Begin anew with all that is counted by class: predictions, scores, probabilities, their history."""
        self.remembered, self.trace = Remembered(), Trace()
        self.scores, self.audit = (Prequential(window=self.settings.window) for _ in range(2))
        self.probabilities = Probabilities(self.settings.coverage)

    def apply(self, event: Event, rows_of: RowsOf) -> Effect:
        """Take in an event; labels for rows that have one already must have been unlearned."""
        match event:
            case Arrived():
                return self._arrive(event)
            case Labeled() if len(event.numbers):
                rows = self._fetch(event.numbers, rows_of)
                return Effect(drift=self._learn(event.numbers, rows, event.labels.tolist(), event.time))
            case Asked():
                count = self.asking.within_budget(event.count - len(self.asking.open))
                return Effect(questions=self._ask(count, Kept(), recent=self.n_rows))
            case Scaled():
                self._rescale(event)
            case Described():
                self.schema = event.schema
            case Erased():
                self.n_erased += len(event.numbers)  # the events behind it were rewritten without the rows
            case Expired():
                drop_rows(self, event.numbers, event.n_labels)
            case Labeled() | Withdrawn():
                pass  # who takes labels back does it before
        return Effect()

    @property
    def forgets(self) -> bool:
        """Whether labels can be unlearned exactly, without a replay."""
        return getattr(self.settings.learner, "forgetting", None) == "exact" and self.semi_supervised is None

    def judge(self, X: Rows) -> tuple[list[Any], Any]:
        """Predictions and decision values of scaled rows; None for each while there is no learner."""
        return judge(self.learner, X)

    def shares(self, scores: Any) -> Any:
        """The probabilities of the classes for rows with these decision values; None while there are none."""
        if scores is None or self.learner is None:
            return None
        return self.probabilities.of(scores, self.learner.classes_.tolist())

    def scaled(self, X: Rows) -> Rows:
        """Rows as the learner gets them."""
        if self.mean is None or self.scale is None:
            return X
        if sparse.issparse(X) and not self.mean.any():
            return sparse.csr_matrix(X @ sparse.diags(1 / self.scale))
        return ((X.toarray() if sparse.issparse(X) else X) - self.mean) / self.scale

    def raw(self, kept: Kept) -> Rows:
        """Rows that are kept, as they came."""
        if self.mean is None or self.scale is None or len(kept) == 0:
            return kept.X
        if sparse.issparse(kept.X):
            return sparse.csr_matrix(kept.X @ sparse.diags(self.scale))
        return kept.X * self.scale + self.mean

    # ------------------------------------------------------------------------------------------------- events

    def _arrive(self, event: Arrived) -> Effect:
        self.moments.add(event.X)
        X, numbers = self.scaled(event.X), event.numbers
        self.n_rows += event.count
        self.scaled_at = self.scaled_at or self.n_rows  # the first scale is that of the batch behind it
        predictions, scores = self.judge(X)
        if self.semi_supervised is not None:
            predictions = self._transduce(event, X, predictions)
        shares = self.shares(scores)
        sets = None if shares is None else self.probabilities.sets(shares, self.learner.classes_.tolist())
        if len(numbers):
            self.remembered.add(numbers.tolist(), predictions, scores)
        open_ = np.ones(len(numbers), dtype=bool)
        open_[event.places] = False
        self.pool.add(X[np.flatnonzero(open_)], numbers[open_])
        self._shrink()
        drift = False
        if len(event.places):
            drift = self._learn(
                numbers[event.places], X[event.places], event.labels.tolist(), event.time, late=False
            )
        fresh = Kept(X[np.flatnonzero(open_)], numbers[open_]) if open_.any() else Kept()
        known = None if scores is None or len(event.places) else scores[open_]
        questions = self._ask(self.asking.allowance(self.n_rows), fresh, known)
        measures = self.scores.scores() if self.scores.n_seen else None
        self._note(measures)
        window = {} if measures is None else measures["window"]
        return Effect(predictions, scores, shares, sets, questions, window, drift)

    def _learn(self, numbers: Ints, X: Rows, labels: list[Any], time: float, late: bool = True) -> bool:
        """Judge what was predicted, then learn; whether drift was noticed."""
        drift = self._judge_past(numbers, labels, time)
        self.n_labels += len(numbers)
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
            enough = self._enough_to_begin()
            if self.drift.policy == "forget":
                self.labeled.keep_last(enough)
                self.pool.keep_last(len(self.pool) // 10)
            self.begin_anew(enough)
        elif self.learner is None or new:
            self.begin_anew(len(self.labeled))
        else:
            self._teach(X, labels, numbers)
        self.trace.add_matrix(self.scores, self.n_labels, self.n_rows)
        return drift

    def _judge_past(self, numbers: Ints, labels: list[Any], time: float) -> bool:
        found, predicted, scores = self.remembered.take(numbers.tolist())
        answers = [
            self.asking.answer(number, label, self.n_rows)
            for number, label in zip(numbers.tolist(), labels, strict=True)
        ]
        if found.any():
            truth = [label for label, there in zip(labels, found.tolist(), strict=True) if there]
            self.scores.update(truth, predicted[found], scores[found])
        fair = np.array([q is None or q.kind == "audit" for q in answers], dtype=bool)
        if self.learner is not None:
            self.probabilities.update(scores, labels, fair, self.learner.classes_.tolist())
        audits = np.array([q is not None and q.kind == "audit" for q in answers], dtype=bool) & found
        if audits.any():
            truth = [label for label, there in zip(labels, audits.tolist(), strict=True) if there]
            self.audit.update(truth, predicted[audits], scores[audits])
        if self.drift is None:
            return False
        errors = [
            float(guess != label)
            for guess, label, there in zip(predicted.tolist(), labels, found.tolist(), strict=True)
            if there and guess is not None
        ]
        alarms = self.drift.update(errors) if errors else []
        for _ in alarms:
            alarm = {"row": self.n_rows, "time": time, "policy": self.drift.policy}
            self.alarms = [*self.alarms, alarm | {"note": self._action(self.drift.policy)}][-_MOST_ALARMS:]
        return bool(alarms)

    def _action(self, policy: str) -> str:
        """What is done after an alarm, in words."""
        if policy == "alarm":
            return "reported only"
        count = min(self._enough_to_begin(), len(self.labeled) or _AFTER_DRIFT)
        action = f"learner restarted on the last {count} labels"
        return action + ("; older rows dropped" if policy == "forget" else "")

    def _rescale(self, event: Scaled) -> None:
        """Fix the scale; a later event moves all rows kept, and the learner begins anew with them."""
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
        self.begin_anew(len(self.labeled) if self.learner is None else self.taught)

    # ---------------------------------------------------------------------------------------------- the parts

    def begin_anew(self, count: int, before: Any = None) -> None:
        """A learner that has seen the newest labeled rows only; none while there is one class.

        One that weights experts keeps what it knows about them from the one ``before``, else from its own.
        """
        rows = Kept(self.labeled.X, self.labeled.numbers, list(self.labeled.labels))
        rows.keep_last(count)
        named = self.settings.classes is not None
        if len(rows) == 0 or (len(set(rows.labels)) < 2 and not named) or len(self.classes) < 2:
            if len(set(self.labeled.labels)) < 2 or self.learner is None:
                self.learner = None
            return
        learner = begin(
            self.settings.learner, rows, self.pool, self.classes, self.learner if before is None else before
        )
        if learner is None:
            self.n_failures += 1
        else:
            self.learner, self.taught = learner, len(rows)

    def _enough_to_begin(self) -> int:
        """How many of the newest labeled rows to begin anew with: a hundred, or more for a second class."""
        labels = self.labeled.labels[::-1]
        if not labels:
            return _AFTER_DRIFT
        other = next((i for i, label in enumerate(labels) if label != labels[0]), len(labels))
        return max(_AFTER_DRIFT, other + 1)

    def _teach(self, X: Rows, labels: list[Any], numbers: Ints) -> None:
        if teach(self.learner, X, labels, numbers):
            self.taught += len(labels)
        else:
            self.n_failures += 1

    def _transduce(self, event: Arrived, X: Rows, predictions: list[Any]) -> list[Any]:
        """Label the batch with the semi-supervised learner; rows with given labels are left out."""
        y: list[Any] = [None] * X.shape[0]
        for place, label in zip(event.places.tolist(), event.labels.tolist(), strict=True):
            y[place] = label
        batch = Kept(X, event.numbers, y)
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

    def _ask(self, count: int, fresh: Kept, scores: Any = None, recent: int | None = None) -> list[Question]:
        """Ask about rows of a batch, and where it is small about those that came shortly before it.

        Older rows are not asked about: under concept drift their labels no longer say what the next rows
        will be.
        """
        if count <= 0:
            return []
        first = self.n_rows - (recent or self._recent_rows(len(fresh)))
        newest = Kept(self.pool.X, self.pool.numbers)
        newest.keep(np.flatnonzero(self.pool.numbers >= first))
        newest.remove(np.concatenate([fresh.numbers, self.asking.open_numbers()]))
        newest.add(fresh.X, fresh.numbers)
        rows = Candidates(newest, len(fresh), self.learner, scores)
        return self.asking.choose(count, rows, self.labeled, self.n_rows, self.n_labels, self.random)

    def _recent_rows(self, n_fresh: int) -> int:
        """Among how many of the last rows to look for questions: a batch, or as many as share a question."""
        apart = 1 / self.settings.label_rate if self.settings.label_rate > 0 else _MOST_RECENT
        return max(n_fresh, min(max(_LEAST_RECENT, int(apart)), _MOST_RECENT))

    def _shrink(self) -> None:
        """Keep the pool within its bounds: exemplars of it, or rows drawn so that older ones fade."""
        most = self.settings.memory_rows
        if len(self.pool) <= most:
            return
        if self.settings.exemplars is not None:
            exemplars = copy.deepcopy(self.settings.exemplars).set_params(n_exemplars=max(1, most // 2))
            self.pool.keep(exemplars.fit(self.pool.X).indices_)
            return
        keys = newer_first(self.pool.numbers, _HALF_LIFE * most, self.random)
        self.pool.keep(np.argsort(-keys, kind="stable")[:most])

    def _fetch(self, numbers: Ints, rows_of: RowsOf) -> Rows:
        places = self.pool.find(numbers)
        if len(self.pool) and (places >= 0).all():
            return self.pool.X[places]
        return self.scaled(rows_of(numbers))

    def _note(self, measures: dict[str, Any] | None) -> None:
        entry: dict[str, float] = {
            "rows": self.n_rows,
            "labels": self.n_labels,
            "asked": self.asking.n_asked,
            "support_vectors": self.n_support,
            "kept": len(self.pool) + len(self.labeled),
        }
        if measures is not None:
            entry |= measured(measures)
        if self.audit.n_seen:
            entry["audit"], entry["audit_n"] = self.audit.accuracy("window")
        self.trace.add(entry)

    def needed(self) -> Ints:
        """The rows that may be asked for again: those kept, and those with an open question."""
        numbers = [self.pool.numbers, self.labeled.numbers, self.late.numbers]
        return np.unique(np.concatenate([*numbers, self.asking.open_numbers()]))

    @property
    def n_support(self) -> int:
        """Support vectors of the learner, or rows that it keeps."""
        return len(getattr(self.learner, "support_", ())) if self.learner is not None else 0

    def state(self) -> dict[str, Any]:
        """All of it, as a snapshot holds it."""
        return state_of(self)

    @classmethod
    def from_state(cls, state: dict[str, Any], settings: Settings) -> "Fold":
        """The fold that `state` described."""
        fold = cls(settings)
        restore(fold, state)
        return fold
