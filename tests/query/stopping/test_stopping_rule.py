"""What every stopping rule promises: documentation, state, copies, evidence, drawings, refusals."""

import inspect
import json
import pickle
import sys
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from sklearn.base import BaseEstimator, clone

from docs_helpers import entries, faults_in_parameters, sections
from everlearn import LASVM
from everlearn.datasets import make_banana
from everlearn.query import Margin, stopping
from everlearn.query.stopping import (
    AllOf,
    CostOfLabel,
    LabelBudget,
    MarginExhausted,
    Progress,
    StatQ,
    StoppingRule,
    SupportSaturation,
    Verdict,
)
from query.stopping.stopping_helpers import events, told

RULES = [
    SupportSaturation(n_iter_no_change=3, rtol=0.1),
    MarginExhausted(patience=2),
    StatQ(),
    StatQ(threshold=0.5, criterion="outside"),
    StatQ(robust=True),
    LabelBudget(max_labels=7),
    CostOfLabel(cost=1, gain=10, window=4),
    CostOfLabel(cost=1, gain=10, window=4, metric="estimate", n_standard_errors=2),
    SupportSaturation(n_iter_no_change=2) | LabelBudget(5),
    (MarginExhausted() & LabelBudget(3)) | StatQ(robust=True) | LabelBudget(9),
]
every_rule = pytest.mark.parametrize("rule", RULES, ids=str)
PUBLIC = [getattr(stopping, name) for name in stopping.__all__]
CONCRETE = [cls for cls in PUBLIC if issubclass(cls, StoppingRule) and cls is not StoppingRule]


# ------------------------------------------------------------------------------------ what all have in common


def test_rules_are_enumerated():
    assert {"SupportSaturation", "MarginExhausted", "StatQ", "LabelBudget", "CostOfLabel"} <= {
        cls.__name__ for cls in CONCRETE
    }
    assert {type(rule) for rule in RULES} == set(CONCRETE) - {AllOf}


@pytest.mark.parametrize("cls", CONCRETE)
def test_a_rule_is_documented_with_an_example(cls):
    assert ">>> " in inspect.getdoc(cls)
    assert faults_in_parameters(cls, entries(sections(cls.__doc__)["Parameters"])) == []
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("everlearn"):
            documented = entries(sections(method.__doc__).get("Parameters", []))
            assert faults_in_parameters(method, documented) == [], name


@pytest.mark.parametrize("cls", [Progress, Verdict])
def test_fields_are_documented(cls):
    assert list(entries(sections(cls.__doc__)["Attributes"])) == list(inspect.signature(cls).parameters)


@every_rule
def test_nothing_told_is_no_reason_to_stop(rule):
    verdict = clone(rule).verdict()
    assert verdict.stop is False
    assert verdict.reason.endswith(".")


@every_rule
def test_looking_changes_nothing(rule):
    rule = told(rule)
    state, params = rule.get_state(), deepcopy(rule.get_params())
    first = rule.verdict()
    axes = rule.plot()
    assert rule.verdict() == first
    assert rule.get_state() == state
    assert str(rule.get_params()) == str(params)
    assert axes is not None
    plt.close("all")


@every_rule
def test_a_verdict_has_words_with_numbers_and_plain_evidence(rule):
    for count in range(1, 13):
        verdict = told(rule, count).verdict()
        assert type(verdict.stop) is bool
        assert any(letter.isdigit() for letter in verdict.reason)
        assert json.loads(json.dumps(verdict.evidence)) == verdict.evidence


@every_rule
@given(cut=st.integers(0, 12), seed=st.integers(0, 20))
def test_a_saved_rule_goes_on_as_if_nothing_had_happened(rule, cut, seed):
    whole = told(rule, 12, seed)
    state = json.loads(json.dumps(told(rule, cut, seed).get_state()))
    again = clone(rule)
    again.set_state(state)
    for event in events(12, seed)[cut:]:
        again.update(event)
    assert again.verdict() == whole.verdict()
    assert again.get_state() == whole.get_state()


@every_rule
def test_a_state_is_a_copy(rule):
    rule = told(rule)
    state, verdict = rule.get_state(), rule.verdict()
    kept, other = deepcopy(state), clone(rule)
    other.set_state(state)
    for changing in (other, rule):
        changing.update(events(13)[-1])
        assert state == kept
    rule.set_state(state)
    assert rule.verdict() == verdict


@every_rule
def test_clone_and_reset_begin_anew_and_copies_go_on(rule):
    rule = told(rule)
    fresh = clone(rule)
    assert fresh.get_state() == clone(fresh).get_state() != rule.get_state()
    for copy in (deepcopy(rule), pickle.loads(pickle.dumps(rule))):
        assert copy.get_state() == rule.get_state()
        assert copy.verdict() == rule.verdict()
    rule.reset()
    assert rule.get_state() == fresh.get_state()
    assert rule.verdict() == fresh.verdict()


@pytest.mark.parametrize("cls", CONCRETE)
def test_the_constructor_only_stores(cls):
    marks = {key: object() for key in inspect.signature(cls).parameters}
    assert vars(cls(**marks)) == marks
    assert set(marks) == set(cls._constraints)


def test_parameters_can_be_searched_through_a_loop():
    class Loop(BaseEstimator):
        def __init__(self, stopping=None):
            self.stopping = stopping

    loop = clone(Loop(stopping=SupportSaturation())).set_params(stopping__n_iter_no_change=9)
    assert loop.get_params()["stopping__n_iter_no_change"] == 9


# -------------------------------------------------------------------------------------------- what is refused

BAD_FIELDS = {
    "n_labels": (-1, 1.5, None, "x", True),
    "n_support": (-1, 1.5, "x"),
    "margin": (-0.1, np.nan, np.inf, "x"),
    "free_margin": (-0.1, np.nan, np.inf),
    "score": (np.nan, np.inf, "x"),
    "estimate": (np.nan, -np.inf),
    "outside_margin": (-0.1, 1.1, np.nan),
    "examined_outside_margin": (-0.1, 1.1, np.nan),
    "confidence": (-0.1, 1.1, np.nan),
    "n_classes": (-1, 1.5, "x"),
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, values in BAD_FIELDS.items() for v in values])
def test_bad_events(name, value):
    with pytest.raises(ValueError, match=f"{name} of Progress must be .*, got {value!r}"):
        Progress(**{"n_labels": 1, name: value})
    assert set(BAD_FIELDS) == set(inspect.signature(Progress).parameters)


def test_events_hold_plain_numbers():
    event = Progress(np.int64(3), n_support=np.int32(2), margin=np.float32(0.5), confidence=1)
    assert type(event.n_labels) is int
    assert type(event.n_support) is int
    assert type(event.margin) is float
    assert type(event.confidence) is float


@every_rule
def test_bad_updates(rule):
    rule = told(rule, 4)
    before = rule.get_state()
    with pytest.raises(TypeError, match="event must be a Progress, got 3"):
        rule.update(3)
    with pytest.raises(ValueError, match=r"n_labels fell from 4 to 1: .* Call reset before another"):
        rule.update(events(1)[0])
    assert rule.get_state() == before


@every_rule
@pytest.mark.parametrize("state", [None, {}, {"rule": "Other"}, 3])
def test_bad_states(rule, state):
    rule = told(rule)
    before = rule.get_state()
    for bad in (state, {"rule": type(rule).__name__}):
        with pytest.raises(ValueError, match=f"state must come from get_state of {type(rule).__name__}, got"):
            rule.set_state(bad)
    assert rule.get_state() == before


# --------------------------------------------------------------------------------------------------- drawings


@every_rule
@pytest.mark.parametrize("count", [0, 1, 12])
def test_drawings_show_the_evidence(rule, count):
    rule = told(rule, count)
    axes = rule.plot()
    for ax in axes if isinstance(axes, list) else [axes]:
        assert ax.get_xlabel() == "labels"
        assert ax.get_ylabel()
        assert ("stop" in ax.get_title()) != ("continue" in ax.get_title())
        assert len(ax.lines) > 0 or count == 0
    plt.close("all")


def test_drawings_go_where_one_likes():
    figure, axes = plt.subplots(2)
    assert told(LabelBudget()).plot(axes[0]) is axes[0]
    assert (LabelBudget() | StatQ()).plot(axes) == list(axes)
    with pytest.raises(ValueError, match="ax must contain one Axes for each of the 2 rules, got 1"):
        (LabelBudget() | StatQ()).plot(axes[0])
    plt.close(figure)


def test_drawings_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plot needs matplotlib, which is not installed: pip install"):
        LabelBudget().plot()


def test_a_loop_stops_before_its_budget():
    X, y = make_banana(1500, random_state=0)
    model = LASVM(C=10, gamma=1, random_state=0).partial_fit(X[:20], y[:20], classes=[-1, 1])
    left, rule, labels = np.arange(20, 1500), MarginExhausted(patience=3) | LabelBudget(1000), 0
    while not rule.verdict().stop:
        place = Margin(random_state=0).query(model, X[left], draw=labels)
        margin = float(abs(model.decision_function(X[left[place]]))[0])
        model.partial_fit(X[left[place]], y[left[place]])
        left, labels = np.delete(left, place), labels + 1
        rule.update(Progress(labels, margin=margin))
    assert 10 < labels < 700
    assert "outside the margin" in rule.verdict().reason
    assert model.finish().score(X, y) > 0.93
