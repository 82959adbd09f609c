import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVC

import everlearn
from everlearn import LASVM, VIRTUAL
from everlearn.datasets import make_author_records
from everlearn.errors import FileFormatError
from everlearn.linkage import (
    AuthorName,
    Blocking,
    Exact,
    Key,
    MinHash,
    PairFeatures,
    Pairs,
    PairwiseLinker,
    Prefix,
    Records,
    Tokens,
    b_cubed_scores,
)

NAMES = {"J. Smith": (60, 8), "M. Jones": (40, 6)}


@pytest.fixture(scope="module")
def authors():
    table, person = make_author_records(NAMES, scale=1, random_state=2)
    records = Records(table)
    pairs = Blocking(AuthorName()).pairs(records)
    return table, records, pairs, (person[pairs.left] == person[pairs.right]).astype(int), person


def thesis_linker():
    return PairwiseLinker(
        LASVM(C=1, gamma=0.05),
        features=PairFeatures("thesis"),
        blocking=Blocking(AuthorName()),
        clustering="dbscan",
        eps=0.3,
    )


def test_the_pipeline_of_the_thesis(authors):
    _, records, pairs, y, person = authors
    linker = thesis_linker().fit(records, pairs=pairs, y=y)
    predictions = linker.predict_pairs()
    assert_array_equal(predictions.pairs.left, pairs.left)
    exact = SVC(C=1, gamma=0.05, tol=1e-5).fit(linker.transform(pairs), y)
    assert_allclose(predictions.score, exact.decision_function(linker.transform(pairs)), atol=5e-3)
    assert_allclose(predictions.distance, 1 / (1 + np.exp(predictions.score)), rtol=1e-9)
    assert_array_equal(predictions.match, predictions.distance < 0.5)
    found = linker.link()
    assert b_cubed_scores(person, found.clusters).f1 > 0.7
    assert {(a, b) for a, b in found.matches} >= {
        (int(a), int(b))
        for a, b in zip(
            pairs.left[predictions.distance <= 0.3], pairs.right[predictions.distance <= 0.3], strict=True
        )
    }


@pytest.mark.parametrize("clustering", ["dbscan", "components", "average"])
def test_every_clustering(authors, clustering):
    _, records, pairs, y, person = authors
    linker = PairwiseLinker(blocking=Blocking(AuthorName()), clustering=clustering, eps=0.3)
    found = linker.fit(records, pairs=pairs, y=y).link()
    assert b_cubed_scores(person, found.clusters).f1 > 0.8
    assert f"{len(records)} records" in repr(found)


@pytest.mark.parametrize("clustering", ["dbscan", "components", "average"])
def test_labels_count_more_than_the_model(clustering):
    names = ["Ann Lee", "Anne Lee", "Bob Ray", "Bob Rae", "Cy Orr", "Cy Or", "Di Fox", "Di Foxe"]
    people = Records({"name": names, "team": list("aabbccdd")})
    pairs = Pairs(np.array([0, 2, 4, 6, 0, 1, 3, 5]), np.array([1, 3, 5, 7, 2, 4, 6, 7]))
    labels = [True, True, True, False, False, False, False, False]
    linker = PairwiseLinker(LogisticRegression(), blocking=Blocking("team"), clustering=clustering)
    linker.fit(people, pairs=pairs, y=labels)
    assert linker.link().clusters.tolist() == [0, 0, 1, 1, 2, 2, 3, 4]
    assert linker.link(people).clusters.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]  # given anew: by the model alone


def test_labels_in_parts_end_where_all_at_once_do(authors):
    _, records, pairs, y, _ = authors
    order = np.random.default_rng(0).permutation(len(y))[:600]
    whole = PairwiseLinker(LASVM(C=1, gamma=0.5)).fit(records, pairs=pairs[order], y=y[order])
    parts = PairwiseLinker(LASVM(C=1, gamma=0.5)).prepare(records)
    for part in np.array_split(order, 6):
        parts.partial_fit(pairs[part], y[part])
    assert_allclose(parts.predict_pairs(pairs).score, whole.predict_pairs(pairs).score, atol=0.02)


@pytest.mark.parametrize("learner", [LogisticRegression(), SVC()])
def test_other_classifiers_with_scores(authors, learner):
    _, records, pairs, y, _ = authors
    linker = PairwiseLinker(learner).fit(records, pairs=pairs, y=y)
    assert (linker.predict_pairs(pairs).match == y).mean() > 0.9
    assert not hasattr(learner, "classes_")  # a copy learns


def test_a_model_links_other_records_and_two_tables(authors):
    _, records, pairs, y, _ = authors
    linker = PairwiseLinker(blocking=Blocking(AuthorName())).fit(records, pairs=pairs, y=y)
    table, person = make_author_records({"K. Tanaka": (40, 6)}, scale=1, random_state=5)
    assert b_cubed_scores(person, linker.link(table).clusters).f1 > 0.7
    two = linker.link(table[:25], table[25:])
    assert (len(two.left_clusters), len(two.right_clusters)) == (25, 15)
    assert b_cubed_scores(person, two.clusters).precision > 0.7
    assert all(0 <= a < 25 and 0 <= b < 15 for a, b in two.matches)
    assert linker.records()[0] is records  # and its own records are as before


def test_identical_records_are_found():
    table = [{"name": f"person {i}", "city": f"town {i}"} for i in range(20)] * 2
    pairs = Pairs(np.arange(10), np.arange(20, 30))
    others = Pairs(np.arange(10), np.arange(21, 31))
    labeled = Pairs(np.r_[pairs.left, others.left], np.r_[pairs.right, others.right])
    linker = PairwiseLinker().fit(Records(table), pairs=labeled, y=[1] * 10 + [0] * 10)
    found = linker.link()
    assert_array_equal(found.clusters[:20], found.clusters[20:])
    assert len(np.unique(found.clusters)) == 20
    assert (found.predictions.distance[found.predictions.match] > 0).all()  # only a record itself is at 0


def test_contradicting_labels_are_shown_and_learned(authors):
    _, records, *_ = authors
    pairs = Pairs(np.array([0, 1, 0, 3]), np.array([1, 2, 2, 9]))
    with pytest.warns(
        UserWarning, match=r"1 labels contradict others, such as 0 ≠ 2 contradicts 0 = 1, 1 = 2"
    ):
        linker = PairwiseLinker().fit(records, pairs=pairs, y=[1, 1, 0, 0])
    assert len(linker.contradictions_) == 1
    with pytest.warns(UserWarning, match="2 labels contradict"):
        linker.partial_fit(pairs[3], [1])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1], "only the label 1"),
        ([1], "a label for each of 2 pairs"),
        ([1, 2], "1 or True for a match"),
    ],
)
def test_bad_labels_are_refused(authors, y, message):
    pairs = Pairs(np.array([0, 1]), np.array([2, 3]))
    with pytest.raises(ValueError, match=message):
        PairwiseLinker().fit(authors[1], pairs=pairs, y=y)


def test_bad_input_is_refused(authors):
    _, records, pairs, y, _ = authors
    with pytest.raises(NotFittedError):
        PairwiseLinker().predict_pairs(pairs)
    with pytest.raises(ValueError, match=r"pairs.right has places that are not in the table of 100 records"):
        PairwiseLinker().fit(records, pairs=Pairs(np.array([0]), np.array([100])), y=[1])
    with pytest.raises(ValueError, match="'clustering' of PairwiseLinker must be one of"):
        PairwiseLinker(clustering="kmeans").fit(records, pairs=pairs, y=y)
    with pytest.raises(TypeError, match="learner must be a classifier with decision_function or predict"):
        PairwiseLinker(LinearRegression()).fit(records, pairs=pairs, y=y)
    with pytest.raises(NotFittedError, match="no labels yet"):
        PairwiseLinker(VIRTUAL()).prepare(records).predict_pairs(pairs)


@pytest.mark.parametrize("learner", [VIRTUAL(random_state=0), RandomForestClassifier(20, random_state=0)])
def test_a_learner_that_cannot_learn_in_parts_is_fitted_on_all_labels(authors, learner):
    _, records, pairs, y, _ = authors
    order = np.random.default_rng(1).permutation(len(y))[:300]
    linker = PairwiseLinker(learner).prepare(records)
    one_class = order[y[order] == 1][:20]
    linker.partial_fit(pairs[one_class], y[one_class])
    assert linker.predict_pairs(pairs).match.all()  # nothing else is known
    linker.prepare(records)
    for part in np.array_split(order, 7):
        linker.partial_fit(pairs[part], y[part])
    whole = clone(learner).fit(linker.transform(pairs[order]), y[order])
    assert_array_equal(linker.predict_pairs(pairs).match, whole.predict(linker.transform(pairs)) == 1)
    if hasattr(whole, "predict_proba"):
        share = whole.predict_proba(linker.transform(pairs))[:, 1]
        assert_allclose(1 - linker.predict_pairs(pairs).distance, share, atol=2e-6)


# --------------------------------------------------------------------------------------- saving and loading


def saved(linker, folder):
    everlearn.save(linker, folder / "linker")
    return everlearn.load(folder / "linker")


@pytest.mark.parametrize("learner", [None, VIRTUAL(random_state=0), LASVM(C=1, class_weight="balanced")])
def test_a_loaded_linker_continues_bit_for_bit(authors, tmp_path, learner):
    _, records, pairs, y, _ = authors
    linker = PairwiseLinker(learner, blocking=Blocking(AuthorName())).prepare(records)
    linker.partial_fit(pairs[:200], y[:200])
    other = saved(linker, tmp_path)
    assert repr(other.blocking) == repr(linker.blocking)
    for one in (linker, other):
        one.partial_fit(pairs[200:260], y[200:260])
    assert_array_equal(other.predict_pairs().score, linker.predict_pairs().score)
    assert_array_equal(other.link().clusters, linker.link().clusters)
    assert other.records()[0].ids == records.ids
    assert other.records()[0].schema == records.schema


def test_both_tables_labels_and_contradictions_are_saved(authors, tmp_path):
    table, *_ = authors
    keys = Exact("name"), Prefix("name", 3), Tokens("affiliation"), MinHash("name", bands=4)
    linker = PairwiseLinker(
        blocking=Blocking(*keys, large_blocks="sample", max_block_size=50),
        features=PairFeatures(),
        clustering="dbscan",
        eps=0.25,
        min_pts=3,
    )
    pairs = Pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    with pytest.warns(UserWarning, match="contradict"):
        linker.fit(table[:50], table[50:], pairs=pairs, y=[1, 1, 1, 0])
    other = saved(linker, tmp_path)
    assert [str(c) for c in other.contradictions_] == [str(c) for c in linker.contradictions_] != []
    assert (other.clustering, other.eps, other.min_pts) == ("dbscan", 0.25, 3)
    assert other.blocking.keys == keys
    assert_array_equal(other.link().clusters, linker.link().clusters)


def test_a_linker_without_records_is_saved(tmp_path):
    other = saved(PairwiseLinker(LASVM(C=3), features=PairFeatures("thesis")), tmp_path)
    assert (other.learner.C, other.features.preset, other.blocking) == (3, "thesis", None)
    with pytest.raises(NotFittedError):
        other.link()


def test_what_could_not_be_loaded_is_not_saved(authors, tmp_path):
    _, records, pairs, y, _ = authors

    class Initial(Key):
        def keys(self, value):
            return [value[0]]

    with pytest.raises(TypeError, match="use the keys of"):
        saved(PairwiseLinker(blocking=Blocking(Initial("name"))), tmp_path)
    forest = PairwiseLinker(RandomForestClassifier()).fit(records, pairs=pairs, y=y)
    with pytest.raises(TypeError, match="without pickle"):
        saved(forest, tmp_path)


def test_a_state_that_does_not_fit_is_refused(authors, tmp_path):
    _, records, pairs, y, _ = authors
    linker = PairwiseLinker().fit(records, pairs=pairs[:50], y=y[:50])
    linker._labels.append((0, len(records), True))
    with pytest.raises(FileFormatError, match="label"):
        saved(linker, tmp_path)
