"""A service that answers without a learner: what the HTTP layer does is tested apart from learning."""

import json

from everlearn.errors import InputError
from everlearn.serve._explaining import Explanation
from everlearn.serve._questions import Empty, FieldShown, Guess, LeaseShown, Questions, QuestionShown, Why
from everlearn.serve._results import (
    AnswerResult,
    AnswersGiven,
    History,
    HistoryEntry,
    Inspection,
    Predictions,
    RowPrediction,
    RowsAdded,
    ServiceEvent,
    ServiceSettings,
    Undone,
    UploadField,
)


class FakeService:
    """Keeps what it is given, in lists; `error`, if set, is raised by every method that works."""

    def __init__(self):
        self.settings, self.setup_needed, self.error = ServiceSettings(name="fake"), False, None
        self.rows, self.answers, self.undone, self.kept, self.events = [], [], [], {}, []
        self._callback = None

    def _work(self):
        if self.error is not None:
            raise self.error

    @property
    def sequence(self):
        self._work()
        return len(self.events)

    def happen(self, event, data):
        self.events.append(ServiceEvent(len(self.events) + 1, event, data))
        if self._callback:
            self._callback(len(self.events))

    def add_rows(self, rows, *, by="", key=None):
        self._work()
        self.rows += rows
        self.happen("rows", {"count": len(rows)})
        predictions = [RowPrediction(row.id, "spam", {"spam": 0.75, "ham": 0.25}, True) for row in rows]
        return RowsAdded(self.sequence, len(self.answers), False, predictions)

    def predict(self, rows):
        self._work()
        predictions = [RowPrediction(row.id, "spam", {"spam": 0.75, "ham": 0.25}) for row in rows]
        return Predictions(len(self.answers), predictions)

    def lease_questions(self, by, n=1, *, queue="asked", exclude=()):
        self._work()
        if not self.rows:
            return Questions([], Empty("no_rows", "No rows yet.", 5.0))
        return Questions(
            [
                QuestionShown(
                    row.id or 0,
                    LeaseShown("l1", "t1", 90.0),
                    Why("random", "A random check.", 1),
                    [FieldShown(name, "text", value, str(value)) for name, value in row.fields.items()],
                )
                for row in self.rows[:n]
            ]
        )

    def explain(self, row, by):
        self._work()
        field = FieldShown("text", "text", "free prize", "free prize", highlights=[(0, 4, 1.0)])
        return Explanation(row, len(self.answers), Guess("spam", 0.75), [], [field])

    def renew(self, lease_id, token):
        self._work()
        if (lease_id, token) != ("l1", "t1"):
            raise InputError("The lease has ended.", code="lease_gone")
        return 90.0

    def release(self, leases):
        self._work()
        return len(leases)

    def answer(self, by, answers):
        self._work()
        self.answers += [(by, answer) for answer in answers]
        self.happen("labels", {"by": by, "count": len(answers)})
        results = [AnswerResult(a.id, "learned", a.label, Guess("spam", 0.75), True) for a in answers]
        return AnswersGiven(self.sequence, len(self.answers), results)

    def undo(self, row, by, *, key=None):
        self._work()
        mine = [pair for pair in self.answers if pair[0] == by and str(pair[1].id) == str(row)]
        if not mine:
            raise InputError(
                f"{by!r} has no answer for {row!r}.", code="no_answer", parameter="id", value=row
            )
        self.answers = [pair for pair in self.answers if pair not in mine]
        self.undone.append((row, by))
        self.happen("withdrawn", {"id": row})
        return Undone(row, self.sequence, len(self.answers), 0)

    def history(self, *, by=None, q="", offset=0, limit=50):
        self._work()
        entries = [
            HistoryEntry(a.id, a.kind, a.label, who, 0.0, a.comment, a.wrong_field, "", 0, a.label, "")
            for who, a in self.answers
            if by in (None, who)
        ]
        return History(entries[offset : offset + limit], len(entries))

    def status(self):
        self._work()
        counts = dict(zip(("rows", "labels"), (len(self.rows), len(self.answers)), strict=True))
        return {
            "name": self.settings.name,
            "sequence": self.sequence,
            "model_version": len(self.answers),
            "open_questions": 0,
            **counts,
        }

    def events_after(self, sequence, limit=100):
        self._work()
        return self.events[sequence : sequence + limit]

    def listen(self, callback):
        self._callback = callback
        return lambda: setattr(self, "_callback", None)

    def report_html(self):
        self._work()
        return "<!doctype html><title>Report</title>"

    def export_labels(self, format="csv"):
        self._work()
        return iter([json.dumps([a.label for _, a in self.answers]).encode()]), "text/csv"

    def export_model(self):
        self._work()
        return b"onnx"

    def import_labels(self, content, *, by, format="csv", key=None):
        self._work()
        return AnswersGiven(self.sequence, 0, [])

    def inspect_upload(self, content, name):
        self._work()
        return Inspection("u1", [UploadField("a", "number", "1", ["number"])], 1, None, [])

    def set_up(self, upload, *, kinds=None, label_column=None, classes=(), name=None):
        self._work()
        if upload != "u1":
            raise InputError("There is no such upload.", code="not_found", parameter="upload", value=upload)
        return self.status()

    def check_store(self):
        pass

    def notes(self):
        return dict(self.kept)

    def set_notes(self, notes):
        self._work()
        for key, value in notes.items():
            if value is None:
                self.kept.pop(key, None)
            else:
                self.kept[key] = json.loads(json.dumps(value))

    def change_settings(self, settings):
        self._work()
        self.settings = settings

    def find_id(self, text):
        self._work()
        for row in self.rows:
            if str(row.id) == str(text):
                return row.id
        raise InputError(f"There is no row {text!r}.", code="unknown_id")
