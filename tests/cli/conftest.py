"""Streams and stores for the tests of commands."""

import pytest

from cli.cli_helpers import payments, ran, write_csv


@pytest.fixture
def stream(tmp_path):
    return write_csv(tmp_path / "payments.csv", payments(600))


@pytest.fixture
def store(tmp_path):
    return tmp_path / "fraud.everlearn"


@pytest.fixture
def city_store(tmp_path):
    lines = ["id,amount,city,label,time"]
    for i in range(120):
        city = "Atlantis" if i == 57 else ["Paris", "Rome"][i % 2]
        lines.append(f"c-{i},{i}.5,{city},{'' if i % 3 else i % 2},{i * 3600}")
    lines.append("c-900,not a number,Rome,,7200")
    source = tmp_path / "rows.csv"
    source.write_text("\n".join(lines) + "\n")
    place = tmp_path / "store"
    options = ["--id", "id", "--time", "time", "--kind", "amount=numeric", "--kind", "city=categorical"]
    ran("run", source, "--store", place, *options, "--quarantine", tmp_path / "bad.jsonl", "--quiet")
    return place
