"""Plain NumPy SVM with the ramp loss on all rows at once: the slow twin of the compiled one.

Minimize P_R = ½ ‖w‖² + Σ C_i R(z_i) as in `reference.ramp`, with unsigned coefficients: f = Σ y_i α_i K_i.
"""

import numpy as np

from reference.partner import best_steps


def ramp_objective(Q, alpha, C, s):
    """Return P_R of unsigned coefficients."""
    z = Q @ alpha
    return float(0.5 * alpha @ z + C @ np.clip(1 - z, 0, 1 - s))


def offline_ramp(K, y, C, s=-1.0, variant="active_set", max_iter=100):
    """Return α, V and P_R after the start (the hinge problem on all rows) and after each round.

    Every round solves a problem that lies above P_R and touches it where the last round ended: the hinge on
    V, and outside V a constant ("active_set", box [0, 0]) or the tangent of the ramp ("cccp", box [−C, 0]).
    """
    K, y = np.asarray(K, float), np.asarray(y, float)
    Q, C, alpha = y[:, None] * K * y, C * np.ones(len(y)), np.zeros(len(y))
    V, sets, objectives = np.ones(len(y), bool), [], []
    for _ in range(max_iter + 1):
        low = np.where(V | (variant == "active_set"), 0.0, -C)
        high = np.where(V, C, 0.0)
        alpha = np.clip(alpha, low, high)
        g = 1 - Q @ alpha
        while True:
            new, gain = best_steps(alpha, g, K.diagonal(), low, high)
            best = np.argmax(gain)
            if gain[best] <= 1e-13:
                break
            g -= (new[best] - alpha[best]) * Q[best]
            alpha[best] = new[best]
        V = 1 - Q @ alpha <= 1 - s
        objectives.append(ramp_objective(Q, alpha, C, s))
        sets.append(V)
        if len(sets) > 1 and np.array_equal(*sets[-2:]):
            break
    return alpha, sets, objectives
