"""Measuring the model in a thread of its own: no request waits for it, and it takes little of a core."""

import contextlib
import time
from threading import Thread
from typing import Any

from ..errors import StoreError
from ..store.lookup import Id
from ._curve import Accuracy, Checked
from ._explaining import Explaining

_LEAST_PAUSE = 1.0  # seconds between two measurements
_BUSY = 0.04  # the fraction of a core that they may take


class Measuring(Explaining):
    """Base of `LearningService`: measures how good the model is."""

    def measure(self) -> dict[str, Any]:
        """Measure how good the model is now; it takes a moment, others do not wait.

        Returns
        -------
        dict
            The entries "accuracy", "curve", "baseline" and "stopping" of `status`.
        """
        with self._measuring:
            learner = self.learner
            version = learner.sequence
            checks = learner.random_checks()
            accuracy = Accuracy(
                [Checked(c.labels, self._agreement(c.id, c.label, c.predicted), c.share) for c in checks],
                learner.n_labels,
                n_classes=len(self.classes()),
                selected=[
                    self._agreement(c.id, c.label, c.predicted)
                    for c in (learner.selected_checks() if checks else [])
                ],
                reliability=self._votes.reliability(len(self.classes())),
                restarts=[alarm["labels"] for alarm in learner.drift_alarms if alarm["policy"] != "alarm"],
            )
            n_before, points = self._random_baseline
            if not n_before <= len(checks) < 1.2 * n_before + 1:  # a fifth more of them
                points = learner.random_baseline()
                self._random_baseline = len(checks), points
            found = {
                "accuracy": accuracy.now(),
                "curve": accuracy.curve(),
                "baseline": accuracy.baseline(points),
                "stopping": accuracy.stopping(),
            }
            self._measured = version, found
        return found

    def measured(self) -> dict[str, Any]:
        """The last measurement; if something has happened since, the next one is begun."""
        version, found = self._measured
        with self._lock:
            at_work = self._measurer is not None and self._measurer.is_alive()
            if at_work or version == self.sequence or time.monotonic() < self._measure_after or self._closing:
                return found
            self._measurer = Thread(target=self._measure_beside, name="everlearn-measure", daemon=True)
            self._measurer.start()
        return found

    def _measure_beside(self) -> None:
        begin = time.thread_time()
        with contextlib.suppress(StoreError):  # it is closing, or not available
            self.measure()
        self._measure_after = time.monotonic() + max(_LEAST_PAUSE, (time.thread_time() - begin) / _BUSY)

    def _agreement(self, row: Id | None, label: Any, predicted: Any) -> float:
        """The fraction of the answers for a row that are the predicted label."""
        votes = [] if row is None else list(self._votes.labels_for(row).values())
        given = votes or [label]
        return sum(bool(vote == predicted) for vote in given) / len(given)

    def close(self) -> None:
        """Finish what is waiting, write a snapshot and close the store."""
        with self._lock:
            self._closing, measurer = True, self._measurer
        if measurer is not None:
            measurer.join()
        super().close()
