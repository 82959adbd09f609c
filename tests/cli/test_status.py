"""`everlearn status`: for people and as JSON."""

import json
import re

import pytest

from cli.cli_helpers import everlearn, learn


def test_status_is_readable_and_json_is_json(stream, store):
    learn(stream, store)
    text = everlearn("status", store).stdout
    assert re.search(r"rows +600", text)
    assert re.search(r"majority baseline, last +500", text)
    found = json.loads(everlearn("status", store, "--json").stdout, parse_constant=pytest.fail)
    assert found["rows"] == 600


def test_status_of_a_store_without_labels(stream, store):
    everlearn("run", stream, "--store", store, "--kind", "is_fraud=ignore", "--id", "number")
    found = json.loads(everlearn("status", store, "--json").stdout, parse_constant=pytest.fail)
    assert found["scores"]["window"]["accuracy"] is None
    assert "everlearn ask" in everlearn("predict", store, stream, code=1).stderr
    assert "everlearn ask" in everlearn("export", store, "x.onnx", code=1).stderr
