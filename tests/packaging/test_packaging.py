"""What is released: the source distribution is complete, and the smoke test of a wheel passes here, too."""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMOKE = Path(__file__).with_name("smoke.py")
BUILD = "import scikit_build_core.build as b, sys; b.build_sdist(sys.argv[1])"


def names_in_sdist(folder):
    """The files of a source distribution that is built now."""
    subprocess.run([sys.executable, "-c", BUILD, folder], cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_the_source_distribution_has_what_a_build_needs(tmp_path):
    names = names_in_sdist(tmp_path)
    sources = re.findall(r"\b(?:core|tests)/[\w/]+\.(?:cpp|cu)\b", (ROOT / "CMakeLists.txt").read_text())
    assert len(sources) > 30
    assert sorted(set(sources) - names) == []
    package = (ROOT / "src").rglob("*")
    files = {
        str(path.relative_to(ROOT)) for path in package if path.is_file() and "__pycache__" not in path.parts
    }
    assert sorted(name for name in files - names if not name.endswith((".so", ".pyc"))) == []
    assert {"LICENSE", "README.md", "pyproject.toml"} <= names
    assert sorted(name for name in names if name.startswith((".venv", "build/", "out/", "dist/"))) == []


def test_the_smoke_test_passes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", SMOKE], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("with a store\nok\n")


def test_wheels_are_configured_for_the_versions_that_are_supported():
    tomllib = pytest.importorskip("tomllib" if sys.version_info >= (3, 11) else "tomli")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    first = project["project"]["requires-python"].removeprefix(">=3.")
    stable = project["tool"]["scikit-build"]["wheel"]["py-api"]
    built = project["tool"]["cibuildwheel"]["build"]
    assert built == [f"cp3{minor}-*" for minor in range(int(first), int(stable.removeprefix("cp3")) + 1)]
