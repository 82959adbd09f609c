"""The learners for noisy labels over longer streams: copies in mid-stream, a ramp that sets in, limits."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from everlearn import LASVMG, LASVMI, LASVMNC, FullSVM, OnlineSVMR, RampSVM, datasets
from svm.lasvm_helpers import assert_same, learned, two_clouds
from svm.test_lasvm_g import single
from svm.test_online_svmr import check, one_by_one

RAMP = {"min_support": 20}
CLEANING = {"clean_every": 70, "max_idle": 5}


def noisy_banana(n, seed, share=0.2):
    X, y = datasets.make_banana(n, random_state=seed)
    return X, np.where(np.random.default_rng(seed).random(n) < share, -y, y)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("block", [50, 300])
@pytest.mark.parametrize(
    ("cls", "options"),
    [
        (OnlineSVMR, {"max_idle": 0}),
        (OnlineSVMR, {"max_idle": 10}),
        (OnlineSVMR, {}),
        (LASVMG, CLEANING),
        (LASVMNC, CLEANING | RAMP),
        (LASVMI, CLEANING | RAMP),
        (FullSVM, {}),
    ],
)
def test_a_copy_after_every_block_goes_on_as_the_learner_itself(cls, options, block, seed):
    X, y = noisy_banana(1500, seed)
    model, copy = cls(C=10, gamma=1, **options), cls(C=10, gamma=1, **options)
    for start in range(0, 1500, block):
        rows = slice(start, start + block)
        for one in (model, copy):
            one.partial_fit(X[rows], y[rows], classes=[-1, 1])
        copy = pickle.loads(pickle.dumps(copy))
        assert_same(learned(copy), learned(model))


@pytest.mark.parametrize("seed", range(5))
def test_the_conditions_hold_from_the_row_on_with_which_the_ramp_begins_to_work(seed):
    X, y = noisy_banana(200, seed, share=0.3)
    K = single(rbf_kernel(X, gamma=1.0))
    model = OnlineSVMR(10.0, kernel="precomputed", min_support=8)
    for _ in one_by_one(model, K, y):
        if list(model._machine.native.get_state()["trusted"]) == [3]:
            check(model, K, y, np.full(200, 10.0), -1.0)
    assert list(model._machine.native.get_state()["trusted"]) == [3]


@pytest.mark.parametrize("cls", [OnlineSVMR, LASVMG, RampSVM])
def test_large_kernel_values_are_learned_as_well(cls):
    """A step on a row gains about 1 / (2 K(x, x)): what gain is worth a step must follow."""
    X, y = load_wine(return_X_y=True)  # K(x, x) is up to three millions
    assert cls(kernel="linear").fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("cls", [LASVMG, OnlineSVMR])
def test_it_is_said_when_steps_are_cut_off(cls):
    X, y = load_breast_cancer(return_X_y=True)  # not scaled, K(x, x) is up to thirty millions
    model = cls(1.0, kernel="linear", random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"limit of steps for one row \d+ times"):
        model.fit(X, y)
    capped = model._machine.native.capped
    assert pickle.loads(pickle.dumps(model))._machine.native.capped == capped > 0
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cls(1.0, kernel="linear").fit(X, y)


def test_one_heavy_row_does_not_loosen_the_target_of_all():
    X, y = two_clouds(2000, 3, apart=1.5)
    weight = np.ones(2000)
    weight[100] = 1000.0
    gaps = [
        LASVMG(1.0, gamma=0.3).partial_fit(X, y, classes=[0, 1], sample_weight=w).duality_gap_[0]
        for w in (None, weight)
    ]
    assert gaps[1] < 2 * gaps[0]


@pytest.mark.parametrize("cls", [LASVMG, LASVMNC, LASVMI, OnlineSVMR])
def test_all_weights_doubled_are_a_doubled_cost(cls):
    X, y = two_clouds(400, 3)
    weighted = cls(1.0, gamma=0.3).partial_fit(X, y, classes=[0, 1], sample_weight=np.full(400, 2.0))
    costly = cls(2.0, gamma=0.3).partial_fit(X, y, classes=[0, 1])
    assert_same(weighted.dual_coef_, costly.dual_coef_)


@pytest.mark.parametrize(
    ("cls", "within"), [(LASVMG, 0.15), (OnlineSVMR, 0.15), (LASVMNC, 0.3), (LASVMI, 0.3)]
)
def test_labels_that_turn_are_learned_again(cls, within):
    """All labels change sides after a third of the stream; a ramp sees outliers at first, then gives way."""
    X, y = two_clouds(6000, 3, apart=2.0)
    y = np.where(np.arange(6000) < 2000, y, 1 - y)
    options = {"max_idle": 100} if cls is OnlineSVMR else {}
    model = cls(5.0, gamma=0.3, **options)
    for start in range(0, 6000, 500):
        model.partial_fit(X[start : start + 500], y[start : start + 500], classes=[0, 1])
    assert np.mean(model.predict(X[2000:]) != y[2000:]) < within
