"""The learner that fits the fields of a stream, if none was chosen."""

from typing import Any

from ..adaptive import AdaptiveSVM
from ..adaptive.experts import UNIT_LENGTH
from ..read import Schema


def learner_for(schema: Schema, memory_rows: int | None = None) -> Any:
    """The default learner for a schema.

    Parameters
    ----------
    schema : Schema
        The schema.
    memory_rows : int, default=None
        The maximum number of labeled rows in memory, if it was chosen.

    Returns
    -------
    AdaptiveSVM or None
        For rows of length 1, such as text, a committee with cosine kernels in place of linear ones. None for
        the default of `NeverEndingLearner.open`.
    """
    if not schema.is_unit_length:
        return None
    most = AdaptiveSVM().max_rows
    max_rows = max(2, min(memory_rows or most, most))
    return AdaptiveSVM(experts=list(UNIT_LENGTH), max_rows=max_rows, scaling="none")
