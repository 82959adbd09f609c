"""Plain NumPy incremental and decremental SVM, exact after every call: the slow twin of the compiled one.

G. Cauwenberghs, T. Poggio, "Incremental and Decremental Support Vector Machine Learning", NIPS 13 (2000);
W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapter VI.

Maximize Σ y_i θ_i − ½ θᵀKθ over signed coefficients θ = yα with Σ θ_i = 0 and lo_i ≤ θ_i ≤ hi_i, the box
being [0, C_i] where y_i = 1, else [−C_i, 0]. With u_i = Σ_j K_ij θ_j + b − y_i the conditions are: u_i ≥ 0
where θ_i can rise, u_i ≤ 0 where it can fall. S holds rows with u = 0; a row outside it is at an end of
its box. One row c moves at a time, dθ_c = d = ±1, and b and θ_S follow so that Σ θ = 0 and u_S = 0 stay
true:

    [[0, 1ᵀ], [1, K_SS]] (db, dθ_S) = −d (1, K_Sc),    du_i = db + Σ_S K_ij dθ_j + d K_ic,

until a row has to enter or to leave S; and so on. While S is empty only b moves, db = d.
"""

import copy

import numpy as np

ROUNDING = 1e-15  # relative to the terms of a sum


class StuckError(Exception):
    """More steps than the algorithm can need."""


class ReferenceIDSVM:
    """Kernel matrix K (n x n), labels y in {−1, +1}, one cost C or one per row; learns and forgets rows."""

    def __init__(self, K, y, C=1.0, tol=1e-8):
        self.K, self.y, self.C, self.tol = np.asarray(K, float), np.array(y, float), C * np.ones(len(K)), tol
        self.theta, self.b, self.known = np.zeros(len(K)), 0.0, np.zeros(len(K), bool)
        self.S, self.moving = [], []  # rows on their way, the innermost last: no condition is asked of them
        self.scale, self.n_steps, self.n_fallbacks = self.K.diagonal().max() or 1.0, 0, 0

    rows = property(lambda self: np.flatnonzero(self.known))
    lo = property(lambda self: np.minimum(0, self.C * self.y))
    hi = property(lambda self: np.maximum(0, self.C * self.y))
    dust = property(lambda self: 1e-13 * self.C.max())  # what rounding leaves of a coefficient that is 0
    can_rise = property(lambda self: self.known & (self.theta < self.hi))
    can_fall = property(lambda self: self.known & (self.theta > self.lo))
    u = property(lambda self: self.decision(self.K) - self.y)

    def decision(self, K_rows):
        """Return f for kernel rows of shape (m, n)."""
        return np.asarray(K_rows, float) @ self.theta + self.b

    def dual(self):
        """Return Σ yθ − ½ θᵀKθ."""
        return float(self.y @ self.theta - 0.5 * self.theta @ self.K @ self.theta)

    def violation(self):
        """Return by how much a condition is violated at most."""
        rise, fall = -self.u[self.can_rise], self.u[self.can_fall]
        return max(rise.max(initial=0), fall.max(initial=0), abs(self.theta.sum()))

    def add(self, i):
        """Learn row i."""
        self.known[i] = True
        return self.carry_out()

    def remove(self, i):
        """Forget row i."""
        self.known[i] = False
        return self.carry_out(forget=i)

    def flip(self, i):
        """Give row i the other label."""
        self.remove(i).y[i] *= -1
        return self.add(i)

    def set_C(self, i, C):
        """Give row i another cost."""
        self.remove(i).C[i] = C
        return self.add(i)

    def leave_one_out(self):
        """Return y_i f(x_i) for every row, f learned from the others; below 0 is an error."""
        return np.array([self.y[i] * self.copy().remove(i).decision(self.K[i]) for i in self.rows])

    def start_from(self, theta, rows=slice(None)):
        """Know these rows alone, and begin with a guess of their coefficients: in the box, and Σ θ = 0."""
        self.known[:], self.S, self.b = False, [], 0.0
        self.known[rows] = True
        self.theta = np.clip(theta, self.lo, self.hi)
        for i in np.flatnonzero(self.can_rise & self.can_fall):
            self.S += [i] if self.independent(i) else []
        return self.carry_out()

    def copy(self):
        """Return a machine that goes its own way."""
        return copy.deepcopy(self, {id(self.K): self.K})

    def carry_out(self, forget=None):
        """Forget a row and mend the others; if stuck, solve from scratch. Then make b unique."""
        self.steps_left = 1000 + 20 * self.known.sum()
        try:
            self.unlearn(forget)
            self.mend()
        except StuckError:
            self.n_fallbacks, self.steps_left = self.n_fallbacks + 1, 1000 + 20 * self.known.sum()
            self.moving = []
            self.solve_cold()
            self.mend()
        if not (self.can_rise & self.can_fall)[self.S].any():
            self.S, self.b = [], self.middle()
        return self

    def middle(self):
        """Return the middle of the biases that the conditions allow where S does not determine it."""
        e = self.y - self.K @ self.theta
        limits = [e[self.can_rise].max(initial=-np.inf), e[self.can_fall].min(initial=np.inf)]
        return float(np.mean([limit for limit in limits if np.isfinite(limit)] or 0))

    def solve_cold(self):
        """Solve from scratch without following a path: a pair step and a face step in turn.

        A pair step raises θ_i and lowers θ_j by the same length, where e = y − Kθ is larger at i than at j.
        The dual increases strictly, so that no face comes twice. What depends on S is left to `mend`.
        """
        self.theta[:], self.S = 0, []
        for _ in range(1000 + 20 * self.known.sum()):
            e, up, down = self.y - self.K @ self.theta, self.can_rise, self.can_fall
            i = np.argmax(np.where(up, e, -np.inf))
            slope = np.where(down & up.any(), e[i] - e, 0)
            if slope.max(initial=0) <= self.tol / 10:
                break
            curvature = np.maximum(self.apart(i), 1e-11 * self.scale)
            j = np.argmax(np.where(slope > self.tol / 10, slope**2 / curvature, 0))
            length = min(slope[j] / curvature[j], self.hi[i] - self.theta[i], self.theta[j] - self.lo[j])
            self.theta[i], self.theta[j] = self.theta[i] + length, self.theta[j] - length
            self.S = [s for s in self.S if self.can_rise[s] and self.can_fall[s]]
            for s in np.flatnonzero(self.can_rise & self.can_fall):
                self.S += [s] if s not in self.S and self.independent(s) else []
            self.settle()
        self.b = self.b if self.S else self.middle()

    def apart(self, c):
        """Return the squared distances of all rows from row c."""
        return self.K.diagonal() + self.K[c, c] - 2 * self.K[c]

    def unlearn(self, c):
        """Move θ_c to 0, which is an end of its box; c may be nobody."""
        self.S = [j for j in self.S if j != c]
        if c is not None and self.theta[c]:
            self.move(c, -np.sign(self.theta[c]), to_margin=False)

    def mend(self):
        """Drive every row that is not where it should be; the others of these are not watched meanwhile."""
        self.settle()
        while self.wrong().any():
            self.drive(np.argmax(self.wrong()))
            self.settle()

    def wrong(self):
        """Tell which rows outside S are at no end of their box, or at the wrong one."""
        rise, fall, u = self.can_rise, self.can_fall, self.u
        wrong = (rise & fall) | (rise & (u < -self.tol)) | (fall & (u > self.tol))
        wrong[self.S] = False
        return wrong

    def drive(self, c):
        """Move c to where its condition holds."""
        self.move(c, 1 if self.u[c] < 0 else -1)

    def move(self, c, d, to_margin=True):
        """Raise or lower θ_c until c is at an end of its box or, if that is wanted, on the margin."""
        self.moving.append(c)
        while not self.step(c, d, to_margin):
            pass
        self.moving.pop()

    def step(self, c, d, to_margin):
        """Move c until the first row is at an end of its box or on the margin; tell whether that was c.

        A row is there after room / speed, give or take slack. Of those that could be the first, rows that
        reach an end of their box go first, so that S shrinks before it grows; then the fastest; then the
        nearest to c, which decides while S is empty and all are equally fast. Otherwise S fills with rows
        that are nearly the same, or they enter and leave S for ever, and no θ moves.
        """
        if not self.steps_left:
            raise StuckError
        self.n_steps, self.steps_left = self.n_steps + 1, self.steps_left - 1
        S, theta, lo, hi, u, apart = self.S, self.theta, self.lo, self.hi, self.u, self.apart(c)
        db, dtheta, du = self.rates(c, d)
        room, speed, slack = np.full(len(u), np.inf), np.ones(len(u)), np.zeros(len(u))
        side = np.where(theta == hi, -1, 1)  # outside S the condition is side · u ≥ 0
        coming = self.known & ~self.wrong() & (side * du < 0)
        coming[[*S, *self.moving]] = False
        room[coming], speed[coming] = (
            np.maximum(0, side * u)[coming] / self.scale,
            abs(du)[coming] / self.scale,
        )
        slack[coming], slack[S] = self.tol / 10 / self.scale, self.dust
        ends, end = np.where(dtheta > 0, hi[S], lo[S]), hi[c] if d > 0 else lo[c]
        room[S], speed[S] = abs(ends - theta[S]), np.maximum(abs(dtheta), 1e-300)
        to_end = abs(end - theta[c]) if S or abs(end - theta[c]) <= self.dust else np.inf
        room[c] = min(to_end, max(0, -u[c] / du[c]) if to_margin and du[c] else np.inf)
        first = room / speed <= ((room + slack) / speed).min()
        at_end = np.zeros(len(u), bool)
        at_end[S], at_end[c] = True, room[c] == to_end
        first &= at_end | ~(first & at_end).any()
        i = min(np.flatnonzero(first), key=lambda i: (-speed[i], apart[i]))
        t = room[i] / speed[i]
        self.b += t * db
        theta[S] = np.clip(theta[S] + t * dtheta, lo[S], hi[S])
        theta[c] = np.clip(theta[c] + d * t, lo[c], hi[c]) if S else theta[c]
        if i in S:
            theta[i] = ends[S.index(i)]
            S.remove(i)
        elif i != c:
            self.join(i)
        elif t == to_end:
            theta[c] = end
        elif lo[c] < theta[c] < hi[c] or not S or len(self.moving) > 1:
            S.append(c)
        return i == c

    def join(self, i):
        """Take i, whose u is 0, into S. If it depends on S it moves, and u stays, until a member leaves."""
        if self.independent(i):
            self.S.append(i)
        else:
            self.move(i, -1 if self.theta[i] == self.hi[i] else 1)

    def independent(self, i):
        """Tell whether i may enter S: du_i, its squared distance from the affine hull of S, is not 0."""
        return self.rates(i, 1)[2][i] > 0

    def rates(self, c, d):
        """Return db, dθ_S and du for dθ_c = d; what may be rounding is 0.

        A row on the hull of S is a mix of S, φ_i = Σ μ_j φ_j and Σ μ_j = 1: du_i has μ times the errors of
        du_S.
        """
        if not self.S:
            return d, np.zeros(0), np.full(len(self.K), float(d))
        db, dtheta = self.solve(-d, -d * self.K[self.S, c])
        du = db + self.K[:, self.S] @ dtheta + d * self.K[:, c]
        mixes = self.solve(np.ones(len(self.K)), self.K[self.S])[1]
        rounding = ROUNDING * self.scale * (1 + abs(dtheta).sum()) * (1 + abs(mixes).sum(axis=0))
        return db, dtheta, np.where(abs(du) > rounding, du, 0)

    def solve(self, r_0, r):
        """Return db and dθ_S that change Σ θ by r_0 and u_S by r; also many of them at once."""
        A = np.pad(self.K[np.ix_(self.S, self.S)], ((1, 0), (1, 0)), constant_values=1)
        A[0, 0] = 0
        z = np.linalg.solve(A, np.concatenate([[r_0], r]))
        return z[0], z[1:]

    def settle(self):
        """Bring θ_S and b to what S determines, as far as the box allows: who meets its end first leaves."""
        share = 0.0
        while self.S and share < 1:
            S, theta, lo, hi = self.S, self.theta[self.S], self.lo[self.S], self.hi[self.S]
            db, dtheta = self.solve(-self.theta.sum(), -self.u[S])
            room = np.where(dtheta > 0, hi, lo) - theta
            shares = np.divide(room, dtheta, out=np.ones(len(S)), where=abs(dtheta) > abs(room) + self.dust)
            share = shares.min()
            self.b, moved = self.b + share * db, theta + share * dtheta
            self.theta[S] = np.where(moved < lo + self.dust, lo, np.where(moved > hi - self.dust, hi, moved))
            self.S = [j for j, own in zip(S, shares, strict=True) if own == 1 or own > share]
