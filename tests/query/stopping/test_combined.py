"""AnyOf and AllOf: verdicts, reasons, state, and what cannot be combined."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from everlearn.query.stopping import (
    AllOf,
    AnyOf,
    LabelBudget,
    MarginExhausted,
    Progress,
    StatQ,
    SupportSaturation,
)
from query.stopping.stopping_helpers import told


@given(st.integers(0, 12), st.integers(0, 30), st.integers(1, 9), st.integers(1, 3))
def test_or_and_and(count, seed, budget, patience):
    one, two, three = (
        LabelBudget(budget),
        MarginExhausted(patience),
        SupportSaturation(n_iter_no_change=2, rtol=0.04),
    )
    stops = [told(rule, count, seed).verdict().stop for rule in (one, two, three)]
    assert told(one | two, count, seed).verdict().stop == (stops[0] or stops[1])
    assert told(one & two, count, seed).verdict().stop == (stops[0] and stops[1])
    assert told(one & two | three, count, seed).verdict().stop == ((stops[0] and stops[1]) or stops[2])
    assert told(one & (two | three), count, seed).verdict().stop == (stops[0] and (stops[1] or stops[2]))


def test_combinations_are_flat_and_leave_their_parts_alone():
    a, b, c = LabelBudget(1), LabelBudget(2), LabelBudget(3)
    either = a | b
    assert (either | c).rules == (a, b, c)
    assert (a | (b | c)).rules == (a, b, c)
    assert (a & b & c).rules == (a, b, c)
    assert (either & c).rules == (either, c)
    assert either.rules == (a, b)
    assert isinstance(either, AnyOf)
    assert isinstance(a & b, AllOf)


def test_the_reasons_of_those_that_decided():
    rule = LabelBudget(2) | LabelBudget(3) | MarginExhausted()
    for labels in (1, 2):
        rule.update(Progress(labels, margin=0.5))
    verdict = rule.verdict()
    assert verdict.reason == "The budget of 2 labels is used up (2 labels)."
    assert verdict.evidence["LabelBudget"] == {"stop": True, "labels": 2, "budget": 2}
    assert verdict.evidence["LabelBudget 2"] == {"stop": False, "labels": 2, "budget": 3}
    assert verdict.evidence["MarginExhausted"]["stop"] is False


def test_what_one_rule_refuses_no_rule_keeps():
    rule = LabelBudget(5) | SupportSaturation()
    with pytest.raises(ValueError, match="SupportSaturation needs n_support after every label"):
        rule.update(Progress(1))
    assert rule.get_state() == clone(rule).get_state()


def test_only_rules_can_be_combined():
    for combine in (lambda: LabelBudget() | 3, lambda: LabelBudget() & None):
        with pytest.raises(TypeError, match="unsupported operand"):
            combine()
    for cls in (AnyOf, AllOf):
        for bad in ((), 3, [1], LabelBudget()):
            words = "must be a tuple or list of stopping rules, at least one, got"
            with pytest.raises(ValueError, match=words):
                cls(bad).verdict()


def test_states_of_other_combinations():
    one = told(LabelBudget(1) | MarginExhausted())
    before = one.get_state()
    with pytest.raises(
        ValueError, match="state must come from get_state of MarginExhausted, got a state of 'StatQ'"
    ):
        one.set_state((LabelBudget(1) | StatQ()).get_state())
    with pytest.raises(ValueError, match="state must have 2 rules, got 3"):
        one.set_state((LabelBudget(1) | StatQ() | StatQ()).get_state())
    assert one.get_state() == before
