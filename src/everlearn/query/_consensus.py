"""Several answers for one row: what they say together, and how much it weighs."""

from collections import Counter
from collections.abc import Sequence
from typing import Any


def consensus(answers: Sequence[Any]) -> tuple[Any, float]:
    """The label that most answers name, and its weight between 0 and 1.

    The weight is the lead of the majority over the next label, as a share of all answers: 1 where all agree,
    1/3 for two against one, 0 for a tie, from which nothing can be learned. To a model that is linear in its
    weights, such as an SVM for a row within the margin, that is as much as learning every answer with an
    equal share.

    Parameters
    ----------
    answers : sequence of labels
        The answers for one row, at least one.

    Returns
    -------
    tuple of (label, float)
        The label, of equal ones the first that was answered, and its weight.
    """
    if len(answers) == 1:
        return answers[0], 1.0
    ranked = Counter(answers).most_common(2)
    second = ranked[1][1] if len(ranked) > 1 else 0
    return ranked[0][0], (ranked[0][1] - second) / len(answers)
