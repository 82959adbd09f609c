"""Imports point one way, and the core knows no Python: read from the sources, so that no import is missed."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "everlearn"
CORE = ROOT / "core"

# From the ground up. A room is a module or a subpackage of everlearn; it may import from the floors below and
# a subpackage from itself, but neither may import from its neighbors or from above.
FLOORS = [
    ["errors", "_core", "_atomic", "_startup", "_visible"],
    ["_html"],
    ["_base"],
    ["_submodular", "metrics", "datasets", "broker"],
    ["svm", "budget", "auc"],
    ["imbalance"],
    ["calibration"],
    ["adaptive"],
    ["query"],
    ["compat"],
    ["select"],
    ["semi"],
    ["read", "store", "evaluate", "distributed"],
    ["export", "stream"],
    ["report", "linkage"],
    ["serve"],
    ["cli", "notebook"],
    ["__init__"],
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def room_of(parts):
    """The room of a module, from the parts of its dotted name below everlearn."""
    return parts[0] if parts else "__init__"


def module_parts(path):
    """The parts of a file's dotted name, its "__init__" included, so that dots count from the right place."""
    return path.relative_to(PACKAGE).with_suffix("").parts


def rooms_imported(source, parts):
    """Yield the line and the room of every import from everlearn in a module with these name parts."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ["everlearn", *parts[: len(parts) - node.level]] if node.level else []
            base += node.module.split(".") if node.module else []
            # What is imported from the package itself may be a room or a public name of its __init__.
            names = [[*base, alias.name] if base == ["everlearn"] else base for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == "everlearn":
                yield node.lineno, room_of(name[1:])


def upward_imports(source, parts):
    """Messages for the imports of a module that do not point down; a public name lives on the top floor."""
    own = room_of(parts)
    if own not in FLOOR_OF:
        return [f"everlearn.{own} has no floor: give it one in tests/test_layers.py"]
    return [
        f"line {line}: {'.'.join(('everlearn', *parts))} imports from {room}, which is not below it"
        for line, room in rooms_imported(source, parts)
        if (room != own or own == "__init__") and FLOOR_OF.get(room, len(FLOORS)) >= FLOOR_OF[own]
    ]


SOURCES = sorted(path for pattern in ("*.py", "*.pyi") for path in PACKAGE.rglob(pattern))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    assert upward_imports(path.read_text(encoding="utf-8"), module_parts(path)) == []


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from ..svm import LASVM", "_base.learner"),
        ("from .. import svm", "_base.learner"),
        ("from ._base.learner import KernelLearner", "_atomic"),
        ("import everlearn.svm.lasvm", "_base.kernels"),
        ("from everlearn.svm import LASVM", "metrics"),
        ("from everlearn import svm", "metrics"),
        ("from ..store import log", "read.sources"),  # a neighbor
        ("from ..budget import NORMA", "svm.lasvm"),
        ("from .. import LASVM", "svm.lasvm"),  # a public name: only the top has it
        ("import everlearn", "datasets.loaders"),
        ("from ...stream import learner", "svm.deep.module"),
        ("from ..stream import log", "svm.__init__"),
        ("def late():\n    from ..svm import LASVM", "_base.persist"),
        ("if TYPE_CHECKING:\n    from ._base.learner import KernelLearner", "_atomic"),
        ("import numpy", "a_new_room"),
        ("from ..a_new_room import x", "_base.learner"),
        ("from . import LASVM", "__init__"),
    ],
)
def test_an_upward_import_is_caught(source, module):
    assert upward_imports(source, tuple(module.split("."))) != []


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from .. import _core", "svm.lasvm"),
        ("from .._base.learner import KernelLearner", "svm.lasvm"),
        ("from .lasvm import LASVM", "svm.__init__"),
        ("from everlearn.datasets.loaders import load", "datasets.__init__"),
        ("from .generators import make_banana", "datasets.loaders"),
        ("from . import datasets, errors\nfrom .svm import LASVM", "__init__"),
        ("import numpy as np\nfrom sklearn.svm import SVC\nfrom stream import x", "_base.constraints"),
    ],
)
def test_a_downward_import_passes(source, module):
    assert upward_imports(source, tuple(module.split("."))) == []


def test_sources_are_found():
    names = {str(path.relative_to(PACKAGE)) for path in SOURCES}
    assert {"__init__.py", "_base/validate.py", "svm/lasvm.py", "_core.pyi"} <= names


# ------------------------------------------------------------------------------------------------ the core

PYTHON_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](nanobind|pybind11|Python\.h|numpy)', re.MULTILINE)
BIND_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](\S*/)?bind/', re.MULTILINE)
ARITHMETIC = re.compile(
    r"#\s*include\s*<(cmath|numeric|math\.h)>|\b(exp|expf|log|sqrt|pow|tanh|fma|accumulate|inner_product)\s*\("
)


def native_sources():
    folders = [CORE, ROOT / "tests" / "cpp"]
    return sorted(
        path for folder in folders for path in folder.rglob("*") if path.suffix in {".hpp", ".cpp", ".h"}
    )


def without_comments(source):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", source, flags=re.DOTALL)


@pytest.mark.parametrize("path", native_sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_bind_knows_python(path):
    source = path.read_text(encoding="utf-8")
    if (CORE / "bind") in path.parents:
        assert ARITHMETIC.search(without_comments(source)) is None, "arithmetic belongs to the core"
    else:
        assert PYTHON_INCLUDE.search(source) is None, "only core/bind may know Python"
        assert BIND_INCLUDE.search(source) is None, "nothing stands on core/bind"


def test_native_sources_are_found():
    names = {str(path.relative_to(ROOT)) for path in native_sources()}
    assert {"core/lasvm.cpp", "core/arch/loops.hpp", "core/bind/module.cpp"} <= names


@pytest.mark.parametrize(
    ("rule", "source"),
    [
        (PYTHON_INCLUDE, "#include <vector>\n#include <nanobind/ndarray.h>\n"),
        (PYTHON_INCLUDE, "# include <Python.h>"),
        (BIND_INCLUDE, '#include "bind/module.hpp"'),
        (BIND_INCLUDE, '#include "../bind/module.hpp"'),
        (ARITHMETIC, "#include <cmath>"),
        (ARITHMETIC, "out[s] = std::exp(-gamma * d);"),
    ],
)
def test_a_violation_in_the_core_is_caught(rule, source):
    assert rule.search(without_comments(source)) is not None


def test_words_in_comments_are_no_arithmetic():
    assert (
        ARITHMETIC.search(without_comments("// exp(x) is elsewhere\n/* sqrt(2)\n */ int expand(int);"))
        is None
    )
