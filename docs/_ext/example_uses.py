"""Which examples use which public names, read from their imports. Needs no Sphinx: tests use it, too."""

import ast
import functools
import importlib
from pathlib import Path
from typing import Any

from site_links import ROOT, public_names

NOT_IN_THE_GALLERY = "serve_demo.py"


def resolve(name: str) -> Any:
    """The object with a dotted name, such as ``everlearn.query.Margin``; None if there is none."""
    module, *rest = name.split(".")
    value: Any = importlib.import_module(module)
    for part in rest:
        module = f"{module}.{part}"
        try:
            value = getattr(value, part) if hasattr(value, part) else importlib.import_module(module)
        except ImportError:
            return None
    return value


def names_in(source: str) -> set[str]:
    """Dotted names of everlearn that a program uses, such as ``everlearn.query.Margin``."""
    tree = ast.parse(source)
    known: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "everlearn":
            known |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import) and any(a.name.split(".")[0] == "everlearn" for a in node.names):
            known["everlearn"] = "everlearn"
    found = set()
    for node in ast.walk(tree):
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id in known:
            found |= {".".join([known[node.id], *parts[:end]]) for end in range(len(parts) + 1)}
    return found


@functools.cache
def examples_by_name() -> dict[str, list[str]]:
    """The files of examples by the public names, without "everlearn.", that they use."""
    public = {id(resolve(f"everlearn.{name}")): name for name in public_names()}
    uses: dict[str, list[str]] = {}
    for path in sorted((ROOT / "examples").glob("*.py")):
        if path.name != NOT_IN_THE_GALLERY:
            used = {id(resolve(name)) for name in names_in(path.read_text(encoding="utf-8"))}
            for name in {public[one] for one in used & public.keys()}:
                uses.setdefault(name, []).append(path.name)
    return uses


def sources_of(name: str, folder: Path) -> list[Path]:
    """The examples in a folder that use a name."""
    return [folder / file for file in examples_by_name().get(name.removeprefix("everlearn."), [])]
