"""Early stopping of `LASVM.fit` with active selection: when it stops, and what it gives up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn import LASVM, load, save
from everlearn._base.selection import support_settled
from everlearn.datasets import make_waveform
from everlearn.metrics import g_means
from everlearn.query.stopping import Progress, SupportSaturation
from svm.lasvm_helpers import assert_same, learned, three_clouds, two_clouds

OPTIONS = {"gamma": 0.3, "pool_size": 20, "random_state": 0}


def first_stop(trace, window, rtol):
    """After how many numbers the rule of the active learner stops; None if it does not."""
    rule = SupportSaturation(window, rtol)
    for labels, n_support in enumerate(trace, start=1):
        rule.update(Progress(labels, n_support=int(n_support)))
        if rule.verdict().stop:
            return labels
    return None


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=40),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.1, 0.25, 0.5]),
)
def test_settled_is_what_it_says(counts, window, rtol):
    """By brute force: every pair of the last numbers differs by no more than is allowed."""
    last = counts[-(window + 1) :]
    pairs = [(a, b) for a in last for b in last]
    expected = len(counts) >= window + 1 and all(abs(a - b) <= rtol * counts[-1] for a, b in pairs)
    assert support_settled(counts, window, rtol) == expected


@pytest.mark.parametrize("selection", ["active", "autoactive"])
@pytest.mark.parametrize("foreign", [False, True], ids=["native", "foreign"])
@pytest.mark.parametrize("make", [two_clouds, three_clouds])
def test_it_stops_where_the_rule_of_the_active_learner_stops(make, selection, foreign):
    """The numbers of support vectors come from fits that end after each number of rows."""
    X, y = make(110)
    options = OPTIONS | {"selection": selection, "finishing": None}
    if foreign:
        X = np.exp(-0.3 * ((X[:, np.newaxis] - X) ** 2).sum(-1))
        options |= {"kernel": "precomputed"}
    seeds = 5 * len(np.unique(y))
    trace = [len(LASVM(max_iter=taken, **options).fit(X, y).support_) for taken in range(seeds + 1, 111)]
    stops = []
    for window, rtol in ((8, 0.0), (10, 0.05), (20, 0.1), (30, 0.2), (400, 0.5)):
        model = LASVM(early_stopping=True, n_iter_no_change=window, rtol=rtol, **options).fit(X, y)
        stop = first_stop(trace, window, rtol)
        stops.append(stop)
        assert model.n_iter_ == seeds + (len(trace) if stop is None else stop), (window, rtol)
        same = LASVM(max_iter=model.n_iter_, **options).fit(X, y)
        assert_same(learned(model), learned(same))
    assert stops[-1] is None
    assert any(stop is not None for stop in stops)


def test_it_ends_all_epochs_and_then_finishes():
    X, y = two_clouds(300)
    options = OPTIONS | {"selection": "active", "early_stopping": True, "n_iter_no_change": 15, "rtol": 0.2}
    once, thrice = (LASVM(epochs=epochs, **options).fit(X, y) for epochs in (1, 3))
    assert once.n_iter_ == thrice.n_iter_ < 300
    np.testing.assert_array_equal(once.decision_function(X), thrice.decision_function(X))
    raw = LASVM(finishing=None, **options).fit(X, y)
    assert raw.n_iter_ == once.n_iter_
    np.testing.assert_array_equal(raw.finish().decision_function(X), once.decision_function(X))


def test_max_iter_is_a_limit_beside_it():
    X, y = two_clouds(300)
    options = OPTIONS | {"selection": "active", "early_stopping": True, "n_iter_no_change": 15, "rtol": 0.2}
    stopped = LASVM(**options).fit(X, y).n_iter_
    assert LASVM(max_iter=stopped - 1, **options).fit(X, y).n_iter_ == stopped - 1
    assert LASVM(max_iter=stopped + 50, **options).fit(X, y).n_iter_ == stopped


def test_partial_fit_takes_every_row():
    X, y = two_clouds(300)
    options = {"selection": "active", "gamma": 0.3}
    stopping = LASVM(early_stopping=True, n_iter_no_change=1, rtol=1.0, **options)
    plain = LASVM(**options)
    for model in (stopping, plain):
        model.partial_fit(X, y, classes=[0, 1])
    assert stopping.n_iter_ == 300
    np.testing.assert_array_equal(stopping.decision_function(X), plain.decision_function(X))


@pytest.mark.parametrize("ratio", [4, 16])
def test_few_labels_do_for_an_imbalanced_set(ratio):
    """As in the thesis: a fraction of the labels, the accuracy on the rare class of all of them."""
    X, y = make_waveform(6000, random_state=1)
    rare = y == y.min()
    keep = np.sort(np.concatenate([np.flatnonzero(~rare), np.flatnonzero(rare)[: np.sum(~rare) // ratio]]))
    X, rare = X[keep], rare[keep]
    train = np.arange(len(rare)) % 4 != 0
    options = {"gamma": 0.05, "selection": "active", "pool_size": 59, "random_state": 0}
    full = LASVM(**options).fit(X[train], rare[train])
    early = LASVM(early_stopping=True, **options).fit(X[train], rare[train])
    scores = [g_means(rare[~train], model.predict(X[~train])) for model in (full, early)]
    assert full.n_iter_ == train.sum()
    assert early.n_iter_ < 0.6 * full.n_iter_
    assert scores[1] > scores[0] - 0.03


def test_its_parameters_are_saved(tmp_path):
    X, y = two_clouds(300)
    model = LASVM(selection="active", early_stopping=True, n_iter_no_change=15, rtol=0.2, **OPTIONS).fit(X, y)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.early_stopping, loaded.n_iter_no_change, loaded.rtol) == (True, 15, 0.2)
    assert loaded.n_iter_ == model.n_iter_
    assert_same(learned(loaded.fit(X, y)), learned(model))


@pytest.mark.parametrize("selection", ["random", "gradient"])
def test_it_needs_active_selection(selection):
    X, y = two_clouds(60)
    model = LASVM(selection=selection, early_stopping=True)
    for learn in (lambda: model.fit(X, y), lambda: model.partial_fit(X, y, classes=[0, 1])):
        with pytest.raises(ValueError, match=f"early_stopping=True needs selection='active'.*'{selection}'"):
            learn()
    assert not hasattr(model, "classes_")
