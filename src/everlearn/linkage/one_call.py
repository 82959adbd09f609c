"""link: record linkage in one call."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from .._base import constraints
from ._two_tables import both_tables
from .active import ActiveLinker
from .blocking import Blocking
from .linker import Linkage, PairwiseLinker

__all__ = ["link"]


def link(
    left: Any,
    right: Any = None,
    *,
    oracle: Any,
    max_labels: int = 200,
    schema: Mapping[str, str | None] | None = None,
    columns: Mapping[str, str] | None = None,
    blocking: Blocking | None = None,
    linker: PairwiseLinker | None = None,
    random_state: int | None = 0,
) -> Linkage:
    """Find the records of one table, or of two, that are the same.

    Infers the kinds of the fields, selects candidate pairs, asks about those that matter, and clusters the
    records.

    Parameters
    ----------
    left : Records or table
        The records, or those of the first table: pandas, polars, Arrow, a dict of columns, or dicts.
    right : Records or table, default=None
        The second table; None finds duplicates in one. Columns that only one table has are not compared.
    oracle : callable, array-like or pair of array-likes
        ``oracle(question)`` returns whether the records of a `PairQuestion` are the same, or None if that is
        unknown; 30 times None in a row ends the questions, with a warning. Instead, the true entity of each
        record; of both tables if there are two.
    max_labels : int, default=200
        The number of answers to ask for. With 0, or as long as no answer is known, every record is alone.
    schema : dict of str to str, default=None
        The fields to compare and their kinds, as in `Records`; None infers them.
    columns : dict of str to str, default=None
        For columns that have other names in the second table: their names there, and in the first. Case,
        spaces and underscores make no difference.
    blocking : Blocking, default=None
        The candidate pairs; None is `default_blocking`.
    linker : PairwiseLinker, default=None
        Learner, features and clustering; None has the defaults.
    random_state : int or None, default=0
        Makes the questions reproducible.

    Returns
    -------
    Linkage
        The clusters.

    Examples
    --------
    >>> from everlearn.datasets import make_author_records
    >>> from everlearn.linkage import link
    >>> from everlearn.linkage.metrics import b_cubed_scores
    >>> records, person = make_author_records(scale=0.05, random_state=1)
    >>> found = link(records, oracle=person, max_labels=100)
    >>> b_cubed_scores(person, found.clusters).f1 > 0.6
    True
    """
    if not constraints.integer_from(0).test(max_labels):
        raise ValueError(f"max_labels must be an integer from 0, got {max_labels!r}.")
    first, second = both_tables(left, right, schema, columns)
    linker = PairwiseLinker() if linker is None else copy(linker)
    if blocking is not None:
        linker.blocking = blocking
    loop = ActiveLinker(linker, random_state=random_state)
    return loop.run(first, second, oracle=oracle, max_labels=max_labels).link()
