"""The consensus of several answers for one row."""

from collections import Counter
from collections.abc import Sequence
from typing import Any


def consensus(answers: Sequence[Any]) -> tuple[Any, float]:
    """The majority label of some answers, and its weight between 0 and 1.

    The weight is the lead of the majority over the next label, as a fraction of all answers: 1 if all agree,
    1/3 for two against one, 0 for a tie, which is not learned. For a model that is linear in its weights,
    such as an SVM for a row within the margin, this equals learning every answer with an equal weight.

    Parameters
    ----------
    answers : sequence of labels
        The answers for one row, at least one.

    Returns
    -------
    tuple of (label, float)
        The label, in case of ties the first that was answered, and its weight.
    """
    if len(answers) == 1:
        return answers[0], 1.0
    ranked = Counter(answers).most_common(2)
    second = ranked[1][1] if len(ranked) > 1 else 0
    return ranked[0][0], (ranked[0][1] - second) / len(answers)
