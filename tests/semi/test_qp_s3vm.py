"""QPS3VM: the twin, the exact optimum, the limits; the estimate of shares; the hardest splits."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import binomtest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from everlearn import QPS3VM, SubmodS3VM
from everlearn._submodular.choice import Choice, StoredSimilarities
from everlearn.semi import PessimisticSplit
from everlearn.semi._cuts import best_cut, exact_cut
from everlearn.semi._ratio import credible_shares, depths, estimate_ratio, smooth
from property_helpers import property_test, sample_of
from reference import class_ratio, pessimistic_splits
from reference.pessimistic_splits import draw_labeled, only
from reference.qp_s3vm import qp_s3vm
from reference.s3vm import choice_of_positives, default_weight, from_matrix, from_rows
from semi.semi_helpers import breast_cancer, clouds, digits, gram, matrices, quarters


@st.composite
def cuts(draw):
    K = draw(matrices(2, 8))
    return K, draw(quarters(len(K))), draw(st.integers(1, len(K) - 1))


@property_test(60)
@given(cuts())
def test_the_exact_cut_is_the_best_of_all(problem):
    K, w, k = problem
    choice = Choice(StoredSimilarities(K), w, 0.5, 0.0)
    best = max(choice.value(np.array(A)) for A in combinations(range(len(w)), k))
    found = exact_cut(choice, k)
    assert len(found) == k
    assert choice.value(found) == pytest.approx(best, abs=1e-6)
    near, _ = best_cut(choice, k, 5, np.random.default_rng(0))
    assert choice.value(near) <= best + 1e-9
    np.testing.assert_array_equal(choice.swap(near), near)  # no exchange of two rows is better


def test_the_search_finds_the_optimum_of_small_problems():
    for seed in range(sample_of(12)):
        X, y = clouds(15, seed, features=3)
        known = only(y, draw_labeled(y, 4, np.random.default_rng(seed)))
        settings = {"kernel": "rbf", "positive_fraction": 0.45, "unlabeled": 0, "estimator": None, "rho": 3.0}
        exact = QPS3VM(exact=True, random_state=0, **settings).fit(X, known)
        search = QPS3VM(random_state=0, **settings).fit(X, known)
        assert search.objective_ == pytest.approx(exact.objective_, abs=1e-7)
        assert exact.objective_ >= SubmodS3VM(**settings).fit(X, known).objective_ - 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_as_good_as_the_twin(seed):
    X, y = clouds(80, seed)
    known = only(y, draw_labeled(y, 6, np.random.default_rng(seed)))
    K, rho = rbf_kernel(X, gamma=0.2), 10.0
    problem, Cs = from_matrix(K, known), default_weight(known, rho)
    twin = choice_of_positives(problem, 1.0, Cs).value(
        qp_s3vm(problem, 37, 1.0, Cs, np.random.default_rng(0))
    )
    settings = {"rho": rho, "label_scores": "similarity"}
    clf = QPS3VM(
        kernel="precomputed", unlabeled=0, positive_fraction=0.5, random_state=0, estimator=None, **settings
    )
    assert clf.fit(K, known).objective_ == pytest.approx(twin, rel=1e-6)
    fast = SubmodS3VM(
        kernel="precomputed", unlabeled=0, positive_fraction=0.5, solver="fast", estimator=None, **settings
    )
    assert clf.objective_ >= fast.fit(K, known).objective_ - 1e-12


def test_it_says_what_is_too_much():
    X, y = clouds(30, 0)
    known = np.where(np.arange(30) < 4, y, np.nan)
    with pytest.raises(ValueError, match="at most 20 rows, but 26 are unlabeled"):
        QPS3VM(exact=True).fit(X, known)
    X = np.random.default_rng(0).standard_normal((5010, 2))
    known = np.full(5010, np.nan)
    known[:4] = [0, 1, 0, 1]
    with pytest.raises(ValueError, match="SubmodS3VM, which has no such limit"):
        QPS3VM().fit(X, known)


# --- shares ------------------------------------------------------------------------------------------------


@property_test(100)
@given(quarters(st.integers(1, 12)))
def test_depths_are_those_of_the_twin(v):
    np.testing.assert_array_equal(depths(v), class_ratio.depths(v))
    np.testing.assert_array_equal(smooth(v), class_ratio.smooth(v))


@pytest.mark.parametrize("data", [breast_cancer, digits, lambda: clouds(150, 1, apart=2.5, share=0.3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_share_is_that_of_the_twin(data, seed, monkeypatch):
    X, y = data()
    chosen = np.random.default_rng(seed).permutation(len(y))[:150]
    X, y = X[chosen], y[chosen]
    known = only(y, draw_labeled(y, 6, np.random.default_rng(seed)))
    twin = class_ratio.estimate_ratio(gram(X), from_rows(X, known), known)
    numbers = np.where(known == 0, -1, known > 0).astype(int)
    ours = estimate_ratio(gram(X), numbers, 1.0, 1.0, credible=1.0)
    assert (ours.share, ours.reliable) == (twin.r, twin.reliable)
    assert ours.depth == pytest.approx(twin.depth, rel=1e-9)
    settings = {"kernel": "linear", "scaling": "none", "unlabeled": 0, "estimator": None}
    monkeypatch.setattr("everlearn.semi._transductive.estimate_ratio", partial(estimate_ratio, credible=1.0))
    clf = SubmodS3VM(**settings).fit(X, known)
    assert (clf.positive_fraction_, clf.fraction_reliable_, clf.fraction_depth_) == pytest.approx(
        (ours.share, ours.reliable, ours.depth)
    )


def test_labels_bound_the_share():
    """Clouds that overlap, a fifth positive: margins alone say anything, a hundred labels do not."""
    wrong = {1.0: [], 0.95: []}
    for seed in range(6):
        X, y = clouds(300, seed, apart=0.3, share=0.2)
        numbers = np.where(np.arange(300) < 100, y > 0, -1).astype(int)
        low, high = credible_shares(numbers[:100], 0.95)
        assert binomtest(int(np.sum(y[:100] > 0)), 100, low).pvalue < 0.1  # nearly Clopper and Pearson's
        assert binomtest(int(np.sum(y[:100] > 0)), 100, high).pvalue < 0.1
        for credible, errors in wrong.items():
            found = estimate_ratio(rbf_kernel(X, gamma=0.1), numbers, 1.0, 1.0, credible=credible)
            errors.append(abs(found.share - np.mean(y[100:] > 0)))
            if credible < 1:
                assert low - 1e-9 <= found.share <= high + 1e-9
    assert np.mean(wrong[0.95]) < 0.08 < np.mean(wrong[1.0])


def test_the_share_of_breast_cancer():
    """The figure: 0.64, estimated within 0.014 on average where the labels' own share is off by 0.183."""
    X, y = breast_cancer()
    wrong, naive = [], []
    for seed in range(5):
        known = np.full(len(y), np.nan)
        L = draw_labeled(y, 4, np.random.default_rng(seed))
        known[L] = y[L]
        clf = SubmodS3VM(kernel="linear", estimator=None).fit(X, known)
        assert clf.fraction_reliable_
        assert clf.fraction_depth_ > 0
        truth = np.mean(y[np.isnan(known)] > 0)
        wrong.append(abs(clf.positive_fraction_ - truth))
        naive.append(abs((np.sum(y[L] > 0) + 1) / 6 - truth))
    assert np.mean(wrong) < 0.04 < np.mean(naive)


def test_no_valley_no_estimate():
    X, _ = clouds(5, 0)
    clf = SubmodS3VM(estimator=None).fit(X, [0, 1, 1, None, None])
    assert (clf.positive_fraction_, clf.fraction_depth_, clf.fraction_reliable_) == (3 / 5, 0.0, False)
    clf = SubmodS3VM(positive_fraction=0.3, estimator=None).fit(X, [0, 1, 1, None, None])
    assert clf.fraction_reliable_
    assert np.isnan(clf.fraction_depth_)


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr("everlearn.semi._transductive.SAMPLE", 100)
    X, y = clouds(1500, 2, apart=3, share=0.4)
    known = np.where(np.arange(1500) < 300, y, np.nan)
    clf = SubmodS3VM(random_state=0, estimator=None).fit(X, known)
    assert clf.positive_fraction_ == pytest.approx(0.4, abs=0.05)
    again = SubmodS3VM(random_state=0, estimator=None).fit(X, known)
    assert again.positive_fraction_ == clf.positive_fraction_


# --- splits ------------------------------------------------------------------------------------------------


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


def test_the_search_ends_where_no_exchange_helps():
    helped = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        K = random.standard_normal((30, 30))
        choice = Choice(StoredSimilarities(K + K.T), random.standard_normal(30), 0.5, 0.0)
        found, _ = best_cut(choice, 12, 0, random)
        np.testing.assert_array_equal(choice.swap(found), found)
        greedy = choice.linearize(np.sort(choice.greedy(12).order), 12)
        helped += choice.value(choice.swap(greedy)) > choice.value(greedy) + 1e-9
    assert helped > 0
