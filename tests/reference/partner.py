"""The best step on two coefficients of a problem without a bias, the plain way.

With Q the matrix of the dual, i and j gain most together at Δ_i = (g_i Q_jj − g_j Q_ij) / det and
Δ_j = (g_j Q_ii − g_i Q_ij) / det, det = Q_ii Q_jj − Q_ij²; where that leaves a box, i makes its best step
alone, and then j does.
"""

import numpy as np


def best_steps(alpha, g, curvature, low, high):
    """Return where the best step on each coordinate leads, and what each is worth."""
    with np.errstate(divide="ignore", invalid="ignore"):
        free = alpha + np.where(curvature > 1e-12, g / curvature, np.where(g == 0, 0.0, np.sign(g) * np.inf))
    new = np.clip(free, low, high)
    return new, g * (new - alpha) - 0.5 * curvature * (new - alpha) ** 2


def step_with_partner(i, rows, alpha, g, Q, low, high):
    """Return the coefficients of i and of the partner with which it gains most, by row number."""
    new_i, gain_i = best_steps(alpha[i], g[i], Q[i, i], low[i], high[i])
    q, curvature = Q[i, rows], Q[rows, rows]
    det = Q[i, i] * curvature - q**2
    apart = (Q[i, i] > 0) & (det > 1e-9 * Q[i, i])  # a maximum, not a saddle
    safe = np.where(apart, det, 1.0)
    both_i = alpha[i] + (g[i] * curvature - g[rows] * q) / safe
    both_j = alpha[rows] + (g[rows] * Q[i, i] - g[i] * q) / safe
    fits = apart & (both_i >= low[i]) & (both_i <= high[i])
    fits &= (both_j >= low[rows]) & (both_j <= high[rows])
    together = 0.5 * (g[i] * (both_i - alpha[i]) + g[rows] * (both_j - alpha[rows]))
    later = g[rows] - (new_i - alpha[i]) * q
    then_j, gain_j = best_steps(alpha[rows], later, curvature, low[rows], high[rows])
    gain = np.where(rows == i, -np.inf, np.where(fits, together, gain_i + gain_j))
    best = np.argmax(gain)
    if not gain[best] > 0:
        return {i: new_i}
    return {i: both_i[best], rows[best]: both_j[best]} if fits[best] else {i: new_i, rows[best]: then_j[best]}
