"""Pipelines of scikit-learn as ONNX files: one file takes the rows that the pipeline takes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from everlearn import LASVM, OAM, AdaptiveSVM
from everlearn.export import export_onnx
from export.export_helpers import assert_agrees, problem, run

TRANSFORMERS = [
    [StandardScaler()],
    [StandardScaler(with_mean=False)],
    [StandardScaler(with_std=False)],
    [MinMaxScaler((-1, 2))],
    [MinMaxScaler(clip=True)],
    [MaxAbsScaler()],
    [RobustScaler()],
    [Normalizer()],
    [PCA(3)],
    [PCA(whiten=True)],
    [TruncatedSVD(3, random_state=0)],
    [SimpleImputer(), StandardScaler()],
    [FunctionTransformer(), "passthrough", Pipeline([("inside", StandardScaler())]), PCA(4)],
]


@pytest.mark.parametrize("transformers", TRANSFORMERS, ids=repr)
@pytest.mark.parametrize("learner", [LASVM(C=10, random_state=0), OAM(random_state=0)], ids=repr)
def test_a_file_has_the_transformers_of_the_pipeline(transformers, learner, path):
    X, y = problem(3, offset=4.0)
    pipeline = make_pipeline(*transformers, learner).fit(X[:200], y[:200])
    report = export_onnx(pipeline, path)
    assert report.n_checked > 50
    assert_agrees(pipeline, path, X[200:], rtol=1e-4)


def with_gaps(X):
    X = X.copy()
    X[::5, 1] = np.nan
    X[3::7, 4] = np.nan
    return X


@pytest.mark.parametrize("indicator", [False, True])
def test_missing_values(indicator, path):
    X, y = problem()
    X = with_gaps(X)
    imputer = SimpleImputer(strategy="median", add_indicator=indicator)
    pipeline = make_pipeline(imputer, AdaptiveSVM(random_state=0)).fit(X[:200], y[:200])
    export_onnx(pipeline, path)
    scores = run(path, X[200:])[1]
    np.testing.assert_allclose(scores, pipeline.decision_function(X[200:].astype("float32")), atol=1e-3)


@pytest.mark.parametrize("unknown", ["error", "ignore"])
@pytest.mark.parametrize("drop", [None, "first"])
def test_columns_of_numbers_and_codes(unknown, drop, path):
    X, y = problem(3)
    X[:, 2], X[:, 5] = np.arange(len(X)) % 4, 10 * (np.arange(len(X)) % 3)
    columns = ColumnTransformer(
        [
            ("codes", OneHotEncoder(handle_unknown=unknown, drop=drop), [5, 2]),
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), slice(0, 2)),
            ("none", "drop", [3]),
        ],
        remainder="passthrough",
    )
    pipeline = make_pipeline(columns, LASVM(C=10, random_state=0)).fit(X[:200], y[:200])
    export_onnx(pipeline, path)
    assert_agrees(pipeline, path, X[200:], rtol=1e-4)


def test_columns_by_name(path):
    X, y = problem()
    table = pd.DataFrame(X, columns=list("abcdef"))
    columns = ColumnTransformer([("s", StandardScaler(), ["c", "a"]), ("m", MaxAbsScaler(), slice("d", "f"))])
    pipeline = make_pipeline(columns, LASVM(kernel="linear")).fit(table, y)
    export_onnx(pipeline, path)
    scores = run(path, X)[1]
    np.testing.assert_allclose(scores, pipeline.decision_function(table.astype("float32")), atol=1e-4)


@pytest.mark.parametrize(
    ("transformer", "error", "message"),
    [
        (
            PolynomialFeatures(),
            TypeError,
            "PolynomialFeatures cannot be exported to ONNX: use ColumnTransformer",
        ),
        (Normalizer("l1"), ValueError, 'use norm="l2"'),
        (FunctionTransformer(np.abs), ValueError, "without a function"),
        (OneHotEncoder(handle_unknown="ignore"), ValueError, "as integers before the pipeline"),
        (SimpleImputer(missing_values=-1), ValueError, "missing_values=numpy.nan"),
    ],
)
def test_what_a_file_cannot_do_is_refused(transformer, error, message, path):
    X, y = problem()
    pipeline = make_pipeline(transformer, LASVM()).fit(X, y)
    with pytest.raises(error, match=message):
        export_onnx(pipeline, path)
    assert not path.exists()


def test_text_is_refused(path):
    texts = ["spam offer", "meeting at noon"] * 20
    pipeline = make_pipeline(TfidfVectorizer(), LASVM()).fit(texts, [0, 1] * 20)
    with pytest.raises(TypeError, match="TfidfVectorizer cannot be exported"):
        export_onnx(pipeline, path)
