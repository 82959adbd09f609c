"""The exact SVM of rows in several parts, which are elsewhere: the side of the solver.

The solver learns the candidates of all parts. Of later chunks, parts send only rows that violate their
condition under the model so far. Then it alternates between optimizing on the rows it has and asking the
parts for rows that violate their condition. `ExactLearner` does the same with rows in its own memory.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from .exact import COARSE_TOL
from .learner import LabeledRows
from .machine import Machine
from .merging import rename_rows
from .part_scores import ModelChange, Violators, signs_of, stack
from .parts import Plan, learn_coarsely
from .validate import Ints, Rows

Floats = npt.NDArray[np.float64]


class Exchange(Protocol):
    """The way to the parts."""

    def check_chunk(self, model: ModelChange, limit: float, number: int) -> Sequence[Violators]:
        """Let every part check the rows of its chunk of this number."""

    def check(self, model: ModelChange, limit: float, everything: bool) -> Sequence[Violators]:
        """Let every part check its rows: those near the margin, or all."""

    def nearest(self, model: ModelChange, most: int) -> Sequence[tuple[LabeledRows, Floats]]:
        """Of every part, the rows outside of the model that are nearest to the margin."""

    def names(self, numbers: Ints) -> Ints:
        """The numbers of rows where they came from, before they were moved between parts."""


class PartsFit:
    """The fit of all parts.

    Parameters
    ----------
    plan : Plan
        What the parts share.
    exchange : Exchange
        The way to them.
    """

    def __init__(self, plan: Plan, exchange: Exchange) -> None:
        self.plan, self.exchange = plan, exchange
        self.learner = plan.begin()
        columns = len(self.learner._machine.native.bias)
        # By place: the order of arrival. Ids of the machine are places.
        self._numbers = np.zeros(0, dtype=np.int64)
        self._labels = np.zeros(0, dtype=np.int32)
        self._costs = np.zeros(0)
        self._rows: list[Rows] = []
        self._blocks = [0]  # the place of the first row of each block of rows, and the end
        self._alpha, self._scores = np.zeros((0, columns)), np.zeros((0, columns))
        self._sent = np.zeros(0, dtype=bool)
        self._moved = np.zeros(columns)
        self._asked = False
        self._on_round: Callable[[int], None] | None = None
        self.part_evaluations = 0

    def run(self, candidates: Sequence[LabeledRows], on_round: Callable[[int], None] | None = None) -> Any:
        """Solve the SVM of all parts from the candidates of each; returns the fitted learner."""
        learner, plan = self.learner, self.plan
        random = check_random_state(learner.random_state)
        learner._machine.seed(random)
        parts = [part for part in candidates if len(part.labels)]
        first = _joined(parts)
        rows = self._arrive(first)
        order = random.permutation(len(rows.labels)).astype(np.int64)
        learn_coarsely(learner, rows, order)
        self._on_round = on_round
        self._learn_chunks()
        learner.n_rounds_ = learner._solve(self, self._learn, "finishing", stacklevel=5)
        learner._warn_if_unsolved("Finishing", stacklevel=4)
        self._reserve()
        learner._drop_idle()
        native = learner._machine.native
        native.set_iterations(plan.rows)
        learner._rows_seen, learner._label_counts = plan.rows, plan.counts.copy()
        rename_rows(learner, self.exchange.names(self._numbers))
        return learner

    @property
    def kept(self) -> Ints:
        """The numbers of the rows that the fitted learner keeps, in its order."""
        return np.array(self.learner._machine.native.ids)

    @property
    def n_kernel_evaluations(self) -> int:
        """Kernel values computed so far, here and in checks by the parts."""
        return int(self.part_evaluations + self.learner._machine.native.evaluations)

    # ------------------------------------------------------------------------------- what `_solve` asks for

    def check_near(self, limit: float) -> Ints:
        """Rows near the margin that violate their condition by more than ``limit``."""
        return self._check(limit, everything=False)

    def check_all(self, limit: float) -> Ints:
        """All rows that violate their condition by more than ``limit``."""
        return self._check(limit, everything=True)

    def _check(self, limit: float, everything: bool) -> Ints:
        return self._take(self.exchange.check(self._change(), limit, everything))

    def _learn_chunks(self) -> None:
        """Of every chunk but the first, let rows join that violate their condition; optimize coarsely."""
        learner = self.learner
        tol = max(learner.tol, COARSE_TOL)
        with learner._machine.changed(tau=tol, reserve=0):
            for number in range(1, self.plan.n_chunks):
                limit = learner._allowed(tol)
                places = self._take(self.exchange.check_chunk(self._change(), limit, number))
                if len(places):
                    learner._join(self._rows_at(places), np.arange(len(places), dtype=np.int64))
                    learner._optimize(learner._machine.native.finish, "optimizing")

    def _take(self, answers: Sequence[Violators]) -> Ints:
        """Take over what the parts have found; returns the places of these rows."""
        new = [answer.new for answer in answers if len(answer.new.labels)]
        if new:
            self._arrive(_joined(new))
        self.part_evaluations += sum(answer.evaluations for answer in answers)
        numbers = np.concatenate([answer.numbers for answer in answers])
        order = np.argsort(self._numbers)
        places = order[np.searchsorted(self._numbers, numbers, sorter=order)]
        self._scores[places] = np.vstack([answer.scores for answer in answers])
        if self._on_round is not None:
            self._on_round(len(places))
        return np.asarray(places, dtype=np.int64)

    def _learn(self, places: Ints) -> None:
        """Learn rows that violate their condition."""
        self.learner._learn_again(self._rows_at(places), None, np.arange(len(places), dtype=np.int64))

    # ------------------------------------------------------------------------------------------------ rows

    def _arrive(self, rows: LabeledRows) -> LabeledRows:
        """Give places to rows from the parts; returns them with their places as ids."""
        begin, count = len(self._numbers), len(rows.labels)
        places = np.arange(begin, begin + count, dtype=np.int64)
        self._numbers = np.concatenate([self._numbers, rows.ids])
        self._labels = np.concatenate([self._labels, rows.labels])
        self._costs = np.concatenate([self._costs, rows.costs])
        unknown = np.zeros((count, len(self._moved)))
        self._scores, self._alpha = (np.vstack([known, unknown]) for known in (self._scores, self._alpha))
        self._sent = np.concatenate([self._sent, np.zeros(count, dtype=bool)])
        self._rows.append(rows.X)
        self._blocks.append(begin + count)
        return LabeledRows(rows.X, rows.labels, rows.costs, places)

    def _rows_at(self, places: Ints) -> LabeledRows:
        """Rows by their places, which are their ids."""
        ids = places.astype(np.int64)
        return LabeledRows(self._features(places), self._labels[places], self._costs[places], ids)

    def _features(self, places: Ints) -> Rows:
        """The features of rows by their places."""
        block = np.searchsorted(self._blocks, places, side="right") - 1
        used = np.unique(block)
        picked = [self._rows[b][places[block == b] - self._blocks[b]] for b in used]
        order = np.argsort(np.concatenate([np.flatnonzero(block == b) for b in used]))
        return stack(picked)[order]

    def _change(self) -> ModelChange:
        """The present model, as parts take it."""
        machine = self.learner._machine
        native = machine.native
        places, alpha = native.ids, np.zeros(self._alpha.shape)
        alpha[places] = native.alpha.T
        signs = signs_of(self._labels, len(self._moved))
        scores = np.full(self._scores.shape, np.nan)
        scores[places] = signs[places] - native.gradients.T
        step = alpha - self._alpha
        moving = step.any(axis=1)
        if self._asked:
            dropped = np.flatnonzero(moving & np.isnan(scores).any(axis=1))
            if len(dropped):
                scores[dropped] = self.learner.score_validated(self._features(dropped)) - native.bias
                native.evaluations += len(dropped) * native.size
            # ||w - w_before||^2 = sum over s of (alpha_s - alpha_s before) (f(x_s) - f_before(x_s))
            turn = scores[moving] - self._scores[moving]
            squares = np.einsum("sc,sc->c", step[moving], turn)
            self._moved = self._moved + np.sqrt(np.maximum(squares, 0))
        known = ~np.isnan(scores)
        self._scores[known] = scores[known]
        self._alpha, self._asked = alpha, True
        used = np.flatnonzero(alpha.any(axis=1) & ~self._sent)
        self._sent[used] = True
        return ModelChange(
            count=len(alpha),
            places=places,
            numbers=self._numbers[places],
            alpha=alpha[places],
            scores=scores[places],
            members=native.members.T != 0,
            bias=np.array(native.bias),
            moved=self._moved.copy(),
            new_places=used,
            new_rows=self._features(used) if len(used) else self._rows[0][:0],
        )

    def _reserve(self) -> None:
        """Reserve the rows outside of the model that are nearest to the margin."""
        learner = self.learner
        if (most := learner._reserve_size()) == 0:
            return
        answers = [answer for answer in self.exchange.nearest(self._change(), most) if len(answer[1])]
        if not answers:
            return
        margins = np.concatenate([margins for _, margins in answers])
        rows = _joined([part for part, _ in answers])
        chosen = np.sort(np.argsort(margins, kind="stable")[:most])
        # Their ids become numbers with those of the other rows.
        places = np.arange(len(chosen)) + len(self._numbers)
        self._numbers = np.concatenate([self._numbers, rows.ids[chosen]])
        parts = (rows.X[chosen], places, rows.labels[chosen], rows.costs[chosen], margins[chosen])
        learner._machine.reserve(*parts, most)


def join_classes(plan: Plan, models: Sequence[Any], ids: Sequence[Ints], labels: Sequence[Any]) -> Any:
    """One learner from those of each class against the rest; it has no reserve.

    Parameters
    ----------
    plan : Plan
        The plan of all classes.
    models : sequence of learners
        The learner of each class.
    ids, labels : sequence of ndarray
        Numbers and class numbers of the rows that each of them keeps.
    """
    learner = plan.begin()
    learner._machine = Machine.one_vs_rest([model._machine for model in models], ids, labels)
    learner._configure()
    learner._machine.native.set_iterations(plan.rows)
    learner._rows_seen, learner._label_counts = plan.rows, plan.counts.copy()
    learner.n_rounds_ = max(model.n_rounds_ for model in models)
    return learner


def _joined(parts: Sequence[LabeledRows]) -> LabeledRows:
    return LabeledRows(
        stack([part.X for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate([part.costs for part in parts]),
        np.concatenate([part.ids for part in parts]),
    )
