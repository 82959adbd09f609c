"""Plain NumPy SVMs with the ramp loss, offline and online: slow twins of the compiled ones.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (2009).

Minimise P_R = ½ ‖w‖² + Σ C_i R(z_i), R(z) = min(1 − s, max(0, 1 − z)), z_i = y_i f(x_i), f without a bias.
With unsigned coefficients f = Σ y_i α_i K_i, and g_i = 1 − z_i. On V = {g ≤ 1 − s} the ramp is the hinge: the
box of its dual is 0 ≤ α ≤ C. Outside V it is flat: α = 0. A step on i adds g_i Δ − ½ K_ii Δ² to the dual.
"""

import numpy as np


def best_steps(alpha, g, curvature, low, high):
    """Return where the best step on each coordinate leads, and what each is worth."""
    with np.errstate(divide="ignore", invalid="ignore"):
        free = alpha + np.where(curvature > 1e-12, g / curvature, np.where(g == 0, 0.0, np.sign(g) * np.inf))
    new = np.clip(free, low, high)
    return new, g * (new - alpha) - 0.5 * curvature * (new - alpha) ** 2


class ReferenceOnlineRamp:
    """Kernel matrix K (n x n), labels y in {−1, +1}, one cost C or one per row; keeps max_idle zeros."""

    def __init__(self, K, y, C, s=-1.0, tol=1e-3, min_gain=1e-5, max_idle=None):
        self.K, self.y = np.asarray(K, float), np.asarray(y, float)
        self.Q, self.C = self.y[:, None] * self.K * self.y, C * np.ones(len(self.y))
        self.s, self.tol, self.min_gain, self.max_idle = s, tol, min_gain, max_idle
        self.I: list[int] = []  # rows kept, in order of arrival
        self.V, self.n_capped = np.zeros(len(self.y), bool), 0
        self.alpha, self.g = np.zeros(len(self.y)), np.full(len(self.y), np.nan)  # g is valid on I only

    def set(self, i, value):
        """Give row i another coefficient and refresh all gradients."""
        self.g[self.I] -= (value - self.alpha[i]) * self.Q[i, self.I]
        self.alpha[i] = value

    def learn(self, t):
        """Learn row t; a row that is kept already is not learnt again."""
        if t in self.I:
            return self
        self.g[t] = 1 - self.y[t] * self.decision(self.K[t])
        self.I.append(t)
        self.V[t] = self.g[t] <= 1 - self.s
        if 0 <= self.g[t] <= 1 - self.s:
            self.set(t, best_steps(self.alpha[t], self.g[t], self.K[t, t], 0, self.C[t])[0])
            for _ in range(200):  # rounds that end in coarse solutions may take turns for ever
                if not self.round():
                    break
            else:
                self.n_capped += 1
        self.remove()
        return self

    def round(self):
        """Solve the hinge problem on V, bring V up to date, unlearn who left; tell whether V changed."""
        rows = np.array([i for i in self.I if self.V[i]], int)
        curvature, C = self.K[rows, rows], self.C[rows]
        while len(rows):
            alpha, g = self.alpha[rows], self.g[rows]
            new, gain = best_steps(alpha, g, curvature, 0, C)
            gain[~((alpha < C) & (g > self.tol) | (alpha > 0) & (g < -self.tol))] = -np.inf
            best = np.argmax(gain)
            if gain[best] < self.min_gain:
                break
            self.set(rows[best], new[best])
        before, self.V = self.V, np.zeros_like(self.V)
        self.V[self.I] = self.g[self.I] <= 1 - self.s
        for i in np.flatnonzero(before & ~self.V & (self.alpha != 0)):
            self.set(i, 0.0)
        return bool(np.any(before != self.V))

    def remove(self):
        """Of the rows of α = 0 keep the max_idle with the smallest |f|, of equals the older."""
        idle = [i for i in self.I if self.alpha[i] == 0] if self.max_idle is not None else []
        gone = [idle[k] for k in np.argsort(np.abs(1 - self.g[idle]), kind="stable")[self.max_idle :]]
        self.I, self.V[gone] = [i for i in self.I if i not in gone], False

    def run(self, order):
        """Learn the rows in order."""
        for t in order:
            self.learn(t)
        return self

    def decision(self, K_test_rows):
        """Return f for kernel rows of shape (m, n)."""
        return np.asarray(K_test_rows, float) @ (self.y * self.alpha)

    def objective(self):
        """Return P_R over the rows kept."""
        rows = self.I
        return ramp_objective(self.Q[np.ix_(rows, rows)], self.alpha[rows], self.C[rows], self.s)


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


def asvmr(model, order):
    """Ask for and learn the rows within the margin only; return those asked."""
    return [t for t in order if abs(model.decision(model.K[t])) <= 1 and model.learn(t)]


def greedy(model, order, h=5):
    """Ask for and learn the row nearest to the boundary of every complete block of h; return those asked."""
    order, asked = list(order), []
    for start in range(0, len(order) - h + 1, h):
        block = order[start : start + h]
        asked.append(block[np.argmin(np.abs(model.decision(model.K[block])))])
        model.learn(asked[-1])
    return asked
