"""Annotations of Label Studio: kept durably when they arrive, learned afterwards.

Label Studio gives a webhook one second and never tries again. So a payload is first stored as a note of the
store, then acknowledged; a task learns what is stored, in order. A crash in between repeats the learning, and
the keys of the answers keep it from counting twice.

A deleted annotation is named by its number alone. So a note for each annotation says which row and which
answer it became.
"""

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .._visible import visible
from ..errors import BusyError, EverlearnError
from ._results import AnswerIn, RowIn
from .service import LearningService

logger = logging.getLogger("everlearn.serve")

_INBOX = "label_studio/inbox/"
_KNOWN = "label_studio/annotation/"
_MAX_WAITING = 10_000
_CREATED = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_UPDATED")
_DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
ACTIONS = (*_CREATED, *_DELETED)


class Inbox:
    """The annotations that have arrived and those that have been learned.

    Parameters
    ----------
    service : LearningService
        The learner.
    """

    def __init__(self, service: LearningService) -> None:
        self._service = service
        self._lock = threading.Lock()
        notes = service.notes()
        self._waiting: dict[int, Any] = {
            int(key.removeprefix(_INBOX)): value
            for key, value in sorted(notes.items())
            if key.startswith(_INBOX)
        }
        self._known: dict[str, tuple[Any, str]] = {
            key.removeprefix(_KNOWN): (value[0], value[1])
            for key, value in notes.items()
            if key.startswith(_KNOWN)
        }
        self._next = max(self._waiting, default=0) + 1
        self.arrived = asyncio.Event()
        if self._waiting:
            self.arrived.set()

    @property
    def known(self) -> dict[str, Any]:
        """The ids of rows by the numbers of annotations."""
        with self._lock:
            return {number: row for number, (row, _) in self._known.items()}

    @property
    def waiting(self) -> int:
        """How many payloads wait to be learned."""
        return len(self._waiting)

    def put(self, payload: Mapping[str, Any]) -> None:
        """Store what a payload says, durably; it is learned later."""
        item = _item(payload)
        with self._lock:
            if len(self._waiting) >= _MAX_WAITING:
                raise BusyError(f"{_MAX_WAITING:,} annotations wait to be learned.", retry_after=10.0)
            number, self._next = self._next, self._next + 1
        self._service.set_notes({f"{_INBOX}{number:012d}": item})
        with self._lock:
            self._waiting[number] = item

    def learn(self) -> None:
        """Learn what is waiting, in order. Without a learner, it waits on."""
        while not self._service.setup_needed:
            with self._lock:
                number = min(self._waiting, default=None)
                item = None if number is None else self._waiting[number]
            if number is None or item is None:
                return
            changes: dict[str, Any] = {f"{_INBOX}{number:012d}": None}
            try:
                for one in item["annotations"]:
                    changes |= self._learn_one(item["action"], one)
            except BusyError:
                return  # it is tried again with the next payload
            except (EverlearnError, ValueError, TypeError) as error:
                logger.warning("An annotation of Label Studio was not learned: %s", visible(error))
            self._service.set_notes(changes)
            with self._lock:
                del self._waiting[number]

    def _learn_one(self, action: str, one: dict[str, Any]) -> dict[str, Any]:
        """Learn one annotation; returns the notes that say so."""
        name = str(one["id"])
        if action in _DELETED or one.get("label") is None:
            return self._forget(name)
        row, by = one["row"], one["by"]
        try:
            self._service.find_id(row)
        except EverlearnError:
            self._service.add_rows([RowIn(one["data"], row)], by="label-studio", key=f"ls-row-{row}")
        digest = hashlib.sha256(json.dumps([one["label"], one["updated"]]).encode()).hexdigest()[:24]
        answer = AnswerIn(row, "label", f"ls-{name}-{digest}", one["label"])
        self._service.answer(by, [answer])
        with self._lock:
            self._known[name] = row, by
        return {_KNOWN + name: [row, by]}

    def _forget(self, name: str) -> dict[str, Any]:
        with self._lock:
            found = self._known.get(name)
        if found is None:
            return {}
        row, by = found
        try:
            self._service.undo(row, by, key=f"ls-delete-{name}")
        except EverlearnError as error:
            if error.code not in ("no_answer", "unknown_id"):
                raise
        with self._lock:
            self._known.pop(name, None)
        return {_KNOWN + name: None}


async def learn_forever(inbox: Inbox, call: Callable[..., Any]) -> None:
    """Learn whenever something has arrived, until it is cancelled; ``call`` runs a function in a thread."""
    while True:
        await inbox.arrived.wait()
        inbox.arrived.clear()
        try:
            await call(inbox.learn)
        except Exception:
            logger.exception("Annotations of Label Studio could not be learned; they are tried again.")
        if inbox.waiting:
            await asyncio.sleep(1.0)
            inbox.arrived.set()


def row_id(project: Any, task: Any) -> str:
    """The id of the row of a task."""
    return f"ls-{project}-{task}"


def _item(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What is needed of a payload."""
    project = _part(payload, "project").get("id", 0)
    many = payload.get("annotations")
    annotations = many if isinstance(many, list) else [payload.get("annotation")]
    task = _part(payload, "task")
    found: list[dict[str, Any]] = []
    for annotation in annotations:
        if not isinstance(annotation, dict) or not isinstance(annotation.get("id"), int | str):
            continue
        own = annotation.get("task")  # its number, or the whole task
        of = own if isinstance(own, dict) else task if own in (None, task.get("id")) else {"id": own}
        found.append(
            {
                "id": str(annotation["id"])[:100],
                "row": row_id(project, of.get("id")),
                "data": of.get("data") if isinstance(of.get("data"), dict) else {},
                "by": f"label-studio/{_annotator(annotation)}",
                "label": None if annotation.get("was_cancelled") else label_in(annotation.get("result")),
                "updated": str(annotation.get("updated_at", "")),
            }
        )
    return {"action": payload["action"], "annotations": found}


def _part(payload: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = payload.get(name)
    return part if isinstance(part, dict) else {}


def _annotator(annotation: Mapping[str, Any]) -> str:
    """Who made an annotation: a number or, in some payloads, a description."""
    who = annotation.get("completed_by")
    if isinstance(who, dict):
        who = who.get("id")
    return str(who if who is not None else "unknown")[:60]


def label_in(result: Any) -> Any:
    """The label in the result of an annotation: its first choice or rating; None if there is none."""
    for part in result if isinstance(result, list) else ():
        value = part.get("value") if isinstance(part, dict) else None
        if isinstance(value, dict):
            choices = value.get("choices")
            if isinstance(choices, list) and choices and isinstance(choices[0], str):
                return choices[0]
            if isinstance(value.get("rating"), int):
                return value["rating"]
    return None
