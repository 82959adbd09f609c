"""Prometheus metrics: of requests as they happen, of the learner when they are asked for."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")  # any other is counted as "other"
_FRESH = 1.0  # seconds for which a status is good enough


class Metrics:
    """The metrics of one service.

    Parameters
    ----------
    status : callable
        Returns the status of the service.
    streams : callable
        Returns the number of connections to the events.
    """

    def __init__(self, status: Callable[[], dict[str, Any]], streams: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._status, self._streams = status, streams
        self._kept: tuple[float, dict[str, Any]] | None = None
        self.requests = Counter(
            "everlearn_requests",
            "Requests by route, method and status.",
            ["route", "method", "status"],
            registry=self._registry,
        )
        self.seconds = Histogram(
            "everlearn_request_seconds",
            "Time to answer a request, by route.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self.rows = Counter("everlearn_rows", "Rows that were received and stored.", registry=self._registry)
        self.answers = Counter(
            "everlearn_answers", "Answers by what became of them.", ["status"], registry=self._registry
        )
        self.withdrawn = Counter("everlearn_undone", "Answers that were undone.", registry=self._registry)
        self._registry.register(self)

    def count(self, route: str, method: str, status: int) -> None:
        """Count a request; clients choose its method, so that not every one is counted by its name."""
        self.requests.labels(route, method if method in _METHODS else "other", str(status)).inc()

    def text(self) -> bytes:
        """All metrics in Prometheus' text format."""
        return bytes(generate_latest(self._registry))

    def collect(self) -> Iterable[Metric]:
        """The metrics of the learner; called by the registry."""
        now = time.monotonic()
        if self._kept is None or now - self._kept[0] > _FRESH:
            self._kept = now, self._status()
        status = self._kept[1]
        accuracy, agreement = status.get("accuracy") or {}, status.get("agreement") or {}
        for name, text, value in (
            ("sequence", "The number of the last event in the log.", status.get("sequence")),
            ("model_version", "The version of the model.", status.get("model_version")),
            ("stored_rows", "Rows in the store.", status.get("rows")),
            ("labels", "Labels that are learned.", status.get("labels")),
            ("open_questions", "Questions without an answer.", status.get("open_questions")),
            ("open_leases", "Questions that somebody is answering.", status.get("open_leases")),
            ("expired_leases", "Leases that have expired.", status.get("expired_leases")),
            ("waiting_writes", "Requests that wait to be written.", status.get("waiting")),
            ("support_vectors", "Support vectors of the model.", status.get("support_vectors")),
            ("audit_accuracy", "Accuracy on random rows.", accuracy.get("value")),
            ("agreement", "Fleiss' kappa of the annotators.", agreement.get("fleiss")),
            ("drift_alarms", "Alarms of the drift detector.", len(status.get("drift") or ())),
            ("event_streams", "Connections to the events.", self._streams()),
        ):
            if isinstance(value, int | float):
                yield GaugeMetricFamily(f"everlearn_{name}", text, value=float(value))

    def describe(self) -> Iterable[Metric]:
        """Nothing: the registry need not ask the learner for the names."""
        return ()
