"""Streams: a durable log, a fold over it, sources, prequential scores, drift."""

from .backup import backup
from .certificate import Certificate
from .drift import Drift
from .evaluate import Prequential
from .learner import NeverEndingLearner
from .outcome import Outcome
from .schema import Schema
from .sources import Source, open_source

__all__ = [
    "Certificate",
    "Drift",
    "NeverEndingLearner",
    "Outcome",
    "Prequential",
    "Schema",
    "Source",
    "backup",
    "open_source",
]
