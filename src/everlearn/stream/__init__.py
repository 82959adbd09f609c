"""The never-ending learner: predicts a stream, asks for labels, and recovers from crashes."""

from .answers import Answer
from .learner import NeverEndingLearner
from .outcome import Outcome

__all__ = ["Answer", "NeverEndingLearner", "Outcome"]
