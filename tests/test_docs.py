"""The documentation is tested: an undocumented setting, a wrong default or a dead link fails the build."""

import ast
import contextlib
import dataclasses
import doctest
import functools
import importlib
import inspect
import io
import pkgutil
import re
import textwrap
from pathlib import Path
from types import ModuleType

import pytest
from sklearn.base import BaseEstimator

import everlearn

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md"), *(ROOT / "examples").glob("*.md")])
RUN_PAGES = [page for page in PAGES if page.name != "CONTRIBUTING.md"]  # its skeletons are not whole programs

# Set by scikit-learn's own validation on every estimator, and documented there.
SET_BY_SCIKIT_LEARN = {"n_features_in_", "feature_names_in_"}


def public_names():
    """Public objects by their dotted names: what everlearn exports, and what its public modules export."""
    found = {}
    for name in everlearn.__all__:
        value = found[name] = getattr(everlearn, name)
        if isinstance(value, ModuleType):
            # A module without __all__ makes public what it defines.
            members = getattr(value, "__all__", None) or [
                key
                for key, item in vars(value).items()
                if not key.startswith("_") and getattr(item, "__module__", None) == value.__name__
            ]
            found |= {f"{name}.{key}": getattr(value, key) for key in members}
    return found


PUBLIC = public_names()
ESTIMATORS = {n: v for n, v in PUBLIC.items() if isinstance(v, type) and issubclass(v, BaseEstimator)}


def documented_callables():
    """Functions, classes and the methods of classes, by dotted names, as far as they are everlearn's own."""
    found = {}
    for name, value in PUBLIC.items():
        if isinstance(value, ModuleType) or (isinstance(value, type) and issubclass(value, Exception)):
            continue
        found[name] = value
        if isinstance(value, type):
            found |= {
                f"{name}.{key}": method
                for key, method in inspect.getmembers(value, inspect.isfunction)
                if not key.startswith("_") and method.__module__.startswith("everlearn")
            }
    return found


def sections(docstring):
    """The sections of a docstring by their underlined titles, each as a list of lines."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    found, title = {}, ""
    for number, line in enumerate(lines):
        if set(line) == {"-"} and number:
            title = lines[number - 1]
            found[title] = []
        else:
            found.setdefault(title, []).append(line)
    return found


def entries(lines):
    """The entries ``name : type`` of a section, as name -> type; ``a, b : type`` makes an entry of each."""
    found = {}
    for line in lines:
        if match := re.match(r"(\*{0,2}\w+(?:, \w+)*) : (.+)", line):
            names = match[1].split(", ")
            found |= dict.fromkeys(names, match[2])
            if "default=" in match[2] and len(names) > 1:
                kind, _, values = match[2].partition("default=")
                found |= {
                    name: f"{kind}default={value!r}"
                    for name, value in zip(names, ast.literal_eval(f"({values})"), strict=True)
                }
    return found


def faults_in_parameters(function, documented):
    """What a section of parameters gets wrong about a signature."""
    faults = []
    parameters = {n: p for n, p in inspect.signature(function).parameters.items() if n not in ("self", "cls")}
    faults += [f"{name} is not documented" for name in parameters if name not in documented]
    faults += [f"{name} is documented but does not exist" for name in documented if name not in parameters]
    for name, parameter in parameters.items():
        _, states_default, stated = documented.get(name, "").partition("default=")
        if name not in documented:
            continue
        if parameter.default is parameter.empty:
            faults += [f"{name} has no default, but one is documented"] if states_default else []
        elif not states_default:
            faults.append(f"the default of {name}, {parameter.default!r}, is not documented")
        elif ast.literal_eval(stated) != parameter.default:
            faults.append(f"the default of {name} is {parameter.default!r}, documented as {stated}")
    return faults


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_public_name_has_a_docstring(name):
    docstring = inspect.getdoc(PUBLIC[name])
    assert docstring
    assert docstring.splitlines()[0].endswith((".", ":")), "the first line is a sentence"


CALLABLES = documented_callables()


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_parameters_are_documented(name):
    value = CALLABLES[name]
    if dataclasses.is_dataclass(value):  # its fields are its parameters, and documented as attributes
        documented = entries(sections(value.__doc__)["Attributes"])
        assert [field.name for field in dataclasses.fields(value) if field.name not in documented] == []
        return
    documented = entries(sections(value.__doc__).get("Parameters", []))
    assert faults_in_parameters(value, documented) == []


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_attributes_are_documented(name):
    cls = ESTIMATORS[name]
    X = [[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [2.0, 0.0]]
    fitted = cls().fit(X, [0, 1, 0, 1])
    present = {key for key in dir(fitted) if key.endswith("_") and not key.startswith("_")}
    documented = set(entries(sections(cls.__doc__).get("Attributes", [])))
    assert present - documented - SET_BY_SCIKIT_LEARN == set(), "not documented"
    assert documented - present - SET_BY_SCIKIT_LEARN == set(), "documented, but there is no such attribute"


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_estimator_has_an_example(name):
    assert ">>> " in "\n".join(sections(ESTIMATORS[name].__doc__).get("Examples", []))


def test_public_names_are_enumerated():
    assert {"LASVM", "save", "datasets.load", "metrics.g_means", "errors.CoreError"} <= set(PUBLIC)
    assert {"LASVM", "LASVM.partial_fit", "LASVM.predict", "datasets.make_banana"} <= set(CALLABLES)
    assert "LASVM" in ESTIMATORS


@pytest.mark.parametrize(
    ("documented", "fault"),
    [
        ({"a": "int"}, "b is not documented"),
        ({"a": "int", "b": "str"}, "the default of b, 'x', is not documented"),
        ({"a": "int", "b": 'str, default="y"'}, "the default of b is 'x', documented as \"y\""),
        ({"a": "int, default=1", "b": 'str, default="x"'}, "a has no default, but one is documented"),
        ({"a": "int", "b": 'str, default="x"', "c": "int"}, "c is documented but does not exist"),
    ],
)
def test_a_fault_in_parameters_is_caught(documented, fault):
    def function(a, *, b="x"):
        pass

    assert faults_in_parameters(function, documented) == [fault]


def test_a_docstring_is_read():
    found = sections(
        """Do something.

        Parameters
        ----------
        a : {"x", "y"} or callable, default="x"
            Text with a colon : in it.
        b, c : default=None, 0.5
            Two at once.

        Returns
        -------
        int
        """
    )
    assert entries(found["Parameters"]) == {
        "a": '{"x", "y"} or callable, default="x"',
        "b": "default=None",
        "c": "default=0.5",
    }
    assert found["Returns"] == ["int"]


# ----------------------------------------------------------------------------------------------- examples


def modules():
    yield everlearn.__name__
    for module in pkgutil.walk_packages(everlearn.__path__, "everlearn."):
        yield module.name


@pytest.mark.parametrize("name", sorted(modules()))
def test_doctests(name):
    report = io.StringIO()
    with contextlib.redirect_stdout(report):
        failed = doctest.testmod(importlib.import_module(name)).failed
    assert failed == 0, report.getvalue()


def python_blocks(text):
    """The ```python blocks of a page, those in lists included, with the number of the line before each."""
    for match in re.finditer(r"^( *)```python\n(.*?)^\1```$", text, flags=re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start(2)), textwrap.dedent(match[2])


def run_blocks(text, name):
    """Run the blocks of a page, one after the other in one namespace; those with prompts as doctests."""
    namespace = {"__name__": name}
    for line, block in python_blocks(text):
        if ">>> " in block:
            test = doctest.DocTestParser().get_doctest(block, namespace, name, name, line)
            report = io.StringIO()
            doctest.DocTestRunner().run(test, out=report.write, clear_globs=False)
            assert not report.getvalue(), report.getvalue()
            namespace.update(test.globs)
        else:
            exec(compile("\n" * line + block, name, "exec"), namespace)


@pytest.mark.parametrize("page", RUN_PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_on_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()):
        run_blocks(page.read_text(encoding="utf-8"), str(page))


def test_skeletons_compile():
    blocks = list(python_blocks((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert blocks
    for line, block in blocks:
        compile("\n" * line + block, "CONTRIBUTING.md", "exec")


def test_code_that_fails_is_caught():
    page = "Text.\n\n```python\nx = 1\n```\n\n```text\nx = \n```\n\n```python\n>>> x\n1\n>>> y = x + 1\n```\n"
    run_blocks(page + "- A list:\n\n  ```python\n  assert y == 2\n  ```\n", "page")
    with pytest.raises(NameError):
        run_blocks(page + "```python\nprint(z)\n```\n", "page")
    with pytest.raises(AssertionError):
        run_blocks(page + "- A list:\n\n  ```python\n  assert y == 3\n  ```\n", "page")
    with pytest.raises(AssertionError, match="Got"):
        run_blocks(page + "```python\n>>> y\n3\n```\n", "page")


# -------------------------------------------------------------------------------------------------- pages


def slug(heading):
    """The anchor that a heading gets."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def headings(text):
    outside_code = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ (.+?)\s*$", outside_code, flags=re.MULTILINE)


def dead_links(text, folder):
    """Relative links of a page in a folder that lead nowhere."""
    dead = []
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path = folder / target
        if target and not path.exists():
            dead.append(target)
        elif anchor:
            content = path.read_text(encoding="utf-8") if target else text
            if anchor not in map(slug, headings(content)):
                dead.append(f"{target}#{anchor}")
    return dead


def missing_paths(text):
    """Paths in backticks that lead into the repository's folders but do not exist."""
    named = re.findall(r"`((?:core|src|tests|docs|examples|benchmarks)/[\w./*-]*)`", text)
    return sorted({path for path in named if not any(ROOT.glob(path.rstrip("/")))})


def unknown_functions(text):
    """Functions in backticks, written ``name()``, that occur nowhere in the sources."""
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("core", "src")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".hpp", ".cpp", ".py"}
    )
    named = re.findall(r"`(?:\w+(?:::|\.))*(\w+)\(\)`", text)
    return sorted({name for name in named if not re.search(rf"\b{name}\(", sources)})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page_points_at_what_exists(page):
    text = page.read_text(encoding="utf-8")
    assert dead_links(text, page.parent) == []
    assert missing_paths(text) == []
    assert unknown_functions(text) == []


def test_what_does_not_exist_is_caught():
    text = "# One page\n[a](nowhere.md) [b](README.md) [c](#one-page) [d](#two) [e](https://example.org/#x)"
    assert dead_links(text, ROOT) == ["nowhere.md", "#two"]
    assert missing_paths("`core/nothing.hpp`, `core/lasvm.hpp`, `core/arch/`, `core/*.hpp`") == [
        "core/nothing.hpp"
    ]
    assert unknown_functions("`Expansion::open_block()`, `no_such_function()`") == ["no_such_function"]


GLOSSARY = ROOT / "docs" / "glossary.md"
MOST_ENTRIES = 35  # words of our own; parameters are explained in docstrings


def glossary_entries(text):
    """The headings of the entries of a glossary."""
    return re.findall(r"^### (.+?)\s*$", text, flags=re.MULTILINE)


def texts_in_code():
    """All strings of the package, docstrings among them, and the comments of the core's headers."""
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
    for path in (ROOT / "core").rglob("*.hpp"):
        yield "\n".join(re.findall(r"//(.*)", path.read_text(encoding="utf-8")))


def unused_entries(entries, text):
    """Entries that do not occur in a text: "A and B" when neither does, and plural counts."""
    words = re.sub(r"\s+", " ", text).casefold()
    return [
        entry
        for entry in entries
        if not any(re.search(rf"\b{re.escape(part.casefold())}s?\b", words) for part in entry.split(" and "))
    ]


def test_glossary_is_sorted_and_short():
    entries = glossary_entries(GLOSSARY.read_text(encoding="utf-8"))
    assert entries == sorted(set(entries), key=str.casefold)
    assert 0 < len(entries) <= MOST_ENTRIES, "a word that scikit-learn has, or a parameter, needs no entry"


def test_glossary_entries_are_used():
    pages = [page.read_text(encoding="utf-8") for page in PAGES if page != GLOSSARY]
    entries = glossary_entries(GLOSSARY.read_text(encoding="utf-8"))
    assert unused_entries(entries, "\n".join([*pages, *texts_in_code()])) == []


def test_an_unused_entry_is_caught():
    text = "The idle\nrows of PROCESS, and unidled ones."
    assert unused_entries(["Idle row", "PROCESS and REPROCESS", "Idle", "Idled"], text) == ["Idled"]


def unknown_names(text):
    """Identifiers in backticks, with or without arguments, that occur nowhere in the repository's code."""
    named = re.findall(r"`(\w+(?:\.\w+)*)(?:\([^`]*\)|=[^`]*)?`", text)
    parts = {part for name in named if not (ROOT / name).exists() for part in name.split(".")}
    return sorted(parts - code_words())


@functools.cache
def code_words():
    """All words in the code, in the examples and in the build files."""
    files = [ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / "CMakeLists.txt"]
    for folder in ("core", "src", "examples", "benchmarks"):
        for pattern in ("*.hpp", "*.cpp", "*.py", "*.pyi"):
            files += (ROOT / folder).rglob(pattern)
    return {word for path in files for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.name != "CHANGELOG.md"],  # it lists names that are gone
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_page_has_no_name_that_is_gone(page):
    assert unknown_names(page.read_text(encoding="utf-8")) == []


def test_a_name_that_is_gone_is_caught():
    text = "`LASVM`, `LASVM(C=10)`, `query.Margin`, `audit=0.1`, `LASVM.no_such_name`, `a b`"
    assert unknown_names(text) == ["no_such_name"]


def test_contributing_names_every_make_target():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.search(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE)[1].split()
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert [target for target in targets if f"make {target}" not in text] == []


def test_changelog_has_this_version():
    versions = headings((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    assert any(heading.startswith(f"[{everlearn.__version__}]") for heading in versions)
