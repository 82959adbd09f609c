"""OnlineCalibrator: equal to plain twins, usable from the first label, new classes, saved state."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.isotonic import IsotonicRegression

import everlearn
from everlearn.calibration import OnlineCalibrator
from property_helpers import property_test
from reference import calibration as plain
from state_helpers import is_plain, same_bits

METHODS = ["saturating", "sigmoid", "temperature", "venn_abers"]
FORMS = {"saturating": (True, True), "sigmoid": (False, True), "temperature": (False, False)}


def binary(n, seed=0, slope=2.0, shift=0.5):
    """Scores, labels, and the true probabilities of the second class."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n)
    truth = 1 / (1 + np.exp(-slope * scores - shift))
    return scores, (rng.random(n) < truth).astype(int), truth


def several(n, k=4, seed=0, slope=1.5):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, k))
    truth = np.exp(slope * scores)
    truth /= truth.sum(axis=1, keepdims=True)
    return scores, np.array([rng.choice(k, p=p) for p in truth]), truth


def as_dicts(matrix, classes):
    rows = [dict(zip(classes, row, strict=True)) for row in matrix.tolist()]
    return [{k: v for k, v in row.items() if v == v} for row in rows]


# --- equal to the twins ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FORMS)
@pytest.mark.parametrize("k", [2, 4])
@pytest.mark.parametrize("table", [False, True])
def test_equal_to_a_general_optimizer(method, k, table):
    scores, y, _ = binary(60) if k == 2 else several(60, k)
    weights = np.random.default_rng(1).random(60) * 2
    half_life = 20.0
    calibrator = OnlineCalibrator(method, half_life=half_life, classes=range(k))
    (calibrator.fit if table else calibrator.update)(scores, y, weights)
    faded = weights if table else weights * 0.5 ** (np.arange(59, -1, -1) / half_life)
    ridges = (0.2, 0.5, 0.5) if table else (1.0, 20.0, 5.0)
    matrix = np.column_stack((-scores, scores)) if k == 2 else scores.copy()
    if k == 4:
        matrix[:20, 3] = np.where(y[:20] == 3, matrix[:20, 3], np.nan)  # a class that had no score then
        calibrator = OnlineCalibrator(method, half_life=half_life, classes=range(k))
        (calibrator.fit if table else calibrator.update)(matrix, y, weights)
    rows = as_dicts(matrix, range(k))
    found = plain.logit_fit(rows, y.tolist(), faded, range(k), *FORMS[method], ridges)
    wanted = [plain.logit_proba(row, range(k), *found, FORMS[method][0]) for row in rows]
    proba = calibrator.predict_proba(scores if k == 2 else matrix)
    assert_allclose(proba, [[p.get(c, 0.0) for c in range(k)] for p in wanted], atol=3e-4)


@pytest.mark.parametrize("weighted", [False, True])
def test_venn_abers_is_isotonic_regression_with_either_label(weighted):
    scores, y, _ = binary(50)
    scores = np.round(scores, 1)  # with ties
    weights = np.random.default_rng(2).random(50) + 0.5 if weighted else np.ones(50)
    calibrator = OnlineCalibrator("venn_abers", half_life=None, classes=[0, 1]).update(scores, y, weights)
    # The margin of the second class is f - (-f).
    wanted = [plain.venn_abers((2 * scores).tolist(), y, weights.tolist(), 2 * f) for f in scores.tolist()]
    assert_allclose(calibrator.predict_proba(scores)[:, 1], wanted, atol=1e-12)


def test_the_twin_of_isotonic_regression_is_that_of_scikit_learn():
    scores, y, _ = binary(80, seed=3)
    scores = np.round(scores, 1)
    fitted = IsotonicRegression().fit(scores, y).predict(scores)
    found = plain.isotonic(scores.tolist(), y.tolist(), [1.0] * 80)
    assert_allclose([found[v] for v in scores.tolist()], fitted, atol=1e-12)


# --- what the probabilities are worth ----------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_many_labels_give_the_true_probabilities(method):
    scores, y, truth = binary(4000)
    calibrator = OnlineCalibrator(method, window=4000, half_life=None).update(scores, y)
    error = np.abs(calibrator.predict_proba(scores)[:, 1] - truth).mean()
    assert error < (0.08 if method == "temperature" else 0.03)  # a temperature cannot shift
    scores, y, truth = several(4000)
    calibrator = OnlineCalibrator(method, window=4000, half_life=None).update(scores, y)
    assert np.abs(calibrator.predict_proba(scores) - truth).mean() < 0.04


@pytest.mark.parametrize("n", [1, 2, 5, 20])
@pytest.mark.parametrize("method", METHODS)
def test_few_labels_stay_near_the_prior(method, n):
    scores, y, _ = binary(n, seed=n)
    calibrator = OnlineCalibrator(method, classes=[0, 1]).update(scores, y)
    grid = np.linspace(-2, 2, 9)
    found = calibrator.predict_proba(grid)[:, 1]
    assert (np.diff(found) >= 0).all(), "a higher score is never less likely"
    assert (found > 0).all()
    assert (found < 1).all()
    if method != "venn_abers":
        assert 0.3 < found[4] < 0.7, "a score of 0 says little"
        assert found[-1] > 0.5


def test_before_any_label_the_prior_speaks():
    calibrator = OnlineCalibrator()
    found = calibrator.predict_proba([0.0, 1.0, -1.0])
    assert_allclose(found[0], [0.5, 0.5])
    assert found[1, 1] == pytest.approx(found[2, 0])
    assert found[1, 1] > 0.9
    assert_allclose(calibrator.predict_proba([[0.0, 0.0, 0.0]]), [[1 / 3] * 3])


def test_probabilities_follow_drift():
    scores, y, _ = binary(3000, shift=0.0)
    after = binary(600, seed=9, slope=0.3, shift=1.0)
    calibrator = OnlineCalibrator(classes=[0, 1])
    calibrator.update(scores, y)
    before = plain.brier(calibrator.predict_proba(after[0]), after[1])
    calibrator.update(after[0][:300], after[1][:300])
    adapted = plain.brier(calibrator.predict_proba(after[0][300:]), after[1][300:])
    frozen = OnlineCalibrator(half_life=None, window=10_000, classes=[0, 1]).update(scores, y)
    frozen.update(after[0][:300], after[1][:300])
    slow = plain.brier(frozen.predict_proba(after[0][300:]), after[1][300:])
    assert adapted < slow < before


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0, 1e3, 1e8])
def test_the_scale_of_scores_does_not_matter_much(scale):
    scores, y, truth = binary(500)
    found = OnlineCalibrator(half_life=None).update(scale * scores, y).predict_proba(scale * scores)[:, 1]
    assert np.abs(found - truth).mean() < 0.04


def test_saturating_levels_off_where_labels_are_noisy():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=4000) * 2
    truth = 0.05 + 0.9 / (1 + np.exp(-4 * scores))  # 5 % are wrong, however high the score
    y = (rng.random(4000) < truth).astype(int)
    options = {"window": 4000, "half_life": None}
    errors = {
        method: np.abs(
            OnlineCalibrator(method, **options).update(scores, y).predict_proba(scores)[:, 1] - truth
        )
        for method in ("saturating", "sigmoid")
    }
    assert errors["saturating"].mean() < 0.5 * errors["sigmoid"].mean()


# --- classes and weights -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_classes_that_appear_later(method):
    scores, y, _ = binary(100)
    names = np.array(["ham", "spam"])
    calibrator = OnlineCalibrator(method).update(scores, names[y])
    assert calibrator.classes.tolist() == ["ham", "spam"]
    wide, z, _ = several(200, 3, seed=5)
    three = np.array(["ham", "news", "spam"])
    # The label comes before the learner has a column for it.
    calibrator.update([0.3], ["news"], classes=["ham", "spam"])
    calibrator.update(wide, three[z], classes=three)
    assert calibrator.classes.tolist() == ["ham", "news", "spam"]
    found = calibrator.predict_proba(wide)
    assert found.shape == (200, 3)
    assert_allclose(found.sum(axis=1), 1)
    assert (found.argmax(axis=1) == z).mean() > 0.5
    turned = calibrator.predict_proba(wide[:, [2, 0, 1]], classes=["spam", "ham", "news"])
    assert_allclose(turned[:, [1, 2, 0]], found, atol=1e-12)
    two = calibrator.predict_proba(scores, classes=["ham", "spam"])
    assert two.shape == (100, 2)
    assert calibrator.predict_proba([[0.0, 5.0]], classes=["ham", "other"])[0, 1] > 0.9


def test_a_weight_of_two_is_two_rows_and_a_weight_of_zero_is_none():
    scores, y, _ = binary(50)
    twice = OnlineCalibrator(half_life=None).fit(np.repeat(scores, 2), np.repeat(y, 2))
    double = OnlineCalibrator(half_life=None).fit(scores, y, np.full(50, 2.0))
    assert_allclose(twice.predict_proba(scores), double.predict_proba(scores), atol=1e-6)
    none = OnlineCalibrator(half_life=None).fit(np.r_[scores, 9.0], np.r_[y, 0], np.r_[np.ones(50), 0.0])
    alone = OnlineCalibrator(half_life=None).fit(scores, y)
    assert_allclose(none.predict_proba(scores), alone.predict_proba(scores), atol=1e-6)


def test_importance_weights_undo_a_choice_that_depends_on_more_than_the_score():
    rng = np.random.default_rng(0)
    scores, y, truth = binary(8000)
    chance = np.where(y == 1, 0.8, 0.2)
    asked = rng.random(8000) < chance
    options = {"window": 8000, "half_life": None}
    biased = OnlineCalibrator(**options).update(scores[asked], y[asked])
    weighted = OnlineCalibrator(**options).update(scores[asked], y[asked], 1 / chance[asked])
    errors = [np.abs(c.predict_proba(scores)[:, 1] - truth).mean() for c in (weighted, biased)]
    assert errors[0] < 0.02 < 0.1 < errors[1]


def test_rows_without_scores_count_for_the_frequencies_alone():
    scores, y, _ = binary(50)
    calibrator = OnlineCalibrator(half_life=None, classes=[0, 1]).update(scores, y)
    before = calibrator.predict_proba(scores)
    calibrator.update([np.nan] * 150, [1] * 150)
    assert_allclose(calibrator.predict_proba(scores), before, atol=1e-6)
    assert calibrator.predict_proba([np.nan])[0, 1] > 0.8
    assert calibrator.predict_proba([[0.5, np.nan, 0.1]], classes=[0, 1, 2])[0, 1] == 0


def test_fit_counts_all_rows_alike_and_keeps_a_window():
    scores, y, _ = binary(3000)
    fitted = OnlineCalibrator(window=500, half_life=50).fit(scores, y)
    backwards = OnlineCalibrator(window=500, half_life=50).fit(scores[::-1], y[::-1])
    assert_allclose(fitted.predict_proba(scores), backwards.predict_proba(scores), atol=1e-8)
    assert len(fitted.state()["scores"]) == 500
    assert fitted.n_seen == 3000
    again = copy.deepcopy(fitted).fit(scores, y)
    assert same_bits(again.state(), fitted.state())


# --- state -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_restored_one_goes_on_bit_for_bit(method, tmp_path):
    scores, y, _ = several(400, 3)
    calibrator = OnlineCalibrator(method, window=200, half_life=30)
    calibrator.update(scores[:211], y[:211])
    calibrator.update(scores[211:214], y[211:214])  # too few for a refit: they are pending
    state = calibrator.state()
    assert state["pending"] == 3
    assert is_plain(state)
    everlearn.save(calibrator, tmp_path / "calibrator")
    others = [OnlineCalibrator.from_state(state), everlearn.load(tmp_path / "calibrator")]
    for start in range(214, 400):
        part = slice(start, start + 1)
        for one in (calibrator, *others):
            one.update(scores[part], y[part])
    for other in others:
        assert same_bits(other.state(), calibrator.state())
        assert np.array_equal(other.predict_proba(scores), calibrator.predict_proba(scores))
    assert len(calibrator.state()["scores"]) == 200


def test_looking_changes_nothing_and_a_state_is_a_copy():
    scores, y, _ = binary(50)
    calibrator = OnlineCalibrator().update(scores, y)
    before = copy.deepcopy(calibrator.state())
    calibrator.predict_proba(scores)
    calibrator.predict_proba([[1.0, 2.0, 3.0]], classes=[0, 1, "new"])
    assert same_bits(calibrator.state(), before)
    calibrator.state()["scores"][:] = 7
    assert same_bits(calibrator.state(), before)


# --- any input ---------------------------------------------------------------------------------------------

floats = st.floats(-1e6, 1e6) | st.just(float("nan"))


@property_test(60)
@given(
    st.lists(st.tuples(floats, floats, floats, st.integers(0, 2), st.floats(0, 10)), min_size=1, max_size=40),
    st.sampled_from(METHODS),
)
def test_probabilities_are_always_probabilities(rows, method):
    table = np.array([row[:3] for row in rows])
    y = [row[3] for row in rows]
    calibrator = OnlineCalibrator(method, window=20, half_life=5, classes=range(3))
    calibrator.update(table, y, [row[4] for row in rows])
    found = calibrator.predict_proba(table)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert_allclose(found.sum(axis=1), 1, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.update([1.0, 2.0], [0]), "same length, got 2 and 1"),
        (lambda c: c.update([np.inf], [0]), "must not be infinite"),
        (lambda c: c.update([1.0], [None]), "y is missing in row 0"),
        (lambda c: c.update([1.0], [0], [-1.0]), "sample_weight must have a finite, non-negative number"),
        (lambda c: c.update([1.0], [0], [1.0, 2.0]), "sample_weight must have"),
        (lambda c: c.update([[1.0, 2.0, 3.0]], [0]), "3 classes, but 2 classes are known: pass the classes"),
        (lambda c: c.update([1.0], ["new"]), "2 classes, but 3 classes are known"),
        (lambda c: c.update([1.0], [0], classes=[0, 0]), "2 distinct labels"),
        (lambda c: c.update([1.0], [0], classes=[0, 1, 2]), "2 distinct labels"),
        (lambda c: c.predict_proba([[1.0, 2.0, 3.0]]), "pass the classes of the columns"),
        (lambda c: c.fit([1.0], [None]), "y is missing"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(call, words):
    scores, y, _ = binary(20)
    calibrator = OnlineCalibrator().update(scores, y)
    before = calibrator.state()
    with pytest.raises(ValueError, match=words):
        call(calibrator)
    assert same_bits(calibrator.state(), before)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "platt"}, "'method' of OnlineCalibrator must be one of 'auto'"),
        ({"window": 0}, "'window' of OnlineCalibrator must be an integer from 1"),
        ({"half_life": 0}, "'half_life' of OnlineCalibrator must be None or a finite number above 0"),
        ({"classes": [1, 1]}, "classes must be distinct labels"),
    ],
)
def test_bad_parameters(options, words):
    with pytest.raises(ValueError, match=words):
        OnlineCalibrator(**options)


@pytest.mark.parametrize("method", ["saturating", "sigmoid", "temperature", "venn_abers"])
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_the_likelier_of_two_classes_is_the_one_with_the_larger_probability(method, factor):
    random = np.random.default_rng(0)
    calibrator, asked = OnlineCalibrator(method), 0
    for _ in range(40):
        scores = factor * random.normal(0.4, 1, size=10)
        for score in [*scores, 0.0, -0.0, 1e-12, np.nan, 1e200, -1e300]:
            found = calibrator.prefers_second(np.array([score]), ("no", "yes"))
            if found is not None:
                first, second = calibrator.predict_proba(np.array([score]), classes=["no", "yes"])[0]
                assert found is bool(second > first)
                asked += 1
        calibrator.update(scores, np.where(scores + factor * random.normal(size=10) > 0, "yes", "no"))
    assert calibrator.prefers_second(np.zeros((1, 3)), ("no", "yes")) is None
    assert asked > (5 if method == "venn_abers" else 300)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("k", [2, 4])
def test_the_short_way_of_single_rows_gives_the_same_bits(method, k):
    """An array of one row of known classes takes a short way, a list does not."""
    scores, y, _ = binary(150) if k == 2 else several(150, k)
    scores[7], scores[9] = np.nan, 1e101
    short, long = OnlineCalibrator(method, window=60), OnlineCalibrator(method, window=60)
    for i in range(150):
        classes = np.arange(k) if i % 50 else np.arange(k)[::-1].copy()
        short.update(scores[i : i + 1], [int(y[i])], classes=classes)
        long.update(scores[i : i + 1].tolist(), [int(y[i])], classes=classes.tolist())
        found = short.predict_proba(scores[i : i + 1], classes=classes)
        assert found.tobytes() == long.predict_proba(scores[i : i + 1].tolist(), classes=classes).tobytes()
        if i == 100:
            short = OnlineCalibrator.from_state(short.state())
    assert same_bits(short.state(), long.state())
    with pytest.raises(ValueError, match="infinite"):
        short.update(scores[:1] * np.inf, [0], classes=np.arange(k))
    assert same_bits(short.state(), long.state())
