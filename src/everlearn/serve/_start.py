"""The beginning: an empty store, a file, what its fields are taken for, and the learner that comes of it."""

import contextlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..errors import InputError
from ..read import Schema, Source, open_source
from ..store.log import Log
from ..stream import NeverEndingLearner
from ..stream.default_learner import learner_for
from ._core import CLASSES_NOTE, SETTINGS_NOTE, SNAPSHOT_EVENTS
from ._exchange import Exchange
from ._results import Inspection, UploadField

_CHOICES = ["numeric", "categorical", "boolean", "text", "time", "id", "label", "vector", "ignore"]
_MAX_UPLOADS = 4
_BATCH = 500
_MAX_CLASSES = 100


@dataclass(frozen=True)
class _Upload:
    path: str
    name: str


class Starting(Exchange):
    """Base of `LearningService`: sets up an empty store."""

    def inspect_upload(self, content: bytes, name: str) -> Inspection:
        """Look at a file with rows, and say what each field is taken for; only for an empty store.

        Parameters
        ----------
        content : bytes
            The file.
        name : str
            Its name, whose ending may tell the format.

        Returns
        -------
        Inspection
            The fields, and the id of the upload for `set_up`.
        """
        self._check_empty()
        with self._lock:
            while len(self._uploads) >= _MAX_UPLOADS:
                self._drop(next(iter(self._uploads)))
            folder = tempfile.mkdtemp(prefix="everlearn-upload-")
            safe = re.sub(r"[^\w.-]", "_", os.path.basename(name))[-80:] or "rows"
            upload = _Upload(os.path.join(folder, safe), safe)
            with open(upload.path, "wb") as file:
                file.write(content)
            token = secrets.token_urlsafe(12)
            self._uploads[token] = upload
        try:
            with _reading(upload), open_source(upload.path) as source:
                return _inspection(token, source)
        except BaseException:
            self._drop(token)
            raise

    def set_up(
        self,
        upload: str,
        *,
        kinds: Mapping[str, str] | None = None,
        label_column: str | None = None,
        classes: Sequence[Any] = (),
        name: str | None = None,
    ) -> dict[str, Any]:
        """Create the learner of an empty store, and add the rows of an upload.

        Parameters
        ----------
        upload : str
            The id from `inspect_upload`.
        kinds : mapping of str to str, default=None
            The kinds of fields; those of fields that are not named are inferred.
        label_column : str, default=None
            The field that holds labels; None for no such field.
        classes : sequence of label, default=()
            The names of the classes; the labels of the file are added. Empty: every label is a class.
        name : str, default=None
            The name of the project.

        Returns
        -------
        dict
            See `status`.
        """
        self._check_empty()
        with self._lock:
            found = self._uploads.get(upload)
        if found is None:
            raise InputError(
                "The upload is gone.", code="unknown_upload", remedy="Upload the file once more."
            )
        self._writer.do("call", lambda: self._set_up(found, dict(kinds or {}), label_column, classes, name))
        self._drop(upload)
        return self.status()

    def _check_empty(self) -> None:
        if self._learner is not None:
            raise InputError(
                "The project is set up already.",
                code="not_empty",
                remedy="Start another store for other rows.",
            )

    def _set_up(
        self,
        upload: _Upload,
        kinds: dict[str, str],
        label: str | None,
        classes: Sequence[Any],
        name: str | None,
    ) -> None:
        self._check_empty()
        also = [field for field, kind in kinds.items() if kind == "label" and field != label]
        if also:
            raise InputError(
                f"The field {also[0]!r} is given as label, but label_column is {label!r}.",
                code="bad_fields",
                remedy="Name it as label_column, or choose another kind for it.",
            )
        kinds = {field: kind for field, kind in kinds.items() if field != label}
        with _reading(upload), open_source(upload.path) as source:
            assert source.schema is not None
            taken = source.schema.name_of("label")
            if taken is not None and taken != label:
                kinds.setdefault(taken, "categorical")
        with (
            _reading(upload),
            open_source(upload.path, label=label, kinds=kinds or None, batch_size=_BATCH) as source,
        ):
            schema = source.schema
            if schema is None or not schema.n_features:
                raise InputError(
                    "No field can be learned from.",
                    code="no_features",
                    remedy="Choose the kind of at least one field: numeric, categorical, boolean or text.",
                )
            named = _as_classes(classes, schema)
            settings = replace(self.settings, name=self.settings.name if name is None else name)
            self._create(schema, {SETTINGS_NOTE: asdict(settings), CLASSES_NOTE: named or None})
            self.settings = settings
            for batch in source:
                self._add_batch(source, batch)

    def _create(self, schema: Schema, notes: dict[str, Any]) -> None:
        """Create the learner in the store, which keeps its notes."""
        with self._noting:
            assert self._log is not None
            kept = self._log.notes() | notes
            self._log.close()
            self._log = None
            try:
                learner = NeverEndingLearner.open(
                    self._store,
                    learner_for(schema),
                    scale_features=schema.scale_features,
                    snapshot_events=SNAPSHOT_EVENTS,
                    random_state=self._random_state,
                )
            except BaseException:
                self._log = Log(self._store)
                raise
            learner.set_schema(schema.state(), notes=kept)
            self._notes_kept = None
            self._learner = learner

    def _add_batch(self, source: Source, batch: Any) -> None:
        assert source.schema is not None
        hidden = {source.schema.name_of("label")}
        records = [
            {name: value for name, value in source.fields_of(raw).items() if name not in hidden}
            for raw in batch.raw
        ]
        known = batch.time[batch.time == batch.time]
        self.learner.step(
            batch.X,
            batch.y,
            ids=batch.ids,
            time=float(known[-1]) if len(known) else None,
            records=records,
        )

    def _drop(self, token: str) -> None:
        with self._lock:
            upload = self._uploads.pop(token, None)
        if upload is not None:
            shutil.rmtree(os.path.dirname(upload.path), ignore_errors=True)

    def close(self) -> None:
        """Finish what is waiting, write a snapshot and close the store."""
        for token in list(self._uploads):
            self._drop(token)
        super().close()


@contextlib.contextmanager
def _reading(upload: _Upload) -> Iterator[None]:
    """Within the block, errors about the file are the caller's, and do not show where it is kept."""
    try:
        yield
    except InputError as error:
        raise InputError(
            error.problem.replace(upload.path, upload.name), code=error.code, remedy=error.remedy
        ) from None
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(str(error).replace(upload.path, upload.name), code="bad_file") from None


def _inspection(token: str, source: Source) -> Inspection:
    if source.schema is None:
        raise InputError(source.message.replace(source.name, "The file"), code="bad_file")
    n_good, bad = source.preview()
    fields = [
        UploadField(
            field.name,
            field.kind,
            source.examples.get(field.name, ""),
            _CHOICES,
            source.schema.note_on(field),
        )
        for field in source.schema.fields
    ]
    messages = [f"Line {row.line}: {row.reason}." for row in bad[:5]]
    if len(bad) > 5:
        messages.append(f"{len(bad) - 5:,} more of the first rows are bad.")
    label = source.schema.name_of("label")
    found: set[Any] = set()
    if label is not None:
        batch = next(iter(source), None)
        if batch is not None and batch.y is not None:
            found = {value for value in batch.y.tolist() if value is not None}
    classes = sorted(found, key=lambda value: (str(type(value)), value))[:_MAX_CLASSES]
    return Inspection(token, fields, n_good + len(bad), label, messages, classes)


def _as_classes(given: Sequence[Any], schema: Schema) -> list[Any]:
    """The named classes in the type of the labels of the file."""
    names = [str(value).strip() for value in given]
    if any(not value for value in names) or len(set(names)) < len(names):
        raise InputError(
            "classes must be different names, none of them empty.", code="bad_classes", remedy="Rename them."
        )
    if schema.name_of("label") is None or schema.label_type != "int":
        return list(names)
    try:
        return [int(value) for value in names]
    except ValueError:
        raise InputError(
            "The labels of the file are integers, and so must be the names of classes.", code="bad_classes"
        ) from None
