"""The files of the page: complete, cached by their content, and nothing else is served."""

import gzip
import re

import pytest
from starlette.testclient import TestClient

from everlearn.serve._static import FOLDER

FILES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*") if path.is_file())


def test_the_page_and_what_it_links_to(client):
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    linked = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert linked
    for path in linked:
        assert not re.match("[a-z]+:|/", path), "relative, for a proxy; nothing from elsewhere"
        assert client.get(f"/{path}").status_code == 200, path
    assert "<style" not in page.text
    assert not re.search(r"<script(?![^>]*\ssrc=)|\son\w+=|\sstyle=", page.text), "nothing inline"


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith((".js", ".css", ".svg"))])
def test_files_are_served_and_cached(app, name):
    with TestClient(app) as client:  # without a token: there is no data in them
        whole = client.get(f"/page/{name}", headers={"Accept-Encoding": "identity"})
        assert whole.content == (FOLDER / name).read_bytes()
        assert whole.headers["cache-control"] == "no-cache"
        packed = client.get(f"/page/{name}", headers={"Accept-Encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.content == whole.content
        again = client.get(f"/page/{name}", headers={"If-None-Match": whole.headers["etag"]})
        assert again.status_code == 304
        assert again.content == b""
        assert client.get(f"/page/{name}", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "name",
    [
        "..%2f..%2faccess.py",
        "a%00.js",
        "a" * 5000 + ".js",
        "%C3%9F" * 150 + ".js",
        "a/" * 150 + "a.js",
        "app",
    ],
)
def test_other_names_are_no_files(app, name):
    with TestClient(app, raise_server_exceptions=False) as client:
        assert client.get(f"/page/{name}").status_code == 404


def test_the_page_is_small():
    sizes = [len(gzip.compress((FOLDER / name).read_bytes())) for name in FILES if "LICENSE" not in name]
    assert sum(sizes) < 100_000


def test_no_file_is_ignored_by_the_build():
    ignored = {"build", "dist", "__pycache__", "out"}  # as in .gitignore, which wheels follow
    assert [name for name in FILES if ignored & set(name.split("/")[:-1])] == []
