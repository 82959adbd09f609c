"""Promises of every exported estimator, found by discovery: a new one is held to them with nothing to write.

Where a promise does not hold, the table beside the test says why.
"""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

import everlearn
from contract.contract_helpers import ESTIMATORS, fit, learn, make, outputs, problem, same, state

EVERY = pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
INCREMENTAL = pytest.mark.parametrize(
    "cls", [cls for cls in ESTIMATORS if hasattr(cls, "partial_fit")], ids=lambda cls: cls.__name__
)
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def started(cls, n_classes):
    """An estimator that has learned 40 rows, by `partial_fit` where it has it, and the rows to go on with."""
    X, y = problem(n_classes)
    model = make(cls, gamma=0.5)
    if hasattr(cls, "partial_fit"):
        learn(model, X[:40], y[:40], np.unique(y))
    else:
        fit(model, X, y)
    return model, X, y


def go_on(model, X, y):
    if hasattr(model, "partial_fit"):
        learn(model, X[40:], y[40:])
    return outputs(model, X)


# ------------------------------------------------------------------------------------------------ copies


@CLASSES
@EVERY
def test_a_saved_estimator_goes_on_bit_for_bit(cls, n_classes, tmp_path):
    model, X, y = started(cls, n_classes)
    everlearn.save(model, tmp_path / "model")
    loaded = everlearn.load(tmp_path / "model")
    assert type(loaded) is cls
    assert state(loaded) == state(model)
    assert same(outputs(loaded, X), outputs(model, X))
    assert same(go_on(loaded, X, y), go_on(model, X, y))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@EVERY
def test_a_copy_goes_on_bit_for_bit_and_apart(cls, duplicate):
    model, X, y = started(cls, 2)
    before = outputs(model, X)
    other = duplicate(model)
    expected = go_on(duplicate(model), X, y)
    assert same(go_on(other, X, y), expected)
    assert same(outputs(model, X), before)


@EVERY
def test_an_unfitted_estimator_is_saved(cls, tmp_path):
    everlearn.save(make(cls), tmp_path / "model")
    assert repr(everlearn.load(tmp_path / "model")) == repr(make(cls))


# --------------------------------------------------------------------------------------- looking, refusing


@CLASSES
@EVERY
def test_looking_changes_nothing(cls, n_classes):
    model, X, y = started(cls, n_classes)
    before = state(model)
    outputs(model, X)
    repr(model)
    for name in dir(model):
        if name.endswith("_") and not name.startswith("_"):
            getattr(model, name, None)
    if hasattr(model, "score"):
        model.score(X, y)
    assert state(model) == before


BAD_ROWS = {
    "nan": lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 3, np.nan, X), y),
    "infinity": lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 3, np.inf, X), y),
    "width": lambda X, y: (X[:, :1], y),
    "no rows": lambda X, y: (X[:0], y[:0]),
    "lengths": lambda X, y: (X, y[:-1]),
    "words": lambda X, y: (X.astype(str).astype(object) + "x", y),
    "three dimensions": lambda X, y: (X[:, :, None], y),
}


NO_MISTAKE = {
    ("lengths", "Exemplars"): "it takes no labels",
    ("no rows", "StreamS3VM"): "a batch may be empty",
}


@pytest.mark.parametrize("bad", BAD_ROWS)
@EVERY
def test_a_refused_call_changes_nothing(cls, bad):
    model, X, y = started(cls, 2)
    before, said = state(model), outputs(model, X)
    call = model.partial_fit if hasattr(model, "partial_fit") else model.fit
    wrong = BAD_ROWS[bad](X, y)
    if bad == "width" and call == model.fit:
        return  # a new width is no mistake for `fit`
    if (bad, cls.__name__) in NO_MISTAKE:
        return
    with pytest.raises((ValueError, TypeError)) as caught:
        call(*wrong)
    assert str(caught.value)
    assert state(model) == before
    assert same(outputs(model, X), said)


def poisonous(A, B):
    """The RBF kernel, but not finite for rows that start with a large number."""
    return np.where((A[:, :1] > 500) | (B[:, 0] > 500), np.nan, rbf_kernel(A, B, gamma=0.5))


CALLABLE = pytest.mark.parametrize(
    "cls",
    [
        cls
        for cls in ESTIMATORS
        if "kernel" in cls._constraints and cls._constraints["kernel"].test(poisonous)
    ],
    ids=lambda cls: cls.__name__,
)


@CALLABLE
def test_learning_that_fails_leaves_the_model_of_before(cls):
    X, y = problem()
    model, bad = make(cls, kernel=poisonous), X.copy()
    bad[60, 0] = 1e3
    unfitted = dict(vars(model))
    calls = [fit] if not hasattr(cls, "partial_fit") else [fit, lambda *given: learn(*given, np.unique(y))]
    for call in calls:
        with pytest.raises(ValueError, match="not finite"):
            call(model, bad, y)
        assert vars(model) == unfitted
    said = outputs(fit(model, X, y), X)
    with pytest.raises(ValueError, match="not finite"):
        fit(model, bad, y)
    assert same(outputs(model, X), said)


# -------------------------------------------------------------------------------------- formats of input

NOT_SPARSE_BIT_FOR_BIT = {
    "AdaptiveSVM": "sparse columns are scaled but not centered",
    "Exemplars": "sparse columns are not standardized",
    "OAM": "dot products of sparse rows add up in another order",
    "OPAUC": "dot products of sparse rows add up in another order",
}


@CLASSES
@EVERY
def test_sparse_rows_give_the_model_of_dense_rows(cls, n_classes):
    X, y = problem(n_classes)
    dense, thin = fit(make(cls), X, y), fit(make(cls), sparse.csr_matrix(X), y)
    expected, found = outputs(dense, X), outputs(thin, sparse.csr_matrix(X))
    if cls.__name__ not in NOT_SPARSE_BIT_FOR_BIT:
        assert same(found, expected)
        assert same(outputs(dense, sparse.csr_matrix(X)), expected)
    elif "order" in NOT_SPARSE_BIT_FOR_BIT[cls.__name__]:
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


@EVERY
def test_single_precision_rows_give_the_same_labels(cls):
    X, y = problem()
    double, single = fit(make(cls), X, y), fit(make(cls), X.astype(np.float32), y)
    if hasattr(cls, "predict"):
        agreement = np.mean(double.predict(X) == single.predict(X.astype(np.float32)))
        assert agreement >= 0.97


# -------------------------------------------------------------------------------------------- streams

BLOCKS_MATTER = {
    "AdaptiveSVM": "scaling is that of the rows before the block",
    "CalibratedClassifier": "a block is scored before any of it is learned",
    "StreamS3VM": "the rows of a batch are labeled together",
}


@CLASSES
@pytest.mark.parametrize("size", [1, 27], ids=["one row", "27 rows"])
@INCREMENTAL
def test_blocks_do_not_matter(cls, size, n_classes):
    """Up to rounding, after which a solver may take another of two equally good steps."""
    whole, X, y = started(cls, n_classes)  # the first block is the same: rows may be centered by its mean
    parts = copy.deepcopy(whole)
    learn(whole, X[40:], y[40:])
    for start in range(40, len(X), size):
        learn(parts, X[start : start + size], y[start : start + size])
    for model in (whole, parts):
        if hasattr(model, "finish"):
            model.finish()
    if cls.__name__ not in BLOCKS_MATTER:
        assert np.mean(whole.predict(X) == parts.predict(X)) >= 0.97


@INCREMENTAL
def test_a_class_that_comes_late(cls):
    X, y = problem(3)
    order = np.argsort(y == 2, kind="stable")  # the rows of class 2 are the last ones
    X, y = X[order], y[order]
    model = make(cls, gamma=0.5)
    for start in range(0, len(X), 20):
        learn(model, X[start : start + 20], y[start : start + 20], np.unique(y))
    assert list(model.classes_) == [0, 1, 2]
    late = model.predict(X[y == 2])
    assert 2 in late or "average" in model.get_params()  # few rows weigh little in an average over the stream


def kept_ids(model):
    """The ids of the rows that a model is made of."""
    found = getattr(model, "ids_", None)
    if found is None:
        found = getattr(getattr(model, "estimator_", model), "support_", None)
    return np.asarray(model.kept_ if found is None else found)


@EVERY
def test_forgetting_is_what_is_promised(cls):
    promise = make(cls).forgetting
    assert promise in ("exact", "removal", "replay")
    if promise == "replay":
        return
    model, X, _ = started(cls, 2)
    gone = kept_ids(model)[:3]
    model.forget(gone)
    assert not np.isin(gone, kept_ids(model)).any()
    outputs(model, X)


def test_the_tables_name_estimators_that_exist():
    names = {cls.__name__ for cls in ESTIMATORS}
    assert {*NOT_SPARSE_BIT_FOR_BIT, *BLOCKS_MATTER, *(name for _, name in NO_MISTAKE)} <= names
