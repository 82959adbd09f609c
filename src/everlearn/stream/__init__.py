"""The never-ending learner: predicts a stream, asks for labels, and recovers from crashes."""

from .answers import Answer
from .exchange import Exchange
from .learner import NeverEndingLearner
from .outcome import Outcome
from .sharded import ShardedLearner

__all__ = ["Answer", "Exchange", "NeverEndingLearner", "Outcome", "ShardedLearner"]
