"""`export_onnx` compares the file with the learner before it is written, and reports what it is."""

import json
import os
from dataclasses import replace

import numpy as np
import onnx
import pandas as pd
import pytest

import everlearn
from everlearn import IDSVM, LASVM, OAM
from everlearn._base import decision
from everlearn._base.kernels import RBF
from everlearn.export import OnnxReport, _graph, export_onnx
from export.export_helpers import assert_agrees, fitted, problem, run


def broken(monkeypatch, cls, change):
    """Let a step write something else than it says."""
    write = cls.write
    monkeypatch.setattr(cls, "write", lambda self, graph, x: write(change(self), graph, x))


def test_a_wrong_file_is_found_and_not_written(path, monkeypatch):
    X, y = problem()
    model = LASVM(random_state=0).fit(X, y)
    slightly = lambda values: replace(values, kernel=RBF(1.01 * values.kernel.gamma))  # noqa: E731
    broken(monkeypatch, decision.KernelValues, slightly)
    with pytest.raises(ValueError, match=r"differ from those of the learner by .* Nothing was written"):
        export_onnx(model, path)
    assert list(path.parent.iterdir()) == []
    path.write_bytes(b"an older file")
    with pytest.raises(ValueError, match="Nothing was written"):
        export_onnx(model, path, dtype="float64")
    assert path.read_bytes() == b"an older file"
    assert list(path.parent.iterdir()) == [path]
    export_onnx(model, path, rtol=0.5)
    assert path.read_bytes() != b"an older file"


def test_wrong_labels_are_found(path, monkeypatch):
    X, y = problem()
    model = LASVM(random_state=0).fit(X, y)
    write = _graph.model
    monkeypatch.setattr(
        _graph, "model", lambda predictor, labels, *rest: write(predictor, labels[::-1].copy(), *rest)
    )
    with pytest.raises(ValueError, match="disagree on"):
        export_onnx(model, path)
    assert not path.exists()


def test_single_precision_that_is_not_enough_is_not_used(path):
    random = np.random.default_rng(0)
    centers = random.uniform(-1000, 1000, (20, 3))  # far apart, each with a fine structure of its own
    X = np.repeat(centers, 20, axis=0) + 0.05 * random.standard_normal((400, 3))
    y = (X[:, 0] > np.repeat(centers, 20, axis=0)[:, 0]).astype(int)
    X = X.astype(np.float32).astype(np.float64)
    model = LASVM(C=10, gamma=200.0, random_state=0).fit(X[::2], y[::2])
    report = export_onnx(model, path)
    assert report.compute_dtype == "float64"
    assert report.max_relative_difference < 1e-5
    assert_agrees(model, path, X[1::2])


def test_the_exact_machine_is_exact_in_double_precision(path):
    X, y = problem(3)
    model = IDSVM(C=10).fit(X[:200], y[:200])
    export_onnx(model, path, dtype="float64")
    assert_agrees(model, path, X[200:], dtype="float64", rtol=1e-12)


def test_the_report_and_the_file_say_what_they_are(path):
    X, y = problem(3)
    model = LASVM(random_state=0).fit(pd.DataFrame(X, columns=list("abcdef")), np.array(["x", "y", "z"])[y])
    report = export_onnx(model, os.fspath(path), X_check=X[:40])
    largest = report.max_relative_difference
    assert report == OnnxReport(
        os.fspath(path), path.stat().st_size, len(model.support_), 40, largest, "float32", 17
    )
    assert 0 <= largest < 1e-5
    file = onnx.load(path)
    onnx.checker.check_model(file, full_check=True)
    assert (file.producer_name, file.producer_version) == ("everlearn", everlearn.__version__)
    assert (file.ir_version, file.opset_import[0].version) == (8, 17)
    facts = {entry.key: entry.value for entry in file.metadata_props}
    assert facts["everlearn.class"] == "LASVM"
    assert json.loads(facts["everlearn.classes"]) == ["x", "y", "z"]
    assert json.loads(facts["everlearn.feature_names"]) == list("abcdef")
    assert facts["everlearn.rows"] == str(len(model.support_))
    shape = file.graph.input[0].type.tensor_type.shape.dim
    assert (file.graph.input[0].name, shape[0].dim_param, shape[1].dim_value) == ("X", "rows", 6)
    export_onnx(model, path, feature_names=list("uvwxyz"))
    names = {entry.key: entry.value for entry in onnx.load(path).metadata_props}["everlearn.feature_names"]
    assert json.loads(names) == list("uvwxyz")


def test_linear_machines_make_small_files(path):
    X, y = problem(rows=2000)
    report = export_onnx(LASVM(kernel="linear", random_state=0).fit(X, y), path)
    assert report.n_support > 500
    assert report.size < 2000


@pytest.mark.parametrize("name", ["LASVM", "AveragedKernelPerceptron", "SubmodS3VM", "OAM", "AdaptiveSVM"])
def test_export_changes_nothing_and_repeats_itself(name, tmp_path):
    X, y = problem()
    model = fitted(name, X, y)
    everlearn.save(model, tmp_path / "before")
    export_onnx(model, tmp_path / "one.onnx")
    export_onnx(model, tmp_path / "two.onnx")
    everlearn.save(model, tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    assert (tmp_path / "one.onnx").read_bytes() == (tmp_path / "two.onnx").read_bytes()


def test_rows_that_overflow_have_scores_that_are_no_numbers(path):
    X, y = problem()
    export_onnx(OAM(random_state=0).fit(X, y), path)
    assert np.isnan(run(path, np.full((1, 6), np.nan))[1]).all()
