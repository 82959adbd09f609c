"""Where links and names on a page lead to on the site. Needs nothing but Python, so that tests can use it."""

import functools
import os
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent

# Files outside docs/ that are pages of the site.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CODE_OF_CONDUCT.md": "project/conduct.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "benchmarks/README.md": "project/benchmarking.md",
    "examples/README.md": "gallery/index.rst",
}
LINK = re.compile(r"\]\((?P<target>[^)#\s]*)(?P<anchor>#[^)\s]*)?\)")


def site_target(target: str, anchor: str, folder: Path, page: Path) -> str:
    """Where a link in a file of a folder leads on a page of the site."""
    if not target or re.match(r"[a-z]+:", target):
        return target + anchor
    path = (folder / target).resolve()
    if not path.is_relative_to(ROOT):
        return target + anchor
    name = path.relative_to(ROOT).as_posix()
    if name in PAGES:
        anchor = "" if name in ("README.md", "examples/README.md") else anchor
        path = DOCS / PAGES[name]
    elif path.parent == ROOT / "examples" and path.name != "serve_demo.py":
        path = DOCS / "gallery" / f"{path.stem}.rst"
    elif not path.is_relative_to(DOCS):
        return "path:" + os.path.relpath(path, page.parent)
    return os.path.relpath(path, page.parent) + anchor


def with_site_links(text: str, folder: Path, page: Path) -> str:
    """The text of a file in a folder, with the links that it needs on a page of the site."""

    def replace(match: re.Match[str]) -> str:
        return f"]({site_target(match['target'], match['anchor'] or '', folder, page)})"

    return LINK.sub(replace, text)


@functools.cache
def public_names() -> frozenset[str]:
    """The names that the pages of the reference list, without "everlearn."."""
    texts = [page.read_text(encoding="utf-8") for page in (DOCS / "reference").glob("*.rst")]
    return frozenset(re.findall(r"^   everlearn\.([\w.]+)$", "\n".join(texts), flags=re.MULTILINE))
