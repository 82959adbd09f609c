"""Plain NumPy kept rows: what the slow twins of the one-pass learners share.

f(x) = Σ a_i k(x_i, x) over the rows kept, the oldest first. `learn(x, y)` takes one row, y in {−1, +1},
which is scored before it is learned; `decide(X)` only looks. kernel(A, B) holds the values between rows A
and rows B. A learner that draws is given below(n), which draws one of 0, …, n − 1 with equal chances (the
`integers` of a NumPy generator, or draws that were written down), and says when it calls it.
"""

import numpy as np


class RowByRow:
    """A learner of single rows."""

    def run(self, X, y):
        """Learn rows in the order given."""
        for row, label in zip(X, y, strict=True):
            self.learn(np.asarray(row, float), int(label))
        return self


class KeptRows:
    """Rows X, coefficients a and times of arrival, the oldest first."""

    def __init__(self, kernel):
        self.kernel, self.X, self.a, self.born = kernel, np.zeros((0, 0)), np.zeros(0), np.zeros(0, int)

    def __len__(self):
        return len(self.a)

    def against(self, X):
        """Return the kernel values of rows (or one row) against those kept."""
        X = np.asarray(X, float)
        return self.kernel(np.atleast_2d(X), self.X.reshape(-1, X.shape[-1])).reshape(
            *X.shape[:-1], len(self)
        )

    def decide(self, X):
        """Return f for rows, or for one row."""
        return self.against(X) @ self.a

    def append(self, x, a, born=0):
        """Keep a row."""
        self.X = np.vstack([self.X.reshape(-1, len(x)), x])
        self.a, self.born = np.append(self.a, a), np.append(self.born, born)

    def drop(self, i):
        """Take row i out, and return it with its coefficient."""
        gone = self.X[i], self.a[i]
        self.X, self.a, self.born = (np.delete(part, i, axis=0) for part in (self.X, self.a, self.born))
        return gone

    def forget(self, numbers):
        """Take out the rows with these numbers, counted from 0 as they came, with their coefficients."""
        for i in np.flatnonzero(np.isin(self.born - 1, numbers))[::-1]:
            self.drop(i)

    def gram(self):
        """Return the kernel values between the rows kept."""
        return self.against(self.X)

    def length(self, x):
        """Return k(x, x)."""
        return self.kernel(x[None], x[None])[0, 0]


class MistakeDriven(KeptRows, RowByRow):
    """A learner with one set of kept rows: counts rows and mistakes; a score of 0 is a mistake."""

    def __init__(self, kernel, budget=np.inf):
        super().__init__(kernel)
        self.budget, self.t, self.n_mistakes = budget, 0, 0

    def rule(self, X):
        """Return the scores that learning goes by."""
        return self.decide(X)

    def score(self, x, y):
        """Begin row t: count it, and return y f(x)."""
        self.t += 1
        margin = y * self.rule(x)
        self.n_mistakes += int(margin <= 0)
        return margin
