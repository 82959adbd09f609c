"""The vote of an AdaptiveSVM in a file: which rows and experts are in it, and that a wrong one is found."""

import dataclasses
import json

import numpy as np
import onnx
import pytest

import everlearn
from everlearn import AdaptiveSVM
from everlearn._base.kernels import RBF
from everlearn.adaptive import Expert, _vote_step
from everlearn.export import export_onnx
from export.export_helpers import FEW, assert_same_vote, rbf_rows, rows_of, run, stream, support_of_rbf

# -------------------------------------------------------------------------------------- what is in the file


def test_every_support_vector_is_in_the_file_once_and_no_other_row(path):
    X, y = stream(3, 800, 20)
    model = AdaptiveSVM(random_state=0).partial_fit(X, y)
    report = export_onnx(model, path)
    assert rbf_rows(path) == [len(support_of_rbf(model))]
    assert len(support_of_rbf(model)) < model.n_kept_
    logits = [voter.logits for voter in model._vote_parts().voters if voter.logits is not None]
    apart = sum(found.rows.size for found in logits if not found.kernel.is_linear)
    assert report.size < 4 * apart  # what the rows alone would take if each expert had its own


def test_linear_experts_need_no_rows(path):
    X, y = stream(3, 600, 20)
    model = AdaptiveSVM([Expert("linear"), Expert("linear", window=50)], random_state=0).partial_fit(X, y)
    report = export_onnx(model, path)
    assert rbf_rows(path) == []
    assert report.n_support == len(model.support_)
    assert report.size < 4000
    assert_same_vote(model, path, stream(3, 100, 20, seed=1)[0])


def test_a_baseline_alone(path):
    X, y = stream(3)
    model = AdaptiveSVM([Expert("no-change")], random_state=0).partial_fit(X, y)
    assert export_onnx(model, path).n_support == 0
    np.testing.assert_allclose(run(path, X)[1], model.decision_function(X), rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_experts_without_any_weight_are_left_out(classes, path):
    X, y = stream(classes, 600)
    experts = [Expert("linear"), Expert("rbf"), Expert("rbf", C=1e-6, gamma=30.0), Expert("no-change")]
    model = AdaptiveSVM(experts, learning_rate=20.0, fixed_share=0.0, random_state=0).partial_fit(
        X[:500], y[:500]
    )
    assert model.weights_.min() < 1e-20
    everything = model.support_
    report = export_onnx(model, path)
    assert rbf_rows(path) in ([], [len(support_of_rbf(model, 1e-18))])
    assert report.n_support < len(everything)
    assert_same_vote(model, path, X[500:])


def test_an_expert_of_little_weight_stays_where_it_decides(path):
    X, y = stream(2, 400)
    # All experts but one agree far outside; the weight of that one is all that is left for the other class.
    model = AdaptiveSVM(FEW[:2], fixed_share=0.0, random_state=0).partial_fit(X[:300], y[:300])
    model._committee.vote.costs = np.array([0.0, 20.0])
    assert 1e-10 < model.weights_[1] < 1e-8
    export_onnx(model, path)
    assert rbf_rows(path) == [len(support_of_rbf(model))]
    far = model._scaler.mean + 20 * (X[300:] - model._scaler.mean)
    _, scores = run(path, far)
    np.testing.assert_allclose(scores, model.decision_function(rows_of(far)), rtol=1e-4)
    assert np.abs(scores).max() > 4


@pytest.mark.parametrize("classes", [2, 3])
def test_no_support_vectors(classes, path):
    X, y = stream(classes)
    weights = dict.fromkeys(range(classes), 0.0)
    model = AdaptiveSVM(FEW, class_weight=weights, random_state=0).partial_fit(X, y)
    assert len(model.support_) == 0
    assert export_onnx(model, path).n_support == 0
    np.testing.assert_allclose(run(path, X)[1], model.decision_function(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("count", [0, 1, 1001])
@pytest.mark.parametrize("classes", [2, 3])
def test_any_number_of_rows(count, classes, path):
    X, y = stream(classes)
    export_onnx(AdaptiveSVM(FEW, random_state=0).partial_fit(X, y), path)
    label, scores = run(path, np.resize(X, (count, 6)))
    assert label.shape == (count,)
    assert scores.shape == ((count,) if classes == 2 else (count, 3))


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_that_are_no_numbers_have_scores_that_are_none(classes, path):
    X, y = stream(classes)
    export_onnx(AdaptiveSVM(FEW, random_state=0).partial_fit(X, y), path)
    assert np.isnan(run(path, np.full((1, 6), np.nan))[1]).all()


def test_a_loaded_learner_makes_the_same_file(tmp_path):
    X, y = stream(3)
    model = AdaptiveSVM(random_state=0).partial_fit(X, y)
    everlearn.save(model, tmp_path / "model")
    export_onnx(model, tmp_path / "one.onnx")
    export_onnx(everlearn.load(tmp_path / "model"), tmp_path / "two.onnx")
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


def test_the_file_says_what_it_is(path):
    X, y = stream(3)
    model = AdaptiveSVM(FEW, random_state=0).partial_fit(X, np.array(["x", "y", "z"])[y])
    export_onnx(model, path, feature_names=list("abcdef"))
    file = onnx.load(path)
    onnx.checker.check_model(file, full_check=True)
    facts = {entry.key: entry.value for entry in file.metadata_props}
    assert facts["everlearn.class"] == "AdaptiveSVM"
    assert json.loads(facts["everlearn.classes"]) == ["x", "y", "z"]
    assert facts["everlearn.rows"] == str(len(model.support_))


# ---------------------------------------------------------------------------------------- a wrong file


BREAKS = {
    "gamma": lambda vote: _voters(vote, lambda v: v.kernel and {"kernel": RBF(1.02 * v.kernel.gamma)}),
    "factors": lambda vote: _voters(vote, lambda v: v.factors is not None and {"factors": None}),
    "weight": lambda vote: _voters(vote, lambda v: {"weight": 1.05 * v.weight if v.kernel else v.weight}),
    "bias": lambda vote: _voters(vote, lambda v: {"bias": v.bias + 0.02 * np.arange(1, 1 + len(v.bias))}),
    "places": lambda vote: _voters(vote, lambda v: {"places": v.places[::-1].copy()}),
    "rows": lambda vote: dataclasses.replace(vote, rows=vote.rows + 0.02),
    "constant": lambda vote: dataclasses.replace(vote, constant=vote.constant[::-1].copy()),
    "voters": lambda vote: dataclasses.replace(vote, voters=vote.voters[1:]),
    "least": lambda vote: dataclasses.replace(vote, least=0.05),
}


def _voters(vote, change):
    voters = [dataclasses.replace(voter, **(change(voter) or {})) for voter in vote.voters]
    return dataclasses.replace(vote, voters=voters)


@pytest.mark.parametrize("name", sorted(BREAKS))
@pytest.mark.parametrize("classes", [2, 3])
def test_a_wrong_vote_is_found_and_not_written(classes, name, path, monkeypatch):
    X, y = stream(classes)
    model = AdaptiveSVM(FEW, random_state=0).partial_fit(X, y)
    write = _vote_step.VoteStep.write
    monkeypatch.setattr(_vote_step.VoteStep, "write", lambda self, *rest: write(BREAKS[name](self), *rest))
    with pytest.raises(ValueError, match=r"differ from those of the learner by .* Nothing was written"):
        export_onnx(model, path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("places", "columns", "kept"),
    [([4, 2, 3], 3, [2, 3, 4]), ([0, 9], 3, [0, 9]), ([0, 2, 3], 3, [0, 1, 2, 3]), ([0, 2], 1, [0, 1, 2])],
)
def test_places_are_a_range_where_that_is_smaller(places, columns, kept):
    random = np.random.default_rng(0)
    rows, X = random.standard_normal((10, 2)), random.standard_normal((5, 2))
    weights, bias = random.standard_normal((len(places), columns)), random.standard_normal(columns)
    voter = _vote_step.Voter(0.5, weights, bias, RBF(0.7), np.array(places, dtype=np.int32))
    assert voter.smallest().places.tolist() == kept
    constant = np.zeros(max(2, columns))
    votes = [_vote_step.VoteStep(rows, [v], constant, 1e-12).apply(X) for v in (voter, voter.smallest())]
    np.testing.assert_allclose(*votes, rtol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_step_in_double_precision_is_what_it_writes(classes, path):
    from everlearn._base.decision import describe

    X, y = stream(classes)
    model = AdaptiveSVM(FEW, random_state=0).partial_fit(X, y)
    found = X
    for step in describe(model).steps:
        found = step.apply(found)
    expected = model.decision_function(X).reshape(len(X), -1)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)  # its kernel values are single
