"""The never-ending learner: online and active learning over a durable log."""

from .learner import NeverEndingLearner
from .outcome import Outcome

__all__ = ["NeverEndingLearner", "Outcome"]
