"""Parts that are clusters of rows: kernel k-means of a sample, and the cluster of any row.

C.-J. Hsieh, S. Si, I. Dhillon, "A Divide-and-Conquer Solver for Kernel Support Vector Machines", ICML 2014,
section 4: few coefficients of the SVM of all rows differ from those of the SVMs of the clusters, because
kernel values between clusters are small. And the SVM of the cluster nearest to a row is an early answer.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .kernels import Kernel
from .parts import Part
from .validate import Ints, Rows

Floats = npt.NDArray[np.float64]

SAMPLE = 1000  # rows of which clusters are found, as in the paper
_MOST_ROUNDS = 100
_ROWS_PER_CALL = 8192


@dataclass
class Clusters:
    """Centers in the feature space of a kernel: means of rows of a sample."""

    kernel: Kernel
    sample: Rows
    shares: Floats  # of shape (n_sample, n_clusters): 1 / size for the members of a cluster
    offsets: Floats  # the squared length of each center

    @classmethod
    def of(cls, kernel: Kernel, sample: Rows, count: int, random: np.random.RandomState) -> "Clusters":
        """Find clusters by kernel k-means, from seeds that are far apart; at most ``count``."""
        K = kernel.values(sample, sample)
        labels = _seeded(K, count, random)
        for _ in range(_MOST_ROUNDS):
            shares = _shares(labels)
            offsets = np.einsum("sc,sc->c", shares, K @ shares)
            new = np.argmin(offsets - 2 * K @ shares, axis=1)
            if np.array_equal(new, labels):
                break
            labels = new
        shares = _shares(labels)
        return cls(kernel, sample, shares, np.einsum("sc,sc->c", shares, K @ shares))

    def __len__(self) -> int:
        return len(self.offsets)

    def nearest(self, X: Rows) -> Ints:
        """The number of the nearest center for each row."""
        found = np.zeros(X.shape[0], dtype=np.int64)
        for start in range(0, X.shape[0], _ROWS_PER_CALL):
            some = X[start : start + _ROWS_PER_CALL]
            values = self.kernel.values(some, self.sample)
            found[start : start + _ROWS_PER_CALL] = np.argmin(self.offsets - 2 * values @ self.shares, axis=1)
        return found


def _shares(labels: Ints) -> Floats:
    members = labels[:, np.newaxis] == np.unique(labels)
    return np.asarray(members / members.sum(axis=0))


def _seeded(K: Floats, count: int, random: np.random.RandomState) -> Ints:
    """Clusters around seeds: each is drawn with a probability proportional to its squared distance."""
    own = K.diagonal()
    seeds = [int(random.randint(len(K)))]
    nearest = own + own[seeds[0]] - 2 * K[:, seeds[0]]
    while len(seeds) < min(count, len(K)) and nearest.max() > 1e-12 * own.max():
        weights = np.maximum(nearest, 0)
        seeds.append(int(random.choice(len(K), p=weights / weights.sum())))
        nearest = np.minimum(nearest, own + own[seeds[-1]] - 2 * K[:, seeds[-1]])
    return np.asarray(np.argmin(own[seeds] - 2 * K[:, seeds], axis=1))


def sample_of(part: Part, share: float, seed: int) -> Rows:
    """A share of the rows of a part, at random."""
    count = part.X.shape[0]
    drawn = np.random.RandomState(seed).permutation(count)[: int(np.ceil(share * count))]
    return part.X[np.sort(drawn)]


def divide(part: Part, clusters: Clusters, first: int) -> list[Part]:
    """Divide the rows of a part, the first of which has this number, into those of each cluster."""
    labels = clusters.nearest(part.X) if part.X.shape[0] else np.zeros(0, dtype=np.int64)
    places = [np.flatnonzero(labels == number) for number in range(len(clusters))]
    return [Part(part.X[at], part.y[at], part.weights[at], part.names, at + first) for at in places]


def unite(pieces: list[Part]) -> Part:
    """One part from pieces of others."""
    filled = [piece for piece in pieces if len(piece.y)]
    if not filled:
        return pieces[0]
    X = [piece.X for piece in filled]
    rows = sparse.vstack(X, format="csr") if sparse.issparse(X[0]) else np.vstack(X)
    y, weights = (np.concatenate([getattr(piece, name) for piece in filled]) for name in ("y", "weights"))
    numbers = np.concatenate([piece.numbers for piece in filled if piece.numbers is not None])
    return Part(rows, y, weights, filled[0].names, numbers)


def names_of(part: Part, places: Ints) -> Ints:
    """The numbers that rows of a part had before they were divided."""
    if part.numbers is None:
        raise ValueError("The part was not divided.")
    return np.asarray(part.numbers[places])
