"""Save and load scikit-learn's Nystroem map."""

from typing import Any

from sklearn.kernel_approximation import Nystroem

from .._base import checked
from .._base.kernels import NAMES

_NYSTROEM = ("components_", "normalization_", "component_indices_", "n_features_in_")


def nystroem_state(found: Nystroem) -> dict[str, Any]:
    """A fitted Nystroem map as data."""
    return dict(found.get_params()) | {name: getattr(found, name) for name in _NYSTROEM}


def nystroem_from(parts: dict[str, Any], width: int) -> Nystroem:
    """Restore a fitted Nystroem map, checked against the number of features."""
    learned = {name: parts.pop(name) for name in _NYSTROEM}
    checked.integer("n_features_in_", learned["n_features_in_"], least=width, most=width)
    rows = checked.rows("components_", learned["components_"], None, width).shape[0]
    checked.floats("normalization_", learned["normalization_"], (rows, rows))
    checked.integers("component_indices_", learned["component_indices_"], (rows,))
    checked.word("kernel", parts["kernel"], NAMES)
    for name in ("gamma", "coef0", "degree"):
        if parts[name] is not None:
            checked.number(name, parts[name])
    if parts["kernel_params"] is not None or parts["n_jobs"] is not None:
        raise ValueError("kernel_params and n_jobs of a Nystroem map must be None")
    found = Nystroem(**parts)
    for name, value in learned.items():
        setattr(found, name, value)
    return found
