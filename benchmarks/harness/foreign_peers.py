"""Peers without scikit-learn's interface: LIBSVM's own package and Vowpal Wabbit."""

from __future__ import annotations

from time import perf_counter, process_time
from typing import Any

import numpy as np
import scipy.sparse as sp

from .bare_kernel import decision_values
from .peer import TOL, Peer, Timing, TooSlow


class Libsvm(Peer):
    """LIBSVM's own package, libsvm-official."""

    label = "LIBSVM"
    times_predict = False

    def set_up(self) -> None:
        from libsvm import svm, svmutil

        self.svm, self.util = svm, svmutil
        self.problem: Any = None

    def prepare(self, context: dict[str, Any]) -> None:
        if self.problem is None:
            rows = sp.csr_matrix(self.task.X_train, dtype=np.float64)
            self.problem = self.svm.svm_problem(self.task.y_train.astype(np.float64), rows)

    def fit(self) -> None:
        task = self.task
        options = f"-s 0 -t 2 -c {task.C!r} -g {task.gamma!r} -m {self.cache!r} -e {TOL!r} -q"
        self.model = self.util.svm_train(self.problem, self.svm.svm_parameter(options))

    def predict(self) -> np.ndarray:
        if self.task.multiclass:
            rows = sp.csr_matrix(self.task.X_test, dtype=np.float64)
            labels, _, _ = self.util.svm_predict(np.zeros(rows.shape[0]), rows, self.model, "-q")
            return np.asarray(labels).astype(self.task.y_test.dtype)
        support = np.array(self.model.get_sv_indices()) - 1
        coef = np.array(self.model.get_sv_coef()).reshape(1, -1)
        values = decision_values(
            self.task.X_test, self.task.X_train[support], coef, -self.model.rho[0], self.task.gamma
        )
        first, second = self.model.get_labels()
        return np.where(values[:, 0] > 0, first, second)

    def facts(self) -> dict[str, Any]:
        return {"n_sv": int(self.model.get_nr_sv())}


class Vowpal(Peer):
    """Vowpal Wabbit's --ksvm; see `peers` for its parameters and what is timed."""

    label = "VW"
    times_predict = False
    own_limit = True
    CHUNK = 500  # parsed examples are large

    def set_up(self) -> None:
        import vowpalwabbit

        self.vw = vowpalwabbit
        self.limit: float | None = None
        self.lines: list[str] = []
        self.order = np.random.default_rng(0).permutation(self.task.X_train.shape[0])
        classes = np.unique(self.task.y_train)
        self.positives = list(classes) if len(classes) > 2 else [classes[-1]]
        self.models: list[Any] = []
        self.n_sv: int | None = None

    @staticmethod
    def _text(X: Any) -> list[str]:
        X = sp.csr_matrix(X)
        lines = []
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True)
            lines.append("| " + " ".join(f"{j}:{v:.8g}" for j, v in pairs))
        return lines

    def prepare(self, context: dict[str, Any]) -> None:
        if not self.lines:
            self.lines = self._text(self.task.X_train)
        self.limit = context.get("limit")
        self._close()

    def _close(self) -> None:
        """End the models; Vowpal Wabbit tells the number of support vectors only then."""
        if not self.models:
            return
        log = []
        for model in self.models:
            model.finish()
            log.append("".join(model.get_log()))
        counts = [text.rsplit("Num support = ", 1)[1] for text in log if "Num support = " in text]
        if len(counts) == len(self.models):
            self.n_sv = sum(int(c[: len(c) - len(c.lstrip("0123456789"))]) for c in counts)
        self.models = []

    def _workspace(self) -> Any:
        task = self.task
        return self.vw.Workspace(
            f"--ksvm --kernel rbf --bandwidth {task.gamma!r} --l2 {1 / task.C!r} --noconstant",
            enable_logging=True,
        )

    def fit(self) -> Timing:
        wall = cpu = 0.0
        seen = 0
        for positive in self.positives:
            model = self._workspace()
            for begin in range(0, len(self.order), self.CHUNK):
                examples = [
                    model.parse(
                        f"{1 if self.task.y_train[i] == positive else -1} {self.lines[i]}",
                        self.vw.LabelType.SIMPLE,
                    )
                    for i in self.order[begin : begin + self.CHUNK]
                ]
                start, start_cpu = perf_counter(), process_time()
                for example in examples:
                    model.learn(example)
                wall += perf_counter() - start
                cpu += process_time() - start_cpu
                for example in examples:
                    model.finish_example(example)
                if self.limit is not None and wall > self.limit:
                    seen += begin + len(examples)
                    share = seen / (len(self.order) * len(self.positives))
                    raise TooSlow(f"stopped after {wall:.0f} s of learning, {share:.0%} of its pass", wall)
            seen += len(self.order)
            self.models.append(model)
        return wall, cpu

    def predict(self) -> np.ndarray:
        lines = self._text(self.task.X_test)
        values = np.array([[model.predict(line) for line in lines] for model in self.models])
        self._close()
        if self.task.multiclass:
            return np.asarray(self.positives)[values.argmax(axis=0)]
        negative, positive = np.unique(self.task.y_train)
        return np.where(values[0] > 0, positive, negative)

    def facts(self) -> dict[str, Any]:
        return {} if self.n_sv is None else {"n_sv": self.n_sv}
