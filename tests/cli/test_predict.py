"""`everlearn predict`: the predictions of the learner, as a file."""

import csv
import io

import numpy as np

from cli.cli_helpers import everlearn, learn, payments, schema_of, status_of, write_csv
from everlearn.read import open_source
from everlearn.stream import NeverEndingLearner


def test_predictions_are_those_of_the_learner(stream, store, tmp_path):
    learn(stream, store)
    fresh = write_csv(tmp_path / "new.csv", payments(250, seed=5))
    before = status_of(store)
    printed = everlearn("predict", store, fresh).stdout
    everlearn("predict", store, fresh, "--out", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == printed
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [row["id"] for row in rows] == [f"p{i}" for i in range(250)]
    with NeverEndingLearner.open(store, read_only=True) as learner:
        X = next(open_source(fresh, schema=schema_of(learner))).X
        assert [float(row["score"]) for row in rows] == learner.decision_function(X).tolist()
        assert [int(row["prediction"]) for row in rows] == learner.predict(X).tolist()
    assert status_of(store) == before


def test_predictions_of_many_classes_without_ids(tmp_path, store):
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 200)
    X = random.normal(size=(200, 2)) + 3 * y[:, np.newaxis]
    lines = [f"{a},{b},{'xyz'[c]}" for (a, b), c in zip(X.tolist(), y, strict=True)]
    path = tmp_path / "s.csv"
    path.write_text("\n".join(["a,b,class", *lines]))
    everlearn("run", path, "--store", store)
    bare = tmp_path / "bare.csv"
    bare.write_text("a,b\n0,0\noops,1\n6,6\n")
    out = everlearn("predict", store, bare)
    rows = list(csv.DictReader(io.StringIO(out.stdout)))
    assert list(rows[0]) == ["row", "prediction", "score_x", "score_y", "score_z"]
    assert [(row["row"], row["prediction"]) for row in rows] == [("1", "x"), ("2", "z")]
    assert "1 bad row" in out.stderr
