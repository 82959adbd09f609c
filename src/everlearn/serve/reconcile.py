"""Bring a service up to date with Label Studio: webhooks that were lost are made up for."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from .._visible import visible
from ..errors import StoreError
from ._ls_inbox import label_in, row_id

_TIMEOUT = 120.0
_BATCH = 25  # annotations in a request


@dataclass(frozen=True)
class Reconciled:
    """What `reconcile` found.

    Attributes
    ----------
    annotations : int
        Annotations with a label in the project.
    missing : int
        Those of them that the service did not know.
    deleted : int
        Annotations that the service knew and Label Studio no longer has.
    """

    annotations: int
    missing: int
    deleted: int


def reconcile(
    service: str,
    token: str,
    label_studio: str,
    api_key: str,
    project: int,
    *,
    dry_run: bool = False,
) -> Reconciled:
    """Send all annotations of a project to a service, and the deletions that it has missed.

    Annotations that the service has learned already are not learned again.

    Parameters
    ----------
    service : str
        The address of the service.
    token : str
        Its token, with the role producer or admin.
    label_studio : str
        The address of Label Studio.
    api_key : str
        Its access token: a personal one, or one of the older kind.
    project : int
        The number of the project.
    dry_run : bool, default=False
        Whether to compare only.

    Returns
    -------
    Reconciled
        How many annotations there are, were missing, and were deleted.
    """
    here = {"Authorization": f"Bearer {token}"}
    service, label_studio = service.rstrip("/"), label_studio.rstrip("/")
    known: dict[str, Any] = _call(f"{service}/label-studio/annotations", here)["annotations"]
    there = {"Authorization": _authorization(label_studio, api_key)}
    tasks = _call(f"{label_studio}/api/projects/{project}/export?exportType=JSON", there)
    annotations = [
        {
            **{name: annotation.get(name) for name in ("id", "result", "completed_by", "updated_at")},
            "task": {"id": task["id"], "data": task["data"]},
        }
        for task in tasks
        for annotation in task.get("annotations", ())
        if label_in(annotation.get("result")) is not None and not annotation.get("was_cancelled")
    ]
    left = {str(annotation["id"]) for annotation in annotations}
    prefix = row_id(project, "")
    gone = [number for number, row in known.items() if number not in left and str(row).startswith(prefix)]
    if not dry_run:
        changes = [("ANNOTATIONS_UPDATED", annotations), ("ANNOTATIONS_DELETED", [{"id": n} for n in gone])]
        for action, items in changes:
            for start in range(0, len(items), _BATCH):
                payload = {
                    "action": action,
                    "project": {"id": project},
                    "annotations": items[start : start + _BATCH],
                }
                _call(f"{service}/webhook", here, payload)
    return Reconciled(len(annotations), len(left - set(known)), len(gone))


def _authorization(label_studio: str, api_key: str) -> str:
    """The header for an access token; a personal one is exchanged for one that is valid for minutes."""
    if api_key.count(".") != 2:
        return f"Token {api_key}"
    access = _call(f"{label_studio}/api/token/refresh", {}, {"refresh": api_key})["access"]
    return f"Bearer {access}"


def _call(url: str, headers: dict[str, str], payload: Any = None) -> Any:
    """The JSON at an address; with a payload, of a POST."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} must begin with http:// or https://.")
    data = None if payload is None else json.dumps(payload).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        text = visible(error.read(500).decode("utf-8", "replace"), exact=False)
        raise StoreError(f"{url} answered {error.code}: {text}", code="refused") from None
    except (urllib.error.URLError, TimeoutError) as error:
        raise StoreError(f"{url} does not answer: {error}.", code="no_answer_from_server") from None
    except ValueError as error:
        raise StoreError(f"{url} did not answer with JSON: {error}.", code="no_json") from None
