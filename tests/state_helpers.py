"""What every test of a saved state asks."""

import numpy as np


def same_bits(a, b):
    """Whether two states are the same to the bit."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_bits(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and a == b


def is_plain(value):
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "biufU"
    return value is None or type(value) in (bool, int, float, str)
