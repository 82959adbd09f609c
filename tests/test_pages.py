"""The pages: their code runs, their links and names exist, the glossary is used."""

import ast
import contextlib
import doctest
import functools
import io
import re
import textwrap
from pathlib import Path

import pytest

import everlearn

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md"), *(ROOT / "examples").glob("*.md")])
RUN_PAGES = [page for page in PAGES if page.name != "CONTRIBUTING.md"]  # its skeletons are not whole programs

NEED_REDIS = ("brokers.md",)


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
def test_code_on_pages_runs(page, tmp_path, monkeypatch, request):
    if page.name in NEED_REDIS:
        monkeypatch.setenv("REDIS_URL", request.getfixturevalue("redis_server").url)
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


# What docs/coming-from.md says that others have, and we do not.
NAMES_OF_OTHERS = {"NuSVC", "OneClassSVM", "SVR", "break_ties", "teach", "uncertainty_sampling"}


def unknown_names(text):
    """Identifiers in backticks, with or without arguments, that occur nowhere in the repository's code."""
    named = re.findall(r"`(\w+(?:\.\w+)*)(?:\([^`]*\)|=[^`]*)?`", text)
    parts = {part for name in named if not (ROOT / name).exists() for part in name.split(".")}
    return sorted(parts - code_words() - NAMES_OF_OTHERS)


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
