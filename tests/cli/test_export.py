"""`everlearn export`: an ONNX file for rows as they are."""

import json

import numpy as np

from cli.cli_helpers import everlearn, learn, schema_of
from everlearn.read import open_source
from everlearn.stream import NeverEndingLearner


def test_export_takes_rows_as_they_are(stream, store, tmp_path):
    import onnxruntime

    learn(stream, store)
    model = tmp_path / "m.onnx"
    everlearn("export", store, model)
    session = onnxruntime.InferenceSession(str(model))
    with NeverEndingLearner.open(store, read_only=True) as learner:
        X = next(open_source(stream, schema=schema_of(learner))).X
        scores = session.run(["scores"], {"X": X.astype(np.float32)})[0]
        np.testing.assert_allclose(scores, learner.decision_function(X), atol=1e-3)
    names = session.get_modelmeta().custom_metadata_map["everlearn.feature_names"]
    assert json.loads(names)[:2] == ["amount", "shop=travel"] or "amount" in json.loads(names)
