"""Small fits that take every path of the CUDA backend once, for compute-sanitizer.

All, or those whose numbers are given.
"""

import sys

import numpy as np
from scipy import sparse

from everlearn import LASVM
from everlearn._base import device

random = np.random.default_rng(0)


def fits(rows, columns, classes, **options):
    """Dense and sparse rows; under a sanitizer, a pair step takes long, so the tolerance is large."""
    X = random.normal(size=(rows, columns)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (classes > 2) * (X[:, 2] > 1)
    clf = LASVM(device="cuda", tol=0.05, **options).fit(X, y)
    same = LASVM(device="cuda", tol=0.05, **options).fit(sparse.csr_matrix(X), y)
    print(clf.score(X, y), same.score(X, y), flush=True)


def predictions():
    """Rows of the host by several threads, for three columns and for sums of more than one pinned piece."""
    Z = random.normal(size=(300, 40)).astype(np.float32)
    options = {"kernel": "rbf", "gamma": 0.05, "coef0": 0.0, "degree": 3, "shift": np.zeros(0)}
    scorer = device.cuda_module().Scorer(Z, random.normal(size=(3, 300)).astype(np.float32), **options)
    for rows in (100, 80_000):
        print(scorer.scores(random.normal(size=(rows, 40)).astype(np.float32), [0.0] * 3).sum(), flush=True)


def sweeps(rows, columns):
    """A semi-supervised cut."""
    found = device.cuda_module().Sweeps(random.normal(size=(rows, columns)))
    marks = (np.arange(rows) % 3 == 0).astype(np.uint8)
    print(found.linearize(random.normal(size=rows), 0.1, marks, rows // 3).sum(), flush=True)


CASES = (
    lambda: fits(1500, 20, 2),
    lambda: fits(1500, 150, 2),
    lambda: fits(1500, 150, 3, cache_size=20),
    lambda: fits(200, 40, 2, kernel="linear"),
    lambda: fits(200, 90, 2, kernel="cosine"),
    lambda: fits(200, 40, 2, kernel="laplacian"),
    lambda: fits(300, 5, 2),
    lambda: fits(6000, 70, 2, C=0.1),
    predictions,
    lambda: sweeps(900, 40),
    lambda: sweeps(5000, 7),
)

if __name__ == "__main__":
    for number in [int(word) for word in sys.argv[1:]] or range(len(CASES)):
        print(f"case {number} of {len(CASES)}", flush=True)
        CASES[number]()
