"""The pipeline of the thesis against an exact solver and the definitions, on the same records."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.svm import SVC

from everlearn import LASVM
from everlearn.datasets import make_author_records
from everlearn.linkage import (
    AuthorName,
    Blocking,
    PairFeatures,
    PairwiseLinker,
    Records,
    b_cubed_scores,
    pairwise_scores,
)

TRAIN = ("Johnson", "Anderson", "Jones")


@pytest.fixture(scope="module")
def names():
    """Records and people of each name."""
    table, person = make_author_records(random_state=0)
    last = np.array([record["name"].split()[-1] for record in table])
    return {
        name: ([table[i] for i in np.flatnonzero(last == name)], person[last == name])
        for name in dict.fromkeys(last.tolist())
    }


def test_pair_errors_and_clusters_are_those_of_an_exact_solver(names):
    """Within 0.3 points of pair error and 0.02 of F1, for each name.

    The published figures of such records (mean error 5.88 and 5.42 % with two seeds) are of other ones: the
    word lists behind them are not published. With eight seeds, ours are between 6.1 and 9.6 %.
    """
    records = Records([record for name in TRAIN for record in names[name][0]])
    person = np.concatenate([names[name][1] for name in TRAIN])
    linker = PairwiseLinker(
        LASVM(C=1, gamma=0.05),
        features=PairFeatures("thesis"),
        blocking=Blocking(AuthorName()),
        clustering="dbscan",
        eps=0.3,
    )
    pairs = Blocking(AuthorName()).pairs(records)
    assert len(pairs) == 6910
    same = person[pairs.left] == person[pairs.right]
    linker.fit(records, pairs=pairs, y=same)
    exact = SVC(C=1, gamma=0.05, tol=1e-5).fit(linker.transform(pairs), same)
    errors = []
    for name in set(names) - set(TRAIN):
        table, people = names[name]
        found = linker.link(table)
        pairs = found.predictions.pairs
        truth = people[pairs.left] == people[pairs.right]
        features = PairFeatures("thesis").fit(Records(table, linker.records()[0].schema))
        scores = exact.decision_function(features.transform(pairs.left, pairs.right))
        wrong = [np.mean((s > 0) != truth) for s in (found.predictions.score, scores)]
        assert abs(wrong[0] - wrong[1]) <= 0.003
        errors.append(wrong[0])
        distance = np.ones((len(table), len(table)))
        distance[pairs.left, pairs.right] = distance[pairs.right, pairs.left] = 1 / (1 + np.exp(scores))
        np.fill_diagonal(distance, 0)
        labels = DBSCAN(eps=0.3, min_samples=2, metric="precomputed").fit(distance).labels_
        alone = labels == -1
        labels[alone] = len(table) + np.arange(alone.sum())
        for score in (pairwise_scores, b_cubed_scores):
            assert score(people, found.clusters).f1 == pytest.approx(score(people, labels).f1, abs=0.02)
    assert 0.04 < np.mean(errors) < 0.1
