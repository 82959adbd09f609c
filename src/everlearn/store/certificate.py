"""What was erased from a store, when, by whom, and what is left of it in the model."""

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

from .. import _atomic
from .lookup import Id, id_key
from .tombstones import digest


@dataclass(frozen=True)
class Certificate:
    """What `NeverEndingLearner.erase` returns, once the rows are gone from every file of the store.

    It names no row in clear. Whoever knows an id can check that it is covered, see `covers`.

    Attributes
    ----------
    store : str
        The store.
    time : str
        When, as an ISO 8601 time in UTC.
    by : str
        Who erased.
    everlearn_version : str
        The version that did it.
    salt : str
        The salt of the hashes.
    id_hashes : list of str
        Salted hashes of the ids.
    rows : int
        How many rows were erased.
    labels : int
        How many labels, those included that had been replaced or withdrawn.
    questions : int
        How many questions about these rows, open or answered, were kept.
    categories : int
        How many names of categories that no other row had.
    quarantined : int
        How many records were removed from quarantine files.
    events : int
        How many events of the log were rewritten.
    snapshots : int
        How many snapshots were removed or rewritten.
    method : {"replay", "forget", "none"}
        How the model unlearned the rows. "replay": it was learned again from the log without them. "forget":
        an exact learner forgot them, or it was learned again from the labeled rows that are kept. "none": no
        row was in the store.
    model_difference : dict
        The measured distance between the model and one that never saw the rows: ``compared_with``,
        ``bit_equal``, ``max_difference`` of decision values over ``n_rows`` rows; and
        ``max_difference_before``, the distance to the model from before. None where it was not measured.
    scrubbed : bool
        Whether free pages and the write-ahead log were overwritten, too. If a reader was in the way that is
        done when the store is opened next.
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
            The id under which it came.

        Returns
        -------
        bool
            Whether its hash is among ``id_hashes``.
        """
        return digest(id_key(row_id), self.salt) in self.id_hashes

    def to_dict(self) -> dict[str, Any]:
        """The certificate in values that JSON knows.

        Returns
        -------
        dict
            For `from_dict`.
        """
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Certificate":
        """The certificate that `to_dict` described.

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
            The file; one that exists is replaced.
        """
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

        def put(file: BinaryIO) -> None:
            file.write(text.encode("utf-8", "backslashreplace"))  # a half of a pair, as JSON writes it

        _atomic.replace(os.fspath(path), put)
