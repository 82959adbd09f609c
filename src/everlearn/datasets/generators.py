"""Generators of the papers' synthetic data sets, for any number of rows.

``make_*(n_samples, ...)`` returns ``X``, float64 of shape (n_samples, n_features), and ``y``, int64: +1 and
-1, or 1, 2, 3 for the waveforms. Rows are in random order, so the first rows are a fair sample of the data
set. All generators share these parameters:

`noise`
    Standard deviation of the Gaussian noise in the features.
`imbalance_ratio`
    Number of negatives per positive. The number of positives is then exactly
    ``round(n_samples / (1 + imbalance_ratio))``, with at least one row of each class. With None the class of
    every row is drawn independently, with the class probabilities of the distribution.
`label_noise`
    Fraction of the rows with a wrong label, exactly ``round(label_noise * n_samples)`` rows. Wrong labels are
    drawn last: the same `random_state` gives the same ``X`` for every `label_noise`.
`random_state`
    None (different rows in each call), a seed, a `numpy.random.Generator` or a `numpy.random.RandomState`.
    A generator continues from its current state.
"""

from __future__ import annotations

import numpy as np

from ._draws import RandomState, Rows, checked_inputs, count, draw_by_part, draw_signs, mislabel, number

# The angles of a banana's arc: 5/8 of a circle.
_BANANA_START, _BANANA_LENGTH = np.pi / 8, 5 * np.pi / 4
# The arc is shifted by this and then mirrored at the origin, so that the tip of one banana is inside the
# other.
_BANANA_SHIFT = 3 / 8


def make_waveform(
    n_samples: int = 1000,
    *,
    binary: bool = False,
    noise: float = 1.0,
    imbalance_ratio: float | None = None,
    label_noise: float = 0.0,
    random_state: RandomState = None,
) -> Rows:
    """Draw noisy mixtures of two of three triangular waves: three classes, 21 features.

    With the waves v1(j) = max(6 - |j - 11|, 0), v2(j) = v1(j - 4), v3(j) = v1(j + 4), j = 1..21, and one u
    uniform on (0, 1) per row, a row is u v1 + (1 - u) v2 in class 1, u v1 + (1 - u) v3 in class 2,
    u v2 + (1 - u) v3 in class 3, plus normal noise on every feature. The classes are equally likely.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    binary : bool, default=False
        False: labels 1, 2, 3. True: +1 for class 1 and -1 for the other two, so two negatives per positive,
        as in Ertekin's thesis. (In Wang and Vucetic class 1 is the negative class: negate ``y``.)
    noise : float, default=1.0
        Standard deviation of the noise.
    imbalance_ratio, label_noise, random_state : default=None, 0.0, None
        Rows of classes 2 and 3 per row of class 1, fraction of wrong labels, random generator; see the
        module's documentation.

    Returns
    -------
    X, y : float64 array of shape (n_samples, 21) and int64 array of shape (n_samples,)

    References
    ----------
    L. Breiman, J. Friedman, R. Olshen, C. Stone, *Classification and Regression Trees*, 1984.
    Ş. Ertekin, *Learning in Extreme Conditions: Online and Active Learning with Massive, Imbalanced and Noisy
    Data*, 2009.

    Examples
    --------
    >>> from everlearn.datasets import make_waveform
    >>> X, y = make_waveform(330, binary=True, imbalance_ratio=32, random_state=0)
    >>> X.shape, int((y == 1).sum())
    ((330, 21), 10)
    """
    n, rng, noise = checked_inputs(n_samples, random_state, noise)
    j = np.arange(1, 22)
    v1, v2, v3 = (np.maximum(6 - np.abs(j - center), 0) for center in (11, 15, 7))
    first = draw_signs(rng, n, imbalance_ratio, positive_fraction=1 / 3)
    y = np.where(first == 1, 1, rng.integers(2, 4, size=n))
    u = rng.random((n, 1))
    X = u * np.stack([v1, v1, v2])[y - 1] + (1 - u) * np.stack([v2, v3, v3])[y - 1]
    X += noise * rng.standard_normal(X.shape)
    if binary:
        return X, mislabel(rng, first, label_noise, [-1, 1])
    return X, mislabel(rng, y, label_noise, [1, 2, 3])


def make_banana(
    n_samples: int = 1000,
    *,
    noise: float = 0.2,
    imbalance_ratio: float | None = None,
    label_noise: float = 0.0,
    random_state: RandomState = None,
) -> Rows:
    """Draw two interlocking bananas in the plane.

    A row of class y = ±1 is y (sin t + 3/8, cos t + 3/8) plus normal noise on both features, t uniform on
    (π/8, 11π/8). The classes are two arcs of radius 1, each 5/8 of a circle. One is the other rotated by 180
    degrees, and an end of each lies inside the other. These are the bananas of PRTools, divided by their
    radius 5. For equally likely classes the Bayes error is about 1.6 %; with ``noise=0.35`` about 9.4 %.

    The well-known benchmark of this name (5,300 rows, Rätsch, Onoda, Müller, 2001) comes from another,
    unpublished generator. If the data folder has it, use ``load("banana")``.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    noise : float, default=0.2
        Standard deviation of the noise.
    imbalance_ratio, label_noise, random_state : default=None, 0.0, None
        Negatives per positive, fraction of wrong labels, random generator; see the module's documentation.

    Returns
    -------
    X, y : float64 array of shape (n_samples, 2) and int64 array of shape (n_samples,)

    References
    ----------
    R. P. W. Duin et al., *PRTools: A Matlab Toolbox for Pattern Recognition*, 2000.

    Examples
    --------
    >>> from everlearn.datasets import make_banana
    >>> X, y = make_banana(400, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((400, 2), [-1, 1])
    """
    n, rng, noise = checked_inputs(n_samples, random_state, noise)
    y = draw_signs(rng, n, imbalance_ratio)
    t = _BANANA_START + _BANANA_LENGTH * rng.random(n)
    X = y[:, None] * (np.column_stack([np.sin(t), np.cos(t)]) + _BANANA_SHIFT)
    X += noise * rng.standard_normal(X.shape)
    return X, mislabel(rng, y, label_noise, [-1, 1])


def make_twonorm(
    n_samples: int = 1000,
    *,
    n_features: int = 20,
    noise: float = 1.0,
    imbalance_ratio: float | None = None,
    label_noise: float = 0.0,
    random_state: RandomState = None,
) -> Rows:
    """Draw two spherical normal distributions whose means have a distance of 4.

    A row of class y = ±1 is y (a, ..., a) plus normal noise on every feature, a = 2 / √n_features. The Bayes
    classifier is the sign of the sum of the features. For equally likely classes its error is
    Φ(-2 / noise), 2.28 % for unit noise, for any number of features.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=20
        Number of features.
    noise : float, default=1.0
        Standard deviation of the noise.
    imbalance_ratio, label_noise, random_state : default=None, 0.0, None
        Negatives per positive, fraction of wrong labels, random generator; see the module's documentation.

    Returns
    -------
    X, y : float64 array of shape (n_samples, n_features) and int64 array of shape (n_samples,)

    References
    ----------
    L. Breiman, *Bias, Variance, and Arcing Classifiers*, 1996.

    Examples
    --------
    >>> from everlearn.datasets import make_twonorm
    >>> X, y = make_twonorm(10_000, random_state=0)
    >>> round(float(((X.sum(axis=1) > 0) != (y == 1)).mean()), 2)
    0.02
    """
    n, rng, noise = checked_inputs(n_samples, random_state, noise)
    d = count("n_features", n_features, 1)
    y = draw_signs(rng, n, imbalance_ratio)
    X = y[:, None] * (2 / np.sqrt(d)) + noise * rng.standard_normal((n, d))
    return X, mislabel(rng, y, label_noise, [-1, 1])


def make_checkerboard(
    n_samples: int = 1000,
    *,
    n_cells: int = 4,
    imbalance_ratio: float | None = None,
    label_noise: float = 0.0,
    random_state: RandomState = None,
) -> Rows:
    """Draw points in the unit square, labeled by the color of their checkerboard cell.

    The cell at the origin is +1. The noisy checkerboard of Wang and Vucetic has ``label_noise=0.15`` in the
    training set and none in the test set.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_cells : int, default=4
        Number of cells along each side, at least 2.
    imbalance_ratio, label_noise, random_state : default=None, 0.0, None
        Negatives per positive, fraction of wrong labels, random generator; see the module's documentation.

    Returns
    -------
    X, y : float64 array of shape (n_samples, 2) and int64 array of shape (n_samples,)

    References
    ----------
    Z. Wang, S. Vucetic, *Fast Online Training of Ramp Loss Support Vector Machines*, 2009. The paper does not
    give the number of cells.

    Examples
    --------
    >>> from everlearn.datasets import make_checkerboard
    >>> X, y = make_checkerboard(200, random_state=0)
    >>> bool((((4 * X).astype(int).sum(axis=1) % 2 == 0) == (y == 1)).all())
    True
    """
    n, rng, _ = checked_inputs(n_samples, random_state)
    k = count("n_cells", n_cells, 2)
    cells = np.stack(np.divmod(np.arange(k * k), k), axis=1)
    part, y = draw_by_part(rng, n, np.where(cells.sum(axis=1) % 2 == 0, 1, -1), imbalance_ratio)
    return (cells[part] + rng.random((n, 2))) / k, mislabel(rng, y, label_noise, [-1, 1])


def make_gaussians(
    n_samples: int = 1000,
    *,
    imbalance_ratio: float | None = None,
    label_noise: float = 0.0,
    random_state: RandomState = None,
) -> Rows:
    """Draw two strongly overlapping Gaussians in the plane, a narrow one over the flank of a wide one.

    Class +1 is N((0, 0), I), class -1 is N((2, 0), 4 I). For equally likely classes the Bayes classifier has
    a circle as its boundary and an accuracy of 81.51 %. The example is Haykin's; Wang and Vucetic call it
    Gauss.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    imbalance_ratio, label_noise, random_state : default=None, 0.0, None
        Negatives per positive, fraction of wrong labels, random generator; see the module's documentation.

    Returns
    -------
    X, y : float64 array of shape (n_samples, 2) and int64 array of shape (n_samples,)

    References
    ----------
    S. Haykin, *Neural Networks: A Comprehensive Foundation*, 1999.
    Z. Wang, S. Vucetic, *Fast Online Training of Ramp Loss Support Vector Machines*, 2009.

    Examples
    --------
    >>> from everlearn.datasets import make_gaussians
    >>> X, y = make_gaussians(10_000, random_state=0)
    >>> X[y == -1].std(axis=0).round().tolist()
    [2.0, 2.0]
    """
    n, rng, _ = checked_inputs(n_samples, random_state)
    y = draw_signs(rng, n, imbalance_ratio)
    wide = (y == -1)[:, None]
    X = np.where(wide, 2.0, 1.0) * rng.standard_normal((n, 2)) + wide * np.array([2.0, 0.0])
    return X, mislabel(rng, y, label_noise, [-1, 1])


def make_two_moons(
    n_samples: int = 1000,
    *,
    noise: float = 0.1,
    imbalance_ratio: float | None = None,
    label_noise: float = 0.0,
    random_state: RandomState = None,
) -> Rows:
    """Draw two interleaving half circles, a standard test of semi-supervised learning.

    Class +1 is the upper moon (cos t, sin t), class -1 the lower moon (1 - cos t, 1/2 - sin t), t uniform on
    (0, π), plus normal noise on both features. `sklearn.datasets.make_moons` draws the same moons, but with
    evenly spaced t.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    noise : float, default=0.1
        Standard deviation of the noise.
    imbalance_ratio, label_noise, random_state : default=None, 0.0, None
        Negatives per positive, fraction of wrong labels, random generator; see the module's documentation.

    Returns
    -------
    X, y : float64 array of shape (n_samples, 2) and int64 array of shape (n_samples,)

    Examples
    --------
    >>> from everlearn.datasets import make_two_moons
    >>> X, y = make_two_moons(200, noise=0, random_state=0)
    >>> bool((X[y == 1, 1] >= 0).all() and (X[y == -1, 1] <= 0.5).all())
    True
    """
    n, rng, noise = checked_inputs(n_samples, random_state, noise)
    y = draw_signs(rng, n, imbalance_ratio)
    t = np.pi * rng.random(n)
    X = y[:, None] * np.column_stack([np.cos(t), np.sin(t)]) + (y == -1)[:, None] * np.array([1.0, 0.5])
    X += noise * rng.standard_normal(X.shape)
    return X, mislabel(rng, y, label_noise, [-1, 1])


def make_sliced_cube(
    n_samples: int = 1000,
    *,
    n_features: int = 3,
    n_slices: int = 2,
    gap: float = 0.2,
    imbalance_ratio: float | None = None,
    label_noise: float = 0.0,
    random_state: RandomState = None,
) -> Rows:
    """Draw points in the unit cube, cut along its first axis into slices with empty gaps between them.

    The labels of the slices alternate: +1, -1, +1, ... A slice is wide and its neighbors are near, so one end
    of a slice is closer to the other class than to the slice's other end. A learner has to propagate a few
    labels along the slices, which makes this a test of semi-supervised learners for streams. The idea is from
    Emara, who shows it only as a figure; the dimensions are ours.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_features : int, default=3
        Dimension of the cube.
    n_slices : int, default=2
        Number of slices, at least 2.
    gap : float, default=0.2
        Width of the gap between two slices; 0 <= gap < 1 / (n_slices - 1).
    imbalance_ratio, label_noise, random_state : default=None, 0.0, None
        Negatives per positive, fraction of wrong labels, random generator; see the module's documentation.

    Returns
    -------
    X, y : float64 array of shape (n_samples, n_features) and int64 array of shape (n_samples,)

    References
    ----------
    W. Emara, *A Submodular Optimization Framework for Never-Ending Learning: Semi-Supervised, Online, and
    Active Learning*, 2012.

    Examples
    --------
    >>> from everlearn.datasets import make_sliced_cube
    >>> X, y = make_sliced_cube(200, random_state=0)
    >>> bool((X[y == 1, 0] <= 0.4).all() and (X[y == -1, 0] >= 0.6).all())
    True
    """
    n, rng, _ = checked_inputs(n_samples, random_state)
    d, k = count("n_features", n_features, 1), count("n_slices", n_slices, 2)
    widest = 1 / (k - 1)
    requirement = f"at least 0 and less than 1 / (n_slices - 1) = {widest:.3g}"
    gap = number("gap", gap, 0.0, np.nextafter(widest, 0), requirement)
    part, y = draw_by_part(rng, n, np.where(np.arange(k) % 2 == 0, 1, -1), imbalance_ratio)
    X = rng.random((n, d))
    thickness = (1 - gap * (k - 1)) / k
    X[:, 0] = part * (thickness + gap) + X[:, 0] * thickness
    return X, mislabel(rng, y, label_noise, [-1, 1])
