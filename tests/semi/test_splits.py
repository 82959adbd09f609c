"""PessimisticSplit: its reference version, any rows and models, cross-validation, refusals."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from everlearn.semi import PessimisticSplit
from reference import pessimistic_splits
from semi.semi_helpers import clouds


def test_splits_are_those_of_the_twin():
    X, y = clouds(60, 3)
    twin = pessimistic_splits.pessimistic_splits(X, y, 4, np.random.RandomState(0), draws=20, keep=5)
    ours = list(PessimisticSplit(4, n_draws=20, n_splits=5, random_state=0).split(X, y))
    assert len(ours) == 5
    for (labeled, unlabeled), split in zip(ours, twin, strict=True):
        np.testing.assert_array_equal(labeled, split.labeled)
        np.testing.assert_array_equal(unlabeled, split.unlabeled)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.coo_matrix, np.ndarray.tolist])
def test_splits_of_any_rows_and_for_any_model(form):
    X, y = clouds(50, 4)
    names = np.where(y > 0, "b", "a")
    model = SVC(kernel="linear") if form in (sparse.csr_matrix, sparse.coo_matrix) else GaussianNB()
    splitter = PessimisticSplit(6, n_draws=10, n_splits=3, estimator=model, random_state=1)
    for labeled, unlabeled in splitter.split(form(X), names):
        assert set(names[labeled]) == {"a", "b"}
        assert sorted([*labeled, *unlabeled]) == list(range(50))
    assert splitter.get_n_splits() == 3


def test_splits_serve_in_cross_validation():
    X, y = clouds(60, 5)
    splitter = PessimisticSplit(4, n_draws=30, n_splits=3, random_state=0)
    hard = cross_val_score(SVC(kernel="linear"), X, y, cv=splitter)
    everything = cross_val_score(
        SVC(kernel="linear"), X, y, cv=PessimisticSplit(4, n_draws=30, n_splits=30, random_state=0)
    )
    np.testing.assert_allclose(hard, everything[:3])
    assert list(everything) == sorted(everything)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_labeled": 1}, "must leave an unlabeled row"),
        ({"n_labeled": 60}, "must leave an unlabeled row"),
        ({"n_labeled": 4, "n_splits": 0}, "must be at least 1 and at most n_draws"),
        ({"n_labeled": 4, "n_draws": 3, "n_splits": 5}, "must be at least 1 and at most n_draws"),
    ],
)
def test_splits_that_cannot_be(settings, words):
    X, y = clouds(60, 6)
    with pytest.raises(ValueError, match=words):
        next(PessimisticSplit(**settings).split(X, y))


def test_a_class_too_rare_to_be_drawn(monkeypatch):
    monkeypatch.setattr("everlearn.semi.splits._MAX_TRIES", 5)
    X = np.arange(2000.0)[:, None]
    with pytest.raises(ValueError, match="too rare"):
        next(PessimisticSplit(2, random_state=0).split(X, X.ravel() == 7))
