"""Small fits that take every path of the CUDA backend once, for compute-sanitizer."""

import numpy as np
from scipy import sparse

from everlearn import LASVM
from everlearn._base import device

random = np.random.default_rng(0)
for rows, columns, classes, options in (
    (1500, 20, 2, {}),
    (1500, 150, 2, {}),
    (1500, 150, 3, {"cache_size": 20}),
    (200, 40, 2, {"kernel": "linear"}),  # needs many steps, which are slow under a sanitizer
    (200, 90, 2, {"kernel": "cosine"}),
    (200, 40, 2, {"kernel": "laplacian"}),
):
    X = random.normal(size=(rows, columns)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (classes > 2) * (X[:, 2] > 1)
    clf = LASVM(device="cuda", **options).fit(X, y)
    same = LASVM(device="cuda", **options).fit(sparse.csr_matrix(X), y)
    print(rows, columns, classes, options, clf.score(X, y), same.score(X, y), flush=True)

sweeps = device.cuda_module().Sweeps(random.normal(size=(900, 40)))
marks = (np.arange(900) % 3 == 0).astype(np.uint8)
print(sweeps.linearize(random.normal(size=900), 0.1, marks, 300).sum(), flush=True)
