"""`everlearn expire`: old rows are removed."""

from cli.cli_helpers import failed, ran
from everlearn.stream import NeverEndingLearner


def test_old_rows_expire(tmp_path):
    source, place = tmp_path / "rows.csv", tmp_path / "store"
    rows = [f"c-{i},{i}.5,{i % 2},{i * 86400}" for i in range(20)]
    source.write_text("\n".join(["id,amount,label,time", *rows]) + "\n")
    ran(
        "run",
        source,
        "--store",
        place,
        "--batch-size",
        "1",
        "--infer-rows",
        "5",
        "--max-age",
        "5d",
        "--quiet",
    )
    assert b'c-3"' not in place.read_bytes()
    assert b"c-18" in place.read_bytes()
    assert "Expired 6 rows." in ran("expire", place)
    assert b"c-18" not in place.read_bytes()
    assert "everlearn run --max-age 30d" in failed("expire", _ageless(tmp_path))
    assert "such as '30d'" in failed("run", source, "--store", tmp_path / "new", "--max-age", "soon")


def _ageless(folder):
    NeverEndingLearner.open(folder / "ageless").close()
    return folder / "ageless"
