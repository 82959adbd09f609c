"""Embeddings of text by wordllama, whose weights are part of its package: nothing is downloaded."""

import importlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

LENGTH = 256


def embed(texts: Sequence[str]) -> NDArray[np.float64]:
    """Unit vectors of texts; zeros for a text without a word."""
    rows = np.zeros((len(texts), LENGTH))
    known = [row for row, text in enumerate(texts) if text.strip()]
    if known:
        found = np.asarray(_model().embed([texts[row] for row in known], norm=False), dtype=np.float64)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        rows[known] = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    return rows


@lru_cache(maxsize=1)
def _model() -> Any:
    try:
        package = importlib.import_module("wordllama")
    except ImportError as error:
        raise ImportError(
            'Fields of kind "embed" need wordllama, which is not installed: pip install everlearn[embed].'
        ) from error
    # The package looks for its own tokenizer in the wrong folder, unless it is told that this is its cache.
    own = Path(str(package.__file__)).parent
    return package.WordLlama.load(dim=LENGTH, cache_dir=own, disable_download=True)
