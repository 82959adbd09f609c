"""Pipelines of scikit-learn around our learners: saved and loaded as data."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from everlearn import LASVM, AdaptiveSVM, load, save
from everlearn._base import pipelines
from everlearn.errors import FileFormatError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 5)) * [1, 10, 0.1, 5, 1] + 3
Y = np.where((X[:, 0] - 3) * (X[:, 4] - 3) > 0, "same", "other")
TRANSFORMERS = [
    StandardScaler(),
    MinMaxScaler(clip=True),
    MaxAbsScaler(),
    RobustScaler(),
    Normalizer("l1"),
    SimpleImputer(strategy="median", add_indicator=True),
    PCA(3, random_state=0),
    PCA(whiten=True),
    TruncatedSVD(2, random_state=0),
    PolynomialFeatures(),
    OneHotEncoder(handle_unknown="ignore"),
    OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    FunctionTransformer(),
]


def round_trip(pipeline, tmp_path):
    path = tmp_path / "p.everlearn"
    save(pipeline, path)
    assert b"sklearn" not in path.read_bytes()[:4]
    back = load(path)
    assert type(back) is Pipeline
    return back


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=repr)
@pytest.mark.parametrize("fitted", [True, False])
def test_a_pipeline_comes_back_bit_for_bit(transformer, fitted, tmp_path):
    rows = X.round() if "Encoder" in type(transformer).__name__ else X.copy()
    if isinstance(transformer, SimpleImputer):
        rows[::7, 2] = np.nan
    pipeline = make_pipeline(clone(transformer), LASVM(C=10, random_state=0))
    if not fitted:
        back = round_trip(pipeline, tmp_path)
        assert repr(back) == repr(pipeline)
        back.fit(rows, Y)
        pipeline.fit(rows, Y)
    else:
        back = round_trip(pipeline.fit(rows, Y), tmp_path)
    assert back.decision_function(rows).tobytes() == pipeline.decision_function(rows).tobytes()
    assert back.predict(rows).tolist() == pipeline.predict(rows).tolist()


def test_a_table_of_columns_of_all_kinds(tmp_path):
    table = pd.DataFrame(X[:, :3].copy(), columns=["a", "b", "c"])  # some versions of pandas write into X
    table["city"] = RNG.choice(["Rome", "Oslo", None], len(X))
    table["text"] = RNG.choice(["good day", "bad day", "very good"], len(X))
    table.loc[3, "a"] = np.nan
    columns = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
            ("city", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["city"]),
            ("words", TfidfVectorizer(ngram_range=(1, 2)), "text"),
            ("rest", "passthrough", ["c"]),
        ]
    )
    pipeline = Pipeline([("columns", columns), ("svm", AdaptiveSVM(random_state=0))]).fit(table, Y)
    back = round_trip(pipeline, tmp_path)
    table.loc[0, "city"] = "Atlantis"
    assert back.decision_function(table).tobytes() == pipeline.decision_function(table).tobytes()
    assert back[:-1].get_feature_names_out().tolist() == pipeline[:-1].get_feature_names_out().tolist()
    assert list(back.feature_names_in_) == ["a", "b", "c", "city", "text"]


def test_text(tmp_path):
    texts = np.array(["spam offer", "meeting at noon", "offer offer", "noon"] * 10)
    pipeline = make_pipeline(HashingVectorizer(n_features=64), LASVM(kernel="linear")).fit(texts, [1, 0] * 20)
    back = round_trip(pipeline, tmp_path)
    assert back.decision_function(texts).tobytes() == pipeline.decision_function(texts).tobytes()
    assert sparse.issparse(back[:-1].transform(texts))


def test_the_learner_of_a_loaded_pipeline_goes_on_learning(tmp_path):
    pipeline = make_pipeline(StandardScaler(), LASVM(random_state=0)).fit(X, Y)
    back = round_trip(pipeline, tmp_path)
    for found in (pipeline, back):
        found[-1].partial_fit(found[:-1].transform(X[:10] + 1), Y[:10])
    assert back.decision_function(X).tobytes() == pipeline.decision_function(X).tobytes()


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (make_pipeline(StandardScaler(), RandomForestClassifier()), "has a RandomForestClassifier"),
        (make_pipeline(FunctionTransformer(np.log1p), LASVM()), "func of FunctionTransformer"),
        (make_pipeline(PCA(random_state=np.random.RandomState(0)), LASVM()), "random_state: a number"),
        (Pipeline([("svm", LASVM())], memory="cache"), "set memory=None"),
        (make_pipeline(StandardScaler(), LASVM(kernel=np.dot)), "kernel"),
    ],
)
def test_what_needs_pickle_is_refused_and_leaves_no_file(pipeline, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        save(pipeline, tmp_path / "p.everlearn")
    assert list(tmp_path.iterdir()) == []


def test_a_subclass_is_refused(tmp_path):
    class Mine(StandardScaler):
        pass

    with pytest.raises(TypeError, match="has a Mine"):
        save(make_pipeline(Mine(), LASVM()), tmp_path / "p.everlearn")


def forged(monkeypatch, tmp_path, change):
    """A sealed file with another state than a pipeline has."""
    real = pipelines.SavedPipeline._get_state

    def get_state(self):
        state = real(self)
        change(state)
        return state

    with monkeypatch.context() as patched:
        patched.setattr(pipelines.SavedPipeline, "_get_state", get_state)
        save(make_pipeline(StandardScaler(), LASVM()).fit(X, Y), tmp_path / "p.everlearn")
    return tmp_path / "p.everlearn"


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["pipeline"].update(transformer="RandomForestClassifier"),
        lambda state: state["pipeline"].update(transformer="system"),
        lambda state: state["pipeline"]["state"].update(predict="x"),
        lambda state: state["pipeline"]["state"].update(__class__="x"),
        lambda state: state["pipeline"]["state"].update(memory="/tmp/pickles"),
        lambda state: state.update(pipeline=[1]),
        lambda state: state["pipeline"].pop("state"),
    ],
)
def test_a_forged_file_is_refused(monkeypatch, tmp_path, change):
    path = forged(monkeypatch, tmp_path, change)
    with pytest.raises(FileFormatError):
        load(path)


def test_another_version_of_scikit_learn_is_a_warning(monkeypatch, tmp_path):
    path = forged(monkeypatch, tmp_path, lambda state: state.update({"scikit-learn": "1.0"}))
    with pytest.warns(UserWarning, match=r"saved with scikit-learn 1\.0"):
        back = load(path)
    assert pickle.dumps(back.predict(X).tolist())
