"""DistributedSearch: C and gamma by cross-validation on a cluster, from one set of kernel distances."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets

from .._base import constraints
from .._base.kernels import Kernel, is_built_in, kernel_named, resolve_gamma
from .._base.validate import Rows, check_rows_and_labels
from ..svm import LASVM
from ._client import check_asynchronous, client_of
from ._exchange import TaskNames

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Blocks = dict[tuple[int, int], npt.NDArray[np.float32]]

_GRID = ("C", "gamma")


class DistributedSearch:
    """Search C and gamma of a `LASVM` by cross-validation on the workers of a Dask cluster.

    The results are those of scikit-learn's ``GridSearchCV`` on one machine, but what the kernel is a function
    of (squared distances, inner products) does not depend on C or gamma. So it is computed once for each pair
    of folds and shared by all candidates: a task for each pair of folds, then one for each gamma and fold,
    which learns all values of C on the same kernel matrix.

    Each worker holds matrices of all rows: 8 GB for 30,000 rows. Search on a sample of a larger table, and
    solve the SVM of all rows with `DistributedSVM`.

    Parameters
    ----------
    learner : LASVM or None
        The learner, with its other parameters; None is ``LASVM()``. The kernel must be a built-in one.
    grid : dict of str to list
        The values of "C", of "gamma", or of both. Values of gamma are numbers. Without gamma it is that of
        the learner, computed from all rows if it is a word.
    cv : int or cross-validation splitter, default=5
        The number of folds, which are stratified, or a splitter whose test sets have every row once.
    scoring : str or callable, default=None
        The score, as in scikit-learn; None is the accuracy.
    refit : bool, default=True
        Whether to fit ``best_estimator_`` to all rows, in the process of the client.
    client : distributed.Client, default=None
        The client of the cluster; None takes the present one.

    Attributes
    ----------
    best_params_ : dict
        The candidate with the highest mean score; the first of equals.
    best_score_ : float
        Its mean score.
    best_estimator_ : LASVM
        The learner with these parameters, fitted to all rows.
    cv_results_ : dict of str to ndarray
        For each candidate: "params", "mean_test_score", "std_test_score", "rank_test_score" and
        "split0_test_score" and so on, as in ``GridSearchCV``.
    n_distances_ : int
        Distances or inner products computed by all workers.

    Examples
    --------
    >>> from distributed import Client
    >>> from everlearn import LASVM
    >>> from everlearn.datasets import make_banana
    >>> from everlearn.distributed import DistributedSearch
    >>> X, y = make_banana(600, random_state=0)
    >>> client = Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0")
    >>> search = DistributedSearch(LASVM(random_state=0), {"C": [1, 10, 100], "gamma": [0.1, 1.0]}).fit(X, y)
    >>> search.best_params_["gamma"], search.n_distances_
    (1.0, 216000)
    >>> client.close()
    """

    def __init__(
        self,
        learner: LASVM | None,
        grid: Mapping[str, Iterable[float]],
        *,
        cv: Any = 5,
        scoring: Any = None,
        refit: bool = True,
        client: Any = None,
    ) -> None:
        self.learner = learner
        self.grid = grid
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.client = client

    def fit(self, X: Any, y: Any) -> "DistributedSearch":
        """Score all candidates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            The labels.

        Returns
        -------
        DistributedSearch
            The object itself.
        """
        learner = LASVM() if self.learner is None else self.learner
        client = client_of(self.client)
        check_asynchronous(client)
        grid = self._checked_grid(learner)
        rows, labels = check_rows_and_labels(clone(learner), X, y, reset=True)
        check_classification_targets(labels)
        tests = self._folds(rows, labels)
        gammas = grid.get("gamma") or [resolve_gamma(learner.gamma, rows)]
        costs = grid.get("C") or [learner.C]
        scores, self.n_distances_ = self._scores(client, learner, rows, labels, tests, gammas, costs)
        names = [name for name in _GRID if name in grid]
        candidates = [(C, gamma) for C in costs for gamma in gammas]
        params = [
            {name: value for name, value in zip(_GRID, pair, strict=True) if name in names}
            for pair in candidates
        ]
        self.cv_results_ = _results(params, scores.transpose(2, 0, 1).reshape(len(params), len(tests)))
        best = int(np.argmin(self.cv_results_["rank_test_score"]))
        self.best_params_ = params[best]
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])
        if self.refit:
            self.best_estimator_ = clone(learner).set_params(**self.best_params_).fit(X, y)
        return self

    def _checked_grid(self, learner: LASVM) -> dict[str, list[float]]:
        if not isinstance(learner, LASVM):
            raise TypeError(f"learner must be a LASVM, got {type(learner).__name__}.")
        constraints.check(learner)
        if not is_built_in(learner.kernel):
            raise ValueError(f"The search needs a built-in kernel, got {learner.kernel!r}.")
        if not isinstance(self.grid, Mapping) or not self.grid or set(self.grid) - set(_GRID):
            raise ValueError(f'grid must have values of "C", of "gamma", or of both, got {self.grid!r}.')
        grid = {name: list(values) for name, values in self.grid.items()}
        for name, values in grid.items():
            if not values:
                raise ValueError(f"grid has no value of {name!r}.")
            for value in values:
                if isinstance(value, str):
                    raise ValueError(f"grid[{name!r}] must have numbers, got {value!r}.")
                constraints.check(clone(learner).set_params(**{name: value}))
        return grid

    def _folds(self, rows: Rows, labels: Any) -> list[Places]:
        tests = [test for _, test in check_cv(self.cv, labels, classifier=True).split(rows, labels)]
        if not np.array_equal(np.sort(np.concatenate(tests)), np.arange(len(labels))):
            raise ValueError("The test sets of cv must have every row once: choose KFold or StratifiedKFold.")
        for number in range(len(tests)):
            others = np.concatenate([test for other, test in enumerate(tests) if other != number])
            if len(np.unique(labels[others])) < 2:
                raise ValueError(f"Without fold {number}, rows have one class only: shuffle, or take fewer.")
        return tests

    def _scores(
        self,
        client: Any,
        learner: LASVM,
        rows: Rows,
        labels: Any,
        tests: list[Places],
        gammas: list[float],
        costs: list[float],
    ) -> tuple[Floats, int]:
        """Scores of shape (n_gammas, n_folds, n_costs), and the number of distances."""
        names, count = TaskNames(), len(tests)
        kernel = kernel_named(learner.kernel, 1.0, learner.coef0, learner.degree)
        folds = names.submit(client, "fold", _same, [rows[test] for test in tests])
        pairs = [(a, b) for a in range(count) for b in range(a, count)]
        parts = names.submit(
            client,
            "distances",
            _measured,
            *([kernel] * len(pairs), [folds[a] for a, _ in pairs], [folds[b] for _, b in pairs]),
        )
        blocks = dict(zip(pairs, parts, strict=True))
        (truth,) = names.submit(client, "labels", _same, [[labels[test] for test in tests]])
        tasks = [(gamma, fold) for gamma in gammas for fold in range(count)]
        parameters = learner.get_params() | {"kernel": "precomputed"}
        found = names.submit(
            client,
            "score",
            _score,
            *([parameters] * len(tasks), [blocks] * len(tasks), [truth] * len(tasks)),
            [kernel_named(kernel.name, gamma, kernel.coef0, kernel.degree) for gamma, _ in tasks],
            [fold for _, fold in tasks],
            *([costs] * len(tasks), [self.scoring] * len(tasks)),
        )
        scores = np.array(client.gather(found)).reshape(len(gammas), count, len(costs))
        return scores, sum(len(tests[a]) * len(tests[b]) for a, b in pairs)


def _results(params: list[dict[str, Any]], scores: Floats) -> dict[str, Any]:
    """Scores as `GridSearchCV` presents them."""
    means = scores.mean(axis=1)
    found: dict[str, Any] = {"params": params}
    found |= {f"split{fold}_test_score": column for fold, column in enumerate(scores.T)}
    found |= {"mean_test_score": means, "std_test_score": scores.std(axis=1)}
    return found | {"rank_test_score": rankdata(-means, method="min").astype(np.int32)}


# ------------------------------------------------------------------------------------------------ on a worker


def _same(value: Any) -> Any:
    return value


def _measured(kernel: Kernel, X: Rows, Z: Rows) -> npt.NDArray[np.float32]:
    return kernel.measured(X, Z).astype(np.float32)


def _score(
    parameters: dict[str, Any],
    blocks: Blocks,
    labels: list[Any],
    kernel: Kernel,
    fold: int,
    costs: list[float],
    scoring: Any,
) -> list[float]:
    """The scores of all values of C on one fold."""
    others = [number for number in range(len(labels)) if number != fold]
    train = kernel.mapped(np.block([[_between(blocks, a, b) for b in others] for a in others]))
    test = kernel.mapped(np.hstack([_between(blocks, fold, b) for b in others]))
    y = np.concatenate([labels[number] for number in others])
    scores = []
    for C in costs:
        model = LASVM(**parameters).set_params(C=C).fit(train, y)
        scores.append(float(check_scoring(model, scoring)(model, test, labels[fold])))
    return scores


def _between(blocks: Blocks, a: int, b: int) -> npt.NDArray[np.float32]:
    return blocks[a, b] if a <= b else blocks[b, a].T
