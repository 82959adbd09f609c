"""Kernel perceptrons without a budget, and one with a budget that drops the row it needs least.

F. Rosenblatt (1958); Y. Freund, R. Schapire, "Large Margin Classification Using the Perceptron Algorithm"
(1999); K. Crammer, J. Kandola, Y. Singer, "Online Classification on a Budget", NIPS 2003; J. Weston,
A. Bordes, L. Bottou, "Online (and Offline) on an Even Tighter Budget", AISTATS 2005.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from .._base import constraints
from .._base.decision import Ballot, Decision, expansion_decision, refuse_kernel
from .._base.docs import complete
from .._base.forget import ForgettingLearner
from .._base.one_pass import OnePassLearner, limit
from .._base.online import OnlineLearner, StreamLearner
from .._base.parameters import ClassWeight, KernelParameter, Table
from .._base.persist import register


@register
@complete
class KernelPerceptron(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Kernel perceptron: every misclassified row is kept, with its label as coefficient.

    There is no budget: the model grows with its mistakes. It is the reference for the learners with a budget.

    Examples
    --------
    >>> from everlearn import KernelPerceptron
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = KernelPerceptron(gamma=1).partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    >>> clf.score(X[1000:], y[1000:]) > 0.9
    True
    """

    _solver = "perceptron"

    def __init__(
        self,
        *,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        epochs: int = 1,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _solver_parameters(self) -> dict[str, Any]:
        return {"margin": 0.0, "budget": limit(None), "overflow": "nothing", "averaging": "none"}


@register
@complete
class AveragedKernelPerceptron(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Kernel perceptron that predicts with the average of all its models, not with the last one.

    A model that many rows left unchanged counts more than one that the next row changed. So predictions
    change less from row to row than those of a perceptron. There is no budget.

    Parameters
    ----------
    average : {"vote", "mean"}, default="vote"
        What is averaged over the models, one after every row: the sign of their scores (from -1 to 1), or the
        scores.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (1, n_SV) or (n_classes, n_SV)
        The coefficients of the last model.
    n_mistakes_ : ndarray of shape (1,) or (n_classes,)
        Number of rows that were misclassified when they arrived, by the model at that time.

    Examples
    --------
    >>> from everlearn import AveragedKernelPerceptron
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = AveragedKernelPerceptron(gamma=1).partial_fit(X[:1000], y[:1000], classes=[-1, 1])
    >>> clf.score(X[1000:], y[1000:]) > 0.95
    True
    """

    _solver = "perceptron"
    _mergeable = False  # it predicts with all models that it ever was
    _constraints: ClassVar[Table] = {"average": constraints.one_of("vote", "mean")}

    def __init__(
        self,
        *,
        average: str = "vote",
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        epochs: int = 1,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _solver_parameters(self) -> dict[str, Any]:
        return {"margin": 0.0, "budget": limit(None), "overflow": "nothing", "averaging": self.average}

    def describe_decision(self) -> Decision:
        """Describe the decision function as data, for export.

        Returns
        -------
        Decision
            The vote or the mean of all models so far.
        """
        machine = self._fitted()
        if machine.spec["layout"] == "external":
            refuse_kernel(self)
        averaging = machine.parameters.get("averaging", "vote")
        slots, ballots = _ballots(machine.native.get_state())
        weights = np.column_stack([ballot.mean_weights(len(slots)) for ballot in ballots])
        found = machine.expansion(slots)._replace(weights=weights, bias=np.zeros(len(ballots)))
        decision = expansion_decision(self.classes_, found, by_row=averaging == "vote")
        return replace(decision, ballots=ballots) if averaging == "vote" and decision.n_kept else decision


def _ballots(state: dict[str, Any]) -> tuple[Any, list[Ballot]]:
    """The slots of all rows that a perceptron ever added, and for each column what it added when."""
    ids, starts = state["entry_ids"], state["entry_ids_starts"]
    used, total = np.unique(ids), max(int(state["iterations"]), 1)
    ballots = []
    for start, end in pairwise(starts.tolist()):
        ends = np.append(state["entry_times"][start:end], state["iterations"] + 1)
        ballots.append(
            Ballot(
                np.searchsorted(used, ids[start:end]).astype(np.int64),
                np.asarray(state["entry_coefficients"][start:end], dtype=np.float64),
                np.diff(ends).astype(np.float64),
                float(total),
            )
        )
    place = {row_id: slot for slot, row_id in enumerate(state["ids"].tolist())}
    return np.array([place[row_id] for row_id in used.tolist()], dtype=np.intp), ballots


@register
@complete
class BudgetKernelPerceptron(OnePassLearner, OnlineLearner, StreamLearner, ForgettingLearner):
    """Kernel perceptron on a budget; a full buffer drops the row that is classified best without itself.

    Parameters
    ----------
    margin : float, default=0.0
        A row is kept if y f(x) is at most this.

    Examples
    --------
    >>> from everlearn import BudgetKernelPerceptron
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(2000, random_state=0)
    >>> clf = BudgetKernelPerceptron(budget=50, gamma=1).partial_fit(X, y, classes=[-1, 1])
    >>> clf.n_kept_
    50
    """

    _solver = "perceptron"
    _constraints: ClassVar[Table] = {"margin": constraints.NOT_NEGATIVE}

    def __init__(
        self,
        budget: int = 200,
        *,
        margin: float = 0.0,
        kernel: KernelParameter = "rbf",
        degree: int = 3,
        gamma: str | float = "scale",
        coef0: float = 0.0,
        class_weight: ClassWeight = None,
        epochs: int = 1,
        row_dtype: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | int = False,
    ) -> None:
        self._store(locals())

    def _solver_parameters(self) -> dict[str, Any]:
        return {
            "margin": float(self.margin),
            "budget": limit(self.budget),
            "overflow": "worst",
            "averaging": "none",
        }
