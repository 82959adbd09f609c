"""Plain NumPy kernel perceptrons: the slow twins of the compiled ones. No bias; a score of 0 is a mistake.

F. Rosenblatt (1958); Y. Freund, R. E. Schapire, "Large Margin Classification Using the Perceptron Algorithm"
(1999); K. Crammer, J. Kandola, Y. Singer, "Online Classification on a Budget" (2003); G. Cavallanti, N.
Cesa-Bianchi, C. Gentile, "Tracking the best hyperplane with a simple budget Perceptron" (2007).
"""

import numpy as np

from reference.kept_rows import MistakeDriven


class ReferenceKernelPerceptron(MistakeDriven):
    """y f(x) ≤ 0: append (x, y). A row that errs again gets a second entry."""

    def learn(self, x, y):
        if self.score(x, y) <= 0:
            self.append(x, y, self.t)


class ReferenceAveragedKernelPerceptron(ReferenceKernelPerceptron):
    """The same rows; decisions are those of all rules f_1, …, f_T that there were after a row.

    vote: (1/T) Σ_t sign f_t(x), the sign of 0 being 0
    average: (1/T) Σ_t f_t(x) = Σ_i a_i (T − born_i + 1)/T k(x_i, x)
    """

    def __init__(self, kernel, mode="vote"):
        super().__init__(kernel)
        self.mode = mode

    def rule(self, X):
        return self.against(X) @ self.a  # learning goes by the last of them

    def decide(self, X):
        if not len(self):
            return np.zeros(np.shape(X)[:-1])
        if self.mode == "average":
            return self.against(X) @ (self.a * (self.t - self.born + 1)) / self.t
        rules = np.cumsum(self.against(X) * self.a, axis=-1)  # the rule after each entry ...
        lasted = np.diff(np.append(self.born, self.t + 1))  # ... and for how many rows it lasted
        return np.sign(rules) @ lasted / self.t


class ReferenceBudgetKernelPerceptron(MistakeDriven):
    """y f(x) ≤ β: append (x, y); if there are more than N, drop argmax_i y_i (f(x_i) − a_i k(x_i, x_i)).

    f has the new entry already; the new entry may be the one that goes; of equals the oldest goes.
    """

    def __init__(self, kernel, budget=200, beta=0.0):
        super().__init__(kernel, budget)
        self.beta = beta

    def learn(self, x, y):
        if self.score(x, y) > self.beta:
            return
        self.append(x, y, self.t)
        if len(self) > self.budget:
            K = self.gram()
            self.drop(np.argmax(np.sign(self.a) * (K @ self.a - self.a * K.diagonal())))


class ReferenceRBP(MistakeDriven):
    """y f(x) ≤ 0: if there are N entries drop a random one; append (x, y). Calls below(N) when it drops."""

    def __init__(self, kernel, budget=200, below=None):
        super().__init__(kernel, budget)
        self.below = below

    def learn(self, x, y):
        if self.score(x, y) > 0:
            return
        if len(self) >= self.budget:
            self.drop(self.below(len(self)))
        self.append(x, y, self.t)
