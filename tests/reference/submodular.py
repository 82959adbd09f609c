"""Plain NumPy choice of k of n rows by a linear term and pairwise similarities: the slow twin.

W. Emara, "A submodular optimization framework for never-ending learning" (2012), chapters III to V:

    maximize F(A) = Σ_{j∈A} w_j + q Σ_{j,j'∈A} K_jj'        over |A| = k; ordered pairs with the diagonal

q > 0 with labels of unlabeled rows (`reference.s3vm`), q < 0 with exemplars and questions. With K psd and
q > 0 some 0/1 vector maximizes the continuous form, too; with q < 0 that form is concave. Ties: lowest index.
"""

import heapq
from itertools import combinations
from typing import NamedTuple

import numpy as np

from reference.similarities import Stored


class Path(NamedTuple):
    order: list  # rows in the order taken: its prefix of any length is what greedy takes for that length
    gains: list  # what each added to F when it was taken
    evaluations: int  # gains computed, the first n of them for the empty set


def largest(scores, k):
    return np.sort(np.argsort(-np.asarray(scores), kind="stable")[:k])


class Choice:
    def __init__(self, K, w, q):
        self.K = K if hasattr(K, "block") else Stored(K)
        self.w, self.q, self.alone = np.asarray(w, float), float(q), self.K.diagonal()
        if not (np.all(np.isfinite(self.w)) and np.all(np.isfinite(self.alone)) and np.isfinite(q)):
            raise ValueError("w, q and K must be finite")

    def value(self, A):
        A = np.sort(np.asarray(A, int))
        p = np.isin(np.arange(len(self.w)), A).astype(float)
        return float(self.w[A].sum() + self.q * self.K.times(p)[A].sum())

    def slope(self, p):
        """The gradient of w'p + q p'Kp."""
        return self.w + 2 * self.q * self.K.times(np.asarray(p, float))

    def complement(self):
        """The same problem, but for a constant, in terms of the rows that are left out."""
        return Choice(self.K, -self.w - 2 * self.q * self.K.times(np.ones(len(self.w))), self.q)

    def rest(self, A):
        return np.setdiff1d(np.arange(len(self.w)), A)

    def plain(self, k):
        """Greedy: take the largest gain(m|A) = F(A + m) − F(A), k times."""
        gains, sums, n = self.w + self.q * self.alone, np.zeros(len(self.w)), len(self.w)
        path, left = Path([], [], sum(n - taken for taken in range(k))), np.ones(n, bool)
        for _ in range(k):
            raw = gains + 2 * self.q * sums
            m = int(np.argmax(np.where(left, raw, -np.inf)))
            left[m] = False
            path.order.append(m)
            path.gains.append(float(raw[m]))
            sums += self.K.block(range(n), [m])[:, 0]
        return path

    def lazy(self, k, h, slack=1e-12):
        """Greedy by a heap of bounds. `h` bounds 2q K_ij, i ≠ j, from above: then gain(m|A) − h |A| never
        rises as A grows, and what it was when last computed bounds what it is.

        A bound and the gain it bounds are rounded differently, so rows whose bound is within `slack` of the
        best gain are looked at, too; of gains themselves the larger wins by however little.
        """
        base, sums, n = self.w + self.q * self.alone, self.K.toward(), len(self.w)
        size = np.abs(base).max(initial=0)
        heap, at = [(-gain, m) for m, gain in enumerate(base)], np.zeros(n, int)
        path, evaluations = Path([], [], 0), n if k else 0
        heapq.heapify(heap)
        for taken in range(k):
            looked, best = [], (np.inf, -1)
            while heap and heap[0][0] <= best[0] + taken * h + slack * (size + taken * abs(h)):
                m = heapq.heappop(heap)[1]
                evaluations += at[m] < taken
                at[m] = taken
                looked.append((-float(base[m] + 2 * self.q * sums.of(m)), m))
                best = min(best, looked[-1])
            path.order.append(best[1])
            path.gains.append(-best[0])
            sums.take(best[1])
            for key, m in looked:
                if m != best[1]:
                    heapq.heappush(heap, (key + taken * h, m))
        return path._replace(evaluations=int(evaluations))

    def linearize(self, p, k):
        """Take the k largest slopes, again from there, while F rises. `p`: a set, or fractions of all rows.

        With K psd and q > 0 F is convex in p, so that no sweep lowers it; otherwise it may stop at once.
        """
        p = np.asarray(p)
        fractions = p.dtype.kind == "f" and len(p) == len(self.w)
        A = largest(self.slope(p), k) if fractions else np.sort(p.astype(int))
        value = self.value(A)
        while True:
            new = largest(self.slope(np.isin(np.arange(len(self.w)), A)), k)
            if (risen := self.value(new)) <= value:
                return A
            A, value = new, risen

    def swap(self, A, tol=1e-12):
        """Exchange one row for another, the best exchange first, while that raises F."""
        A = np.sort(np.asarray(A, int))
        while 0 < len(A) < len(self.w):
            out, slope = self.rest(A), self.slope(np.isin(np.arange(len(self.w)), A))
            pairs = self.alone[A][:, None] + self.alone[out] - 2 * self.K.block(A, out)
            rise = slope[out] - slope[A][:, None] + self.q * pairs
            i, j = np.unravel_index(np.argmax(rise), rise.shape)
            if rise[i, j] <= tol * (1 + np.abs(slope).max()):
                break
            A = np.sort(np.append(np.delete(A, i), out[j]))
        return A

    def two_sided(self, k, h, swaps=False):
        """Greedy for the rows to take and for those to leave, both refined: the larger F, or the first."""
        other, n = self.complement(), len(self.w)
        sides = [self.lazy(k, h).order, self.rest(other.lazy(n - k, h).order)]
        sides = [self.linearize(A, k) for A in sides]
        return max([self.swap(A) for A in sides] if swaps else sides, key=self.value)

    def best(self, k):
        """Try all: for tiny n."""
        return np.array(max(combinations(range(len(self.w)), k), key=self.value), int)
