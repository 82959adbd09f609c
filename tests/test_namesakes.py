"""Tests mirror rooms: ROOM/NAME.py, if public, is tested by tests/ROOM/test_NAME.py or test_NAME_TOPIC.py."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "everlearn"


def is_public(module):
    return not any(part.startswith("_") for part in module.parts)


PUBLIC = sorted(filter(is_public, (path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))))


def namesakes(module, tests=TESTS):
    """The test files of a module that have at least one test."""
    folder = tests / module.parent
    found = [*folder.glob(f"test_{module.stem}.py"), *folder.glob(f"test_{module.stem}_*.py")]
    return [path for path in found if "def test_" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("module", PUBLIC, ids=str)
def test_a_public_module_has_a_namesake(module):
    assert namesakes(module), f"add tests/{module.parent}/test_{module.name}, or make the module private"


def test_every_folder_of_tests_is_a_room_or_serves_all_rooms():
    rooms = {path.name.lstrip("_") for path in PACKAGE.iterdir() if path.is_dir()}
    others = {
        "benchmarks",
        "contract",
        "cpp",
        "cuda",
        "fuzz",
        "packaging",
        "reference",
        "sanitize",
        "torture",
    }
    folders = {
        path.name for path in TESTS.iterdir() if path.is_dir() and [*path.glob("*.py"), *path.glob("*.cpp")]
    }
    assert folders <= rooms | others


def test_modules_are_found():
    assert {Path("errors.py"), Path("svm/lasvm.py"), Path("query/stopping/combined.py")} <= set(PUBLIC)
    assert Path("store/_tables.py") not in PUBLIC


def test_a_module_without_a_test_is_caught(tmp_path):
    (tmp_path / "room").mkdir()
    module = Path("room/name.py")
    assert not namesakes(module, tmp_path)
    (tmp_path / "room" / "test_names.py").write_text("def test_a(): pass\n")
    (tmp_path / "room" / "test_name.py").write_text("import everlearn\n")
    assert not namesakes(module, tmp_path)  # another name, and a file without a test
    (tmp_path / "room" / "test_name_input.py").write_text("def test_a(): pass\n")
    assert namesakes(module, tmp_path)
