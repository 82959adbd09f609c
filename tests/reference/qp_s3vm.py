"""Plain NumPy solution of the continuous choice of rows: the slow twin of QPS3VM and of exemplars by QP.

    maximize w'p + q p'Kp        subject to 0 ≤ p ≤ 1, Σ p = k

Exemplars and questions, q < 0 and K psd: concave, one value, p is fractional, and no set has a larger F.
Labels, q > 0 and K psd: the Hessian is C*² K, so this maximizes a *convex* function. Some 0/1 vector is the
global maximum, there are many local ones, and a code for convex QPs must not be used on it.
"""

import numpy as np

from reference.s3vm import choice_of_positives
from reference.submodular import largest


def project(v, k):
    """The point of {0 ≤ p ≤ 1, Σ p = k} that is nearest to v: clip(v − shift, 0, 1), Σ of it being k."""
    corners = np.sort(np.concatenate([v - 1, v]))  # between two of these the sum is linear in the shift
    above = lambda shift: np.clip(v - shift, 0, 1).sum() - k  # noqa: E731
    left, right = 0, len(corners) - 1
    while right - left > 1:
        middle = (left + right) // 2
        left, right = (middle, right) if above(corners[middle]) >= 0 else (left, middle)
    high, low = above(corners[left]), above(corners[right])
    share = high / (high - low) if high > low else 0.0
    return np.clip(v - corners[left] - share * (corners[right] - corners[left]), 0, 1)


def room_to_rise(choice, p, k):
    """max over feasible r of slope(p)'(r − p): 0 where p is stationary; q < 0: F(p) + this bounds every F."""
    slope = choice.slope(p)
    return float(np.sort(slope)[::-1][:k].sum() - slope @ p)


def ascend(choice, k, p=None, tol=1e-9, most=20_000):
    """Projected gradient from p (uniform if not given): the point it rests in, F there, and the room to rise.

    Steps of 1/L, L = 2 |q| λ_max(K). With q < 0 accelerated, restarting where F would fall: the global
    maximum. With q > 0 no step lowers F, whatever its length, and it rests in one of many stationary points.
    """
    n = len(choice.w)
    p = np.full(n, k / n) if p is None else np.asarray(p, float)
    value = lambda p: float(choice.w @ p + choice.q * p @ choice.K.times(p))  # noqa: E731
    step = 1 / max(2 * abs(choice.q) * np.linalg.norm(choice.K.block(range(n), range(n)), 2), 1e-300)
    ahead, speed = p, 1.0
    for _ in range(most):
        if room_to_rise(choice, p, k) <= tol * (1 + abs(value(p))):
            break
        new = project(ahead + step * choice.slope(ahead), k)
        if choice.q > 0 or value(new) < value(p):
            new, speed = project(p + step * choice.slope(p), k), 1.0
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        ahead, p, speed = new + (speed - 1) / faster * (new - p), new, faster
    return p, value(p), room_to_rise(choice, p, k)


def qp_s3vm(problem, k, C, Cs, random, starts=5, by="linearize"):
    """The best set found: from the uniform p, the k largest w, greedy and random sets; then swaps.

    `by` "gradient" climbs by projected gradients first. Where that rests may be fractional; linearizing goes
    on to a set with no smaller F.
    """
    choice, n = choice_of_positives(problem, C, Cs), len(problem.rows)
    uniform = np.full(n, k / n)
    sets = [largest(choice.w, k), choice.lazy(k, Cs**2 * problem.highest).order]
    sets += [random.permutation(n)[:k] for _ in range(starts)]
    points = [uniform, *(np.isin(np.arange(n), A).astype(float) for A in sets)]
    if by == "gradient":
        points = [ascend(choice, k, p)[0] for p in points]
    ends = [choice.linearize(p, k) for p in points] + [choice.linearize(A, k) for A in sets]
    return max([choice.swap(A) for A in ends], key=choice.value)
