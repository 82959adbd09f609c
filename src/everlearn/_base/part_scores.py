"""Scores of the rows of one part against a model that is elsewhere.

This is `exact.RowScores` for rows that the solver does not have: the model arrives as a `ModelChange`, rows
that violate their condition go back as `Violators`. Here, too, a score follows only the coefficients that
have changed, and a row far from the margin needs no new score while

    y f(x) - (the distance that w has moved since) sqrt(k(x, x)) - |b - b_then| >= 1.

Nothing is changed in place: checking a state gives a new one, so that a state that was lost can be computed
again from the ones before.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .learner import LabeledRows
from .machine import Machine
from .validate import Ints, Rows, as_block

Floats = npt.NDArray[np.float64]

# Rows with y f(x) below 1 + _NEAR are checked in every round, the others at the end.
_NEAR = 0.25
# A part sends at most as many rows at once as the solver keeps, or this many: the worst. Where few rows are
# support vectors, a model to a coarse tolerance may have tens of thousands of violators (KDD-99, C=10,000),
# nearly all of which are satisfied when the worst ones were learned.
_MOST_SENT = 1000
_TARGETS_PER_CALL = 8192


@dataclass
class ModelChange:
    """The model of the solver, with the features of rows that were not in an earlier one.

    Rows of the solver have places, in the order in which they arrived there; numbers are those of all parts.
    """

    count: int  # places so far
    places: Ints  # of the rows kept
    numbers: Ints
    alpha: Floats  # of shape (n_kept, n_columns), like scores and members
    scores: Floats
    members: npt.NDArray[np.bool_]
    bias: Floats
    moved: Floats  # how far w has moved so far, at most, in each column
    new_places: Ints
    new_rows: Rows

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (self.places, self.numbers, self.alpha, self.scores, self.members, self.bias, self.moved)
        return sum(array.nbytes for array in (*arrays, self.new_places)) + bytes_of(self.new_rows)


@dataclass
class Violators:
    """Rows that violate their condition; features only of those that were not sent before."""

    numbers: Ints  # of all parts
    scores: Floats
    new: LabeledRows
    evaluations: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        new = self.new
        arrays = (self.numbers, self.scores, new.labels, new.costs, new.ids)
        return sum(array.nbytes for array in arrays) + bytes_of(new.X)


@dataclass
class Group:
    """Rows that were scored at the same time, and the model at that time."""

    rows: Ints
    alpha: Floats  # by place
    bias: Floats
    moved: Floats


@dataclass
class PartState:
    """What a part remembers between two checks."""

    first: int  # the number of its first row
    scores: Floats
    sent: npt.NDArray[np.bool_]  # rows whose features the solver has
    near: Group  # scored in every check; has all rows that the solver keeps
    far: list[Group]  # at first, one for each chunk
    sources: list[tuple[Ints, Rows]] = field(default_factory=list)  # places and rows of the solver


def bytes_of(rows: Rows) -> int:
    """Bytes of rows, dense or sparse."""
    if sparse.issparse(rows):
        return int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    return int(rows.nbytes)


def stack(parts: list[Rows]) -> Rows:
    """Rows below each other."""
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def signs_of(labels: npt.NDArray[np.int32], columns: int) -> Floats:
    """+1 or -1 for each label in each column."""
    numbers = np.arange(columns) if columns > 1 else np.array([1])
    return np.where(labels[:, np.newaxis] == numbers, 1.0, -1.0)


def begin_state(rows: LabeledRows, first: int, columns: int, sent: Ints, chunks: list[Ints]) -> PartState:
    """The state before the first check; the rows ``sent``, of the first chunk, have been sent already."""
    count = len(rows.labels)
    flags = np.zeros(count, dtype=bool)
    flags[sent] = True
    unscored = Group(np.sort(sent), np.zeros((0, columns)), np.zeros(columns), np.zeros(columns))
    others = [np.setdiff1d(chunks[0], sent), *(np.sort(chunk) for chunk in chunks[1:])]
    far = [replace(unscored, rows=chunk) for chunk in others]
    return PartState(first, np.zeros((count, columns)), flags, unscored, far)


def take_rows(rows: LabeledRows, which: Ints, first: int) -> LabeledRows:
    """Some rows of a part, with the numbers that they have among all rows."""
    return LabeledRows(rows.X[which], rows.labels[which], rows.costs[which], which + first)


class Check:
    """One check of a part."""

    def __init__(self, rows: LabeledRows, state: PartState, model: ModelChange, machine: Machine) -> None:
        self.rows, self.model, self.machine = rows, model, machine
        sources = list(state.sources)
        if len(model.new_places):
            sources.append((model.new_places, model.new_rows))
        near = replace(state.near)
        self.state = replace(
            state,
            scores=state.scores.copy(),
            sent=state.sent.copy(),
            near=near,
            far=[replace(group) for group in state.far],
            sources=sources,
        )
        columns = len(model.bias)
        self.signs = signs_of(rows.labels, columns)
        self.alpha = np.zeros((model.count, columns))
        self.alpha[model.places] = model.alpha
        own = (model.numbers >= state.first) & (model.numbers < state.first + len(rows.labels))
        self.kept = model.numbers[own] - state.first
        self.is_kept = np.zeros(len(rows.labels), dtype=bool)
        self.is_kept[self.kept] = True
        self.members = np.zeros(self.signs.shape, dtype=bool)
        self.members[self.kept] = model.members[own]
        self.kept_scores = model.scores[own]
        self.most_sent = max(_MOST_SENT, len(model.places))
        self.evaluations = 0

    def run(self, limit: float, everything: bool) -> tuple[PartState, Violators]:
        """Find rows that violate their condition by more than ``limit``."""
        state = self.state
        self._refresh(state.near)
        if everything:
            self._recall_far()
        found = self._violating(state.near.rows, limit)
        if everything:
            self._divide()
        return state, self._sent(found)

    def run_chunk(self, limit: float, number: int) -> tuple[PartState, Violators]:
        """Of one chunk, after those before it, find rows that violate their condition."""
        state = self.state
        self._refresh(state.near)
        found = np.zeros(0, dtype=np.int64)
        if number < len(state.far):
            chunk = state.far[number]
            self._refresh(chunk)
            found = self._violating(chunk.rows, limit)
            chunk.rows = np.setdiff1d(chunk.rows, found, assume_unique=True)
            state.near.rows = np.concatenate([state.near.rows, found])
        return state, self._sent(found)

    def _violating(self, places: Ints, limit: float) -> Ints:
        """The rows that violate their condition, or the worst ones of very many."""
        margins = np.where(self.members[places], np.inf, self._margins(places)).min(axis=1, initial=np.inf)
        bad = np.flatnonzero(margins < 1 - limit)
        most = self.most_sent
        if len(bad) > most:
            bad = bad[np.argsort(margins[bad], kind="stable")[:most]]
        return np.sort(places[bad])

    def _sent(self, found: Ints) -> Violators:
        """The answer with these rows."""
        state = self.state
        new = found[~state.sent[found]]
        state.sent[new] = True
        taken = take_rows(self.rows, new, state.first)
        return Violators(found + state.first, state.scores[found], taken, self.evaluations)

    def nearest(self, most: int) -> tuple[LabeledRows, Floats]:
        """Up to ``most`` rows outside of the model, those with the smallest margins, and these margins."""
        state = self.state
        self._refresh(state.near)
        rows = np.sort(np.concatenate([state.near.rows, *(group.rows for group in state.far)]))
        rows = rows[~self.is_kept[rows]]
        margins = self._margins(rows).min(axis=1, initial=np.inf)
        chosen = np.sort(np.argsort(margins, kind="stable")[:most])
        return take_rows(self.rows, rows[chosen], state.first), margins[chosen]

    def _margins(self, places: Ints) -> Floats:
        return np.asarray(self.signs[places] * (self.state.scores[places] + self.model.bias))

    def _refresh(self, group: Group) -> None:
        """Bring the scores of a group up to date."""
        before = np.zeros(self.alpha.shape)
        before[: len(group.alpha)] = group.alpha
        change = self.alpha - before
        sources = np.flatnonzero(change.any(axis=1))
        targets = group.rows[~self.is_kept[group.rows]] if len(sources) else group.rows[:0]
        if len(targets):
            self._add(sources, np.ascontiguousarray(change[sources].T), targets)
        self.state.scores[self.kept] = self.kept_scores
        group.alpha, group.bias, group.moved = self.alpha, self.model.bias, self.model.moved

    def _add(self, sources: Ints, weights: Floats, targets: Ints) -> None:
        places = np.concatenate([places for places, _ in self.state.sources])
        order = np.argsort(places)
        at = order[np.searchsorted(places[order], sources)]
        rows = stack([rows for _, rows in self.state.sources])[at]
        from_ = np.arange(len(sources))
        for start in range(0, len(targets), _TARGETS_PER_CALL):
            some = targets[start : start + _TARGETS_PER_CALL]
            block = as_block(stack([rows, self.rows.X[some]]))
            sums = np.zeros((len(sources) + len(some), weights.shape[0]))
            to = np.arange(len(sources), len(sums))
            self.machine.native.add_kernel_sums(block, from_, weights, to, sums)
            self.state.scores[some] += sums[len(sources) :]
            self.evaluations += len(sources) * len(some)

    def _recall_far(self) -> None:
        """Score far rows again that may violate their condition; they are near now."""
        state = self.state
        for group in state.far:
            doubtful = self._doubtful(group)
            group.rows = np.setdiff1d(group.rows, doubtful, assume_unique=True)
            self._refresh(Group(doubtful, group.alpha, group.bias, group.moved))
            state.near.rows = np.concatenate([state.near.rows, doubtful])

    def _doubtful(self, group: Group) -> Ints:
        if not self.machine.kernel.unit_diagonal:
            return group.rows
        moved = self.model.moved - group.moved + np.abs(self.model.bias - group.bias)
        margins = self.signs[group.rows] * (self.state.scores[group.rows] + group.bias)
        return np.asarray(group.rows[(margins - moved < 1).any(axis=1)])

    def _divide(self) -> None:
        """Keep near rows, and those that are kept, among those scored last; the others become a far group."""
        group = self.state.near
        near = (self._margins(group.rows) < 1 + _NEAR).any(axis=1) | self.is_kept[group.rows]
        far = replace(group, rows=group.rows[~near])
        self.state.far = [other for other in (*self.state.far, far) if len(other.rows)]
        group.rows = group.rows[near]
