"""Rooms talk through named methods: no module reaches into the private parts of another room.

Read from the sources, as in `test_layers`. A private name is one with a leading underscore. Within a room,
modules may share private names; across rooms they may not. `self`, `cls` and `super()` are one's own,
wherever a base class lives, and so is what a class reads of itself when it reads it of another object of its
kind. Modules of a room do not import each other in a circle.
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "everlearn"
SOURCES = sorted(PACKAGE.rglob("*.py"))
ROOMS = sorted({path.relative_to(PACKAGE).parts[0] for path in SOURCES if path.parent != PACKAGE})

# The contract of saving and loading, which the base declares. The names of Python, River and scikit-learn,
# where `SVC._gamma` is the only way to gamma, are not ours to choose, nor are the error codes of librdkafka.
ALLOWED = {"_get_state", "_from_state", "_get_params", "_asdict", "_replace", "_fields", "_exit", "_gamma"}
ALLOWED |= {"_AUTO_OFFSET_RESET", "_AUTHENTICATION", "_ALL_BROKERS_DOWN"}


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def room_of(path):
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


def defined_names(tree):
    """Names that a module gives to functions, classes, attributes and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for part in ast.walk(target):
                    if isinstance(part, ast.Attribute):
                        yield part.attr
                    elif isinstance(part, ast.Name):
                        yield part.id


def is_own(value):
    """Whether an expression is the object itself or its class."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in ("super", "type")
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def keyholes(source, known):
    """Private attributes that a module reads of other objects; ``known`` are those that its room defines."""
    tree = ast.parse(source)
    own = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and is_own(node.value)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and is_private(node.attr)
            and node.attr not in ALLOWED | known | own
            and not is_own(node.value)
        ):
            yield f"line {node.lineno}: {ast.unparse(node)}"


def private_imports(source, parts):
    """Imports of private modules and names of another room; modules in the root are for everybody."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*parts[: len(parts) - node.level], *(node.module.split(".") if node.module else [])]
            if base and base[0] != parts[0]:
                names = [*base[1:], *(alias.name for alias in node.names)]
                for name in filter(is_private, names):
                    yield f"line {node.lineno}: {name} of {base[0]}"


KNOWN = {}
for _path in SOURCES:
    KNOWN.setdefault(room_of(_path), set()).update(
        defined_names(ast.parse(_path.read_text(encoding="utf-8")))
    )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_room_looks_into_another(path):
    source, parts = path.read_text(encoding="utf-8"), path.relative_to(PACKAGE).with_suffix("").parts
    assert [*keyholes(source, KNOWN[room_of(path)]), *private_imports(source, parts)] == []


def imported_siblings(path):
    """Modules of the same room that a module imports when it is loaded itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    late = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in late:
            folder = path.parents[node.level - 1]
            target = folder.joinpath(*node.module.split(".")) if node.module else folder
            inner = [target / alias.name for alias in node.names]
            for found in [target, *inner] if node.module else inner:
                for file in (found.with_suffix(".py"), found / "__init__.py"):
                    if file.is_file() and room_of(file) == room_of(path) and file != path:
                        yield file


def circle(graph):
    """A circle in a graph of successors; None if there is none."""
    done, trail = set(), []

    def visit(node):
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in done:
            return None
        trail.append(node)
        found = next(filter(None, map(visit, graph.get(node, ()))), None)
        trail.pop()
        done.add(node)
        return found

    return next(filter(None, map(visit, graph)), None)


@pytest.mark.parametrize("room", ROOMS)
def test_modules_of_a_room_do_not_import_in_a_circle(room):
    graph = {path: list(imported_siblings(path)) for path in SOURCES if room_of(path) == room}
    found = circle(graph)
    assert found is None, " -> ".join(path.stem for path in found)


@pytest.mark.parametrize(
    "source",
    [
        "learner._machine.native",
        "model.log._rows[3]",
        "other._base",
        "type(x).y._z",
        "getattr(x, 'a')._b",
        "def f(learner):\n    return [row._values for row in learner]",
    ],
)
def test_a_keyhole_is_caught(source):
    assert list(keyholes(source, set())) != []


@pytest.mark.parametrize(
    "source", ["self._x", "cls._y()", "super()._z()", "x.__class__", "_name", "x.public"]
)
def test_what_is_ones_own_is_no_keyhole(source):
    assert list(keyholes(source, set())) == []


def test_a_private_import_from_another_room_is_caught():
    assert list(private_imports("from ..query._pool import x", ("stream", "_settings"))) != []
    assert list(private_imports("from ..query.pool import _x", ("stream", "_settings"))) != []
    assert list(private_imports("from ._pool import x", ("query", "margin"))) == []
    assert list(private_imports("from .. import _core", ("query", "margin"))) == []


def test_a_circle_is_found():
    assert circle({1: [2], 2: [3], 3: [1]}) == [1, 2, 3, 1]
    assert circle({1: [2, 3], 2: [3], 3: []}) is None
