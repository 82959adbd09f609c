import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn.linkage.metrics import b_cubed_scores, cluster_confusion, pair_scores, pairwise_scores
from reference import linkage as plain

LABELS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=15)


@given(LABELS)
def test_scores_are_those_of_the_definition(labels):
    truth, clusters = (list(side) for side in zip(*labels, strict=True))
    for ours, theirs in ((pairwise_scores, plain.pairwise_scores), (b_cubed_scores, plain.b_cubed_scores)):
        found, (precision, recall) = ours(truth, clusters), theirs(truth, clusters)
        assert (found.precision, found.recall) == (pytest.approx(precision), pytest.approx(recall))
        other = ours(clusters, truth)
        assert (other.precision, other.recall) == (pytest.approx(recall), pytest.approx(precision))
        renamed = ours([f"p{t}" for t in truth], [10 - c for c in clusters])
        assert renamed.f1 == pytest.approx(found.f1)


def test_extremes():
    truth = [1, 1, 2]
    assert pairwise_scores(truth, [1, 2, 3]) == pairwise_scores(truth, list("abc"))
    apart, together = pairwise_scores(truth, [1, 2, 3]), pairwise_scores(truth, [1, 1, 1])
    assert (apart.precision, apart.recall, apart.f1) == (1, 0, 0)
    assert together.recall == 1
    assert pairwise_scores([1, 2], [1, 2]).f1 == 1
    assert b_cubed_scores([], []).f1 == 1


def test_confusion_of_clusters():
    found = cluster_confusion(list("aabbc"), [1, 1, 2, 3, 3])
    assert found == {"entities": 3, "clusters": 3, "exact": 1, "split": 1, "mixed": 1}


def test_scores_of_pairs():
    found = pair_scores([1, 1, 0, 0], [True, False, True, False])
    assert (found.precision, found.recall, found.f1) == (0.5, 0.5, 0.5)
    assert pair_scores([0, 0], [0, 0]).f1 == 1


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="one label for each record"):
        pairwise_scores([1, 2], [1])
    with pytest.raises(ValueError, match="same shape"):
        pair_scores([1, 2], [1])
