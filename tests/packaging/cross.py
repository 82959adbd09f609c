"""The core, compiled for platforms that this machine is not: `make cross`.

Zig's compiler (the `ziglang` wheel) builds the C++ core and its tests for Linux on aarch64 and for macOS on
both processors. Where qemu-aarch64-static is installed, the tests for aarch64 are run, too; what was made for
macOS is compiled and linked only. The Python module needs a Python of the platform and is not built.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "cross"
SCRIPTS = Path(sys.executable).parent
# The target for Zig, and the names that CMake has for system and processor.
TARGETS = {
    "aarch64-linux": ("aarch64-linux-gnu.2.28", "Linux", "aarch64"),
    "aarch64-macos": ("aarch64-macos.13.0", "Darwin", "arm64"),
    "x86_64-macos": ("x86_64-macos.13.0", "Darwin", "x86_64"),
}


def compiler(target: str) -> Path:
    """A program that CMake can call: it takes no compiler of two words."""
    path = BUILD / f"c++-{target}"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang c++ -target {target} "$@"\n')
    path.chmod(0o755)
    for name in ("ar", "ranlib"):
        tool = BUILD / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ziglang {name} "$@"\n')
        tool.chmod(0o755)
    return path


def build(name: str) -> Path:
    """Compile and link the core and its tests."""
    target, system, processor = TARGETS[name]
    folder = BUILD / name
    ninja = SCRIPTS / "ninja"
    configure = ["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"]
    configure += [f"-DCMAKE_SYSTEM_NAME={system}", f"-DCMAKE_SYSTEM_PROCESSOR={processor}"]
    configure += [f"-DCMAKE_CXX_COMPILER={compiler(target)}", f"-DCMAKE_AR={BUILD / 'ar'}"]
    configure += [f"-DCMAKE_RANLIB={BUILD / 'ranlib'}", "-DCMAKE_OSX_SYSROOT=", "-DCMAKE_OSX_ARCHITECTURES="]
    configure += ["-DEVERLEARN_PYTHON=OFF", "-DEVERLEARN_TESTS=ON"]
    path = {**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}"}
    for command in (configure, ["cmake", "--build", folder, "--", "-j", str(min(2, os.cpu_count() or 1))]):
        done = subprocess.run(
            [str(c) for c in command], env=path, capture_output=True, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{name}: {' '.join(map(str, command[:3]))}\n{done.stdout[-6000:]}{done.stderr[-2000:]}")
    return folder


def run_tests(folder: Path, emulator: str) -> tuple[int, list[str]]:
    """Run the tests in an emulator: how many there are, and which fail."""
    programs = sorted(path for path in folder.glob("test_*") if os.access(path, os.X_OK) and path.is_file())
    failed = [
        path.name
        for path in programs
        if subprocess.run([emulator, path], capture_output=True, check=False, timeout=3600).returncode
    ]
    return len(programs), failed


def main(names: list[str]) -> int:
    """Build for every target, or for those that are named."""
    BUILD.mkdir(parents=True, exist_ok=True)
    status = 0
    for name in names or TARGETS:
        folder = build(name)
        said = "core and tests compile and link"
        emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
        if name.endswith("linux") and emulator:
            count, failed = run_tests(folder, emulator)
            said += f"; {count - len(failed)} of {count} tests pass in {Path(emulator).name}"
            said += f"; failed: {', '.join(failed)}" if failed else ""
            status |= bool(failed)
        else:
            said += "; not run"
        print(f"{name}: {said}", flush=True)
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
