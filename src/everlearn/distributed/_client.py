"""The Dask client, and errors of tasks in words."""

from typing import Any


def client_of(client: Any) -> Any:
    """The client that was given, or the present one."""
    try:
        from distributed import default_client
    except ImportError as error:
        raise ImportError(
            "everlearn.distributed needs Dask: install it with  pip install everlearn[dask]"
        ) from error
    if client is not None:
        if not hasattr(client, "submit") or not hasattr(client, "status"):
            raise TypeError(f"client must be a distributed.Client, got {type(client).__name__}.")
        if client.status == "closed":
            raise ValueError("The Dask client is closed: create another one.")
        return client
    try:
        return default_client()
    except ValueError as error:
        raise ValueError(
            "There is no Dask client: create one, for example  client = distributed.Client()  for a cluster "
            'on this machine or  Client("tcp://scheduler:8786"),  or pass client=...'
        ) from error


def check_asynchronous(client: Any) -> None:
    """Refuse a client that answers later."""
    if client.asynchronous:
        raise ValueError("An asynchronous Dask client cannot be used here: pass a client of its own thread.")


def n_workers(client: Any) -> int:
    """The number of workers; an error if there are none."""
    count = len(client.scheduler_info(n_workers=-1)["workers"])
    if count == 0:
        client.wait_for_workers(1, timeout=60)
        count = len(client.scheduler_info(n_workers=-1)["workers"])
    return count
