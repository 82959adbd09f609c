"""The loop of VIRTUAL for one binary problem: active selection, and virtual rows of the minority class."""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.extmath import row_norms
from tqdm.auto import tqdm

from .._base.learner import LabeledRows
from .._base.machine import Machine
from .._base.selection import support_settled
from .._base.validate import Ints, Rows

if TYPE_CHECKING:
    from .virtual import VIRTUAL

_SEEDS_PER_CLASS = 5


class VirtualLoop:
    """One pass over the pool. Virtual rows are numbered after the rows of X.

    ``feed`` calls a learning method of the machine for rows of a block.

    Invariants: a row is learned at most once; every virtual row lies between a real support vector of the
    minority class and one of its nearest real neighbors of that class; virtual rows create no other rows.
    """

    def __init__(
        self,
        learner: "VIRTUAL",
        machine: Machine,
        feed: Callable[[Callable[..., None], LabeledRows, Ints], None],
        rows: LabeledRows,
        usable: Ints,
        rare: int,
        random: np.random.Generator,
    ) -> None:
        self.learner, self.rows, self.random = learner, rows, random
        self.machine, self.native, self.feed = machine, machine.native, feed
        self.rare = rare
        self.positives = usable[rows.labels[usable] == rare]
        self.usable = usable
        self.made: list[Rows] = []
        self.costs: list[float] = []
        self.learned = self.learned_real = 0
        order = random.permutation(usable).astype(np.int64)
        first = [np.flatnonzero(rows.labels[order] == number)[:_SEEDS_PER_CLASS] for number in (0, 1)]
        places = np.sort(np.concatenate(first))
        self.seeds = order[places]
        self.pool: list[int] = np.delete(order, places).tolist()
        self.may_spawn = [int(row) for row in self.seeds if rows.labels[row] == rare]

    def run(self) -> str:
        """Learn until the pool is empty or a stopping rule holds; returns the stop reason."""
        learner = self.learner
        self.feed(self.native.seed, self.rows, self.seeds)
        self.learned = self.learned_real = len(self.seeds)
        counts: deque[int] = deque(maxlen=int(learner.n_iter_no_change) + 1)
        with tqdm(total=len(self.pool), desc="learning", unit="row", disable=not learner.verbose) as bar:
            while self.pool:
                if 0 <= learner.max_iter <= self.learned:
                    return f"max_iter={learner.max_iter}: {self.learned} rows were learned"
                self.learn(self.choose())
                self.spawn_seeds()
                bar.update()
                bar.total = len(self.pool) + bar.n
                counts.append(int(np.count_nonzero(self.native.alpha)))
                last = list(counts)
                if learner.early_stopping and support_settled(
                    last, int(learner.n_iter_no_change), float(learner.rtol)
                ):
                    return (
                        f"the number of support vectors, {last[-1]}, changed by {max(last) - min(last)} over "
                        f"the last {learner.n_iter_no_change} rows"
                    )
        return "every row was learned"

    def learned_rows(self) -> Ints:
        """Row numbers of the rows of X that were learned."""
        return np.setdiff1d(self.usable, self.pool)

    def choose(self) -> int:
        """Remove from the pool, among randomly drawn rows, the one nearest to the boundary."""
        places = self.random.choice(
            len(self.pool), min(self.learner.pool_size, len(self.pool)), replace=False
        )
        numbers = [self.pool[place] for place in places]
        distance = np.abs(self.learner.score_validated(self.features(np.array(numbers)))[:, 0])
        best = int(places[np.argmin(distance)])
        chosen, self.pool[best] = self.pool[best], self.pool[-1]
        self.pool.pop()
        return int(chosen)

    def features(self, numbers: Ints) -> Rows:
        """Rows of X and virtual rows with these numbers, in this order."""
        total = len(self.rows.ids)
        virtual = numbers >= total
        if not virtual.any():
            return self.rows.X[numbers]
        stack = sparse.vstack if sparse.issparse(self.rows.X) else np.vstack
        parts = stack([self.rows.X[numbers[~virtual]], *(self.made[n - total] for n in numbers[virtual])])
        back = np.empty(len(numbers), dtype=np.intp)
        back[np.concatenate([np.flatnonzero(~virtual), np.flatnonzero(virtual)])] = np.arange(len(numbers))
        return sparse.csr_matrix(parts)[back] if sparse.issparse(parts) else parts[back]

    def learn(self, number: int) -> None:
        """Learn a row; a real minority row that becomes a support vector adds virtual rows."""
        total = len(self.rows.ids)
        self.learned += 1
        if number < total:
            self.feed(self.native.learn, self.rows, np.array([number]))
            self.learned_real += 1
            if self.rows.labels[number] == self.rare and number in self.support():
                self.make(number)
            return
        made = number - total
        one = LabeledRows(
            self.made[made],
            np.array([self.rare], dtype=np.int32),
            np.array([self.costs[made]]),
            np.array([number], dtype=np.int64),
        )
        self.feed(self.native.learn, one, np.zeros(1, dtype=np.int64))

    def support(self) -> Ints:
        """Numbers of the support vectors."""
        return np.asarray(self.native.ids[self.native.alpha[0] != 0])

    def spawn_seeds(self) -> None:
        """Add virtual rows for initial rows that have become support vectors, which may happen late."""
        if self.may_spawn:
            for row in np.intersect1d(self.may_spawn, self.support()):
                self.make(int(row))
                self.may_spawn.remove(int(row))

    def make(self, row: int) -> None:
        """Add virtual rows between a row and random nearest neighbors to the pool."""
        others = self.positives[self.positives != row]
        if len(others) == 0 or self.learner.n_virtual == 0:
            return
        near = others[np.argsort(self.distances(row, others), kind="stable")[: self.learner.n_neighbors]]
        for _ in range(self.learner.n_virtual):
            other, fraction = int(self.random.choice(near)), self.random.random()
            X = self.rows.X
            self.pool.append(len(self.rows.ids) + len(self.made))
            self.made.append((fraction * X[[row]] + (1 - fraction) * X[[other]]).astype(X.dtype))
            self.costs.append(float(self.rows.costs[row]))

    def distances(self, row: int, others: Ints) -> npt.NDArray[np.float64]:
        """K(m, m) - 2 K(q, m), which sorts rows like their distances in feature space."""
        X, learner = self.rows.X, self.learner
        if callable(learner.kernel):
            own = np.array([float(np.asarray(learner.kernel(X[[m]], X[[m]]))[0, 0]) for m in others])
            return np.asarray(own - 2 * np.asarray(learner.kernel(X[[row]], X[others]))[0])
        kernel = self.machine.kernel
        values = kernel.values(X[[row]], X[others])[0]
        if kernel.unit_diagonal:  # the same order, with less rounding
            return np.asarray(-values)
        return np.asarray(kernel.diagonal(row_norms(X[others], squared=True)) - 2 * values)
