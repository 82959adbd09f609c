"""Changes to a saved state that a forger, a bug or another version could have made."""

import copy

import numpy as np
from scipy import sparse

WORDS = (
    "",
    "x",
    "linear",
    "rbf",
    "poly",
    "cosine",
    "laplacian",
    "precomputed",
    "auto",
    "dense",
    "sparse",
    "external",
    "float32",
    "LASVM",
)
INTEGERS = (-1, 0, 1, 2, 3, 7, 2**20, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), 2**64)
FLOATS = (np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e-320, 1e300, -1e300, 0.5, 2.0)
OTHERS = (
    None,
    True,
    0,
    -1,
    1.5,
    "x",
    [],
    {},
    (),
    np.zeros(0),
    np.zeros((2, 2)),
    np.array("x"),
    ["x"],
    {"x": 1},
)
DTYPES = ("<f4", "<f8", "<i4", "<i8", "<u8", "|b1", "<U3", "<c16", "|u1", ">f8", "<f2")


def mutated(state, others, random):
    """A state with one to three changes; ``others`` are states from which parts may come."""
    state = copy.deepcopy(state)
    for _ in range(1 + int(random.integers(3) == 0) + int(random.integers(6) == 0)):
        places = list(_places(state))
        if places:
            owner, key = places[random.integers(len(places))]
            owner[key] = _changed(owner[key], state, others, random)
            if random.integers(12) == 0:
                _drop(owner, key)
    return state


def _places(tree):
    """Every node below the root as its owner, a dict or a list, and its key there."""
    if isinstance(tree, dict | list):
        for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield tree, key
            yield from _places(value)


def _drop(owner, key):
    if isinstance(owner, list):
        owner.pop(key)
    else:
        del owner[key]


def _changed(value, state, others, random):
    if random.integers(10) == 0:
        return copy.deepcopy(OTHERS[random.integers(len(OTHERS))])
    if random.integers(8) == 0:  # a part of another state, of the same kind where there is one
        donor = others[random.integers(len(others))]
        parts = [owner[key] for owner, key in _places(donor)]
        alike = [part for part in parts if type(part) is type(value)] or parts
        return copy.deepcopy(alike[random.integers(len(alike))]) if alike else None
    if isinstance(value, bool | np.bool_):
        return not value
    if isinstance(value, int | np.integer):
        near = (int(value) + 1, int(value) - 1, -int(value), 2 * int(value), float(value))
        pool = near if random.integers(2) else INTEGERS
        return pool[random.integers(len(pool))]
    if isinstance(value, float | np.floating):
        near = (-float(value), 2 * float(value), float(np.nextafter(value, np.inf)), 1)
        pool = near if random.integers(2) else FLOATS
        return pool[random.integers(len(pool))]
    if isinstance(value, str):
        return WORDS[random.integers(len(WORDS))]
    if isinstance(value, np.ndarray):
        return _changed_array(value, random)
    if sparse.issparse(value):
        return _changed_sparse(value, random)
    if isinstance(value, list | tuple):
        items = list(value)
        ways = (items[:-1], items + items[-1:], [], items[::-1], items[1:], items * 2)
        found = ways[random.integers(len(ways))]
        return tuple(found) if isinstance(value, tuple) == bool(random.integers(8)) else found
    if isinstance(value, dict):
        return dict(list(value.items())[1:]) if random.integers(2) else value | {"extra": 1}
    return copy.deepcopy(OTHERS[random.integers(len(OTHERS))])


def _changed_array(array, random):
    way = random.integers(12)
    if way <= 3 and array.size:  # one element, or some
        found = array.copy()
        places = random.integers(array.size, size=1 if way else 3)
        pool = {"f": FLOATS, "i": INTEGERS, "u": INTEGERS, "U": WORDS, "O": WORDS}.get(
            array.dtype.kind, (0, 1)
        )
        for place in places:
            new = pool[random.integers(len(pool))]
            if array.dtype.kind in "iu":
                info = np.iinfo(array.dtype)
                new = min(max(new, info.min), info.max)
            found.flat[place] = new
        return found
    if way == 4 and array.size:  # elements of one place at another
        found = array.copy()
        found.flat[random.integers(array.size)] = array.flat[random.integers(array.size)]
        return found
    if way == 5:
        return array[:-1] if array.ndim else array.reshape(1)
    if way == 6 and array.ndim and len(array):
        return np.concatenate([array, array[-1:]])
    if way == 7:
        return array[::-1].copy() if array.ndim else array
    if way == 8:
        return np.asfortranarray(array.T) if array.ndim > 1 else array[np.newaxis]
    if way == 9:
        return array[..., :-1] if array.ndim else array
    if way == 10:
        return np.concatenate([array, array], axis=-1) if array.ndim else array
    dtype = DTYPES[random.integers(len(DTYPES))]
    try:
        with np.errstate(all="ignore"):
            return array.astype(dtype)
    except (TypeError, ValueError):
        return np.zeros(array.shape, dtype=dtype)


def _changed_sparse(matrix, random):
    parts = [matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()]
    way = random.integers(4)
    if way == 0:
        return matrix[:-1]
    if way == 1:
        return matrix[:, :-1]
    if way == 2 and len(parts[0]):
        parts[0][random.integers(len(parts[0]))] = FLOATS[random.integers(len(FLOATS))]
        return sparse.csr_matrix(tuple(parts), shape=matrix.shape)
    return matrix.toarray()
