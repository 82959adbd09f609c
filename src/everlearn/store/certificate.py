"""Certificate of an erasure: what was erased, when, by whom, and how the model changed."""

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

from .. import _atomic
from .lookup import Id, id_key
from .tombstones import digest


@dataclass(frozen=True)
class Certificate:
    """The result of `NeverEndingLearner.erase`, issued when the rows are gone from every file of the store.

    It contains no id in plain text. To check whether it covers a known id, call `covers`.

    Attributes
    ----------
    store : str
        The store.
    time : str
        When, as an ISO 8601 time in UTC.
    by : str
        Who erased.
    everlearn_version : str
        The version of everlearn.
    salt : str
        The salt of the hashes.
    id_hashes : list of str
        Salted hashes of the ids.
    rows : int
        The number of rows erased.
    labels : int
        The number of labels erased, including replaced and withdrawn ones.
    questions : int
        The number of questions about these rows erased, open or answered.
    categories : int
        The number of category names erased, which no other row had.
    quarantined : int
        The number of records removed from quarantine files.
    events : int
        The number of events rewritten in the log.
    snapshots : int
        The number of snapshots removed or rewritten.
    method : {"replay", "forget", "none"}
        How the model unlearned the rows. "replay": the log was replayed without them. "forget": the learner
        forgot them exactly, or was retrained on the labeled rows in memory. "none": no row was in the store.
    model_difference : dict
        The measured difference from a model that never saw the rows: ``compared_with``, ``bit_equal``,
        ``max_difference`` of decision values over ``n_rows`` rows; and ``max_difference_before``, the
        difference from the model before the erasure. None for what was not measured.
    scrubbed : bool
        Whether free pages and the write-ahead log were overwritten. If a reader blocked this, it is done when
        the store is opened next.
    notes : list of str
        What the certificate does not cover.
    """

    store: str
    time: str
    by: str
    everlearn_version: str
    salt: str
    id_hashes: list[str]
    rows: int
    labels: int
    questions: int
    categories: int
    quarantined: int
    events: int
    snapshots: int
    method: str
    model_difference: dict[str, Any]
    scrubbed: bool
    notes: list[str] = field(default_factory=list)

    def covers(self, row_id: Id) -> bool:
        """Whether the row with an id was erased.

        Parameters
        ----------
        row_id : int or str
            The id of the row.

        Returns
        -------
        bool
            Whether its hash is among ``id_hashes``.
        """
        return digest(id_key(row_id), self.salt) in self.id_hashes

    def to_dict(self) -> dict[str, Any]:
        """Convert the certificate to JSON values.

        Returns
        -------
        dict
            For `from_dict`.
        """
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Certificate":
        """Create a certificate from the values of `to_dict`.

        Parameters
        ----------
        values : dict
            From `to_dict`, or read from a file that `write` wrote.

        Returns
        -------
        Certificate
            An equal certificate.
        """
        return cls(**values)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a JSON file.

        Parameters
        ----------
        path : str or path-like
            The file; an existing one is replaced.
        """
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

        def put(file: BinaryIO) -> None:
            file.write(text.encode("utf-8", "backslashreplace"))  # a lone surrogate is escaped, as in JSON

        _atomic.replace(os.fspath(path), put)
