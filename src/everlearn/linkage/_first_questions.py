"""The pairs that `ActiveLinker` asks about first, and answers by the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .blocking import Pairs
from .records import Records

# The first questions go to pairs at these places in the order of their similarity, as fractions of the pool:
# most pairs are no match, and those that are have a high similarity.
LADDER = (0.0, 0.5, 0.01, 0.2, 0.03, 0.002, 0.1, 0.06, 0.005, 0.015)


def first_pairs(rows: NDArray[np.float32], names: list[str]) -> list[int]:
    """Pairs with these features to ask about, the first one last: a few, and then more from both ends."""
    whole = [i for i, name in enumerate(names) if name.startswith("record:")]
    columns = whole or [i for i, name in enumerate(names) if not name.endswith("missing")]
    order = np.argsort(-rows[:, columns].mean(axis=1), kind="stable")
    places = [int(fraction * (len(order) - 1)) for fraction in LADDER]
    ends = np.column_stack([np.arange(1, 51), len(order) - np.arange(1, 51)]).ravel()
    places += [int(place) for place in ends if 0 <= place < len(order)]
    return [int(order[place]) for place in dict.fromkeys(places)][::-1]


def by_truth(oracle: Any, pairs: Pairs, left: Records, right: Records | None) -> Callable[[Any], bool]:
    """A function that answers questions by the entity of each record; a pair of arrays for two tables."""
    if isinstance(oracle, str) or not hasattr(oracle, "__len__"):
        raise TypeError(
            "oracle must be a function that answers questions, or the entity of each record (two arrays "
            f"for two tables), got {oracle!r}."
        )
    if right is not None and len(oracle) != 2:
        raise ValueError(
            "oracle must be a pair of arrays, with the entity of each record of left and of right, or a "
            f"function, got {len(oracle)} values."
        )
    first, second = (np.asarray(one) for one in ((oracle, oracle) if right is None else oracle))
    for name, records, truth in (("left", left, first), ("right", right, second)):
        if records is not None and len(truth) != len(records):
            raise ValueError(
                f"oracle has {len(truth)} entities, but {name} has {len(records)} records: one is needed for "
                "each."
            )

    def answer(question: Any) -> bool:
        return bool(first[pairs.left[question.id]] == second[pairs.right[question.id]])

    return answer
