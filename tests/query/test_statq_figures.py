"""StatQSVM, IncrSVM and QuerySVM: the figures of the paper, where the folder of data sets is at hand."""

import os

import numpy as np
from sklearn.base import clone

from everlearn import IncrSVM, QuerySVM, StatQSVM
from everlearn.metrics.support_sets import support_set_distance
from query.statq_helpers import EXACT
from reference.test_reference_statq import CANCER, cancer

FIGURES = {
    "Incr": IncrSVM(chunk_size=26, max_iter=24),
    "Query, keep all": QuerySVM(chunk_size=26, max_iter=600),
    "Query, keep sv": QuerySVM(chunk_size=26, max_iter=600, keep="support"),
    "StatQ, c p_nm/p": StatQSVM(chunk_size=26, max_iter=24, robust=False),
    "StatQ, p_nm/p": StatQSVM(chunk_size=26, max_iter=24, robust=False, criterion="outside"),
    "StatQ robust": StatQSVM(chunk_size=26, max_iter=24),
}


def cancer_figures():
    runs = {name: [] for name in ("Batch", *FIGURES)}
    for seed in range(10):
        X, y, X_test, y_test = cancer(seed)
        batch = clone(EXACT).fit(X, y)
        runs["Batch"].append([100 * batch.score(X_test, y_test), 0, 1, 1, len(batch.support_)])
        for name, model in FIGURES.items():
            fitted = clone(model).set_params(random_state=seed).fit(X, y)
            apart = support_set_distance(X[fitted.support_], X[batch.support_])
            # The figures leave out what the walk that ends a course reads.
            examined = fitted.history_[fitted.n_iter_ - 1]["examined"]
            counts = [fitted.n_used_ / len(y), examined / len(y), len(fitted.support_)]
            runs[name].append([100 * fitted.score(X_test, y_test), apart, *counts])
    for name, (accuracy, spread, *rest) in CANCER.items():
        mean, deviation = np.mean(runs[name], axis=0), np.std(runs[name], axis=0)
        assert abs(mean[0] - accuracy) <= 1.5 * spread, name
        least = np.array([0.25, 0.02, 0.02, 5])
        assert np.all(np.abs(mean[1:] - rest) <= np.maximum(least, 1.5 * deviation[1:])), name
    read = {name: np.mean(runs[name], axis=0)[3] for name in runs}
    assert read["Query, keep all"] < 0.2 < 0.5 < read["StatQ, c p_nm/p"]
    assert read["Query, keep all"] < 0.2 < 0.5 < read["StatQ robust"]


if os.environ.get("EVERLEARN_DATA"):  # the set is not shipped
    test_cancer = cancer_figures
