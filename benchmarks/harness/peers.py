"""The peers, behind the same three calls: `prepare` (not timed), `fit`, `predict`.

What the time of `fit` includes:

- ours, SVC, intelex, HistGradientBoosting, Nystroem + LinearSVC: the whole call of `fit` on the float32
  arrays, with whatever checking and converting the library does (SVC: to float64).
- LIBSVM: `svm_train` alone; filling its `svm_problem` (float64 nodes) from a CSR matrix is not counted.
- Vowpal Wabbit: `learn` of parsed examples alone, one pass over shuffled rows; writing and parsing its text
  is not counted. Its kernel SVM is a LASVM without bias and without finishing step. Its multipliers live in
  [0, 1] and its function is divided by lambda, so `--l2 1/C` is our C; `--bandwidth` multiplies the squared
  distance, so it is our gamma. `--reprocess` stays at its default of 1. Its cache cannot be set. It has no
  usable multiclass: one model a class, their times added.
- floor: as many kernel values as ours reports, by a bare matrix product and `exp` (see `bare_kernel`).
"""

from __future__ import annotations

import logging
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp

from .bare_kernel import BareKernel, decision_values, dual_objective
from .foreign_peers import Libsvm, Vowpal
from .peer import TOL, Peer


class Estimator(Peer):
    """A scikit-learn estimator, made for each fit by `make`."""

    def make(self) -> Any:
        raise NotImplementedError

    def fit(self) -> None:
        self.model = self.make().fit(self.task.X_train, self.task.y_train)

    def predict(self) -> np.ndarray:
        return self.model.predict(self.task.X_test)

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if hasattr(self.model, "support_"):
            found["n_sv"] = len(self.model.support_)
        if self.note:
            found["note"] = self.note
        return found


class Ours(Estimator):
    """everlearn.LASVM as it comes: the exact SVM of all rows."""

    label = "LASVM"

    def set_up(self) -> None:
        from everlearn import LASVM

        self.estimator = LASVM

    def make(self, **changes: Any) -> Any:
        settings: dict[str, Any] = {
            "C": self.task.C,
            "kernel": "rbf",
            "gamma": self.task.gamma,
            "tol": TOL,
            "cache_size": self.cache,
            "n_jobs": self.threads,
            "random_state": 0,
        }
        return self.estimator(**settings | self.options | changes)

    def facts(self) -> dict[str, Any]:
        return super().facts() | {
            "n_kernel_evaluations": int(self.model.n_kernel_evaluations_),
            "support": np.asarray(self.model.support_),
        }

    def exact(self) -> dict[str, Any]:
        start = perf_counter()
        model = self.make().fit(self.task.X_train, self.task.y_train)
        seconds = perf_counter() - start
        decision = np.asarray(model.decision_function(self.task.X_test), np.float64)
        return {
            "seconds": seconds,
            "rounds": model.n_rounds_,
            "n_sv": len(model.support_),
            "dual": dual_objective(model.support_vectors_, model.dual_coef_, self.task.gamma),
            "decision": decision.reshape(len(decision), -1),
        }


class SinglePass(Ours):
    """The algorithm of the paper: one epoch and the finishing step on the rows kept."""

    label = "LASVM, single pass"

    def make(self, **changes: Any) -> Any:
        return super().make(finishing="kept", **changes)


class SklearnSVC(Estimator):
    """sklearn.svm.SVC."""

    label = "SVC"

    def set_up(self) -> None:
        from sklearn.svm import SVC

        self.estimator = SVC

    def make(self) -> Any:
        return self.estimator(C=self.task.C, gamma=self.task.gamma, tol=TOL, cache_size=self.cache)

    def exact(self) -> dict[str, Any]:
        """Binary: the model at hand. Multiclass: one SVC a class, since SVC itself is one against one."""
        start = perf_counter()
        if self.task.multiclass:
            classes = np.unique(self.task.y_train)
            models = [self.make().fit(self.task.X_train, self.task.y_train == c) for c in classes]
        else:
            models = [self.model]
        seconds, gamma = perf_counter() - start, self.task.gamma
        return {
            "seconds": seconds if self.task.multiclass else None,
            "n_sv": len(np.unique(np.concatenate([m.support_ for m in models]))),
            "dual": [dual_objective(m.support_vectors_, m.dual_coef_, gamma)[0] for m in models],
            "decision": np.hstack(
                [
                    decision_values(
                        self.task.X_test, m.support_vectors_, m.dual_coef_, m.intercept_, self.task.gamma
                    )
                    for m in models
                ]
            ),
        }


class Intelex(SklearnSVC):
    """SVC of scikit-learn-intelex."""

    label = "intelex"

    def set_up(self) -> None:
        import daal4py
        from sklearnex.svm import SVC

        daal4py.daalinit(nthreads=self.threads)
        self.estimator = SVC
        peer = self

        class Watch(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                if "fallback" in record.getMessage().lower():
                    peer.note = "fell back to scikit-learn's code"

        logger = logging.getLogger("sklearnex")
        logger.setLevel(logging.INFO)
        logger.handlers, logger.propagate = [Watch()], False

    def exact(self) -> dict[str, Any]:
        raise NotImplementedError


class Floor(Peer):
    """The kernel values alone."""

    label = "floor"

    def prepare(self, context: dict[str, Any]) -> None:
        self.values = int(context["n_kernel_evaluations"])
        kept = self.task.X_train[context["support"]]
        self.train = BareKernel(self.task.X_train, kept, self.task.gamma, self.threads)
        self.test = BareKernel(self.task.X_test, kept, self.task.gamma, self.threads)

    def fit(self) -> None:
        self.train.compute(self.values)

    def predict(self) -> None:
        self.test.compute()


class Boosting(Estimator):
    """HistGradientBoostingClassifier with its defaults; sparse rows are made dense inside `fit`."""

    label = "HistGB"
    times_predict = False

    def set_up(self) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier

        self.estimator = HistGradientBoostingClassifier

    def try_out(self) -> None:
        self.options = {"max_iter": 2}  # its time does not shrink with the rows
        super().try_out()

    def _dense(self, X: Any) -> Any:
        return X.toarray() if sp.issparse(X) else X

    def fit(self) -> None:
        rows = self._dense(self.task.X_train)
        self.model = self.estimator(random_state=0, **self.options).fit(rows, self.task.y_train)

    def predict(self) -> np.ndarray:
        return self.model.predict(self._dense(self.task.X_test))


class NystroemLinear(Estimator):
    """Nystroem features (300) of the same kernel, then LinearSVC with the same C."""

    label = "Nystroem"
    times_predict = False

    def set_up(self) -> None:
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline
        from sklearn.svm import LinearSVC

        self.parts = Nystroem, LinearSVC, make_pipeline

    def make(self) -> Any:
        nystroem, linear, pipeline = self.parts
        components = min(300, self.task.X_train.shape[0])
        return pipeline(
            nystroem(gamma=self.task.gamma, n_components=components, random_state=0),
            linear(C=self.task.C, dual=False, random_state=0),
        )


PEERS: dict[str, type[Peer]] = {
    "ours": Ours,
    "single": SinglePass,
    "floor": Floor,  # after ours, whose support vectors it takes
    "svc": SklearnSVC,
    "intelex": Intelex,
    "libsvm": Libsvm,
    "vw": Vowpal,
    "histgb": Boosting,
    "nystroem": NystroemLinear,
}
QUICK = ("ours", "single", "floor", "svc", "intelex")
