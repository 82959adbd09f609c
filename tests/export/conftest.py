"""Where a test of `export_onnx` writes."""

import pytest


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.onnx"
