"""The never-ending learner: predicts a stream, asks for labels, and recovers from crashes."""

from .learner import NeverEndingLearner
from .outcome import Outcome

__all__ = ["NeverEndingLearner", "Outcome"]
