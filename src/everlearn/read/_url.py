"""Files at HTTP and HTTPS addresses, downloaded to a temporary file."""

import atexit
import contextlib
import os
import shutil
import tempfile
import urllib.error
import urllib.request

_CHUNK = 1 << 20
_TIMEOUT = 60.0  # seconds without a byte


def is_url(path: str) -> bool:
    """Whether a source is an HTTP or HTTPS address."""
    return path.lower().startswith(("http://", "https://"))


def download(url: str) -> str:
    """The path of a temporary copy, to be removed by the caller; at the latest, it goes with the process."""
    end = os.path.splitext(url.partition("?")[0])[1]
    handle, path = tempfile.mkstemp(
        prefix="everlearn-", suffix=end if end.isascii() and len(end) < 10 else ""
    )
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "everlearn"})
        with os.fdopen(handle, "wb") as file, urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            shutil.copyfileobj(answer, file, _CHUNK)
            expected = answer.headers.get("Content-Length")
        if expected is not None and os.path.getsize(path) != int(expected):
            raise OSError(f"{url} was not downloaded completely: try again.")
    except urllib.error.HTTPError as error:
        remove(path)
        raise OSError(f"{url} cannot be read: the server answers {error.code} {error.reason}.") from None
    except urllib.error.URLError as error:
        remove(path)
        raise OSError(f"{url} cannot be reached: {error.reason}.") from None
    except BaseException:
        remove(path)
        raise
    atexit.register(remove, path)
    return path


def remove(path: str) -> None:
    """Delete a temporary copy, if it is still there."""
    with contextlib.suppress(OSError):
        os.remove(path)
