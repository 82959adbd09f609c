"""Plain NumPy online SVM with the ramp loss: the slow twin of the compiled one.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (2009).

Minimize P_R = ½ ‖w‖² + Σ C_i R(z_i), R(z) = min(1 − s, max(0, 1 − z)), z_i = y_i f(x_i), f without a bias.
With unsigned coefficients f = Σ y_i α_i K_i, and g_i = 1 − z_i. On V = {g ≤ 1 − s} the ramp is the hinge: the
box of its dual is 0 ≤ α ≤ C. Outside V it is flat: α = 0. A step on i adds g_i Δ − ½ K_ii Δ² to the dual.
Where a row takes more than single_steps of them, two coefficients move at a time. A row can be outside V once
there have been min_support support vectors of its label.
"""

import numpy as np

from reference.offline_ramp import ramp_objective
from reference.partner import best_steps, step_with_partner


class ReferenceOnlineRamp:
    """Kernel matrix K (n x n), labels y in {−1, +1}, one cost C or one per row; keeps max_idle zeros."""

    def __init__(
        self, K, y, C, s=-1.0, tol=1e-3, min_gain=1e-5, max_idle=None, min_support=0, single_steps=np.inf
    ):
        self.K, self.y = np.asarray(K, float), np.asarray(y, float)
        self.Q, self.C = self.y[:, None] * self.K * self.y, C * np.ones(len(self.y))
        self.s, self.tol, self.min_gain, self.max_idle = s, tol, min_gain, max_idle
        self.I: list[int] = []  # rows kept, in order of arrival
        self.V, self.n_capped, self.n_steps = np.zeros(len(self.y), bool), 0, 0
        self.min_support, self.single_steps, self.trusted = min_support, single_steps, set()
        self.alpha, self.g = np.zeros(len(self.y)), np.full(len(self.y), np.nan)  # g is valid on I only

    def set(self, i, value):
        """Give row i another coefficient and refresh all gradients."""
        self.g[self.I] -= (value - self.alpha[i]) * self.Q[i, self.I]
        self.alpha[i] = value

    def learn(self, t):
        """Learn row t; a row that is kept already is not learned again."""
        if t in self.I:
            return self
        trusted = {y for y in (-1, 1) if np.sum(self.alpha[self.y == y] > 0) >= self.min_support}
        if not trusted <= self.trusted:  # the ramp begins to work
            self.trusted |= trusted
            self.settle()
        self.g[t] = 1 - self.y[t] * self.decision(self.K[t])
        self.I.append(t)
        self.V[t] = self.inside(t)
        if self.V[t] and self.g[t] >= 0:
            self.set(t, best_steps(self.alpha[t], self.g[t], self.K[t, t], 0, self.C[t])[0])
            self.settle()
        self.remove()
        return self

    def settle(self):
        """Solve and bring V up to date until it stays as it is."""
        self.n_steps = 0
        for _ in range(200):  # rounds that end in coarse solutions may take turns for ever
            if not self.round():
                return
        self.n_capped += 1

    def inside(self, i):
        """Tell whether row i belongs to V."""
        return self.g[i] <= 1 - self.s or self.y[i] not in self.trusted

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
            steps = {rows[best]: new[best]}
            if self.n_steps >= self.single_steps:
                args = rows, self.alpha, self.g, self.Q, np.zeros(len(self.y)), self.C
                steps = step_with_partner(rows[best], *args)
            for i, value in steps.items():
                self.set(i, value)
            self.n_steps += 1
        before, self.V = self.V, np.zeros_like(self.V)
        self.V[self.I] = [self.inside(i) for i in self.I]
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
