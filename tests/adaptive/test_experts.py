"""Expert: its name, its checks; which experts `AdaptiveSVM` is given."""

import pytest
from river.naive_bayes import GaussianNB as RiverNB
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from everlearn.adaptive import Expert
from everlearn.adaptive.experts import DEFAULT, GRID, is_classifier, resolve


@pytest.mark.parametrize(
    ("expert", "name"),
    [
        (Expert(), "rbf C=10 gamma=1*scale"),
        (Expert("linear", C=0.5), "linear C=0.5"),
        (Expert("cosine"), "cosine C=10"),
        (Expert("laplacian", gamma=3.0, window=25), "laplacian C=10 gamma=3*scale last 25"),
        (Expert("rbf", relevance=True), "rbf C=10 gamma=1*scale by relevance"),
        (Expert("no-change", window=7), "no-change"),
        (Expert(estimator=GaussianNB()), "GaussianNB"),
        (Expert(estimator=GaussianNB(), window=50), "GaussianNB last 50"),
    ],
    ids=str,
)
def test_a_name_says_what_an_expert_is(expert, name):
    assert expert.name == name


def test_experts_of_the_package_are_valid_and_differ():
    for experts in (DEFAULT, GRID):
        for expert in experts:
            expert.check()
        assert len({expert.name for expert in experts}) == len(experts)


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"kernel": "poly"}, ValueError, "kernel of an Expert must be .*'rbf'.*got 'poly'"),
        ({"kernel": "sigmoid"}, ValueError, "got 'sigmoid'"),
        ({"C": 0.0}, ValueError, "C of an Expert"),
        ({"gamma": -1.0}, ValueError, "gamma of an Expert"),
        ({"gamma": "scale"}, ValueError, "gamma of an Expert"),
        ({"window": 1}, ValueError, "window of an Expert must be .* from 2"),
        ({"relevance": 1}, ValueError, "relevance of an Expert"),
        ({"estimator": LinearRegression()}, TypeError, "must be a scikit-learn or River classifier"),
        ({"estimator": GaussianNB}, TypeError, r"\(an instance\)"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(parameters, error, words):
    with pytest.raises(error, match=words):
        Expert(**parameters).check()


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (GaussianNB(), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), True),
        (RiverNB(), True),
        (GaussianNB, False),
        (LinearRegression(), False),
        (StandardScaler(), False),
        ("GaussianNB", False),
        (None, False),
    ],
    ids=str,
)
def test_who_is_a_classifier(model, expected):
    assert is_classifier(model) is expected


def test_experts_are_given_as_a_list_in_which_auto_stands_for_the_default_ones():
    model, expert = GaussianNB(), Expert("linear", C=3.0)
    assert resolve("auto") == DEFAULT
    assert resolve(["auto", expert, model]) == (*DEFAULT, expert, Expert(estimator=model))
    assert resolve((expert,)) == (expert,)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("all", ValueError, "'auto' or a list of Expert, got 'all'"),
        (Expert(), TypeError, "'auto' or a list of Expert"),
        (None, TypeError, "'auto' or a list of Expert"),
        ([], ValueError, "at least one Expert"),
        (["rbf"], TypeError, "scikit-learn or River classifier"),
        ([Expert(), Expert(C=-1)], ValueError, "C of an Expert"),
    ],
    ids=str,
)
def test_bad_lists_of_experts_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        resolve(given)
