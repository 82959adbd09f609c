"""Calls of everlearn in the benchmarks fit its signatures, so that a renamed parameter is found."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "benchmarks").rglob("*.py"))


def imported(tree):
    """The names that a file imports from everlearn, with their objects."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "everlearn":
            module = importlib.import_module(node.module)
            for alias in node.names:
                found[alias.asname or alias.name] = getattr(module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "everlearn":
                    found[alias.asname or "everlearn"] = importlib.import_module(
                        alias.name if alias.asname else "everlearn"
                    )
    return found


def target(function, names):
    """The object that is called: an imported name, or an attribute of one; None if it is another."""
    if isinstance(function, ast.Name):
        return names.get(function.id)
    if isinstance(function, ast.Attribute):
        owner = target(function.value, names)
        return None if owner is None else getattr(owner, function.attr)
    return None


def wrong_calls(source):
    """Messages for the calls of everlearn whose arguments do not fit the signature."""
    tree = ast.parse(source)
    names, found = imported(tree), []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = target(node.func, names)
        if called is None:
            continue
        positional = [None for argument in node.args if not isinstance(argument, ast.Starred)]
        keywords = {keyword.arg: None for keyword in node.keywords if keyword.arg}
        of_class = isinstance(node.func, ast.Attribute) and inspect.isclass(target(node.func.value, names))
        if of_class and not inspect.ismethod(called):
            continue  # a method with self as its first argument
        try:
            inspect.signature(called).bind_partial(*positional, **keywords)
        except TypeError as error:
            found.append(f"line {node.lineno}: {ast.unparse(node.func)}: {error}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_calls_fit_the_signatures(path):
    assert wrong_calls(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "from everlearn import LASVM\nLASVM(C=1, min_neighbours=3)",
        "import everlearn\neverlearn.LASVM(gama=1)",
        "from everlearn import NeverEndingLearner as N\nN.open('s', rule='x')",
        "from everlearn.datasets import make_banana\nmake_banana(5, 0.1, seeds=1)",
    ],
)
def test_a_wrong_call_is_caught(source):
    assert wrong_calls(source) != []


def test_a_right_call_passes():
    source = "from everlearn import LASVM, query\nLASVM(2.0, kernel='rbf')\nquery.Margin(random_state=0)"
    assert wrong_calls(source) == []
