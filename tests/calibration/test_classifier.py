"""CalibratedClassifier: scikit-learn's checks, leave-one-out and out-of-fold scores, streams, saved state."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import everlearn
from everlearn import IDSVM, LASVM, RBP
from everlearn.calibration import CalibratedClassifier, OnlineCalibrator
from everlearn.datasets import make_banana, make_waveform
from reference.calibration import brier
from state_helpers import same_bits


def expected_failures(estimator):
    reason = "folds are drawn by place, and a repeated row is not a row of double weight"
    return {
        "check_sample_weight_equivalence_on_dense_data": reason,
        "check_sample_weight_equivalence_on_sparse_data": reason,
    }


@parametrize_with_checks(
    [CalibratedClassifier(), CalibratedClassifier(IDSVM())], expected_failed_checks=expected_failures
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def table(n=600, noise=0.15, seed=0):
    rng = np.random.default_rng(seed)
    X, y = make_banana(n, random_state=seed)
    return X, np.where(rng.random(n) < noise, -y, y)


# --- tables ------------------------------------------------------------------------------------------------


def test_leave_one_out_scores_are_those_of_machines_fitted_without_the_row():
    X, y = table(60)
    clf = CalibratedClassifier(IDSVM(C=5, gamma=0.5)).fit(X, y)
    scores = []
    for row in range(60):
        rest = np.arange(60) != row
        scores.append(SVC(C=5, gamma=0.5, tol=1e-8).fit(X[rest], y[rest]).decision_function(X[[row]])[0])
    by_hand = OnlineCalibrator().fit(np.array(scores), y)
    wanted = by_hand.predict_proba(clf.estimator_.decision_function(X))
    assert_allclose(clf.predict_proba(X), wanted, atol=1e-4)


def test_out_of_fold_scores_never_see_the_row():
    """A learner that remembers every row by heart would be certain; its out-of-fold scores say nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 20)), rng.integers(0, 2, 200)
    clf = CalibratedClassifier(SVC(C=1e6, gamma=0.1), random_state=0).fit(X, y)
    assert (clf.estimator_.predict(X) == y).all()
    assert np.abs(clf.predict_proba(X) - 0.5).max() < 0.25
    by_rows = OnlineCalibrator().fit(clf.estimator_.decision_function(X), y)
    assert by_rows.predict_proba(clf.estimator_.decision_function(X)).max(axis=1).mean() > 0.9


@pytest.mark.parametrize("learner", [LASVM(C=5, gamma=0.5, random_state=0), IDSVM(C=5, gamma=0.5)])
def test_probabilities_are_as_good_as_those_of_scikit_learn(learner):
    X, y = table(900)
    codes = (y[400:] > 0).astype(int)
    folds = [CalibratedClassifier(learner, random_state=seed).fit(X[:400], y[:400]) for seed in range(8)]
    ours = np.mean([brier(clf.predict_proba(X[400:]), codes) for clf in folds])  # folds are drawn at random
    peer = CalibratedClassifierCV(SVC(C=5, gamma=0.5), method="sigmoid", ensemble=False).fit(X[:400], y[:400])
    assert ours < brier(peer.predict_proba(X[400:]), codes) + 0.003


def test_several_classes_and_decisions_that_agree():
    X, y = make_waveform(900, random_state=0)
    clf = CalibratedClassifier(LASVM(gamma=0.05, random_state=0), random_state=0).fit(X[:500], y[:500])
    proba = clf.predict_proba(X[500:])
    assert_allclose(proba.sum(axis=1), 1)
    assert np.array_equal(clf.predict(X), clf.classes_[clf.decision_function(X).argmax(axis=1)])
    confident = proba.max(axis=1)
    right = clf.predict(X[500:]) == y[500:]
    assert abs(confident.mean() - right.mean()) < 0.06


def test_a_class_with_a_single_row_and_string_labels():
    X, y = table(100)
    names = np.where(y > 0, "yes", "no").astype(object)
    names[0] = "rare"
    clf = CalibratedClassifier(LASVM(gamma=0.5, random_state=0), random_state=0).fit(X, names)
    assert clf.classes_.tolist() == ["no", "rare", "yes"]
    assert clf.predict_proba(X)[:, 1].max() < 0.6
    two = CalibratedClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
    assert two.predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_weights_sparse_rows_and_a_precomputed_kernel():
    X, y = table(120)
    weights = np.ones(120)
    weights[:20] = 0
    for learner in (LASVM(gamma=0.5, random_state=0), IDSVM(gamma=0.5)):
        some = CalibratedClassifier(learner, random_state=0).fit(X, y, weights)
        assert np.isfinite(some.predict_proba(X)).all()
        assert some.calibrator_.n_seen >= 100
        by_rows = CalibratedClassifier(learner, random_state=0).fit(X, y).predict_proba(X)
        by_sparse = CalibratedClassifier(learner, random_state=0).fit(sparse.csr_matrix(X), y)
        assert_allclose(by_sparse.predict_proba(sparse.csr_matrix(X)), by_rows, atol=2e-2)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    for learner in (SVC(gamma=0.5), IDSVM(gamma=0.5)):
        plain = CalibratedClassifier(learner, random_state=0).fit(X, y)
        by_kernel = CalibratedClassifier(clone(learner).set_params(kernel="precomputed"), random_state=0)
        assert_allclose(by_kernel.fit(K, y).predict_proba(K), plain.predict_proba(X), atol=1e-3)


def test_a_learner_with_probabilities_alone():
    X, y = table(300)
    clf = CalibratedClassifier(GaussianNB(), random_state=0).fit(X[:150], y[:150])
    clf.partial_fit(X[150:], y[150:])
    assert clf.calibrator_.n_seen == 300
    with pytest.raises(TypeError, match="neither decision_function nor predict_proba"):
        everlearn.calibration._scores.scores_of(object(), X)


# --- streams -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "learner", [LASVM(gamma=0.5), RBP(gamma=0.5, random_state=0), SGDClassifier(random_state=0)]
)
def test_a_block_is_scored_before_it_is_learned(learner):
    X, y = table(500)
    clf = CalibratedClassifier(learner, random_state=0)
    clf.partial_fit(X[:50], y[:50], classes=[-1, 1])
    calibrator = OnlineCalibrator()
    for start in range(50, 500, 30):
        part = slice(start, start + 30)
        scores = clf.estimator_.decision_function(X[part])
        clf.partial_fit(X[part], y[part])
        calibrator.update(scores, y[part], classes=[-1, 1])
    assert same_bits(clf.calibrator_.state(), calibrator.state())
    wanted = calibrator.predict_proba(clf.estimator_.decision_function(X), classes=[-1, 1])
    assert np.array_equal(clf.predict_proba(X), wanted)


class Growing(GaussianNB):
    """A learner that accepts new classes at any time."""

    grows_classes = True

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.rows_ = np.vstack((self.rows_, X)) if hasattr(self, "rows_") else X
        self.labels_ = np.concatenate((getattr(self, "labels_", y[:0]), y))
        return super().fit(self.rows_, self.labels_)


def test_a_learner_whose_classes_grow():
    X, y = make_waveform(300, random_state=0)
    order = np.argsort(y == y.max(), kind="stable")  # the last class comes last
    X, y = X[order], y[order]
    clf = CalibratedClassifier(Growing())
    assert clf.grows_classes
    assert not CalibratedClassifier().grows_classes
    for start in range(0, 300, 20):
        clf.partial_fit(X[start : start + 20], y[start : start + 20])
    assert clf.classes_.tolist() == sorted(set(y.tolist()))
    assert clf.predict_proba(X).shape == (300, 3)


def test_a_block_that_is_refused_changes_nothing():
    X, y = table(100)
    clf = CalibratedClassifier(LASVM(gamma=0.5)).partial_fit(X, y, classes=[-1, 1]).partial_fit(X, y)
    before = clf._get_state()
    for bad_X, bad_y, words in (
        (X[:2], [1, 7], "not in classes"),
        (X[:2, :1], [1, 1], "features"),
        (X[:2] * np.nan, [1, 1], "NaN"),
    ):
        with pytest.raises(ValueError, match=words):
            clf.partial_fit(bad_X, bad_y)
    after = clf._get_state()
    assert same_bits(after["calibrator"], before["calibrator"])
    assert after["estimator"]["state"]["machine"].keys() == before["estimator"]["state"]["machine"].keys()
    with pytest.raises(ValueError, match="1 class"):
        clf.fit(X, np.ones(100))
    assert hasattr(clf, "estimator_")


def test_seeds_decide_everything():
    X, y = table(200)
    first, second, other = (
        CalibratedClassifier(random_state=seed).fit(X, y).predict_proba(X) for seed in (3, 3, 4)
    )
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


# --- state -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [None, IDSVM(gamma=0.5)])
def test_a_loaded_one_goes_on_bit_for_bit(learner, tmp_path):
    X, y = table(300)
    clf = (
        CalibratedClassifier(learner, random_state=0)
        .fit(X[:100], y[:100])
        .partial_fit(X[100:200], y[100:200])
    )
    everlearn.save(clf, tmp_path / "clf")
    loaded = everlearn.load(tmp_path / "clf")
    assert repr(loaded) == repr(clf)
    for one in (clf, loaded):
        one.partial_fit(X[200:], y[200:])
    assert np.array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    everlearn.save(CalibratedClassifier(learner), tmp_path / "new")
    assert not hasattr(everlearn.load(tmp_path / "new"), "estimator_")
    with pytest.raises(TypeError, match="cannot be saved without pickle"):
        everlearn.save(CalibratedClassifier(SVC()), tmp_path / "foreign")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": object()}, "'estimator' of CalibratedClassifier must be None or a classifier"),
        ({"estimator": SVC}, "'estimator' of CalibratedClassifier"),
        ({"cv": 1}, "'cv' of CalibratedClassifier must be an integer from 2"),
        ({"method": "isotonic"}, "'method' of CalibratedClassifier must be one of"),
        ({"half_life": -1}, "'half_life' of CalibratedClassifier"),
    ],
)
def test_bad_parameters(options, words):
    X, y = table(20)
    with pytest.raises(ValueError, match=words):
        CalibratedClassifier(**options).fit(X, y)
