"""Real clusters on this machine: a scheduler and workers in processes of their own."""

import os
import signal
from contextlib import contextmanager

import numpy as np

from distributed import Client, LocalCluster
from everlearn.datasets import make_checkerboard


@contextmanager
def cluster(n_workers=2, **options):
    """A client of a new cluster; workers are processes of one thread."""
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            **options,
        ) as local,
        Client(local) as client,
    ):
        yield client


def kill_a_worker(client):
    """End the process of a worker, without a chance to say good-bye."""
    pids = client.run(os.getpid)
    os.kill(sorted(pids.items())[0][1], signal.SIGKILL)


def noisy(n=1500, seed=0, flipped=0.1):
    X, y = make_checkerboard(n, random_state=seed)
    return X, np.where(np.random.default_rng(seed).random(n) < flipped, -y, y)
