"""VIRTUAL with more than two classes: each against the rest, as by hand with the binary learner."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from everlearn import VIRTUAL, load, save
from everlearn.datasets import make_waveform
from svm.lasvm_helpers import assert_same, refused, snapshot


def clouds(counts=(150, 60, 30), seed=0):
    """Overlapping Gaussian classes of given sizes; the names sort in another order than the sizes."""
    random = np.random.default_rng(seed)
    y = np.repeat(np.array(["oak", "ash", "yew"])[: len(counts)], counts)
    centers = np.repeat(2 * random.normal(size=(len(counts), 3)), counts, axis=0)
    order = random.permutation(len(y))
    return (centers + random.normal(size=(len(y), 3)))[order], y[order]


OPTIONS = {"C": 3.0, "gamma": 0.4, "random_state": 5}


def by_hand(X, y, **options):
    """Binary learners, one for each class; virtual rows where the class is rarer than the rest."""
    models = []
    for label in np.unique(y):
        made = options.get("n_virtual", 1) if 2 * np.sum(y == label) < len(y) else 0
        models.append(VIRTUAL(**options | {"minority_class": True, "n_virtual": made}).fit(X, y == label))
    return models


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [{}, {"n_virtual": 3, "early_stopping": False}, {"kernel": "linear", "gamma": "scale"}, {"max_iter": 60},
     {"n_iter_no_change": 20, "rtol": 0.1}],
    ids=str,
)  # fmt: skip
def test_it_is_one_against_the_rest(form, options):
    X, y = clouds()
    X = form(np.where(np.abs(X) < 0.3, 0, X))
    options = OPTIONS | options
    model, parts = VIRTUAL(**options).fit(X, y), by_hand(X, y, **options)
    expected = np.column_stack([part.decision_function(X) for part in parts])
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])
    assert model.stop_reason_ == [part.stop_reason_ for part in parts]
    assert model.n_virtual_ == sum(part.n_virtual_ for part in parts)
    assert model.n_virtual_support_ == sum(part.n_virtual_support_ for part in parts)
    assert model.n_iter_ == sum(part.n_iter_ for part in parts)
    assert max(part.n_labels_ for part in parts) <= model.n_labels_ <= len(y)
    np.testing.assert_array_equal(model.intercept_, np.concatenate([part.intercept_ for part in parts]))
    for column, part in enumerate(parts):
        found = model.dual_coef_[column]
        real = part.support_ < len(y)
        np.testing.assert_array_equal(np.sort(found[found != 0]), np.sort(part.dual_coef_[0]))
        np.testing.assert_array_equal(
            model.support_[(found != 0) & (model.support_ < len(y))], np.sort(part.support_[real])
        )


def test_a_callable_kernel_is_the_native_one():
    X, y = clouds((60, 30, 20))
    options = OPTIONS | {"kernel": lambda A, B: rbf_kernel(A, B, gamma=0.4)}
    model, parts = VIRTUAL(**options).fit(X, y), by_hand(X, y, **options)
    expected = np.column_stack([part.decision_function(X) for part in parts])
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6, atol=1e-6)
    assert model.support_vectors_.shape == (len(model.support_), 3)


def test_virtual_rows_are_of_the_rare_classes():
    X, y = clouds()
    model = VIRTUAL(**OPTIONS).fit(X, y)
    np.testing.assert_array_equal(model.minority_class_, ["ash", "yew"])
    virtual = model.support_ >= len(y)
    assert virtual.sum() == model.n_virtual_support_ > 0
    named = VIRTUAL(minority_class="yew", **OPTIONS).fit(X, y)
    np.testing.assert_array_equal(named.minority_class_, ["yew"])
    assert 0 < named.n_virtual_ < model.n_virtual_
    coefficients = named.dual_coef_[:, named.support_ >= len(y)]
    assert (coefficients[2] > 0).all()  # yew against the rest
    assert not coefficients[:2].any()


def test_it_helps_rare_classes():
    X, y = make_waveform(3000, random_state=3)
    keep = np.concatenate(
        [np.flatnonzero(y == label)[:count] for label, count in ((1, 900), (2, 60), (3, 60))]
    )
    X_test, y_test = make_waveform(1500, random_state=4)

    def recall(n_virtual):
        model = VIRTUAL(gamma=0.05, n_virtual=n_virtual, random_state=0).fit(X[keep], y[keep])
        return np.mean([np.mean(model.predict(X_test)[y_test == label] == label) for label in (2, 3)])

    assert recall(1) > recall(0) + 0.02


def test_copies_are_the_same(tmp_path):
    X, y = clouds()
    model = VIRTUAL(**OPTIONS).fit(X, y)
    save(model, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert_same(snapshot(loaded), snapshot(model))
    assert_same(loaded.decision_function(X), model.decision_function(X))
    assert (loaded.stop_reason_, loaded.n_labels_) == (model.stop_reason_, model.n_labels_)


def test_class_weights_and_sample_weights_are_costs():
    X, y = clouds()
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], len(y))
    model = VIRTUAL(class_weight={"yew": 2.0}, **OPTIONS).fit(X, y, sample_weight=weight)
    other = VIRTUAL(**OPTIONS).fit(X, y, sample_weight=weight * np.where(y == "yew", 2.0, 1.0))
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), rtol=1e-9)
    assert (weight[model.support_[model.support_ < len(y)]] > 0).all()


def test_a_generator_goes_on_from_class_to_class():
    X, y = clouds()
    same = [VIRTUAL(**OPTIONS | {"random_state": np.random.RandomState(3)}).fit(X, y) for _ in range(2)]
    np.testing.assert_array_equal(*(model.decision_function(X) for model in same))
    random = np.random.RandomState(3)
    first, second = (VIRTUAL(**OPTIONS | {"random_state": random}).fit(X, y) for _ in range(2))
    assert not np.array_equal(first.decision_function(X), second.decision_function(X))


@pytest.mark.parametrize(
    ("options", "weight", "words"),
    [
        ({"minority_class": "elm"}, None, "minority_class='elm' is not a label in y"),
        ({}, "yew", "No row of the class 'yew' has a weight above 0"),
    ],
)
def test_bad_input_is_refused(options, weight, words):
    X, y = clouds()
    model = VIRTUAL(**OPTIONS).fit(X, y)
    model.set_params(**options)
    with refused(model, words):
        model.fit(X, y, sample_weight=None if weight is None else np.where(y == weight, 0.0, 1.0))
