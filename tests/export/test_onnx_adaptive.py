"""AdaptiveSVM as an ONNX file: the vote that onnxruntime counts is the vote of the committee."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from cli.cli_helpers import everlearn as command
from everlearn import AdaptiveSVM
from everlearn._base.kernels import NAMES
from everlearn.adaptive import Expert
from everlearn.export import export_onnx
from everlearn.stream import NeverEndingLearner
from export.export_helpers import (
    FEW,
    assert_same_vote,
    problem,
    rbf_rows,
    rounding,
    rows_of,
    run,
    stream,
    support_of_rbf,
)
from property_helpers import property_test

# ------------------------------------------------------------------------------------------ random streams


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("classes", [2, 3, 10])
def test_a_stream(classes, layout, dtype, path):
    X, y = stream(classes, 400, 12, layout=layout)
    model = AdaptiveSVM(random_state=0).partial_fit(X[:300], y[:300])
    report = export_onnx(model, path, dtype=dtype)
    assert_same_vote(model, path, X[300:], dtype)
    assert report.max_relative_difference < 1e-4
    assert report.n_support == len(model.support_)
    assert report.size == path.stat().st_size


@pytest.mark.parametrize("classes", [2, 3])
def test_double_precision_is_as_good_as_the_kernel_values_of_the_learner(classes, path):
    X, y = stream(classes)
    model = AdaptiveSVM(random_state=0).partial_fit(X[:200], y[:200])
    report = export_onnx(model, path, dtype="float64")
    assert (report.compute_dtype, report.max_relative_difference < 1e-5) == ("float64", True)


@property_test(40)
@given(data=st.data())
def test_any_committee(data, tmp_path_factory):
    svm = st.builds(
        Expert,
        kernel=st.sampled_from([name for name in NAMES if name not in ("poly", "sigmoid")]),
        C=st.floats(0.1, 10),
        gamma=st.floats(0.1, 3),
        window=st.none() | st.integers(2, 60),
        relevance=st.booleans(),
    )
    experts = data.draw(st.lists(svm | st.just(Expert("no-change")), min_size=1, max_size=5))
    classes, seed = data.draw(st.integers(2, 4)), data.draw(st.integers(0, 2**16))
    layout = data.draw(st.sampled_from(["dense", "sparse"]))
    X, y = stream(classes, 120, data.draw(st.integers(1, 8)), seed, layout)
    labels = data.draw(st.sampled_from([np.arange(4), np.array(["a", "b", "c", "d"])]))
    model = AdaptiveSVM(
        experts,
        scaling=data.draw(st.sampled_from(["standard", "none"])) if layout == "sparse" else "standard",
        fixed_share=data.draw(st.sampled_from([0.0, 0.01, 0.5])),
        class_weight=data.draw(st.sampled_from([None, "balanced"])),
        random_state=0,
    )
    model.partial_fit(X[:80], labels[y[:80]], classes=labels[:classes])
    path = tmp_path_factory.mktemp("any") / "model.onnx"
    export_onnx(model, path)
    label, scores = run(path, rows_of(X[80:]))
    expected = model.decision_function(rows_of(X[80:]))
    apart = np.abs(scores - expected).reshape(40, -1).max(axis=1)
    np.testing.assert_array_less(apart, rounding(model, rows_of(X[80:])) + 2e-6)  # experts that are left out
    numbers = scores > 0 if classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(label, labels[numbers.astype(int)])


@pytest.mark.parametrize("classes", [2, 4])
def test_a_table(classes, path):
    X, y = problem(classes)
    model = AdaptiveSVM(random_state=0).fit(X[:200], y[:200])
    export_onnx(model, path)
    assert_same_vote(model, path, X[200:])


@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_rows_far_from_the_origin(scaling, path):
    X, y = problem(3, offset=1e4)
    model = AdaptiveSVM(scaling=scaling, random_state=0).partial_fit(X[:200], y[:200])
    assert export_onnx(model, path).compute_dtype == "float32"
    middle = X.mean(axis=0)
    label, scores = run(path, X[200:])
    expected = model.decision_function(rows_of(X[200:]))
    # The file subtracts the middle first, in two parts, so that only what remains is rounded.
    near = rows_of(X[200:]) - middle
    assert np.abs(near).max() < 10
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4)
    assert (label == model.predict(rows_of(X[200:]))).mean() > 0.98


# ----------------------------------------------------------------------------------- classes come, rows go


def test_classes_that_come_later(path):
    X, y = stream(4, 500)
    names = np.array(["m", "z", "a", "q"])  # the later ones are sorted between the others
    early = np.flatnonzero(y[:300] < 2)
    model = AdaptiveSVM(random_state=0).partial_fit(X[early], names[y[early]])
    export_onnx(model, path)
    assert_same_vote(model, path, X[400:])
    model.partial_fit(X[300:380], names[y[300:380]])
    export_onnx(model, path)
    assert run(path, X[400:])[1].shape == (100, 4)
    assert_same_vote(model, path, X[400:])


def test_classes_that_a_window_has_not_seen(path):
    X, y = stream(4, 500)
    late = np.flatnonzero(y < 2)[-40:]
    model = AdaptiveSVM(random_state=0).partial_fit(X[:300], y[:300], classes=range(5))
    model.partial_fit(X[late], y[late])
    absent = [voter.logits.bias == -10 for voter in model._vote_parts().voters if voter.logits is not None]
    assert {tuple(np.flatnonzero(mask)) for mask in absent} == {(4,), (2, 3, 4)}
    export_onnx(model, path)
    assert_same_vote(model, path, X[400:])


@pytest.mark.parametrize("classes", [2, 3])
def test_a_window_with_a_single_class(classes, path):
    X, y = stream(classes, 500)
    late = np.flatnonzero(y == 1)[-30:]
    model = AdaptiveSVM(random_state=0).partial_fit(X[:300], y[:300])
    model.partial_fit(X[late], y[late])
    constant = [voter for voter in model._vote_parts().voters if voter.probabilities is not None]
    assert len(constant) == 3  # two SVMs on the last 25 rows, and the baseline
    export_onnx(model, path)
    assert_same_vote(model, path, X[400:])


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_that_are_forgotten_are_not_in_the_file(classes, layout, path):
    X, y = stream(classes, 400, layout=layout)
    model = AdaptiveSVM(random_state=0).partial_fit(X[:300], y[:300])
    export_onnx(model, path)
    (before,) = rbf_rows(path)
    gone = model.support_[::2]
    model.forget(gone)
    report = export_onnx(model, path)
    (after,) = rbf_rows(path)
    assert after == len(support_of_rbf(model)) < before
    assert report.n_support == len(model.support_)
    assert not np.isin(gone, model.support_).any()
    assert_same_vote(model, path, X[300:])


@pytest.mark.parametrize("classes", [2, 3])
def test_before_two_classes_have_been_seen(classes, path):
    X, _ = stream(classes)
    model = AdaptiveSVM(random_state=0).partial_fit(X[:20], np.ones(20, dtype=int), classes=range(classes))
    report = export_onnx(model, path)
    assert report.n_support == 0
    label, scores = run(path, X)
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-6)
    assert (label == 1).all()


def test_one_class_decides_nothing(path):
    X, _ = stream()
    model = AdaptiveSVM(random_state=0).partial_fit(X[:20], np.ones(20, dtype=int))
    with pytest.raises(ValueError, match="This AdaptiveSVM has seen only one class"):
        export_onnx(model, path)
    assert not path.exists()


# ------------------------------------------------------------------------------------- experts from outside


def with_a_tree(**params):
    X, y = stream(2, 300)
    tree = Expert(estimator=DecisionTreeClassifier(max_depth=2), window=60)
    return AdaptiveSVM([*FEW, tree], random_state=0, **params).partial_fit(X, y)


def test_experts_from_outside_are_refused_by_name(path):
    model = with_a_tree()
    weight = f"{model.weights_[-1]:.2g}"
    message = f"The expert 'DecisionTreeClassifier last 60' of this AdaptiveSVM has the weight {weight} and"
    with pytest.raises(ValueError, match=message + " cannot be exported.*train without it"):
        export_onnx(model, path)
    assert not path.exists()


def test_experts_from_outside_with_a_negligible_weight_are_left_out(path):
    model = with_a_tree(fixed_share=0.0)
    model._committee.vote.costs[-1] = model._committee.vote.costs.min() + 30
    assert 0 < model.weights_[-1] < 1e-12
    export_onnx(model, path)
    assert_same_vote(model, path, stream(2, 300)[0])


def test_the_comparison_finds_an_expert_that_was_missed(path, monkeypatch):
    from everlearn.adaptive import _decision

    monkeypatch.setattr(_decision, "_NEGLIGIBLE", 1.1)
    model = with_a_tree()
    model._committee.vote.costs[:-1] = 50
    with pytest.raises(
        ValueError, match=r"does not include the experts 'DecisionTree.* last 60'\. Nothing was written"
    ):
        export_onnx(model, path)
    assert not path.exists()


def test_experts_from_outside_that_have_seen_one_class_are_constant(path):
    X, y = stream(2, 300)
    late = np.flatnonzero(y == 1)[-60:]
    model = with_a_tree()
    model.partial_fit(X[late], y[late])
    assert model._vote_parts().voters[-1].probabilities is not None
    export_onnx(model, path)
    assert_same_vote(model, path, X)


# ------------------------------------------------------------------------------------------- from a store


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_the_learner_of_a_store(layout, classes, tmp_path):
    X, y = stream(classes, 400, layout=layout)
    store, file = tmp_path / "stream.everlearn", tmp_path / "model.onnx"
    with NeverEndingLearner.open(store, random_state=0) as learner:
        for start in range(0, 300, 50):
            learner.step(X[start : start + 50], y[start : start + 50])
        assert type(learner.learner_) is AdaptiveSVM
    assert "support vectors" in command("export", store, file).stdout
    with NeverEndingLearner.open(store, read_only=True) as learner:
        label, scores = run(os.fspath(file), rows_of(X[300:]))
        rounded = X[300:].astype(np.float32).astype(np.float64)
        np.testing.assert_allclose(scores, learner.decision_function(rounded), rtol=0, atol=2e-4)
        assert (label == learner.predict(rounded)).mean() >= 0.99
