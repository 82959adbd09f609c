"""Alarms are those of River's detectors, and a saved detector goes on as if nothing had happened."""

import importlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river import drift as river_drift

from everlearn.evaluate.drift import DETECTORS, DriftDetector
from property_helpers import property_test
from state_helpers import is_plain, same_bits

# Parameters with which each finds something in a short stream. KSWIN is slow.
SHARP = {
    "adwin": {"delta": 0.1, "clock": 1},
    "ddm": {},
    "eddm": {"warm_start": 10},
    "hddm_a": {},
    "hddm_w": {},
    "page-hinkley": {"threshold": 5.0},
    "kswin": {"seed": 3, "window_size": 20, "stat_size": 8, "alpha": 0.05},
}


class Counting:
    """Not River's: an alarm at every fifth error."""

    def __init__(self):
        self.errors = 0

    def update(self, x):
        assert type(x) is int
        self.errors += x

    @property
    def drift_detected(self):
        return self.errors == 5


def errors_that_change(n, seed=0):
    """The rate goes up, down and up again."""
    rng = np.random.default_rng(seed)
    rate = np.repeat([0.05, 0.6, 0.1, 0.5], -(-n // 4))[:n]
    return (rng.random(n) < rate).astype(int)


def river_class(name):
    return getattr(river_drift, DETECTORS[name], None) or getattr(river_drift.binary, DETECTORS[name])


def plain_alarms(make, errors):
    """Where a detector raises an alarm if it is made anew after each."""
    detector, alarms = make(), []
    for position, error in enumerate(errors):
        detector.update(error)
        if detector.drift_detected:
            alarms.append(position)
            detector = make()
    return alarms


@pytest.fixture
def short_memory(monkeypatch):
    monkeypatch.setattr(DriftDetector, "max_inputs", 60)
    monkeypatch.setattr(DriftDetector, "kept_inputs", 25)


@pytest.mark.parametrize("name", DETECTORS)
def test_alarms_are_those_of_river(name):
    errors = errors_that_change(400)
    expected = plain_alarms(lambda: river_class(name)(**SHARP[name]), errors.tolist())
    assert expected  # otherwise this says nothing
    by_name = DriftDetector(name, **SHARP[name])
    assert by_name.update(errors) == expected
    assert (by_name.n_seen, by_name.n_alarms) == (400, len(expected))
    assert by_name.n_inputs == 399 - expected[-1]
    by_object = DriftDetector(river_class(name)(**SHARP[name]))
    assert by_object.update(errors == 1) == expected
    assert type(by_object.detector) is type(by_name.detector) is river_class(name)


@pytest.mark.parametrize("name", DETECTORS)
def test_a_saved_one_goes_on_bit_for_bit(name, monkeypatch):
    monkeypatch.setattr(DriftDetector, "max_inputs", 120)
    monkeypatch.setattr(DriftDetector, "kept_inputs", 50)
    errors = errors_that_change(400, seed=1)
    kept, restored = DriftDetector(name, **SHARP[name]), DriftDetector(name, **SHARP[name])
    alarms = 0
    for start in range(0, 400, 19):
        block = errors[start : start + 19]
        found = kept.update(block)
        assert restored.update(block) == found
        alarms += len(found)
        state = restored.state()
        assert is_plain(state)
        json.dumps({key: value for key, value in state.items() if not isinstance(value, np.ndarray)})
        restored = DriftDetector.from_state(state)
        assert same_bits(restored.state(), kept.state())
        assert restored.warning == kept.warning
        assert inside(restored.detector) == inside(kept.detector)
    assert alarms


def inside(value):
    """What a detector of River holds, as far down as it can be looked into."""
    if hasattr(value, "get_total"):  # ADWIN's compiled window
        return value.get_width(), value.get_total(), value.get_variance(), value.get_n_detections()
    if hasattr(value, "getstate"):
        return value.getstate()
    if "rust" in type(value).__module__ or type(value).__name__.startswith("Rs"):
        return value.get()
    if hasattr(value, "__dict__") and not callable(value):
        return {key: inside(item) for key, item in vars(value).items()}
    if callable(value):
        return value.__name__
    return value if isinstance(value, (bool, int, float, str, list, tuple, type(None))) else repr(value)


def test_looking_inside_sees_a_difference():
    for name in DETECTORS:
        a, b = DriftDetector(name, **SHARP[name]), DriftDetector(name, **SHARP[name])
        assert inside(a.detector) == inside(b.detector)
        a.update([0, 1, 0])
        b.update([0, 0, 0])
        assert inside(a.detector) != inside(b.detector), name


@property_test(60)
@given(
    st.sampled_from(["adwin", "ddm", "eddm", "page-hinkley"]),
    st.lists(st.lists(st.integers(0, 1), max_size=60), max_size=8),
    st.data(),
)
def test_cutting_and_saving_change_nothing(name, blocks, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DriftDetector, "max_inputs", 40)
        patch.setattr(DriftDetector, "kept_inputs", 15)
        whole = DriftDetector(name, **SHARP[name])
        expected = whole.update([error for block in blocks for error in block])
        cut, found, start = DriftDetector(name, **SHARP[name]), [], 0
        for block in blocks:
            found += [start + position for position in cut.update(block)]
            start += len(block)
            if data.draw(st.booleans()):
                cut = DriftDetector.from_state(cut.state())
            assert cut.n_inputs <= 40
        assert found == expected
        assert same_bits(cut.state(), whole.state())


def test_what_a_detector_holds_is_bounded(short_memory):
    drift = DriftDetector("adwin")
    quiet = np.random.default_rng(0).permuted(np.tile([0, 1], (400, 1)), axis=1).ravel().tolist()
    longest = 0
    for error in quiet:
        assert drift.update([error]) == []
        longest = max(longest, drift.n_inputs)
    assert longest == 59  # at the sixtieth it is made anew
    assert drift.n_inputs == 25 + (800 - 60) % 35
    inputs = np.unpackbits(drift.state()["inputs"], count=drift.n_inputs)
    assert inputs.tolist() == quiet[-drift.n_inputs :]
    fresh = river_drift.ADWIN()
    for error in quiet[-drift.n_inputs :]:
        fresh.update(error)
    assert inside(drift.detector) == inside(fresh)


def test_an_alarm_that_has_passed_is_silent(short_memory):
    drift = DriftDetector(river_drift.DummyDriftDetector(t_0=70))  # an alarm at every seventieth input
    assert drift.update([0] * 200) == []  # never gets so far
    drift = DriftDetector(Fussy())
    assert drift.update([0] * 59 + [0]) == []
    assert drift.n_inputs == 5  # the new one raised its alarm at the twentieth of the 25 that were kept
    assert (drift.n_seen, drift.n_alarms) == (60, 0)


class Fussy:
    """Raises an alarm at its twentieth input unless it is the first of its kind."""

    made = 0

    def __init__(self):
        self.seen = 0
        self.first = True

    def __deepcopy__(self, memo):
        copied = Fussy()
        Fussy.made += 1
        copied.first = Fussy.made <= 2  # the pattern, and the one that works first
        return copied

    def update(self, x):
        self.seen += 1

    @property
    def drift_detected(self):
        return self.seen == 20 and not self.first


def test_the_default_limits():
    assert (DriftDetector.max_inputs, DriftDetector.kept_inputs) == (50_000, 10_000)
    drift = DriftDetector()
    assert type(drift.detector) is river_drift.ADWIN
    errors = np.tile([0, 1, 0, 0], 12_600)  # 50,400
    assert drift.update(errors) == []
    assert drift.n_inputs == 10_400
    state = drift.state()
    assert state["inputs"].nbytes == 1300  # a bit for each
    assert same_bits(DriftDetector.from_state(state).state(), state)


def test_other_numbers_are_kept_as_they_are():
    drift = DriftDetector("page-hinkley", threshold=3.0)
    losses = np.random.default_rng(0).random(50)
    assert drift.update(losses) == []
    state = drift.state()
    assert not state["packed"]
    np.testing.assert_array_equal(state["inputs"], losses)
    restored = DriftDetector.from_state(state)
    assert inside(restored.detector) == inside(drift.detector)
    assert restored.update(losses + 1) == drift.update(losses + 1) != []


def test_warnings_are_shown_if_there_are_any():
    drift = DriftDetector("ddm")
    assert drift.warning is False
    warned = False
    for error in errors_that_change(200):
        drift.update([error])
        warned |= drift.warning
        assert drift.warning == drift.detector.warning_detected
    assert warned
    assert DriftDetector("adwin").warning is None


def test_chance_has_a_seed():
    detector = river_drift.KSWIN(window_size=20, stat_size=8)
    assert detector.seed is None
    drift = DriftDetector(detector, policy="forget")
    assert drift.detector.seed == 0
    drift.update(errors_that_change(100))
    assert detector.n == 0  # the one given is left alone
    assert drift.state()["parameters"] | {"seed": 1} != drift.state()["parameters"]
    assert DriftDetector.from_state(drift.state()).policy == drift.policy == "forget"


def test_any_detector_will_do_but_cannot_be_saved():
    detector = Counting()
    drift = DriftDetector(detector, policy="restart")
    assert drift.update([1] * 12) == [4, 9]
    assert (drift.detector.errors, detector.errors, drift.policy) == (2, 0, "restart")
    with pytest.raises(TypeError, match="cannot be saved: its parameters cannot be read back"):
        drift.state()

    class Own(river_drift.ADWIN):
        pass

    with pytest.raises(TypeError, match="Use a detector of River, or one of the names 'adwin'"):
        DriftDetector(Own()).state()


def test_a_state_makes_detectors_and_nothing_else():
    state = DriftDetector().state()
    for name in ("datasets", "DriftRetrainingClassifier", "__loader__", "os"):
        with pytest.raises(ValueError, match="has no drift detector"):
            DriftDetector.from_state(state | {"detector": name})


@pytest.mark.parametrize(
    ("arguments", "parameters", "error", "words"),
    [
        (("adwinn",), {}, ValueError, "one of 'adwin', 'ddm', .* got 'adwinn'"),
        ((object(),), {}, TypeError, r"must have update\(x\) and drift_detected"),
        ((Counting(),), {"delta": 1}, ValueError, "pass delta to its constructor"),
        (
            ("adwin", "panic"),
            {},
            ValueError,
            "'policy' of DriftDetector must be one of 'alarm', 'restart', 'forget'",
        ),
        (("adwin",), {"no_such": 1}, TypeError, "no_such"),
    ],
)
def test_bad_parameters_are_refused(arguments, parameters, error, words):
    with pytest.raises(error, match=words):
        DriftDetector(*arguments, **parameters)


@pytest.mark.parametrize("errors", [[0, np.nan], [[0, 1]], [np.inf], 1])
def test_bad_errors_are_refused_and_change_nothing(errors):
    drift = DriftDetector()
    drift.update([0, 1])
    state = drift.state()
    with pytest.raises(ValueError, match="errors must be one-dimensional and finite"):
        drift.update(errors)
    assert same_bits(drift.state(), state)


def test_a_detector_for_bits_gets_bits():
    drift = DriftDetector("ddm")
    with pytest.raises(ValueError, match="errors must be 0 or 1 for DDM"):
        drift.update([0, 1, 0.5])
    assert drift.n_inputs == 0
    assert DriftDetector("adwin").update([0, 1, 0.5]) == []


def test_without_river_it_says_what_to_install(monkeypatch):
    def missing(name, *rest):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r'pip install "everlearn\[river\]"'):
        DriftDetector()
    assert DriftDetector(Counting()).update([1] * 5) == [4]  # needs none
