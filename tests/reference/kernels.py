"""Plain NumPy kernels, for the slow twins: kernel(A, B) holds the values between rows A and rows B."""

import numpy as np
from scipy.spatial.distance import cdist


def linear(A, B):
    """Return k(a, b) = ⟨a, b⟩."""
    return A @ B.T


def poly(gamma, coef0, degree):
    """Return k(a, b) = (γ ⟨a, b⟩ + c)ᵈ."""
    return lambda A, B: (gamma * A @ B.T + coef0) ** degree


def rbf(gamma):
    """Return k(a, b) = exp(−γ ‖a − b‖²)."""
    return lambda A, B: np.exp(-gamma * cdist(A, B, "sqeuclidean"))


def sigmoid(gamma, coef0):
    """Return k(a, b) = tanh(γ ⟨a, b⟩ + c)."""
    return lambda A, B: np.tanh(gamma * A @ B.T + coef0)


def cosine(A, B):
    """Return k(a, b) = ⟨a, b⟩ / (‖a‖ ‖b‖), 0 where a row is zero."""
    lengths = np.outer(np.linalg.norm(A, axis=1), np.linalg.norm(B, axis=1))
    return np.where(lengths > 0, A @ B.T / np.where(lengths > 0, lengths, 1), 0)


def laplacian(gamma):
    """Return k(a, b) = exp(−γ ‖a − b‖₁)."""
    return lambda A, B: np.exp(-gamma * cdist(A, B, "cityblock"))


_BY_NAME = {
    "linear": lambda **_: linear,
    "poly": lambda gamma, coef0, degree, **_: poly(gamma, coef0, degree),
    "rbf": lambda gamma, **_: rbf(gamma),
    "sigmoid": lambda gamma, coef0, **_: sigmoid(gamma, coef0),
    "cosine": lambda **_: cosine,
    "laplacian": lambda gamma, **_: laplacian(gamma),
}


def named(kernel, **parameters):
    """Return the kernel with a learner's name and parameters; those that it does not use are ignored."""
    return _BY_NAME[kernel](**parameters)
