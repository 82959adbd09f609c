"""Rows from programs: predicted, learned and asked about, one block for all that arrived meanwhile."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError
from ..read.records import encode_records
from ..store.beside import Request
from ..store.lookup import Id
from ..stream.outcome import Outcome
from ._core import ServiceCore, as_label, digest_of
from ._results import Predictions, RowIn, RowPrediction, RowsAdded
from ._writer import PROGRAMS

_ID_CHARS = 1000


class AddingRows(ServiceCore):
    """Base of `LearningService`: adds and predicts rows."""

    def add_rows(self, rows: Sequence[RowIn], *, by: str = "", key: str | None = None) -> RowsAdded:
        """Add rows: they are predicted, their labels are learned, some become questions; all or none.

        Parameters
        ----------
        rows : sequence of RowIn
            The rows.
        by : str, default=""
            Who sends them; keys of different senders do not collide.
        key : str, default=None
            The idempotency key. The same key with the same rows returns the first result, with other rows it
            is an `InputError` with the code "key_reused".

        Returns
        -------
        RowsAdded
            The predictions, made before a label of the block was learned.
        """
        digest = digest_of([[row.fields, row.id, row.label, row.time] for row in rows])
        full = None if key is None else f"rows/{by}/{key}"
        done = None if full is None else self._rows_done(full, digest)
        if done is not None:
            return done
        content = (self._encoded(rows), full, digest)
        found: RowsAdded = self._writer.do("rows", content, size=len(rows), queue=PROGRAMS)
        return found

    def _encoded(self, rows: Sequence[RowIn], *, labels: bool = True) -> "_Block":
        """Rows as arrays; checked, so that one wrong request does not spoil a block."""
        if not rows:
            raise InputError("There are no rows.", code="no_rows", remedy="Send at least one row.")
        schema, learner = self._schema(), self.learner
        if schema is None:
            raise InputError(
                "The store has no schema, so that rows cannot be read.",
                code="no_schema",
                remedy="Set the schema with NeverEndingLearner.set_schema.",
            )
        records, ids = _with_ids(rows, schema.name_of("id"))
        batch = encode_records(records, schema)
        given = [None] * len(rows) if batch.y is None else batch.y.tolist()
        y = [
            given[at] if row.label is None else as_label(row.label, learner.classes, schema)
            for at, row in enumerate(rows)
        ]
        times = [
            float(batch.time[at]) if row.time is None else float(row.time) for at, row in enumerate(rows)
        ]
        known = [value for value in times if np.isfinite(value)]
        sent = [dict(row.fields) for row in rows]
        return _Block(batch.X, y if labels else [], ids, known[-1] if known else None, sent)

    def _rows_done(self, key: str, digest: str) -> RowsAdded | None:
        done, outcome = self.learner.outcome_of(key, digest)
        if not done:
            return None
        if outcome is None:  # rows were erased since
            return RowsAdded(self.sequence, self.learner.model_version, True, [])
        predictions = [RowPrediction(**entry) for entry in outcome["predictions"]]
        return RowsAdded(outcome["sequence"], outcome["model_version"], True, predictions)

    def _rows_done_or_error(self, key: str, digest: str) -> RowsAdded | InputError | None:
        try:
            return self._rows_done(key, digest)
        except InputError as error:
            return error

    def _write_rows(self, contents: list[Any]) -> list[Any]:
        """Add the rows of several requests as one block."""
        learner = self.learner
        results: list[Any] = [None] * len(contents)
        fresh: dict[int, tuple[int, int]] = {}  # places of the rows of each request that is not done yet
        keys: set[str] = set()
        again: list[int] = []
        n_rows = 0
        for at, (block, key, digest) in enumerate(contents):
            if key is not None and key in keys:
                again.append(at)
                continue
            results[at] = None if key is None else self._rows_done_or_error(key, digest)
            if results[at] is None:
                keys.add(key)
                fresh[at] = n_rows, n_rows + len(block.ids)
                n_rows += len(block.ids)
        if fresh:
            blocks = [contents[at][0] for at in fresh]
            model = learner.learner_
            names = [] if model is None else [str(label) for label in model.classes_.tolist()]
            requests = [
                Request(key, digest, _part_of(*fresh[at], names))
                for at, (_, key, digest) in enumerate(contents)
                if at in fresh and key is not None
            ]
            times = [block.time for block in blocks if block.time is not None]
            out = learner.step(
                sparse.vstack([block.X for block in blocks], format="csr")
                if sparse.issparse(blocks[0].X)
                else np.vstack([block.X for block in blocks]),
                [label for block in blocks for label in block.y],
                ids=_numbered([name for block in blocks for name in block.ids], learner.n_rows),
                time=max(times) if times else None,
                records=[record for block in blocks for record in block.records],
                requests=requests,
            )
            self._count_arrivals(n_rows)
            for at, (start, end) in fresh.items():
                found = predictions_of(out, start, end, names)
                results[at] = RowsAdded(learner.sequence, learner.model_version, False, found)
        for at in again:
            results[at] = self._rows_done_or_error(*contents[at][1:])
        return results

    def predict(self, rows: Sequence[RowIn]) -> Predictions:
        """Predict rows without storing them.

        Parameters
        ----------
        rows : sequence of RowIn
            The rows; labels are ignored.

        Returns
        -------
        Predictions
            The predictions.
        """
        learner = self.learner
        if not rows:
            return Predictions(learner.model_version, [])
        block = self._encoded(rows, labels=False)
        labels, shares = learner.predict_with_shares(block.X)
        return Predictions(
            learner.model_version,
            [
                RowPrediction(
                    name,
                    labels[at],
                    None if shares is None else {str(c): round(float(p), 6) for c, p in shares[at].items()},
                )
                for at, name in enumerate(block.ids)
            ],
        )


class _Block:
    """The rows of a request as arrays."""

    def __init__(
        self, X: Any, y: list[Any], ids: list[Id | None], time: float | None, records: list[Any]
    ) -> None:
        self.X, self.y, self.ids, self.time, self.records = X, y, ids, time, records


def _with_ids(rows: Sequence[RowIn], name: str | None) -> tuple[list[dict[str, Any]], list[Id | None]]:
    """The records of rows with the id field filled in, and the ids; None for rows that are to be numbered.

    In a stream with an id field, ids are strings.
    """
    records = [dict(row.fields) for row in rows]
    if name is None:
        return records, [row.id for row in rows]
    ids: list[Id | None] = []
    for at, (row, record) in enumerate(zip(rows, records, strict=True)):
        given = record.get(name) if row.id is None else row.id
        if given is not None and ("\0" in str(given) or not 0 < len(str(given)) <= _ID_CHARS):
            raise InputError(
                f"Row {at}: an id must have 1 to {_ID_CHARS:,} characters and no character 0, "
                f"got {str(given)[:50]!r}.",
                code="bad_row",
                remedy="Correct the row; nothing was stored.",
            )
        ids.append(None if given is None else str(given))
        record[name] = f"row {at} of the request" if given is None else str(given)
    return records, ids


def predictions_of(out: Outcome, start: int, end: int, names: list[str]) -> list[RowPrediction]:
    """The predictions of some rows of a block; ``names`` are the classes of the probabilities."""
    asked = {question.id for question in out.questions}
    return [
        RowPrediction(
            out.ids[at],
            out.predictions[at],
            None
            if out.probabilities is None
            else {
                name: round(float(share), 6) for name, share in zip(names, out.probabilities[at], strict=True)
            },
            out.ids[at] in asked,
        )
        for at in range(start, end)
    ]


def _part_of(start: int, end: int, names: list[str]) -> Callable[[Outcome, int, int], Any]:
    """The outcome of a request whose rows are a part of a block."""

    def outcome(out: Outcome, sequence: int, version: int) -> Any:
        # vars: `asdict` copies deeply, which took a sixth of the processor time of the service
        found = [vars(prediction) for prediction in predictions_of(out, start, end, names)]
        return {"sequence": sequence, "model_version": version, "predictions": found}

    return outcome


def _numbered(names: list[Any], first: int) -> list[Any]:
    """The ids of new rows; a row without one is called by its number in the log."""
    return [first + k if name is None else name for k, name in enumerate(names)]
