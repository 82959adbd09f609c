"""`everlearn reconcile`: learn what the webhooks of Label Studio have missed."""

from typing import Annotated

import typer

from . import _options as option
from ._app import command
from ._console import console
from ._format import plural


@command(
    "everlearn reconcile http://127.0.0.1:8765 --label-studio http://localhost:8080 --project 4",
    "EVERLEARN_TOKEN=... LABEL_STUDIO_API_KEY=... everlearn reconcile http://learner:8765 --label-studio "
    "http://labels:8080 --project 4 --dry-run",
)
def reconcile(
    service: Annotated[
        str, typer.Argument(metavar="URL", help="The address of a service, from `everlearn serve`.")
    ],
    label_studio: Annotated[
        str, typer.Option("--label-studio", metavar="URL", help="The address of Label Studio.")
    ],
    project: Annotated[
        int, typer.Option("--project", metavar="N", help="The number of the project in Label Studio.")
    ],
    token: Annotated[
        str,
        typer.Option(
            "--token",
            envvar="EVERLEARN_TOKEN",
            show_default=False,
            show_envvar=False,
            help="A token of the service; safer in the variable EVERLEARN_TOKEN.",
        ),
    ],
    api_key: Annotated[
        str,
        typer.Option(
            "--api-key",
            envvar="LABEL_STUDIO_API_KEY",
            show_default=False,
            show_envvar=False,
            help="An access token of Label Studio; safer in the variable LABEL_STUDIO_API_KEY.",
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Compare; learn nothing.", show_default=False)
    ] = False,
    traceback: option.Traceback = False,
) -> None:
    """Send the annotations of a Label Studio project to a service, and the deletions that it has missed.

    Label Studio sends each webhook once. If the service was down at that moment, this command makes up for
    it. What has been learned already is not learned again, so it can run at any time, for example daily.
    """
    from ..serve import reconcile as work

    found = work.reconcile(service, token, label_studio, api_key, project, dry_run=dry_run)
    added, forgotten = ("to add", "to forget") if dry_run else ("added", "forgotten")
    console().print(
        f"{plural(found.annotations, 'annotation')} in Label Studio: {found.missing:,} {added}, "
        f"{found.deleted:,} {forgotten}."
    )
