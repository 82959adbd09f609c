"""`everlearn backup`: a complete copy."""

from cli.cli_helpers import failed, ran
from everlearn.stream import NeverEndingLearner


def test_a_backup_says_what_is_in_it(city_store, tmp_path):
    out = ran("backup", city_store, tmp_path / "copy")
    assert "Wrote and verified" in out
    assert "120 rows" in out
    with NeverEndingLearner.open(tmp_path / "copy") as copy:
        assert copy.status()["rows"] == 120
    assert "use --overwrite" in failed("backup", city_store, tmp_path / "copy")
    ran("backup", city_store, tmp_path / "copy", "--overwrite")
    for name in (city_store, f"{city_store}-wal", f"{city_store}-lock"):
        assert "choose another file" in failed("backup", city_store, name, "--overwrite")
