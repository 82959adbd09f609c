"""Exemplars of rows in several shards: greedy on each, then greedy on the union of what they chose.

B. Mirzasoleiman, A. Karbasi, R. Sarkar, A. Krause, "Distributed Submodular Maximization: Identifying
Representative Elements in Massive Data", NIPS 2013 (GreeDi). The linear term of the objective is the density
over all rows. Shards estimate it from a sample of all rows, because their own rows may be unlike the others;
for the rows of the union it is exact.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._base.validate import Rows
from .._submodular.choice import Choice, Similarities
from .._submodular.geometry import Geometry, least_similarity
from ._weights import Weights, default_weights, four_weights
from .exemplars import Exemplars

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True)
class ShardProblem:
    """What all shards share.

    Attributes
    ----------
    geometry : Geometry
        The scaling of rows and the kernel.
    weights : tuple of 4 floats
        The weights of the objective.
    n_exemplars : int
        The number of rows to choose.
    n_rows : int
        The number of rows of all shards.
    sample : ndarray or CSR matrix
        Scaled rows like those of all shards.
    """

    geometry: Geometry
    weights: Weights
    n_exemplars: int
    n_rows: int
    sample: Rows


def shard_problem(exemplars: Exemplars, sample: Rows, n_rows: int) -> ShardProblem:
    """Fix what shards share; scaling and gamma, unless they are given, come from a sample of all rows.

    Parameters
    ----------
    exemplars : Exemplars
        The parameters.
    sample : ndarray or CSR matrix of shape (n_sample, n_features)
        Rows like those of all shards.
    n_rows : int
        The number of rows of all shards.

    Returns
    -------
    ShardProblem
        The problem.
    """
    if exemplars.method != "greedy" or exemplars.kernel == "precomputed":
        raise ValueError(
            f"Shards need method='greedy' and a kernel of rows, got method={exemplars.method!r} and "
            f"kernel={exemplars.kernel!r}."
        )
    if exemplars.n_components is not None:
        raise ValueError("Shards need n_components=None: similarities are exact.")
    count = min(int(exemplars.n_exemplars), n_rows)
    given = exemplars.weights
    weights = default_weights(count, n_rows) if given is None else four_weights(given)
    geometry = Geometry.of(sample, exemplars)
    return ShardProblem(geometry, weights, count, n_rows, geometry.scaled(sample))


def propose(problem: ShardProblem, X: Rows) -> Places:
    """Choose rows of one shard, by an estimate of the objective on all rows.

    Parameters
    ----------
    problem : ShardProblem
        What shards share.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The rows of the shard.

    Returns
    -------
    ndarray of shape (n_chosen,)
        Row numbers in the shard, in the order of choice.
    """
    if X.shape[0] == 0:
        return np.zeros(0, dtype=np.intp)
    rows = problem.geometry.scaled(X)
    K, all_rows = (problem.geometry.similarities(part) for part in (rows, problem.sample))
    density = all_rows.times(np.ones(len(all_rows)), rows) * (problem.n_rows / len(all_rows))
    return _greedy(problem, K, density, min(problem.n_exemplars, len(K)))


def density_of(problem: ShardProblem, X: Rows, candidates: Rows) -> Floats:
    """Sum the similarities of each candidate to all rows of one shard.

    Parameters
    ----------
    problem : ShardProblem
        What shards share.
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        The rows of the shard.
    candidates : ndarray or CSR matrix of shape (n_candidates, n_features)
        Rows that shards have proposed.

    Returns
    -------
    ndarray of shape (n_candidates,)
        The sums.
    """
    if X.shape[0] == 0:
        return np.zeros(candidates.shape[0])
    geometry = problem.geometry
    K = geometry.similarities(geometry.scaled(X))
    return np.asarray(K.times(np.ones(len(K)), geometry.scaled(candidates)))


def combine(
    problem: ShardProblem, candidates: Rows, density: Floats, shards: list[Places]
) -> tuple[Places, float, float]:
    """Choose among the proposals of all shards.

    Parameters
    ----------
    problem : ShardProblem
        What shards share.
    candidates : ndarray or CSR matrix of shape (n_candidates, n_features)
        The proposals.
    density : ndarray of shape (n_candidates,)
        The sums of `density_of` over all shards.
    shards : list of ndarray
        The places of the proposals of each shard.

    Returns
    -------
    tuple of (ndarray, float, float)
        Places in the order of choice, the objective of the choice on all rows, and that of the best shard.
    """
    K = problem.geometry.similarities(problem.geometry.scaled(candidates))
    choice = Choice(K, problem.weights[2] * density, -problem.weights[0], 0.0)
    chosen = _greedy(problem, K, density, min(problem.n_exemplars, len(K)))
    own = [places[: problem.n_exemplars] for places in shards if len(places)]
    best = max(own, key=choice.value)
    value, of_shard = choice.value(chosen), choice.value(best)
    return (chosen if value >= of_shard or len(best) < len(chosen) else best), max(value, of_shard), of_shard


def _greedy(problem: ShardProblem, K: Similarities, density: Floats, count: int) -> Places:
    choice = Choice(K, problem.weights[2] * density, -problem.weights[0], 0.0)
    choice.h = 2 * choice.q * least_similarity(K)
    return choice.greedy(count).order.astype(np.intp)


def check_parameters(exemplars: Any) -> None:
    """Refuse what is not an `Exemplars`.

    Parameters
    ----------
    exemplars : object
        What was given.
    """
    if not isinstance(exemplars, Exemplars):
        raise TypeError(f"exemplars must be an Exemplars, got {type(exemplars).__name__}.")
