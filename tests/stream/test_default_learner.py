"""The learner that fits the fields of a stream."""

from everlearn import AdaptiveSVM
from everlearn.read import Schema
from everlearn.stream.default_learner import learner_for

TEXTS = {"text": [f"the quick brown fox number {n} jumps over it" for n in range(20)]}


def test_text_gets_cosine_kernels():
    learner = learner_for(Schema.infer(TEXTS), memory_rows=300)
    assert isinstance(learner, AdaptiveSVM)
    assert learner.max_rows == 300
    assert {expert.kernel for expert in learner.experts} & {"cosine"}


def test_numbers_get_the_default():
    assert learner_for(Schema.infer({"x": [1.0, 2.5, 3.0]})) is None
