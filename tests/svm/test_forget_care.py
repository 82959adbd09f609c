"""`forget` in rough weather: ids that are refused, saved models, interruptions, warnings."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.svm import SVC

import everlearn
from everlearn import OnlineSVMR, _core
from svm.lasvm_helpers import assert_same, learned, refused, snapshot, three_clouds, two_clouds
from svm.test_forget import BOTH, callable_rbf, keeper, kept


@BOTH
def test_ids_that_are_refused(cls):
    X, y = two_clouds(100)
    model = cls(gamma=0.3).partial_fit(X, y, classes=[0, 1])
    for ids, words, error in [
        (kept(model)[[0, 1, 0]], "more than once", ValueError),
        ([int(kept(model)[0]), 100], "keeps no row with the id 100", ValueError),
        (-1, "keeps no row", ValueError),
        ([0.5], "integers", TypeError),
        (["a"], "integers", TypeError),
        ([[0]], "one dimension", TypeError),
        ([True], "integers", TypeError),
    ]:
        with refused(model, words, error):
            model.forget(ids)
    before = snapshot(model)
    assert_same(snapshot(model.forget([])), before)
    row = kept(model)[0]
    assert model.forget(row) is model
    with refused(model, "keeps no row"):
        model.forget(row)
    model.set_params(tol=-1)
    with refused(model, "tol"):
        model.forget(kept(model)[0])
    with pytest.raises(NotFittedError):
        cls().forget(0)


@BOTH
@pytest.mark.parametrize("door", ["native", "sparse", "precomputed", "one class"])
def test_saved_and_loaded_it_goes_on_bit_for_bit(tmp_path, cls, door):
    X, y = (three_clouds if door == "native" else two_clouds)(240, 120 if door == "sparse" else 4)
    if door == "sparse":
        X = sparse.csr_matrix(np.where(np.random.default_rng(0).random(X.shape) < 0.1, X, 0))
    classes = np.unique(y)
    first = np.flatnonzero(y == classes[0])[:40] if door == "one class" else np.arange(120)
    rows = callable_rbf(X, X) if door == "precomputed" else X
    kernel = "precomputed" if door == "precomputed" else "rbf"
    model = cls(2.0, kernel=kernel, gamma=0.3).partial_fit(rows[first], y[first], classes=classes)
    for _ in range(3):
        everlearn.save(model, tmp_path / "model")
        again = everlearn.load(tmp_path / "model")
        share = np.random.default_rng(5).permutation(kept(model))[:20]
        for one in (model, again):
            one.forget(share)
        assert_same(learned(again), learned(model))
        if door != "precomputed":
            for one in (model, again):
                one.partial_fit(rows[120:], y[120:])
            assert_same(learned(again), learned(model))


@pytest.mark.parametrize("door", ["native", "callable", "precomputed"])
@pytest.mark.parametrize("method", ["forget", "finish"])
def test_ctrl_c_right_after_the_core_has_worked(monkeypatch, door, method):
    X, y = two_clouds(300)
    rows = callable_rbf(X, X) if door == "precomputed" else X
    model = keeper(kernel={"native": "rbf", "callable": callable_rbf}.get(door, door), gamma=0.3).fit(rows, y)
    work = getattr(_core.Lasvm, method)

    def interrupted(*args):
        work(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(_core.Lasvm, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.forget(np.arange(0, 300, 2))
    monkeypatch.undo()
    assert sorted(kept(model)) == list(range(1, 300, 2))
    slots = learned(model)
    expected = callable_rbf(X, X[slots["ids"]]) @ slots["alpha"][0] + slots["bias"][0]
    np.testing.assert_allclose(model.decision_function(rows), expected, rtol=0, atol=1e-5)
    exact = SVC(gamma=0.3).fit(X[1::2], y[1::2]).decision_function(X)
    np.testing.assert_allclose(model.finish().decision_function(rows), exact, rtol=0, atol=5e-3)
    if door != "precomputed":
        np.testing.assert_array_equal(model.support_vectors_, X[model.support_])


def test_an_optimum_out_of_reach_is_told_where_it_was_asked_for():
    X, y = two_clouds(100)
    model = keeper(1e4, kernel="linear", finishing=None, random_state=0).fit(X, y).set_params(tol=1e-13)
    with pytest.warns(ConvergenceWarning, match="Forgetting stopped") as told:
        model.forget(0)
    assert told[0].filename == __file__


def test_steps_that_are_cut_short_are_told(monkeypatch):
    X, y = two_clouds(60)
    model = OnlineSVMR().partial_fit(X, y, classes=[0, 1])
    counts = iter([0, 1])
    monkeypatch.setattr(_core.RampLoss, "capped", property(lambda native: next(counts)))
    with pytest.warns(ConvergenceWarning, match="limit of steps for one row 1 times"):
        model.forget(0)
