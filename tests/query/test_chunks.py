"""IncrSVM and QuerySVM: their reference versions step by step, and how a fit ends."""

import numpy as np
import pytest
from sklearn.base import clone

from everlearn import LASVM, IncrSVM, QuerySVM
from query.statq_helpers import EXACT, after_seed, check_plain_loop
from reference import statq as twin
from reference.test_reference_statq import clouds


@pytest.mark.parametrize("keep", ["all", "support"])
@pytest.mark.parametrize("seed", range(8))
def test_queries_to_the_end(seed, keep):
    X, y = clouds(200, seed, apart=2.5)
    *_, (S, _, used, _) = twin.query(X, y, 10, 1000, after_seed(seed), keep=keep)
    model = QuerySVM(EXACT, chunk_size=10, max_iter=-1, keep=keep, random_state=seed).fit(X, y)
    np.testing.assert_array_equal(model.support_, np.sort(S))
    np.testing.assert_array_equal(model.used_, sorted(used))
    assert model.stop_reason_ == "no row left inside the margin"
    rest = np.setdiff1d(np.arange(200), model.used_)
    assert np.abs(model.decision_function(X[rest])).min() >= 1
    assert max(entry["distance"] for entry in model.history_[1:]) < 1


def test_the_default_estimator_is_an_exact_linear_machine():
    X, y = clouds(400, 0)
    ours, exact = (IncrSVM(solver, chunk_size=40, random_state=1).fit(X, y) for solver in (None, EXACT))
    assert isinstance(ours.estimator_, LASVM)
    np.testing.assert_allclose(ours.decision_function(X), exact.decision_function(X), atol=0.02)
    for rows in (50, 200, 400):
        machine = IncrSVM(chunk_size=rows, max_iter=0, random_state=1).fit(X, y)
        batch = clone(EXACT).fit(X[machine.used_], y[machine.used_])
        np.testing.assert_allclose(machine.decision_function(X), batch.decision_function(X), atol=0.01)


def test_of_rows_equally_near_the_first_is_asked_about():
    X = np.array([[-3.0], [3.0], [-2.0], [2.0], [0.5], [0.5], [-0.5]])
    y = np.array([-1, 1, -1, 1, 1, 1, -1])
    seed = next(s for s in range(100) if set(after_seed(s).permutation(7)[:2]) == {0, 1})
    model = QuerySVM(EXACT, chunk_size=2, max_iter=2, random_state=seed).fit(X, y)
    assert [entry["row"] for entry in model.history_] == [None, 4, model.history_[2]["row"]]


TWINS = {
    "incr": twin.incr,
    "query": twin.query,
    "query, sv": lambda *args: twin.query(*args, keep="support"),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", TWINS)
def test_it_is_the_plain_loop(name, seed):
    check_plain_loop(name, TWINS[name], seed)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (IncrSVM(chunk_size=20), "no rows left"),
        (IncrSVM(chunk_size=20, max_iter=3), "step limit"),
        (QuerySVM(chunk_size=20, max_iter=1), "step limit"),
        (QuerySVM(chunk_size=20), "no row left inside the margin"),
        (QuerySVM(chunk_size=300), "no rows left"),
    ],
    ids=str,
)
def test_what_ends_a_fit(model, words):
    X, y = clouds(300, 6, apart=3.0)
    assert clone(model).set_params(random_state=0).fit(X, y).stop_reason_ == words
