"""One-pass learners on streams that are hard: numbers of any size, one class so far, budgets of one."""

import numpy as np
import pytest

from budget.budget_helpers import clouds
from budget.native_helpers import LEARNERS, LINEAR, make
from budget.refusal_helpers import X, Y
from everlearn import KOIL, OAM, OPAUC
from svm.lasvm_helpers import kernel_matrix

all_learners = pytest.mark.parametrize("cls", LEARNERS)


# --- numbers -----------------------------------------------------------------------------------------------


@all_learners
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_numbers_of_any_size_make_a_finite_model_or_a_clear_refusal(cls, kernel):
    outcomes = set()
    for exponent in (-300, -150, -18, 0, 2, 15, 30, 140, 150, 300):
        rows = X * 10.0**exponent
        model = make(cls, kernel=kernel, gamma="scale")
        try:
            model.partial_fit(rows[:60], Y[:60], classes=[0, 1]).partial_fit(rows[60:], Y[60:])
        except (ValueError, FloatingPointError) as error:
            outcomes.add("refused" if "scale " in str(error) else str(error))
        else:
            assert np.isfinite(model.decision_function(rows)).all()
            outcomes.add("learned")
    assert outcomes == {"refused", "learned"}


@all_learners
@pytest.mark.parametrize("value", [0.0, 0.5])
def test_rows_that_are_all_the_same_tell_nothing_and_break_nothing(cls, value):
    for kernel in ("linear", "poly", "rbf"):
        model = make(cls, kernel=kernel, gamma="scale").fit(np.full((60, 3), value), [0, 1, 1, 0, 1] * 12)
        f = model.decision_function(np.full((4, 3), value))
        assert np.isfinite(f).all()
        assert np.ptp(f) == 0


# --- hard streams ------------------------------------------------------------------------------------------


@all_learners
def test_one_class_so_far(cls):
    rows, labels = clouds(200, 0, 3, apart=2.0)
    model, ones = make(cls, budget=20), rows[labels == 1]
    model.partial_fit(ones, np.ones(len(ones), int), classes=[-1, 1])
    assert np.isfinite(model.decision_function(rows)).all()
    assert set(model.predict(rows)) <= {-1, 1}
    if cls is not OPAUC and cls is not OAM:  # these have no pair to learn from yet
        assert np.all(model.decision_function(ones[:5]) > 0)
    for start in range(0, 200, 50):
        model.partial_fit(rows[start : start + 50], labels[start : start + 50])
    assert np.mean(model.predict(rows) == labels) > 0.8


@all_learners
def test_a_budget_of_one(cls):
    rows, labels = clouds(300, 2, 3, apart=3.0)
    model = make(cls, budget=1, gamma=0.1).partial_fit(rows, labels, classes=[-1, 1])
    assert np.isfinite(model.decision_function(rows)).all()
    if cls in LINEAR:  # a row of each class is enough for a direction
        assert np.mean(model.predict(rows) == labels) > 0.7


def test_an_error_in_a_callable_leaves_a_learner_that_goes_on():
    calls = 0

    def kernel(a, b):
        nonlocal calls
        calls += 1
        if calls == 5:
            raise RuntimeError("out of luck")
        return kernel_matrix("rbf", a, b, gamma=0.7)

    rows, labels = clouds(600, 3)
    model = make(KOIL, kernel=kernel, budget=50).partial_fit(rows[:100], labels[:100], classes=[-1, 1])
    with pytest.raises(RuntimeError, match="out of luck"):
        model.partial_fit(rows[100:], labels[100:])
    assert model.partial_fit(rows[100:], labels[100:]).score(rows, labels) > 0.65
