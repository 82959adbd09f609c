"""The site: every public name has a page, every page can be reached, every link and picture exists."""

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import everlearn
from test_docs import PUBLIC

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

from example_uses import examples_by_name, names_in  # noqa: E402
from internal_members import BASES_OF_STRATEGIES, INTERNAL, OF_STRATEGIES, is_internal  # noqa: E402
from site_links import LINK, PAGES, public_names, site_target, with_site_links  # noqa: E402

# Public, but not imported by `import everlearn`, or a level deeper.
MORE_MODULES = ("query.stopping", "linkage.metrics", "notebook", "compat.river", "svm", "report")
GENERATED = ("gallery", "reference/generated")


def pages():
    """The sources of the site, by their names."""
    files = [*DOCS.rglob("*.md"), *DOCS.rglob("*.rst")]
    names = {path.relative_to(DOCS).as_posix(): path for path in files}
    return {name: path for name, path in names.items() if not name.startswith((*GENERATED, "_"))}


def public_objects():
    """Public names without modules: what test_docs enumerates, and more."""
    found = dict(PUBLIC)
    for name in MORE_MODULES:
        module = importlib.import_module(f"everlearn.{name}")
        members = getattr(module, "__all__", None) or [
            key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
        ]
        found |= {f"{name}.{key}": getattr(module, key) for key in members if not key.startswith("_")}
    return {name: value for name, value in found.items() if not isinstance(value, ModuleType)}


def resolve(name):
    """The object with a dotted name in everlearn."""
    value = everlearn
    for part in name.split("."):
        if not hasattr(value, part):
            importlib.import_module(f"{value.__name__}.{part}")
        value = getattr(value, part)
    return value


def without_a_page(objects, listed):
    """Names of objects that the reference lists under no name."""
    documented = {id(resolve(name)) for name in listed}
    return sorted(name for name, value in objects.items() if id(value) not in documented)


def test_every_public_name_has_a_page():
    assert without_a_page(public_objects(), public_names()) == []


def test_a_name_without_a_page_is_caught():
    objects = public_objects()
    assert {"LASVM", "query.stopping.StatQ", "compat.river.RiverClassifier", "semi.QPS3VM"} <= set(objects)
    assert without_a_page(objects, public_names() - {"QPS3VM"}) == ["QPS3VM", "semi.QPS3VM"]


def test_no_name_has_two_pages():
    seen = {}
    for name in sorted(public_names()):
        seen.setdefault(id(resolve(name)), []).append(name)
    assert [names for names in seen.values() if len(names) > 1] == []


def test_names_are_linked_to_the_examples_that_use_them():
    uses = examples_by_name()
    assert uses["LASVMNC"] == ["noisy_labels.py"]
    assert uses["linkage.ActiveLinker"] == ["authors.py", "citations.py"]
    assert "fraud_stream.py" in uses["NeverEndingLearner"]
    listed = {file for files in uses.values() for file in files}
    gallery = {path.name for path in (ROOT / "examples").glob("*.py")} - {"serve_demo.py"}
    assert gallery - listed <= {"labeling_page.py"}, "they talk to a service over HTTP"


def test_names_in_a_program_are_found():
    program = "import everlearn\nfrom everlearn import query as q\nfrom everlearn.svm import LASVM\n"
    program += "q.stopping.StatQ(1)\nLASVM().fit(a, b)\neverlearn.save(c)\nother.Margin()\n"
    assert names_in(program) == {
        *("everlearn", "everlearn.save", "everlearn.svm.LASVM"),
        *("everlearn.query", "everlearn.query.stopping", "everlearn.query.stopping.StatQ"),
    }


def test_what_is_left_out_of_the_reference_exists_and_is_not_advertised():
    classes = [value for value in public_objects().values() if isinstance(value, type)]
    members = {name for value in classes for name in dir(value)}
    members |= {name for value in classes for name in getattr(value, "__annotations__", ())}
    assert sorted((INTERNAL | OF_STRATEGIES) - members) == []
    texts = [path.read_text(encoding="utf-8") for path in (*pages().values(), ROOT / "README.md")]
    calls = re.compile(r"\.(" + "|".join(sorted(INTERNAL)) + r")\(")
    assert [match[0] for text in texts for match in calls.finditer(text)] == []
    assert is_internal("LASVM", "learn_validated")
    assert not is_internal("LASVM", "partial_fit")
    assert not any(is_internal(base, "uses_margin") for base in BASES_OF_STRATEGIES)
    assert is_internal("Margin", "uses_margin")


def entries_of_toctrees(name, text):
    """The pages that a page lists, relative to docs/."""
    folder = Path(name).parent
    markdown = re.findall(r"^`{3,}\{toctree\}\n(.*?)^`{3,}", text, flags=re.MULTILINE | re.DOTALL)
    restructured = re.findall(r"^\.\. toctree::\n((?:(?: +.*)?\n)*)", text, flags=re.MULTILINE)
    for block in markdown + restructured:
        for line in map(str.strip, block.splitlines()):
            if line and not line.startswith(":"):
                yield (folder / re.sub(r".*<(.+)>$", r"\1", line)).as_posix()


def test_every_page_can_be_reached_and_exists():
    texts = {name: path.read_text(encoding="utf-8") for name, path in pages().items()}
    listed = [entry for name, text in texts.items() for entry in entries_of_toctrees(name, text)]
    names = {name.rsplit(".", 1)[0] for name in texts}
    assert sorted(names - {"index"} - set(listed)) == []
    assert sorted(set(listed) - names - {"gallery/index"}) == []
    assert len(listed) == len(set(listed))


def dead_on_the_site(name, path):
    """Links of a page, as they are on the site, that lead to no file."""
    text = path.read_text(encoding="utf-8")
    folder = path.parent
    if included := re.match(r"```\{include\} (\S+)\n```\s*$", text):
        file = (folder / included[1]).resolve()
        text, folder = file.read_text(encoding="utf-8"), file.parent
    text = with_site_links(text, folder, path)
    targets = [match["target"].removeprefix("path:") for match in LINK.finditer(text)]
    local = [target for target in targets if target and not re.match(r"[a-z]+:", target)]
    return [target for target in local if not exists_on_the_site((path.parent / target).resolve())]


def exists_on_the_site(path):
    if path.parent == DOCS / "gallery":
        return path.name == "index.rst" or (ROOT / "examples" / f"{path.stem}.py").exists()
    return path.exists()


@pytest.mark.parametrize("name", sorted(name for name in pages() if name.endswith(".md")))
def test_links_lead_somewhere_on_the_site(name):
    assert dead_on_the_site(name, pages()[name]) == []


def test_links_are_those_of_the_site():
    page, folder = DOCS / "project" / "contributing.md", ROOT
    assert site_target("docs/glossary.md", "#block", folder, page) == "../glossary.md#block"
    assert site_target("examples/asking.py", "", folder, page) == "../gallery/asking.rst"
    assert site_target("CHANGELOG.md", "#a", folder, page) == "changelog.md#a"
    assert site_target("Makefile", "", folder, page) == "path:../../Makefile"
    assert site_target("https://example.org", "#a", folder, page) == "https://example.org#a"
    assert with_site_links("![a](docs/images/label.png)", folder, page) == "![a](../images/label.png)"


def test_a_dead_link_is_caught(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("[a](nowhere.md) [b](page.md) ![c](missing.png) [d](https://example.org)\n")
    assert dead_on_the_site("page.md", page) == ["nowhere.md", "missing.png"]


def test_pages_outside_docs_are_included():
    for source, page in PAGES.items():
        if source not in ("README.md", "examples/README.md"):
            text = (DOCS / page).read_text(encoding="utf-8")
            assert f"{{include}} ../../{source}" in text
            assert (ROOT / source).exists()


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, flags=re.MULTILINE)[1] == everlearn.__version__


def test_every_figure_is_drawn_by_code_for_both_themes():
    code = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "figures").glob("*.py"))
    pictures = {path.stem for path in (DOCS / "images").glob("*.png")}
    light = {name for name in pictures if not name.endswith("-dark")}
    assert {f"{name}-dark" for name in light} == pictures - light
    assert sorted(name for name in light if not re.search(rf"\b{name.replace('-', '_')}\b", code)) == []


def test_the_gallery_is_large_enough_and_its_examples_have_titles():
    examples = [path for path in (ROOT / "examples").glob("*.py") if path.name != "serve_demo.py"]
    assert len(examples) >= 12
    for path in examples:
        title, line = path.read_text(encoding="utf-8").split("\n")[:2]
        assert line == "=" * (len(title) - 3), f"{path.name}: the docstring begins with an underlined title"
