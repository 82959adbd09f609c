"""The never-ending learner: a fold over a durable log that predicts, asks for labels and survives a kill."""

from .learner import NeverEndingLearner
from .outcome import Outcome

__all__ = ["NeverEndingLearner", "Outcome"]
