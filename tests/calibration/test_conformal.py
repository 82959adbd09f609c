"""AdaptiveConformal: equal to the plain twin, coverage within the theory's bound under drift, saved state."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import everlearn
from everlearn.calibration import AdaptiveConformal
from property_helpers import property_test
from reference.calibration import PlainConformal
from state_helpers import is_plain, same_bits


def drifting(n, seed=0, k=3):
    """Probabilities of a model that does not notice how the concept moves, and the labels."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(k, 0.4), size=n)
    sharpness = 1.5 + 1.5 * np.sin(np.arange(n) / 300)  # from overconfident to underconfident and back
    truth = proba ** sharpness[:, np.newaxis] + 1e-12
    truth /= truth.sum(axis=1, keepdims=True)
    truth[n // 2 : n // 2 + n // 8] = 1 / k  # for a while nothing is known at all
    return proba, np.array([rng.choice(k, p=p) for p in truth])


@pytest.mark.parametrize("gamma", [0.005, 0.05])
@pytest.mark.parametrize("window", [20, 300])
def test_equal_to_the_plain_twin(gamma, window):
    proba, y = drifting(600)
    conformal = AdaptiveConformal(0.2, gamma, window, classes=range(3))
    twin = PlainConformal(0.2, gamma, window)
    for row in range(600):
        sets = conformal.predict_set(proba[[row]])[0]
        assert np.array_equal(sets, proba[row] >= twin.threshold())
        conformal.update(proba[[row]], y[[row]])
        twin.update(proba[row, y[row]])
        assert conformal.level == pytest.approx(twin.level, abs=1e-12)
    assert conformal.coverage == pytest.approx(np.mean(twin.hits))


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("gamma", [0.005, 0.01, 0.05])
def test_coverage_stays_within_the_bound_under_drift(alpha, gamma):
    n = 4000
    proba, y = drifting(n)
    conformal = AdaptiveConformal(alpha, gamma, classes=range(3))
    covered = np.zeros(n, dtype=bool)
    for row in range(n):
        covered[row] = conformal.predict_set(proba[[row]])[0, y[row]]
        conformal.update(proba[[row]], y[[row]])
    for T in (500, 1000, 2000, n):
        bound = (max(alpha, 1 - alpha) + gamma) / (T * gamma)
        assert abs(covered[:T].mean() - (1 - alpha)) <= bound
    assert abs(covered.mean() - (1 - alpha)) < (0.01 if gamma >= 0.01 else 0.015)
    assert conformal.coverage == pytest.approx(covered.mean())


def test_a_fixed_level_would_break_the_promise_on_this_stream():
    proba, y = drifting(4000)
    threshold = np.quantile(proba[np.arange(500), y[:500]], 0.1)
    assert abs((proba[np.arange(4000), y] >= threshold)[500:].mean() - 0.9) > 0.03


def test_the_worst_labels_are_bounded_too():
    """An adversary that always picks a class outside of the set, where there is one."""
    rng = np.random.default_rng(0)
    conformal = AdaptiveConformal(0.1, 0.02, classes=range(4))
    misses = []
    for _ in range(1000):
        proba = rng.dirichlet(np.ones(4), size=1)
        outside = np.flatnonzero(~conformal.predict_set(proba)[0])
        misses.append(len(outside) > 0)
        conformal.update(proba, [int(outside[0]) if len(outside) else 0])
    assert abs(np.mean(misses) - 0.1) <= (0.9 + 0.02) / (1000 * 0.02)


def test_random_rows_get_the_promised_share_from_weighted_asked_rows():
    rng = np.random.default_rng(1)
    n = 6000
    proba = np.column_stack((p := rng.random(n), 1 - p))
    y = (rng.random(n) > p).astype(int)
    chance = np.where(np.abs(p - 0.5) < 0.25, 0.9, 0.1)  # uncertain rows are asked about
    asked = rng.random(n) < chance
    weights = (1 / chance[asked]) / np.mean(1 / chance[asked])
    covered = {}
    for name, w in (("weighted", weights), ("asked", None)):
        conformal = AdaptiveConformal(0.1, 0.005, classes=[0, 1])
        found = []
        for start in range(0, asked.sum(), 50):
            part = slice(start, start + 50)
            conformal.update(proba[asked][part], y[asked][part], None if w is None else w[part])
            found.append(conformal.predict_set(proba)[np.arange(n), y].mean())
        covered[name] = np.mean(found[5:])
    assert abs(covered["weighted"] - 0.9) < 0.02
    assert abs(covered["asked"] - 0.9) > 2 * abs(covered["weighted"] - 0.9)


def test_decision_values_serve_as_well_as_probabilities():
    proba, y = drifting(500, k=2)
    f = np.log(proba[:, 1] / proba[:, 0])
    by_proba = AdaptiveConformal(classes=[0, 1]).update(proba, y)
    by_score = AdaptiveConformal(classes=[0, 1]).update(f, y)
    assert by_score.coverage == by_proba.coverage
    assert np.array_equal(by_score.predict_set(f), by_proba.predict_set(proba))


def test_before_any_label_a_set_holds_everything_and_new_classes_join():
    conformal = AdaptiveConformal()
    assert conformal.predict_set([[0.9, 0.1]]).all()
    assert conformal.predict_set([0.3]).shape == (1, 2)
    proba, y = drifting(300, k=2)
    names = np.array(["a", "b"])
    conformal.update(proba, names[y])
    conformal.update([[0.5, 0.5]], ["c"], classes=["a", "b"])  # no column speaks for it
    assert conformal.classes.tolist() == ["a", "b", "c"]
    assert conformal.predict_set([[0.9, 0.1, np.nan]]).tolist()[0][2] is True
    assert conformal.n_seen == 301
    assert np.isnan(AdaptiveConformal().coverage)


def test_sets_that_were_given_out_can_be_judged():
    proba, y = drifting(200)
    conformal = AdaptiveConformal(0.1, 0.01, classes=range(3))
    conformal.update(proba, y, covered=np.zeros(200, dtype=bool))
    assert conformal.coverage == 0
    assert conformal.level == pytest.approx(0.1 - 0.9)  # gamma is 1 / 200 in a batch of 200
    assert conformal.predict_set(proba).all()


@pytest.mark.parametrize("batch", [10, 100, 500])
def test_sets_of_batches_keep_the_promise(batch):
    """Certain rows, all alike within a batch, of which the sets are given out before any label comes."""
    rng = np.random.default_rng(0)
    n = 10_000
    p = np.repeat(rng.uniform(0.5, 1, n // 100), 100)
    proba = np.column_stack((p, 1 - p))
    y = (rng.random(n) > p).astype(int)
    conformal = AdaptiveConformal(0.1, classes=[0, 1])
    covered = np.zeros(n, dtype=bool)
    for start in range(0, n, batch):
        rows = np.arange(start, start + batch)
        covered[rows] = conformal.predict_set(proba[rows])[np.arange(batch), y[rows]]
        conformal.update(proba[rows], y[rows], covered=covered[rows])
    step = min(0.01, 1 / batch)
    assert abs(covered.mean() - 0.9) <= (0.9 + step * batch) / (n * step)
    assert abs(covered.mean() - 0.9) < 0.02


def test_a_restored_one_goes_on_bit_for_bit(tmp_path):
    proba, y = drifting(400)
    weights = np.random.default_rng(0).random(400) * 2
    conformal = AdaptiveConformal(window=60, classes=range(3)).update(proba[:150], y[:150], weights[:150])
    assert is_plain(conformal.state())
    everlearn.save(conformal, tmp_path / "conformal")
    others = [AdaptiveConformal.from_state(conformal.state()), everlearn.load(tmp_path / "conformal")]
    before = copy.deepcopy(conformal.state())
    conformal.predict_set(proba)
    assert same_bits(conformal.state(), before)
    for one in (conformal, *others):
        one.update(proba[150:], y[150:], weights[150:])
    for other in others:
        assert same_bits(other.state(), conformal.state())


@property_test(60)
@given(
    st.lists(st.tuples(st.floats(-5, 5), st.booleans(), st.floats(0, 3)), min_size=1, max_size=60),
    st.floats(0.01, 0.99),
    st.floats(0.001, 0.5),
)
def test_the_level_never_runs_away(rows, alpha, gamma):
    conformal = AdaptiveConformal(alpha, gamma, window=10, classes=[False, True])
    for f, label, weight in rows:
        conformal.update([f], [label], [weight])
        assert -3 * gamma <= conformal.level <= 1 + 3 * gamma


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.update([[0.5, 0.5]], [0, 1]), "same length, got 1 and 2"),
        (
            lambda c: c.update([[0.5, 0.5]], [0], [np.nan]),
            "sample_weight must have a finite, non-negative number",
        ),
        (lambda c: c.update([[0.5, 0.5]], [0], covered=[True, False]), "covered must have the length of y"),
        (lambda c: c.update([[0.5, 0.5]], ["c"]), "2 classes, but 3 classes are known: pass the classes"),
        (lambda c: c.predict_set([[0.5, 0.3, 0.2]]), "pass the classes"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(call, words):
    conformal = AdaptiveConformal(classes=[0, 1]).update([[0.4, 0.6]], [1])
    before = conformal.state()
    with pytest.raises(ValueError, match=words):
        call(conformal)
    assert same_bits(conformal.state(), before)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 0}, "'alpha' of AdaptiveConformal must be a number between 0 and 1, both excluded, got 0"),
        ({"alpha": 1.0}, "'alpha' of AdaptiveConformal"),
        ({"gamma": 0.0}, "'gamma' of AdaptiveConformal must be a finite number above 0"),
        ({"window": 0}, "'window' of AdaptiveConformal"),
    ],
)
def test_bad_parameters(options, words):
    with pytest.raises(ValueError, match=words):
        AdaptiveConformal(**options)
