"""What everybody sees: status, history, events, the report."""

import time
from typing import Any

from ..report.html import render
from ..store.beside import GivenAnswer
from ..store.events import Answered, Arrived, Asked, Erased, Event, Expired, Labeled, Withdrawn
from ..store.lookup import Id
from ._curve import NOTHING
from ._measuring import Measuring
from ._results import History, HistoryEntry, ServiceEvent
from ._shown import summary

_FRESH = 1.0  # seconds for which the expensive part of the status is kept
_ACTIVE = 120.0  # seconds after an answer for which a person counts as being at work


class Overview(Measuring):
    """Base of `LearningService`: what changes nothing."""

    def status(self) -> dict[str, Any]:
        """Summarize the learner, the people and the questions.

        Returns
        -------
        dict
            As ``GET /v1/status`` returns it, without "me".
        """
        if self._learner is None:
            return self._empty_status()
        learner, schema = self._learner, self._schema()
        slow = self._slow_status()
        questions = learner.question_counts()
        limit = questions["budget"]
        return {
            "name": self.settings.name,
            "sequence": learner.sequence,
            "model_version": learner.model_version,
            "rows": learner.n_rows,
            "labels": learner.n_labels,
            "open_questions": questions["open"],
            "open_leases": len(self._leases),
            "classes": self.classes(),
            "schema": [] if schema is None else [{"name": f.name, "kind": f.kind} for f in schema.fields],
            "budget": {
                "asked": questions["asked"],
                "limit": limit,
                "left": None if limit is None else max(0, limit - questions["asked"]),
            },
            **self.measured(),
            **slow,
            "people": self._people(),
            "rows_per_second": self._rows_per_second(),
            "settings": self._settings_shown(),
            "setup_needed": False,
        }

    def _empty_status(self) -> dict[str, Any]:
        return {
            "name": self.settings.name,
            "sequence": 0,
            "model_version": 0,
            "rows": 0,
            "labels": 0,
            "open_questions": 0,
            "open_leases": 0,
            "classes": [],
            "schema": [],
            "budget": {"asked": 0, "limit": None, "left": None},
            **NOTHING,
            "drift": [],
            "agreement": {"cohen": {}, "fleiss": None, "n": 0},
            "people": [],
            "rows_per_second": 0.0,
            "settings": self._settings_shown(),
            "setup_needed": True,
        }

    def _settings_shown(self) -> dict[str, Any]:
        s = self.settings
        return {
            "blind": s.blind,
            "overlap": {"answers": s.overlap_answers, "fraction": s.overlap_fraction},
            "group_duplicates": s.group_duplicates,
            "lease_seconds": s.lease_seconds,
        }

    def _slow_status(self) -> dict[str, Any]:
        """The parts that take long, computed once a second at most."""
        with self._lock:
            made, kept = self._slow
        if kept and time.monotonic() - made < _FRESH:
            return kept
        learner = self.learner
        found = {"drift": learner.drift_alarms, "agreement": self._votes.agreement()}
        with self._lock:
            self._slow = time.monotonic(), found
        return found

    def _people(self) -> list[dict[str, Any]]:
        right = self._votes.reliabilities(max(2, len(self.classes())))
        at_work, now = self._leases.people(), time.time()
        counts, last = self._votes.counts()
        return [
            {
                "name": name,
                "answers": counts.get(name, 0),
                "active": name in at_work or now - last.get(name, 0.0) < _ACTIVE,
                "reliability": round(right[name], 4) if name in right else None,
            }
            for name in sorted({*counts, *at_work})
        ]

    # -------------------------------------------------------------------------------------------- history

    def history(self, *, by: str | None = None, q: str = "", offset: int = 0, limit: int = 50) -> History:
        """Find the answers that count now, newest first.

        Parameters
        ----------
        by : str, default=None
            Whose answers; None for all.
        q : str, default=""
            Text to look for in ids, labels, comments and rows; case does not matter.
        offset, limit : int
            The part to return.

        Returns
        -------
        History
            The entries, and how many there are in all.
        """
        first, last = max(0, offset), max(0, offset) + max(0, limit)
        found: list[tuple[Id, GivenAnswer]] = []
        total = 0
        for part in self.learner.answers_that_count(by=by, newest_first=True):
            matching = self._matching(part, q.casefold()) if q else part
            found += matching[max(0, first - total) : max(0, last - total)]
            total += len(matching)
            if not q and total >= last:  # the rest is only counted
                counts = self._votes.counts()[0]
                total = max(total, sum(counts.values()) if by is None else counts.get(by, 0))
                break
        labels = self.learner.labels_of(list(dict.fromkeys(row for row, _ in found))) if found else {}
        return History([self._entry(row, answer, labels[row]) for row, answer in found], total)

    def _matching(self, part: list[tuple[Id, GivenAnswer]], wanted: str) -> list[tuple[Id, GivenAnswer]]:
        """The answers with a text in the id, the label, the comment or the row."""
        records = self.learner.records_of(list(dict.fromkeys(row for row, _ in part)))

        def text(row: Id, answer: GivenAnswer) -> str:
            values = (records.get(row) or {}).values()
            return " ".join(map(str, (row, answer.label, answer.about.get("comment", ""), *values)))

        return [pair for pair in part if wanted in text(*pair).casefold()]

    def _entry(self, row: Id, answer: GivenAnswer, learned: Any) -> HistoryEntry:
        about = answer.about
        return HistoryEntry(
            row,
            answer.kind,
            answer.label,
            str(answer.by),
            answer.time,
            about.get("comment", ""),
            about.get("wrong_field", ""),
            about.get("why_text", ""),
            int(about.get("model_version", 0)),
            learned,
            summary(self._fields(row)) if self.learner.has_values(row) else "",
        )

    # --------------------------------------------------------------------------------------------- events

    def events_after(self, sequence: int, limit: int = 100) -> list[ServiceEvent]:
        """Get what happened after an event.

        Parameters
        ----------
        sequence : int
            The number of the last event that is known.
        limit : int, default=100
            The maximum number of events of the log to look at.

        Returns
        -------
        list of ServiceEvent
            In order. If events happened that concern nobody, such as a new scale, the last one is an event
            "status" with the newest sequence.
        """
        if self._learner is None:
            return []
        learner = self._learner
        alarms = {alarm["time"]: alarm for alarm in learner.drift_alarms}
        found: list[ServiceEvent] = []
        last = sequence
        for seq, event in learner.events(sequence, limit):
            last = seq
            told = _told(event)
            if told is not None:
                found.append(ServiceEvent(seq, *told))
            if isinstance(event, Arrived | Labeled) and event.time in alarms:
                found.append(ServiceEvent(seq, "drift", dict(alarms[event.time])))
        if last > (found[-1].sequence if found else sequence):
            found.append(ServiceEvent(last, "status", {"sequence": last}))
        return found

    # --------------------------------------------------------------------------------------------- report

    def report_html(self) -> str:
        """Make the report.

        Returns
        -------
        str
            One page of HTML, complete in itself.
        """
        learner, schema = self.learner, self._schema()
        data: Any = learner.report_data(
            title=self.settings.name or "everlearn",
            features=None if schema is None else str(schema),
            influence=learner.influence(),
        )
        return render(data)


def _told(event: Event) -> tuple[str, dict[str, Any]] | None:
    """The kind of an event and what is told about it; no ids and no labels, which not everybody may see."""
    match event:
        case Arrived():
            return "rows", {"rows": event.count, "labels": len(event.labeled)}
        case Labeled() if event.decided:
            return None  # the answers that decided it are told
        case Labeled() | Answered() if not getattr(event, "retracted", None):
            return "labels", {"labels": len(event.numbers), "by": event.by}
        case Withdrawn() | Answered():
            return "withdrawn", {"labels": len(event.numbers), "by": event.by}
        case Asked():
            return "asked", {"questions": event.count}
        case Erased() | Expired():
            return "withdrawn", {"rows": len(event.numbers)}
    return None
