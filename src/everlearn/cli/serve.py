"""`everlearn serve`: programs and people share the learner of a store, behind an address."""

import dataclasses
import ipaddress
import json
import os
import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from . import _options as option
from ._app import command
from ._console import console, error_console, notice
from ._outputs import check_outputs


@command(
    "everlearn serve fraud.everlearn",
    "everlearn serve fraud.everlearn --port 0 --ready-file ready.json --name 'Fraud, spring'",
    "everlearn serve postgresql://localhost/fraud --overlap 2:0.1 --no-blind",
)
def serve(
    store: option.Store,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 8765,
    ready_file: Annotated[
        Path | None,
        typer.Option(
            "--ready-file",
            metavar="FILE",
            show_default=False,
            help="Write the address and the token to this file, as JSON, once the service answers. Only the "
            "user can read it.",
        ),
    ] = None,
    root_path: Annotated[
        str,
        typer.Option(
            "--root-path", metavar="PATH", help="The path under which a proxy serves it.", show_default=False
        ),
    ] = "",
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="TEXT",
            show_default=False,
            help="The name of the project. (default: that of the store)",
        ),
    ] = None,
    blind: Annotated[
        bool | None,
        typer.Option(
            "--blind/--no-blind",
            show_default=False,
            help="Whether predictions are hidden until a question is answered. (default: as before, or yes)",
        ),
    ] = None,
    overlap: Annotated[
        str | None,
        typer.Option(
            "--overlap",
            metavar="N[:FRACTION]",
            show_default=False,
            help="Ask N people about this fraction of the questions: 2:0.1, for example. (default: as "
            "before, or one person)",
        ),
    ] = None,
    group_duplicates: Annotated[
        bool | None,
        typer.Option(
            "--group-duplicates/--no-group-duplicates",
            show_default=False,
            help="Whether rows that are nearly equal are labeled together. (default: as before, or no)",
        ),
    ] = None,
    lease_seconds: Annotated[
        float | None,
        typer.Option(
            "--lease-seconds",
            metavar="SECONDS",
            min=5.0,
            show_default=False,
            help="How long a question is reserved for a person. (default: as before, or 90)",
        ),
    ] = None,
    random_state: Annotated[
        int | None,
        typer.Option(
            "--random-state",
            metavar="N",
            show_default=False,
            help="The random seed of a project that is set up. (default: random)",
        ),
    ] = None,
    image_origin: Annotated[
        list[str] | None,
        typer.Option(
            "--image-origin",
            metavar="ORIGIN",
            show_default=False,
            help="Let the page load pictures from here, for example http://images.local. Can be repeated; "
            "https is always allowed.",
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(
            "--token",
            envvar="EVERLEARN_TOKEN",
            show_default=False,
            show_envvar=False,
            help="The admin token; safer in the variable EVERLEARN_TOKEN. (default: a new one, printed once)",
        ),
    ] = None,
    max_body: Annotated[
        int, typer.Option("--max-body", metavar="BYTES", min=1024, help="The maximum size of a request.")
    ] = 16 * 2**20,
    max_rows: Annotated[
        int, typer.Option("--max-rows", metavar="N", min=1, help="The maximum number of rows in a request.")
    ] = 1_000,
    log_level: Annotated[
        str, typer.Option("--log-level", metavar="LEVEL", help="debug, info, warning or error.")
    ] = "warning",
    traceback: option.Traceback = False,
) -> None:
    """Serve a store: an HTTP interface for programs, and a page on which people answer questions.

    A store that does not exist is set up on the page, from a file. Only this machine can connect, unless
    --host says otherwise. SIGTERM and Ctrl-C stop it after the current block; everything that was
    acknowledged is in the store.
    """
    try:
        from ..serve import run as server
        from ..serve.access import Access
        from ..serve.app import create_app
        from ..serve.limits import Limits
        from ..serve.service import LearningService
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'The service needs {error.name}: pip install "everlearn[serve]".', name=error.name
        ) from error

    if log_level not in ("debug", "info", "warning", "error"):
        raise typer.BadParameter(
            f"{log_level!r} is not one of debug, info, warning, error.", param_hint="--log-level"
        )
    changes = _settings(
        name=name, blind=blind, group_duplicates=group_duplicates, lease_seconds=lease_seconds
    ) | _overlap(overlap)
    root = _root_path(root_path)
    images = [_origin(text) for text in image_origin or ()]
    check_outputs({"--ready-file": ready_file}, store=store)
    if ready_file is not None:
        if not os.access(ready_file.parent, os.W_OK):
            raise typer.BadParameter(
                f"{str(ready_file.parent)!r} is not a writable folder.", param_hint="--ready-file"
            )
        ready_file.unlink(missing_ok=True)  # of a service that was killed
    with server.bind(host, port) as listening, LearningService(store, random_state=random_state) as service:
        if changes:
            service.change_settings(dataclasses.replace(service.settings, **changes))
        access = Access(service.notes, service.set_notes)
        given = token is not None
        admin_token = access.start_token(token)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}{root}"
        limits = Limits(body_bytes=max_body, rows=max_rows)
        app = create_app(service, access, limits, root, images)

        def ready() -> None:
            link = f"{address}/join?code={quote(access.create_link('admin', 'admin'))}"
            if ready_file is not None:
                _write_secret(ready_file, {"url": address, "token": admin_token})
            shown = "the one that you chose" if given else admin_token
            console().print(f"Page for people:       {link}  (opens once)")
            console().print(f"Address for programs:  {address}")
            console().print(f"Admin token:           {shown}")
            if not _is_loopback(host):
                text = (
                    "Other machines can connect, without encryption: put a proxy with TLS before it, see "
                    "docs/serving.md."
                )
                error_console().print(notice(f"Warning: {text}", style="yellow"))

        server.run(app, listening, ready, log_level=log_level)
    if ready_file is not None:
        ready_file.unlink(missing_ok=True)
    console().print("Stopped.")


def _settings(**given: Any) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


def _overlap(text: str | None) -> dict[str, Any]:
    """The settings in "2:0.1"."""
    if text is None:
        return {}
    answers, _, fraction = text.partition(":")
    try:
        found = {"overlap_answers": int(answers), "overlap_fraction": float(fraction or 1.0)}
    except ValueError:
        found = {}
    if not found or found["overlap_answers"] < 1 or not 0.0 <= found["overlap_fraction"] <= 1.0:
        raise typer.BadParameter(
            f"{text!r} must have the form 2:0.1: answers, and a fraction of questions.",
            param_hint="--overlap",
        )
    return found


def _root_path(text: str) -> str:
    root = text.rstrip("/")
    if root and not root.startswith("/"):
        raise typer.BadParameter(f"{text!r} must begin with a slash.", param_hint="--root-path")
    return root


def _origin(text: str) -> str:
    """An origin for the policy of the page, in which other characters would be further rules."""
    if not re.fullmatch(
        r"https?://(\*\.)?[A-Za-z0-9.-]+(:\d{1,5})?|https?://\[[0-9A-Fa-f:.]+\](:\d{1,5})?", text
    ):
        raise typer.BadParameter(
            f"{text!r} must have the form http://images.local:8080, without a path.",
            param_hint="--image-origin",
        )
    return text


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _write_secret(path: Path, value: dict[str, str]) -> None:
    """Write a file that only the user can read, as a whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(temporary, path)
