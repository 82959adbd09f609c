"""How tests check that a one-pass learner refuses a call and is unchanged."""

from contextlib import contextmanager
from copy import deepcopy

import numpy as np
import pytest

from budget.native_helpers import LINEAR, make
from svm.lasvm_helpers import assert_same, two_clouds

X, Y = two_clouds(140, 3)
X = X / np.linalg.norm(X, axis=1).max()
GOOD = X[:60], Y[:60]


def everything(model):
    """All that a learner knows, its kernel by name, as a copy of its own."""
    state = deepcopy({**model._get_state(), "names": sorted(vars(model))})
    state["params"]["kernel"] = str(getattr(model, "kernel", None))
    foreign = getattr(model, "_foreign", None)
    return state | {"rows": None if foreign is None else deepcopy(foreign.rows)}


@contextmanager
def refused(model, words, error=ValueError):
    """The call is refused with these words, and the learner is afterwards what it was before."""
    before = everything(model)
    with pytest.raises(error, match=words):
        yield
    assert_same(everything(model), before)


def learned(cls, **options):
    return make(cls, **options).partial_fit(*GOOD, classes=[0, 1])


def goes_on(model, untouched=None):
    """After a refusal a learner learns on, as one that was never asked."""
    untouched = untouched or learned(type(model))
    for learner in (model, untouched):
        learner.partial_fit(X[60:], Y[60:])
    assert_same(model.decision_function(X), untouched.decision_function(X))
    if type(model) not in LINEAR:
        assert_same(model.support_, untouched.support_)
