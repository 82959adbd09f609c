"""Online, active and semi-supervised kernel SVMs."""

from . import _startup  # noqa: F401, I001 - first of all: Ctrl-C may come while the rest is imported

from importlib.metadata import version as _version

import lazy_loader as _lazy_loader

from ._base import persist as _persist

# The public names are in `__init__.pyi`. A room is imported when one of its names is first used: a learner
# alone needs neither a database nor the semi-supervised learners.
__getattr__, __dir__, __all__ = _lazy_loader.attach_stub(__name__, __file__)
__version__ = _version("everlearn")


@_persist.when_unknown
def _import_every_learner() -> None:
    """A file may hold a learner whose room has not been imported yet."""
    for name in __all__:
        if name not in ("export", "report"):
            __getattr__(name)
