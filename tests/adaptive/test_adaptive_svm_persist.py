"""A saved, copied or pickled AdaptiveSVM goes on bit for bit; a forged file is refused and runs nothing."""

import copy
import pickle
import sys

import numpy as np
import pytest
from river import ensemble, forest, linear_model, multiclass, naive_bayes, preprocessing, tree
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from adaptive.adaptive_helpers import as_sparse, bits, blobs
from base.persist_helpers import content_of, forge
from everlearn import LASVM, AdaptiveSVM, load, save
from everlearn.adaptive import Expert
from everlearn.errors import FileFormatError

SVMS = [Expert("linear"), Expert("rbf", window=20), Expert("no-change")]
FOREIGN = {
    "forest": RandomForestClassifier(5),
    "bayes": GaussianNB(),
    "tree": Expert(estimator=DecisionTreeClassifier(max_features=2), window=25),
    "boosting": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, max_features=1), n_estimators=3),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression(C=0.5)),
    "everlearn": LASVM(C=2.0),
    "river bayes": naive_bayes.GaussianNB(),
    "river tree": tree.HoeffdingTreeClassifier(grace_period=10),
    "river forest": forest.ARFClassifier(n_models=2),
    "river logistic": multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "river bagging": ensemble.BaggingClassifier(tree.HoeffdingTreeClassifier(), n_models=2),
}


def through_file(learner, tmp_path):
    save(learner, tmp_path / "learner")
    return load(tmp_path / "learner")


WAYS = {
    "file": through_file,
    "pickle": lambda learner, _: pickle.loads(pickle.dumps(learner)),
    "deepcopy": lambda learner, _: copy.deepcopy(learner),
}
ways = pytest.mark.parametrize("way", list(WAYS))


def go_on_alike(learner, other, X, y, late=True):
    """Both learn the same rows in the same steps, and never differ by a bit."""
    for step in range(3):
        part = slice(40 * step, 40 * step + 40)
        assert bits(learner) == bits(other)
        for method in ("decision_function", "predict", "predict_proba"):
            np.testing.assert_array_equal(getattr(learner, method)(X), getattr(other, method)(X))
        np.testing.assert_array_equal(learner.weights_, other.weights_)
        for each in (learner, other):
            each.partial_fit(X[part], y[part] + (late and step == 2))
            each.forget(each.ids_[::7])
    assert bits(learner) == bits(other)


@ways
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seen", [1, 5, 90, 150])
def test_the_default_committee_goes_on_bit_for_bit(way, n_classes, seen, tmp_path):
    X, y = blobs(150, n_classes)
    learner = AdaptiveSVM(max_rows=60, class_weight="balanced")
    for start in range(0, seen, 30):
        learner.partial_fit(X[start : min(seen, start + 30)], y[start : min(seen, start + 30)])
    go_on_alike(learner, WAYS[way](learner, tmp_path), X, y)


@ways
def test_sparse_rows_go_on_bit_for_bit(way, tmp_path):
    X, y = blobs(120, features=130)
    X[np.random.default_rng(0).random(X.shape) < 0.9] = 0
    learner = AdaptiveSVM(experts=SVMS).partial_fit(as_sparse(X[:50]), y[:50])
    go_on_alike(learner, WAYS[way](learner, tmp_path), as_sparse(X), y)


@ways
def test_a_table_goes_on_bit_for_bit(way, tmp_path):
    X, y = blobs(120, 3)
    learner = AdaptiveSVM(random_state=0).fit(X, y)
    go_on_alike(learner, WAYS[way](learner, tmp_path), X, y)


@ways
@pytest.mark.parametrize("name", list(FOREIGN))
def test_models_from_outside_go_on_bit_for_bit(name, way, tmp_path):
    X, y = blobs(120, 3)
    learner = AdaptiveSVM(experts=[*SVMS, FOREIGN[name]]).partial_fit(X[:70], y[:70])
    weight = np.random.default_rng(0).uniform(0.5, 1.5, 10)
    learner.partial_fit(X[70:80], y[70:80], sample_weight=weight)
    assert learner._committee.voters[-1].model is not None
    other = WAYS[way](learner, tmp_path)
    go_on_alike(learner, other, X, y)
    assert [e.name for e in other.experts_] == [e.name for e in learner.experts_]


@ways
def test_a_prepared_learner_goes_on_bit_for_bit(way, tmp_path):
    X, y = blobs(120, 3)
    learner = AdaptiveSVM(experts=SVMS)
    learner.prepare(X[:50], [0, 1, 2])
    go_on_alike(learner, WAYS[way](learner, tmp_path), X, y)


def test_an_unfitted_learner_keeps_its_parameters(tmp_path):
    params = {
        "experts": ["auto", Expert("linear", C=3, window=7), RandomForestClassifier(7, max_depth=3)],
        "max_rows": 77,
        "fading_factor": 0.5,
        "learning_rate": 2.0,
        "fixed_share": 0.1,
        "scaling": "none",
        "class_weight": {"a": 1.0, "b": 2},
        "random_state": 3,
    }
    found = through_file(AdaptiveSVM(**params), tmp_path).get_params()
    assert found["experts"][:2] == params["experts"][:2]
    assert found["experts"][2].get_params() == params["experts"][2].get_params()
    assert {**found, "experts": None} == {**params, "experts": None}


def test_a_clone_is_unfitted_and_learns_the_same():
    X, y = blobs(80)
    learner = AdaptiveSVM(experts=[*SVMS, RandomForestClassifier(5)], random_state=0).partial_fit(X, y)
    other = clone(learner)
    assert not hasattr(other, "classes_")
    assert bits(other.partial_fit(X, y)) == bits(learner)


def test_a_state_is_not_touched_by_what_its_learner_does_later(tmp_path):
    X, y = blobs(120, 3)
    learner = AdaptiveSVM(experts=[*SVMS, GaussianNB()], max_rows=50).partial_fit(X[:60], y[:60])
    state, before = learner._get_state(), bits(learner)
    other = AdaptiveSVM._from_state(state)
    learner.partial_fit(X[60:], y[60:] + 1).forget(learner.ids_[:5])
    assert bits(other) == before
    other.partial_fit(X[60:], y[60:] + 1)
    assert bits(AdaptiveSVM._from_state(state)) == before


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (preprocessing.StandardScaler() | naive_bayes.GaussianNB(), "pipeline"),
        (type("Own", (GaussianNB,), {})(), "Own cannot be saved"),
        (make_pipeline(StandardScaler(), GaussianNB(), memory="folder"), "memory='folder' cannot be saved"),
        (RandomForestClassifier(5, random_state=np.random.RandomState(0)), "RandomState and cannot be saved"),
    ],
    ids=["river pipeline", "a class of the caller's", "memory", "generator"],
)
def test_models_that_no_file_can_hold_are_named(model, words, tmp_path):
    X, y = blobs(60)
    learner = AdaptiveSVM(experts=[*SVMS, model]).partial_fit(X, y)
    assert learner._committee.voters[-1].model is not None
    with pytest.raises(TypeError, match=words):
        save(learner, tmp_path / "learner")
    assert not (tmp_path / "learner").exists()


# --------------------------------------------------------------------------------------------- forged files


def replaced(tree, old, new):
    """A tree in which every dict that has these items has others instead."""
    if isinstance(tree, list):
        return [replaced(item, old, new) for item in tree]
    if not isinstance(tree, dict):
        return tree
    tree = {key: replaced(item, old, new) for key, item in tree.items()}
    return tree | new if old.items() <= tree.items() else tree


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("subprocess", "Popen"),
        ("sklearn", "clone"),
        ("sklearn.os", "system"),
        ("sklearn.naive_bayes.os", "system"),
        ("sklearn.utils", "Bunch"),
        ("sklearn.conftest", "GaussianNB"),
        ("sklearn.experimental.enable_iterative_imputer", "IterativeImputer"),
        ("sklearn.tests.metadata_routing_common", "ConsumingClassifier"),
        ("sklearn.naive_bayes", "np"),
        ("sklearn.linear_model", "LinearRegression"),
        ("sklearn.cluster", "KMeans"),
        ("sklearn.datasets", "load_files"),
        ("sklearn.externals.joblib", "load"),
        ("sklearn..naive_bayes", "GaussianNB"),
        ("river.datasets", "Phishing"),
        ("river.linear_model", "LinearRegression"),
        ("river.stream", "Cache"),
        ("everlearn", "load"),
        ("", "GaussianNB"),
    ],
)
def test_a_file_that_names_anything_but_a_classifier_is_refused(module, name, tmp_path):
    path = tmp_path / "learner"
    X, y = blobs(60)
    save(AdaptiveSVM(experts=[*SVMS, GaussianNB()]).partial_fit(X, y), path)
    header, members = content_of(path)
    old = {"module": "sklearn.naive_bayes", "name": "GaussianNB"}
    forged = replaced(header, old, {"module": module, "name": name, "params": {"dict": {}}})
    assert forged != header
    forge(path, forged, members)
    known = set(sys.modules)
    with pytest.raises(FileFormatError):
        load(path)
    private = {"sklearn.conftest", "sklearn.experimental.enable_iterative_imputer", "sklearn.tests"}
    assert not (set(sys.modules) - known) & private  # which run code when they are imported


@pytest.mark.parametrize("registered", ["OnlineCalibrator", "Exemplars", "nothing of this name"])
def test_a_file_with_a_registered_class_that_is_no_classifier_is_refused(registered, tmp_path):
    path = tmp_path / "learner"
    save(AdaptiveSVM(experts=[*SVMS, LASVM()]), path)
    header, members = content_of(path)
    forge(path, replaced(header, {"class": "LASVM"}, {"class": registered}), members)
    with pytest.raises(FileFormatError):
        load(path)


@pytest.mark.parametrize("fitted", [True, False])
def test_a_parameter_that_is_no_classifier_is_refused(fitted, tmp_path):
    path = tmp_path / "learner"
    learner = AdaptiveSVM(experts=[GaussianNB()])
    save(learner.partial_fit(*blobs(60)) if fitted else learner, path)
    header, members = content_of(path)
    content = header["state"]["dict"]["params"]["dict"]
    clusters = {"module": "sklearn.cluster", "name": "KMeans", "params": {"dict": {}}}
    content["experts"] = replaced(content["experts"], {"name": "GaussianNB"}, clusters)
    forge(path, header, members)
    with pytest.raises(FileFormatError):
        load(path)


def test_a_file_cannot_name_a_folder_of_pickles(tmp_path):
    path, folder = tmp_path / "learner", tmp_path / "cache"
    save(AdaptiveSVM(experts=[make_pipeline(StandardScaler(), GaussianNB())]), path)
    header, members = content_of(path)
    memory = {"memory": {"dict": {"value": None}}}
    forged = replaced(header, memory, {"memory": {"dict": {"value": str(folder)}}})
    assert forged != header
    forge(path, forged, members)
    with pytest.raises(FileFormatError):
        load(path)
    assert not folder.exists()


@pytest.mark.parametrize("key", ["committee", "rows", "scaler", "calibrator", "fitted", "experts", "scaling"])
def test_a_file_without_a_part_is_refused(key, tmp_path):
    path = tmp_path / "learner"
    X, y = blobs(60)
    save(AdaptiveSVM(experts=SVMS).partial_fit(X, y), path)
    header, members = content_of(path)
    content = header["state"]["dict"]
    del content[key]
    forge(path, header, members)
    if key == "fitted":  # the mark of a fitted learner
        assert not hasattr(load(path), "classes_")
        return
    with pytest.raises(FileFormatError):
        load(path)
