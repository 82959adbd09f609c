"""The files of the page: vendored modules unchanged, licenses there, nothing inline, small."""

import gzip
import hashlib
import json
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "src" / "everlearn" / "serve" / "page"
VENDOR = PAGE / "vendor"


def test_vendored_files_are_those_of_npm():
    """Only the names in imports differ: they resolve without an import map, which would be inline."""
    listed = json.loads((VENDOR / "checksums.json").read_text(encoding="utf-8"))
    assert {path.name for path in VENDOR.iterdir() if path.suffix in (".js", ".css")} == set(listed)
    for name, entry in listed.items():
        text = (VENDOR / name).read_bytes().decode()
        for package, file in entry["imports"].items():
            assert f'from"{file}"' in text
            text = text.replace(f'from"{file}"', f'from"{package}"')
        assert hashlib.sha256(text.encode()).hexdigest() == entry["sha256"], name


def test_every_vendored_package_has_its_license():
    licenses = {"preact": "preact", "htm": "htm", "@preact/signals": "signals", "uplot": "uPlot"}
    listed = json.loads((VENDOR / "checksums.json").read_text(encoding="utf-8"))
    for package in {entry["package"] for entry in listed.values()}:
        license = VENDOR / f"LICENSE.{licenses[package.removesuffix('-core')]}"
        assert "Copyright" in license.read_text(encoding="utf-8")


def test_the_page_is_small():
    sent = [path for path in PAGE.rglob("*") if path.suffix in (".html", ".css", ".js", ".svg")]
    assert len(sent) > 10
    assert sum(len(gzip.compress(path.read_bytes(), mtime=0)) for path in sent) < 100_000


def test_nothing_is_inline_or_from_elsewhere():
    """The content security policy refuses inline scripts and styles, and other hosts."""
    index = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon[a-z]+=|https?://|//[a-z]", index)
    for path in (PAGE / "app").iterdir():
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bstyle=|innerHTML|dangerouslySetInnerHTML|\beval\(|https?://", text), (
            path.name
        )


def test_modules_are_short_and_import_what_exists():
    for path in (PAGE / "app").iterdir():
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 400, path.name
        for name in re.findall(r'^(?:import|export)[^;]*? from "([^"]+)";', text, flags=re.MULTILINE):
            assert (path.parent / name).resolve().is_file(), (path.name, name)
