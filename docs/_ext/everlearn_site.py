"""What the site adds to Sphinx, so that the pages stay plain Markdown that any Git host shows.

- Links out of docs/ lead to the pages of the site where there are such pages, and to downloads otherwise.
- `LASVM(C=10)` in backticks, on a page or in a docstring, links to the reference of `LASVM`.
- A picture `x.png` with a sibling `x-dark.png` is shown in the version that suits the theme.
- Examples of the gallery show the pictures that they save.
- The directive ``everlearn-examples`` shows the examples that use a public name.
- The directive ``everlearn-commands`` writes the reference of the command line from its help.
"""

import os
import re
import shutil
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import roles
from example_uses import sources_of
from internal_members import is_internal
from site_links import DOCS, ROOT, public_names, with_site_links
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx_gallery.directives import MiniGallery


def change_page(app: Sphinx, docname: str, source: list[str]) -> None:
    """Change the links of a page before it is parsed."""
    page = Path(app.env.doc2path(docname))
    if page.suffix == ".md":
        source[0] = with_site_links(source[0], page.parent, page)


def change_included(app: Sphinx, relative: Path, parent: str, source: list[str]) -> None:
    """Change the links of a file that a page includes."""
    file = (DOCS / relative).resolve()
    source[0] = with_site_links(source[0], file.parent, Path(app.env.doc2path(app.env.docname)))


NAME = re.compile(r"(?:everlearn\.)?([A-Za-z_][\w.]*)(?:\(.*\))?", re.DOTALL)


def linked(node: nodes.literal) -> nodes.Node:
    """A name in the font of code as a link to its reference, if it has one."""
    name = NAME.fullmatch(node.astext())
    if not name or name[1] not in public_names():
        return node
    target = f"everlearn.{name[1]}"
    return pending_xref("", node, refdomain="py", reftype="obj", reftarget=target, refwarn=False)


def name_role(role, rawtext, text, lineno, inliner, options=None, content=()):
    """The default role of docstrings: a name, linked if it is public."""
    return [linked(nodes.literal(rawtext, text, classes=["code"]))], []


class LinkNames(SphinxTransform):
    """Public names in backticks on Markdown pages link to the reference."""

    default_priority = 400

    def apply(self, **kwargs: object) -> None:
        """Replace code spans by links."""
        if not str(self.env.doc2path(self.env.docname)).endswith(".md"):
            return
        for node in list(self.document.findall(nodes.literal)):
            if not isinstance(node.parent, nodes.reference | pending_xref | nodes.title):
                node.replace_self(linked(node.deepcopy()))


class PictureForTheme(SphinxTransform):
    """A picture with a dark version is shown twice, and the theme hides one of them."""

    default_priority = 10  # before images are collected

    def apply(self, **kwargs: object) -> None:
        """Add the dark versions."""
        folder = self.env.doc2path(self.env.docname).parent
        for image in list(self.document.findall(nodes.image)):
            path = Path(image["uri"])
            dark = path.with_name(f"{path.stem}-dark{path.suffix}")
            if "://" not in image["uri"] and (folder / dark).exists():
                twin = image.deepcopy()
                twin["uri"] = dark.as_posix()
                image["classes"].append("only-light")
                twin["classes"].append("only-dark")
                image.parent.insert(image.parent.index(image) + 1, twin)


def in_reading_order(filename: str) -> tuple[int, str]:
    """Where an example stands in the gallery: as in the table of examples/README.md."""
    listed = re.findall(
        r"^\| \[`(\w+\.py)`\]", (ROOT / "examples" / "README.md").read_text(), flags=re.MULTILINE
    )
    return (listed.index(filename) if filename in listed else len(listed), filename)


_shown: dict[str, float] = {}


def saved_pictures(block: tuple, block_vars: dict, gallery_conf: dict) -> str:
    """Show the pictures that a block of an example has saved under out/."""
    from sphinx_gallery.scrapers import figure_rst

    copies = []
    for picture in sorted(Path("out").glob("*.png"), key=lambda path: path.stat().st_mtime):
        if _shown.get(str(picture)) != picture.stat().st_mtime:
            _shown[str(picture)] = picture.stat().st_mtime
            copies.append(next(block_vars["image_path_iterator"]))
            shutil.copyfile(picture, copies[-1])
    return figure_rst(copies, gallery_conf["src_dir"])


class ExamplesThatUse(MiniGallery):
    """The examples that use a public name, with their pictures."""

    def run(self) -> list[nodes.Node]:
        """Nothing if no example uses it."""
        config = self.state.document.settings.env.config
        folder = Path(config.sphinx_gallery_conf["examples_dirs"][0])
        sources = sources_of(self.arguments[0], folder)
        if not sources:
            return []
        self.arguments = [" ".join(os.path.relpath(source, DOCS) for source in sources)]
        self.options["add-heading"] = "Examples that use it"
        return list(super().run())


class Commands(SphinxDirective):
    """A section for each command, with its arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Write the sections as reStructuredText and parse them."""
        import typer

        from everlearn.cli import app

        lines: list[str] = []
        for name, command in typer.main.get_command(app).commands.items():
            title = f"everlearn {name}"
            lines += [title, "-" * len(title), "", *plain(command.help).splitlines(), ""]
            for parameter in command.params:
                lines += option_lines(parameter)
            lines.append("")
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def plain(help_text: str | None) -> str:
    """A help text without characters that mean something in reStructuredText."""
    return re.sub(r"([*`|_\\])", r"\\\1", (help_text or "").replace("\b", ""))


def option_lines(parameter: object) -> list[str]:
    """A parameter of a command as an entry of a definition list."""
    if getattr(parameter, "hidden", False):
        return []
    names = [*parameter.opts, *parameter.secondary_opts]
    if not names[0].startswith("-"):
        names = [name.upper() for name in names]
    return [
        ", ".join(f"``{name}``" for name in names),
        "    " + (plain(parameter.help).replace("\n", " ") or "-"),
    ]


def plain_text_escaped(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """Docstrings are plain text: ``|f(x)|`` is no substitution, and ``n_iter_`` no target.

    Docstrings inherited from scikit-learn refer to its user guide; of these references the words stay.
    """
    in_example = False
    for number, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            line = re.sub(r":(?:ref|term):`([^`<]+?)(?: <[^`]*>)?`", r"\1", line)
            pieces = re.split(r"(`+[^`]*`+)", line)
            pieces[::2] = [re.sub(r"\||(?<=\w)_(?!\w)", r"\\\g<0>", piece) for piece in pieces[::2]]
            lines[number] = "".join(pieces)


def is_hidden(app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out internal members, and what River adds to every classifier."""
    owner = app.env.docname.rpartition(".")[2]  # a class has a page of its own
    foreign = str(getattr(obj, "__module__", "")).startswith("river.")
    return True if foreign or is_internal(owner, name) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register everything."""
    app.connect("source-read", change_page)
    app.connect("include-read", change_included)
    app.connect("autodoc-process-docstring", plain_text_escaped)
    app.connect("autodoc-skip-member", is_hidden)
    app.add_directive("everlearn-commands", Commands)
    app.add_directive("everlearn-examples", ExamplesThatUse)
    roles.register_local_role("name", name_role)
    app.add_transform(LinkNames)
    app.add_transform(PictureForTheme)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
