"""QPS3VM: the twin, the exact optimum, the limits; the estimate of shares; the hardest splits."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from everlearn import QPS3VM, SubmodS3VM
from everlearn._submodular.choice import Choice, StoredSimilarities
from everlearn.semi._cuts import best_cut, exact_cut
from property_helpers import property_test, sample_of
from reference.pessimistic_splits import draw_labeled, only
from reference.qp_s3vm import qp_s3vm
from reference.s3vm import choice_of_positives, default_weight, from_matrix
from semi.semi_helpers import clouds, matrices, quarters


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


# --- splits ------------------------------------------------------------------------------------------------


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
