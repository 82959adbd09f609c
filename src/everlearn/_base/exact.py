"""Exact training: rows outside of the model are learned if they violate their condition, until none does.

The optimum over the rows that are kept is the optimum over all rows as soon as every row x with label y that
is not kept satisfies

    y f(x) >= 1 - tol / 2        or, without a bias,    y f(x) >= 1 - tol.

`fit` has all its rows. It learns them in chunks, each as large as all chunks before: of a chunk, only the
rows that violate their condition under the model so far. Or it passes over all rows one by one, and drops
those whose coefficient is zero and cannot move. Either way it ends by checking the rows that are not kept. A
stream does not come back, but its machine keeps a reserve of dropped rows.

Three things keep checking cheap in `fit`. A score follows only the coefficients that have changed since it
was last computed. Pixels, counts and flags are scored as 8-bit integers. And a row far from the margin
needs no new score while

    y f(x) - ||w - w_then|| sqrt(k(x, x)) - |b - b_then| >= 1,

where w is the weight vector in feature space, and "then" is when the row was last scored.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from tqdm.auto import tqdm

from .constraints import NONE, integer_from, one_of
from .kernels import is_built_in
from .learner import LabeledRows
from .machine import Machine
from .merging import RowUnion, learn_rows
from .online import FinishingLearner
from .parameters import Table
from .validate import Ints, Rows

Floats = npt.NDArray[np.float64]

# Rows with y f(x) below 1 + _NEAR are checked in every round, the others at the end.
_NEAR = 0.25
# Between two calls of the core Python can stop on Ctrl-C. A call prepares all sources, so it has thousands of
# targets, and more of them if there are few sources.
_TARGETS_PER_CALL, _VALUES_PER_CALL = 8192, 200_000_000
# Rows of the first chunk, which are learned one by one.
_FIRST_CHUNK = 4000
# As long as many rows are missing, precision is wasted: a coarse solution is enough to find them. This is the
# tolerance of chunks and of the first rounds; it falls to a tenth when fewer than FEW_ROWS violate theirs.
COARSE_TOL = 0.1
FEW_ROWS = 100
# Violations that are below this fraction of what a coarse tolerance allows are left for later.
_NOTED = 0.3
# Far more than a problem that can converge needs: three to eight rounds are usual.
_MAX_ROUNDS = 200
# Parameters of a fit that solves the problem of all rows.
_ALL_ROWS = {
    "epochs": 1,
    "finishing": "all",
    "delta_max": None,
    "selection": "random",
    "max_iter": -1,
    "early_stopping": False,
}
# Rounds in which optimizing may end above its tolerance, because steps no longer change the model.
_MAX_UNSOLVED = 3


class RowSource(Protocol):
    """Rows outside of the model that may have to be learned again."""

    def check_near(self, limit: float) -> Ints:
        """Some of the rows that violate their condition by more than ``limit``."""

    def check_all(self, limit: float) -> Ints:
        """All rows that violate their condition by more than ``limit``."""


class ExactLearner(FinishingLearner):
    """Capability: look again at rows that were dropped.

    With ``finishing="all"``, `fit` solves the problem of all its rows, kept or not. `finish` and `forget`
    solve that of the rows kept and of those in the reserve.
    """

    EXACT: ClassVar[Table] = {"finishing": NONE | one_of("all", "kept"), "reserve": integer_from(0)}
    n_rounds_: int
    _mergeable: ClassVar[bool] = True

    def _learn_union(self, union: RowUnion) -> None:
        learn_rows(self, union, **_ALL_ROWS)

    def _reserve_size(self) -> int:
        """The capacity of the reserve; rows that are kernel values cannot be in one."""
        return int(self.reserve) if is_built_in(self.kernel) else 0

    def _conclude(self, rows: LabeledRows, learned: Ints) -> None:
        self.n_rounds_ = 0
        super()._conclude(rows, learned)

    def _finish_fit(self, rows: LabeledRows, learned: Ints) -> None:
        if self.finishing == "kept":
            super()._finish_fit(rows, learned)
            return
        scores = self._scores_of(rows, learned)
        self.n_rounds_ = self._solve(
            scores, partial(self._learn_again, rows, scores), "finishing", stacklevel=5
        )
        self._reserve_nearest(rows, scores)

    def _learn_again(self, rows: LabeledRows, scores: "RowScores | None", which: Ints) -> None:
        """Learn rows that violate their condition; some may be kept, but not by every binary problem."""
        self._feed(self._machine.native.learn, rows, which)

    def _reserve_nearest(self, rows: LabeledRows, scores: "RowScores") -> None:
        """Reserve the rows outside of the model that are nearest to the margin."""
        if (most := self._reserve_size()) == 0:
            return
        near, margins = scores.nearest(most)
        parts = (rows.X[near], rows.ids[near], rows.labels[near], rows.costs[near])
        self._machine.reserve(*parts, margins, most)

    def _join(self, rows: LabeledRows, which: Ints, scores: "RowScores | None" = None) -> None:
        """Let rows that are not kept join all binary problems."""
        native = self._machine.native
        sums = None if scores is None else scores.as_model(which)
        if sums is None:
            self._feed(native.seed, rows, which)
        else:
            self._feed(lambda *parts: native.seed_scored(*parts, sums), rows, which)

    def _learn_in_chunks(self, rows: LabeledRows, order: Ints, first: Ints) -> None:
        """Learn rows in chunks; of all but the first one, only those that violate their condition.

        Parameters
        ----------
        rows : LabeledRows
            The rows of the fit.
        order : ndarray
            Numbers of the rows to learn, in random order.
        first : ndarray
            Places in ``order`` of rows that belong to the first chunk in any case: a few of each class.
        """
        native, tol = self._machine.native, max(self.tol, COARSE_TOL)
        rest = np.delete(order, first)
        progress = tqdm(total=len(order), desc="learning", unit="row", disable=not self.verbose)
        try:
            with self._machine.changed(tau=tol, reserve=0), progress as bar:
                self._feed(native.seed, rows, order[first])
                chunk, rest = np.split(rest, [min(_FIRST_CHUNK, len(rest))])
                self._feed(native.learn, rows, chunk)
                bar.update(len(order) - len(rest))
                while len(rest):
                    chunk, rest = np.split(rest, [min(len(order) - len(rest), len(rest))])
                    scores = self._scores_of(rows, chunk)
                    needed = scores.check_all(self._allowed(tol))
                    self._join(rows, needed, scores)
                    self._optimize(native.finish, "optimizing")
                    bar.update(len(chunk))
                    bar.set_postfix(kept=native.size)
        finally:
            native.set_iterations(len(order) - len(rest))  # rows that were only scored count, too

    def _scores_of(self, rows: LabeledRows, which: Ints) -> "RowScores":
        """Scores of some rows of a fit, none of which is computed yet."""
        decide = None if self._foreign is None else self.score_validated
        return RowScores(self._machine, rows, which, decide, bool(self.verbose))

    def _allowed(self, tol: float) -> float:
        """The violation that rows outside of the model may have, if the model is optimal to ``tol``."""
        limit = max(_NOTED * tol, self.tol)
        return float(limit / 2 if self._has_bias else limit)

    def _finish_stream(self, title: str) -> None:
        if self._reserve_size() == 0:
            super()._finish_stream(title)
        else:
            native = self._machine.native
            self._solve(RowsInMemory(native), native.relearn, title, stacklevel=4)

    def _solve(self, others: RowSource, learn: Callable[[Ints], None], title: str, stacklevel: int) -> int:
        """Find the optimum over the rows kept and others; returns how many times others were learned."""
        native, usual = self._machine.native, self._machine.parameters
        iterations, tol, check = native.iterations, max(self.tol, COARSE_TOL), others.check_all
        rounds = unsolved = 0
        try:
            while True:
                native.set_parameters(**(usual | {"tau": tol}))
                self._optimize(native.finish, title)
                unsolved += self._violation() > tol
                violating = check(self._allowed(tol))
                if len(violating) == 0 and tol <= self.tol:
                    if check != others.check_all:
                        violating = others.check_all(self._allowed(tol))
                    if len(violating) == 0:
                        break
                if rounds == _MAX_ROUNDS or unsolved > _MAX_UNSOLVED:
                    break
                if len(violating) < FEW_ROWS:
                    tol = max(tol / 10, self.tol)
                if len(violating):
                    learn(violating)
                    rounds += 1
                if rounds == _MAX_ROUNDS:
                    tol = self.tol
                check = others.check_near
        finally:
            native.set_parameters(**usual)
            native.set_iterations(iterations)  # no row counts twice
        if len(violating):
            warnings.warn(
                f"Training stopped after {rounds} rounds with {len(violating)} rows that violate their "
                f"optimality conditions by more than tol={self.tol:g}: choose a larger tol or a smaller C; "
                "the kernel may also not be positive definite.",
                ConvergenceWarning,
                stacklevel=stacklevel,
            )
        return rounds


class RowsInMemory:
    """The rows in the reserve of a native machine and those that not every binary problem keeps."""

    def __init__(self, native: Any) -> None:
        self.check_near = self.check_all = native.violating


class _Group:
    """Rows that were scored at the same time, and the model at that time."""

    def __init__(self, places: Ints, coefficients: Floats, scores: Floats, bias: Floats) -> None:
        self.places = places
        self.coefficients = coefficients  # of every row of the fit, one column for each binary problem
        self.scores = scores  # of every row of the fit
        self.bias = bias
        self.known = np.zeros(len(scores), dtype=bool)  # rows whose scores were those of that model
        self.known[places] = True


class RowScores:
    """Scores of the rows of a `fit`: the sums of alpha_s k(x_s, x), without the bias.

    Parameters
    ----------
    machine : Machine
        The machine that learned the rows. Ids are row numbers.
    rows : LabeledRows
        The rows of the fit.
    learned : ndarray
        Numbers of the rows that count.
    decide : callable or None
        Decision values of rows, where the kernel is not that of the core.
    verbose : bool
        Whether to show progress.
    """

    def __init__(
        self,
        machine: Machine,
        rows: LabeledRows,
        learned: Ints,
        decide: Callable[[Rows], Floats] | None,
        verbose: bool,
    ) -> None:
        self._machine, self._rows, self._decide, self._verbose = machine, rows, decide, verbose
        columns = len(machine.native.bias)
        numbers = np.arange(columns) if columns > 1 else np.array([1])
        self._signs = np.where(rows.labels[:, np.newaxis] == numbers, 1.0, -1.0)
        self._scores = np.zeros(self._signs.shape)
        nothing = np.zeros(self._signs.shape)
        self._near = _Group(learned, nothing, nothing, np.zeros(columns))
        self._far: list[_Group] = []
        # 8-bit integers are quicker, but their kernel values differ from those of the model in the last bits.
        self._step = rows.byte_step if machine.native.takes_bytes else 0.0

    def as_model(self, places: Ints) -> Floats | None:
        """The scores of all rows; those of ``places`` have the kernel values of the model, bit for bit.

        None where kernel values are costly: most kernel rows will be needed, and are then computed together.
        """
        if self._machine.native.costly:
            return None
        if self._step > 0:
            self._score_as_model(places)
        return self._scores

    def check_near(self, limit: float) -> Ints:
        """Rows near the margin that violate their condition by more than ``limit``."""
        self._refresh(self._near)
        return self._violating(limit)

    def _violating(self, limit: float) -> Ints:
        """Of the rows scored last, those that violate their condition."""
        native = self._machine.native
        outside = np.ones(self._signs.shape, dtype=bool)
        outside[native.ids] = native.members.T == 0

        def among(places: Ints) -> Ints:
            return places[((self._margins(places) < 1 - limit) & outside[places]).any(axis=1)]

        violating = among(self._near.places)
        if self._step == 0 or len(violating) >= FEW_ROWS:
            return violating
        self._score_as_model(violating)  # or a row that only rounding puts here would be learned without end
        return among(violating)

    def _score_as_model(self, places: Ints) -> None:
        """Score rows from scratch, with kernel values that are those of the model bit for bit."""
        native = self._machine.native
        used = native.alpha.any(axis=0)
        sources, weights = native.ids[used], np.ascontiguousarray(native.alpha[:, used])
        others = places[~self._kept(places)]
        self._scores[others] = 0
        self._add(sources, weights, others, 0.0)

    def check_all(self, limit: float) -> Ints:
        """Rows that violate their condition by more than ``limit``."""
        self._refresh(self._near)
        for group in self._far:
            doubtful = self._doubtful(group)
            group.places = np.setdiff1d(group.places, doubtful, assume_unique=True)
            self._refresh(_Group(doubtful, group.coefficients, group.scores, group.bias))
            self._near.places = np.concatenate([self._near.places, doubtful])
        self._divide()
        return self._violating(limit)

    def nearest(self, most: int) -> tuple[Ints, Floats]:
        """Up to ``most`` rows that are not kept, those with the smallest margins, and these margins."""
        places = np.sort(np.concatenate([self._near.places, *(group.places for group in self._far)]))
        places = places[~self._kept(places)]
        margins = self._margins(places).min(axis=1)
        chosen = np.sort(np.argsort(margins, kind="stable")[:most])
        return places[chosen], margins[chosen]

    def _margins(self, places: Ints) -> Floats:
        return np.asarray(self._signs[places] * (self._scores[places] + self._machine.native.bias))

    def _kept(self, places: Ints) -> npt.NDArray[np.bool_]:
        kept = np.zeros(len(self._scores), dtype=bool)
        kept[self._machine.native.ids] = True
        return kept[places]

    def _doubtful(self, group: _Group) -> Ints:
        """The rows of a far group that may violate their condition."""
        if self._decide is not None or not self._machine.kernel.unit_diagonal:
            return group.places
        moved = self._moved_since(group) + np.abs(self._near.bias - group.bias)
        margins = self._signs[group.places] * (self._scores[group.places] + group.bias)
        return np.asarray(group.places[(margins - moved < 1).any(axis=1)])

    def _moved_since(self, group: _Group) -> Floats:
        """How far w has moved since a group was scored, column by column; infinity where that is unknown."""
        change = self._near.coefficients - group.coefficients
        known = np.zeros(len(change), dtype=bool)
        known[self._near.places] = True
        if not (known & group.known)[change.any(axis=1)].all():
            return np.full(change.shape[1], np.inf)  # a score of the sum below is missing
        # ||w - w_then||^2 = sum over s of (alpha_s - alpha_s then) (f(x_s) - f_then(x_s))
        squares = np.einsum("sc,sc->c", change, self._scores - group.scores)
        return np.asarray(np.sqrt(np.maximum(squares, 0)))

    def _divide(self) -> None:
        """Keep near rows, and those that are kept, among those scored last; the others become a far group."""
        group = self._near
        near = (self._margins(group.places) < 1 + _NEAR).any(axis=1) | self._kept(group.places)
        far = _Group(group.places[~near], group.coefficients, self._scores.copy(), group.bias)
        far.known[group.places] = True
        self._far = [other for other in (*self._far, far) if len(other.places)]
        group.places = group.places[near]

    def _refresh(self, group: _Group) -> None:
        """Bring the scores of a group up to date."""
        native = self._machine.native
        coefficients = np.zeros(self._scores.shape)
        coefficients[native.ids] = native.alpha.T
        change = coefficients - group.coefficients
        sources = np.flatnonzero(change.any(axis=1))
        weights = np.ascontiguousarray(change[sources].T)
        targets = group.places[~self._kept(group.places)] if len(sources) else group.places[:0]
        self._add(sources, weights, targets, self._step)
        self._scores[native.ids] = self._signs[native.ids] - native.gradients.T
        group.coefficients, group.bias = coefficients, np.array(native.bias)

    def _add(self, sources: Ints, weights: Floats, targets: Ints, step: float) -> None:
        """Add to the scores of rows what other rows, whose coefficients have changed, contribute now."""
        native = self._machine.native
        at_once = max(_TARGETS_PER_CALL, _VALUES_PER_CALL // max(1, len(sources)))
        quick = len(targets) <= at_once
        with tqdm(total=len(targets), desc="checking", unit="row", disable=quick or not self._verbose) as bar:
            for start in range(0, len(targets), at_once):
                some = targets[start : start + at_once]
                if self._decide is not None:
                    self._scores[some] = self._decide(self._rows.X[some]) - native.bias
                else:
                    native.add_kernel_sums(self._rows.block, sources, weights, some, self._scores, step)
                    native.evaluations += len(sources) * len(some)
                bar.update(len(some))
