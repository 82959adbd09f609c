"""ONNX files of learners on rows of text: tens of thousands of columns, almost all of them zero."""

import json

import numpy as np
import onnx
import pytest
from scipy import sparse

from everlearn import LASVM, AdaptiveSVM
from everlearn.export import export_onnx
from export.export_helpers import run

COLUMNS = 2**16


@pytest.fixture(scope="module")
def texts():
    """Rows of length 1 with about 20 of 4,000 words; a class favors a tenth of them."""
    random = np.random.default_rng(0)
    y = np.arange(120) % 2
    words = random.integers(4000, size=(120, 24))
    words[:, :6] = 400 * y[:, np.newaxis] + random.integers(400, size=(120, 6))
    columns = random.permutation(COLUMNS)[:4000][words]
    X = sparse.csr_matrix((np.ones(columns.size), (np.repeat(np.arange(120), 24), columns.ravel())))
    X.resize(120, COLUMNS)
    return sparse.csr_matrix(X / np.sqrt(24)), y


@pytest.mark.parametrize(
    "model",
    [
        LASVM(random_state=0),
        LASVM(kernel="linear", random_state=0),
        LASVM(kernel="cosine", random_state=0),
        LASVM(kernel="laplacian", gamma=0.1, random_state=0),
        AdaptiveSVM(scaling="none", random_state=0),
    ],
    ids=["rbf", "linear", "cosine", "laplacian", "adaptive"],
)
def test_only_the_words_that_occur_are_in_the_file(model, texts, path):
    X, y = texts
    model.partial_fit(X[:80], y[:80], classes=[0, 1])
    mean, scale = np.zeros(COLUMNS), np.ones(COLUMNS)
    mean[7], scale[7] = 3.0, 2.0  # of a number next to the text
    names = [*(f"n#{number}" for number in range(8)), *(f"text#{number}" for number in range(COLUMNS - 8))]
    report = export_onnx(model, path, mean=mean, scale=scale, feature_names=names)
    assert report.size < 100_000  # 80 rows of 65,536 columns would have 20 MB
    fresh = X[80:].toarray()
    label, scores = run(path, fresh * scale + mean)
    np.testing.assert_allclose(scores, model.decision_function(X[80:]), atol=1e-5)
    np.testing.assert_array_equal(label, model.predict(X[80:]))
    file = onnx.load(path)
    onnx.checker.check_model(file, full_check=True)
    facts = {entry.key: entry.value for entry in file.metadata_props}
    assert json.loads(facts["everlearn.feature_names"]) == [*names[:8], "text#0...65527"]
