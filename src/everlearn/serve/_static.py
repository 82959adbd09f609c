"""The files of the page: read once, compressed once, with an ETag."""

import gzip
import hashlib
import re
import threading
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from ._problems import Problem

FOLDER = Path(__file__).parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}

_NAME = re.compile(r"[A-Za-z0-9_./-]{1,200}")


@dataclass(frozen=True)
class _File:
    version: tuple[int, int]
    content: bytes
    compressed: bytes
    etag: str


class StaticFiles:
    """The files in a folder; nothing outside it, and no file of another type.

    Parameters
    ----------
    folder : Path, default=FOLDER
        The folder.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder.resolve()
        self._files: dict[Path, _File] = {}
        self._lock = threading.Lock()

    def response(self, name: str, request: Request) -> Response:
        """A file, or 304 if the browser has it."""
        # A name that the file system does not take is an error there, not a file that does not exist.
        path = (self._folder / name).resolve() if _NAME.fullmatch(name) else self._folder
        media_type = _TYPES.get(path.suffix)
        if media_type is None or not path.is_relative_to(self._folder) or not path.is_file():
            raise Problem("not_found", "There is no such file.", parameter="name", value=name)
        file = self._read(path)
        headers = {"ETag": file.etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if file.etag in [tag.strip() for tag in request.headers.get("if-none-match", "").split(",")]:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            headers["Content-Encoding"] = "gzip"
            return Response(file.compressed, headers=headers, media_type=media_type)
        return Response(file.content, headers=headers, media_type=media_type)

    def _read(self, path: Path) -> _File:
        stat = path.stat()
        version = stat.st_mtime_ns, stat.st_size
        with self._lock:
            file = self._files.get(path)
            if file is None or file.version != version:
                content = path.read_bytes()
                tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
                file = _File(version, content, gzip.compress(content, mtime=0), tag)
                self._files[path] = file
        return file
