"""More than one machine, with Dask: the same answers as on one.

Needs the ``dask`` extra: ``pip install everlearn[dask]``.
"""

from .distributed_exemplars import DistributedExemplars
from .distributed_pool import DistributedPool
from .distributed_s3vm import DistributedS3VM
from .distributed_search import DistributedSearch
from .distributed_svm import DistributedSVM, ExchangeRound
from .early_svm import EarlySVM

__all__ = [
    "DistributedExemplars",
    "DistributedPool",
    "DistributedS3VM",
    "DistributedSVM",
    "DistributedSearch",
    "EarlySVM",
    "ExchangeRound",
]
