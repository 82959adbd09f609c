"""LocalSVM: saved and loaded in mid-stream it goes on bit for bit, and what is refused changes nothing."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import everlearn
from everlearn import LocalSVM
from everlearn.errors import FileFormatError
from svm.lasvm_helpers import assert_same, learned, refused, snapshot, three_clouds, two_clouds
from svm.local_svm_helpers import QUIET, signs


def thin():
    X, y = two_clouds(300, 150)
    return sparse.csr_array(np.where(np.random.default_rng(1).random(X.shape) < 0.1, X, 0)), y


def far():
    X, y = two_clouds(300, 6)
    return X.astype(np.float32) + 1e4, y


def sorted_by_class():
    X, y = two_clouds(300, 4)
    order = np.argsort(y, kind="stable")
    return X[order], y[order]


STREAMS = {
    "two classes": (lambda: two_clouds(300, 4), {}),
    "growing": (lambda: two_clouds(300, 4), {"radius": "grow", "min_neighbors": 0}),
    "three classes": (lambda: three_clouds(300), {"C": 5}),
    "budget": (lambda: three_clouds(300), {"max_idle": 20}),
    "sparse": (thin, {"gamma": 0.05}),
    "single precision near 1e4": (far, {}),
    "one class first": (sorted_by_class, {}),
}


@pytest.mark.parametrize("name", STREAMS)
def test_saved_in_mid_stream_it_goes_on_bit_for_bit(name, tmp_path):
    make, options = STREAMS[name]
    X, y = make()
    common = {
        "gamma": 0.3,
        "min_neighbors": 5,
        "full_pass_every": 9,
        "full_pass_sample": 3,
        "random_state": 4,
    }
    model = LocalSVM(**{**common, **options}).partial_fit(X[:120], y[:120], classes=np.unique(y))
    everlearn.save(model, tmp_path / "local.everlearn")
    loaded, pickled = everlearn.load(tmp_path / "local.everlearn"), pickle.loads(pickle.dumps(model))
    assert_same(snapshot(loaded), snapshot(model))
    for one in (model, loaded, pickled):
        one.partial_fit(X[120:250], y[120:250])
        one.forget(one.support_[:10]).partial_fit(X[250:], y[250:])
    assert model.n_full_passes_.sum() > 0
    assert_same(learned(loaded), learned(model))
    assert_same(learned(pickled), learned(model))
    assert_same(loaded.finish().decision_function(X), model.finish().decision_function(X))


def test_a_state_that_does_not_fit_is_refused(tmp_path):
    X, y = signs(50)
    model = LocalSVM().partial_fit(X, y, classes=[-1, 1])
    state = model._get_state()
    for key in ("changed", "generators", "since", "updates"):
        broken = {**state, "machine": {**state["machine"], "native": dict(state["machine"]["native"])}}
        broken["machine"]["native"][key] = state["machine"]["native"][key][..., :0]
        model._get_state = lambda broken=broken: broken
        everlearn.save(model, tmp_path / "broken.everlearn")
        with pytest.raises(FileFormatError):
            everlearn.load(tmp_path / "broken.everlearn")


def test_looking_changes_nothing():
    X, y = signs(100)
    model = LocalSVM(gamma=0.4, random_state=0).partial_fit(X, y, classes=[-1, 1])
    before = snapshot(model)
    (
        model.predict(X),
        model.decision_function(X),
        model.support_vectors_,
        model.n_updates_,
        model._machine.native.kept_ids,
    )
    assert_same(snapshot(model), before)


def test_random_state_decides():
    X, y = signs(150, seed=2)
    options = {"gamma": 0.5, "radius": 0.3, "min_neighbors": 0, "full_pass_sample": 1}
    models = [LocalSVM(random_state=seed, **options).partial_fit(X, y, classes=[-1, 1]) for seed in (0, 0, 1)]
    assert_same(learned(models[0]), learned(models[1]))
    assert not np.array_equal(learned(models[0])["alpha"], learned(models[2])["alpha"])
    again = clone(models[0]).fit(X, y)
    assert_same(learned(again), learned(clone(models[0]).fit(X, y)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("C", 0),
        ("gamma", -1.0),
        ("radius", 0),
        ("radius", -2.0),
        ("radius", "shrink"),
        ("radius", np.nan),
        ("radius", True),
        ("min_neighbors", -1),
        ("min_neighbors", 2.5),
        ("full_pass_every", 0),
        ("full_pass_tol", 0.0),
        ("full_pass_sample", -1),
        ("max_idle", -1),
        ("tol", 0.0),
    ],
)
def test_bad_parameters_are_refused(name, value):
    X, y = signs(30)
    model = LocalSVM(**{name: value})
    with pytest.raises(ValueError, match=f"parameter '{name}' of LocalSVM must be"):
        model.fit(X, y)
    assert not hasattr(model, "classes_")
    learned_well = LocalSVM().fit(X, y).set_params(**{name: value})
    for call in (learned_well.finish, lambda: learned_well.forget(0), lambda: learned_well.partial_fit(X, y)):
        with refused(learned_well, f"parameter '{name}'"):
            call()


def test_the_kernel_is_no_parameter():
    assert not {"kernel", "degree", "coef0"} & set(LocalSVM().get_params())
    with pytest.raises(TypeError):
        LocalSVM(kernel="linear")


def test_bad_rows_are_refused():
    X, y = signs(60)
    model = LocalSVM(gamma=0.4, **QUIET).partial_fit(X, y, classes=[-1, 1])
    with refused(model, "NaN"):
        model.partial_fit(np.full((1, 3), np.nan), [1])
    with refused(model, "features"):
        model.partial_fit(X[:, :2], y)
    with refused(model, "classes|label"):
        model.partial_fit(X[:1], [7])
    with pytest.raises(ValueError, match="classes"):
        LocalSVM().partial_fit(X, y)
