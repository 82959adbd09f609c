"""Reading: files and standard input as a stream of batches, with a schema and a quarantine for bad rows."""

from .schema import Schema
from .sources import Source, open_source

__all__ = ["Schema", "Source", "open_source"]
