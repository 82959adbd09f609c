"""Plain NumPy and scikit-learn twin of AdaptiveSVM: every expert is refitted from scratch on its window.

An SVM is scikit-learn's SVC on the rows in the window of its expert, one class against the rest. Its decision
values times 2 are the logits of its vote; a class that is not in the window has the decision value -5. Labels
come in chunks that all experts judge before learning them: of 10 labels, then of as many as have been seen,
up to 100. Each label costs an expert 1 - p, times how rare the class is (at most 5), times the weight of the
row (at most 1). Costs fade by `fading_factor`. Weights are exp(-learning_rate * cost), normalized, with
a part `fixed_share` spread evenly.

Dense columns are standardized by the rows kept, anew whenever these have doubled, up to 1,000. Then, and when
the second class has come, all experts start over: the width of the kernel, C of the linear kernel and the
weights of the classes are those of that moment. In between a row keeps the cost with which it came.
"""

import numpy as np
from sklearn.svm import SVC

FADING, SMOOTHING = 0.9, 0.5


class ReferenceAdaptiveSVM:
    """Labels are class names that can be sorted; ``experts`` have kernel, C, gamma and window."""

    def __init__(
        self,
        experts,
        *,
        max_rows=2000,
        fading_factor=0.97,
        learning_rate=1.0,
        fixed_share=0.01,
        scaling=True,
        class_weight=None,
        tol=1e-6,
    ):
        self.experts, self.max_rows, self.fading_factor = experts, max_rows, fading_factor
        self.learning_rate, self.fixed_share, self.scaling = learning_rate, fixed_share, scaling
        self.class_weight, self.tol = class_weight, tol
        self.classes, self.X, self.y, self.weight, self.ids = [], None, [], np.zeros(0), []
        self.seen, self.labels_seen = 0, []
        self.loss = np.zeros(len(experts))
        self.scaled_from, self.mean, self.spread = 0, 0.0, 1.0
        self.costs = [{} for _ in experts]  # of each expert: id -> cost of a row in its window
        self.recent = {}
        self.started, self.fitted = False, None

    # ---------------------------------------------------------------------------------------------- learning

    def partial_fit(self, X, y, weight=None, ids=None):
        weight = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
        ids = self.seen + np.arange(len(y)) if ids is None else np.asarray(ids)
        new = sorted(set(self.classes) | set(y))
        if new != self.classes:
            self.classes = new
            if self.started:
                self.start_over()
        used = np.flatnonzero(weight > 0)
        X, y, weight, ids = X[used], [y[place] for place in used], weight[used], ids[used]
        start = 0
        while start < len(y):
            size = min(max(10, self.seen), 100)
            part = slice(start, start + size)
            self.learn(X[part], y[part], weight[part], ids[part])
            start += size
        return self

    def learn(self, X, y, weight, ids):
        given = self.each(X) if self.started else None
        for place, label in enumerate(y):
            self.labels_seen.append(label)
            if given is None:
                continue
            count, kinds = len(self.labels_seen), len(set(self.labels_seen))
            importance = min(5.0, count / (kinds * self.labels_seen.count(label)))
            right = given[:, place, self.classes.index(label)]
            self.loss = self.fading_factor * self.loss + min(1.0, weight[place]) * importance * (1 - right)
        self.X = X if self.X is None or not len(self.y) else np.vstack([self.X, X])
        self.y, self.ids = self.y + list(y), self.ids + list(ids)
        self.weight = np.append(self.weight, weight)
        self.seen += len(y)
        if len(self.y) > self.max_rows + max(self.max_rows // 10, 1):
            self.only(range(len(self.y) - self.max_rows, len(self.y)))
        anew = not self.started
        if len(self.y) >= 2 * self.scaled_from and self.scaled_from < 1000:
            self.scaled_from, anew = len(self.y), True
            if self.scaling:
                self.mean, spread = self.X.mean(axis=0), self.X.std(axis=0)
                self.spread = np.where(spread > 1e-12 * np.abs(self.X).max(axis=0), spread, 1.0)
        if anew and len(set(self.labels_seen)) > 1:
            self.started, rows = True, self.scaled(self.X)
            self.distance = spread_of(rows)
            self.start_over()
        elif self.started:
            self.move(y)

    def forget(self, ids):
        self.only([place for place, row_id in enumerate(self.ids) if row_id not in set(ids)])
        if self.started:
            self.recent = {}
            self.relevant = [Relevant() for _ in self.experts]
            self.move(self.y)
        return self

    def only(self, places):
        places = list(places)
        self.X, self.weight = self.X[places], self.weight[places]
        self.y, self.ids = [self.y[place] for place in places], [self.ids[place] for place in places]

    def start_over(self):
        self.costs, self.recent = [{} for _ in self.experts], {}
        self.relevant = [Relevant() for _ in self.experts]
        self.move(self.y)

    def move(self, new):
        """Bring the windows to the rows kept: rows that come into one get their cost now."""
        for label in new:
            self.recent = {name: FADING * value for name, value in self.recent.items()}
            self.recent[label] = self.recent.get(label, 0.0) + 1.0
        for expert, costs, relevant in zip(self.experts, self.costs, self.relevant, strict=True):
            window = self.window(expert)
            relevant.since += len(new)
            enough = len(window) >= 15 and len({self.y[place] for place in window}) > 1
            if expert.relevance and enough and relevant.since >= relevant.on / 2:
                rows, labels = self.scaled(self.X[list(window)]), [self.y[place] for place in window]
                relevant.weights = column_weights(rows, labels)
                relevant.distance = spread_of(rows * relevant.weights)
                relevant.on, relevant.since = len(window), 0
                costs.clear()  # all rows are learned anew
            for place in window:
                costs.setdefault(self.ids[place], self.weight[place] * self.weight_of(self.y[place]))
            for row_id in set(costs) - {self.ids[place] for place in window}:
                del costs[row_id]
        self.fitted = None

    def window(self, expert):
        return range(0 if expert.window is None else max(0, len(self.y) - expert.window), len(self.y))

    def weight_of(self, label):
        if self.class_weight == "balanced":
            return len(self.labels_seen) / (len(set(self.labels_seen)) * self.labels_seen.count(label))
        return (self.class_weight or {}).get(label, 1.0)

    # ---------------------------------------------------------------------------------------------- the vote

    def scaled(self, X):
        return (X - self.mean) / self.spread

    @property
    def weights(self):
        raw = np.exp(-self.learning_rate * (self.loss - self.loss.min()))
        return (1 - self.fixed_share) * raw / raw.sum() + self.fixed_share / len(raw)

    def votes(self, X):
        if not self.started:
            return np.tile(self.shares(self.labels_seen), (len(X), 1))
        return np.tensordot(self.weights, self.each(X), 1)

    def shares(self, labels):
        counts = np.array([list(labels).count(name) for name in self.classes], dtype=float)
        return (counts + SMOOTHING) / (counts.sum() + SMOOTHING * len(counts))

    def each(self, X):
        """What every expert says of rows."""
        X = self.scaled(X)
        if self.fitted is None:
            experts = zip(self.experts, self.costs, self.relevant, strict=True)
            self.fitted = [self.fit(*parts) for parts in experts]
        return np.array([predict(X) for predict in self.fitted])

    def fit(self, expert, costs, relevant):
        if expert.kernel == "no-change":
            shares = np.array([self.recent.get(name, 0.0) + 1e-3 for name in self.classes])
            return lambda X: np.tile(shares / shares.sum(), (len(X), 1))
        window = list(self.window(expert))
        y = np.array([self.y[place] for place in window])
        if len(set(y.tolist())) < 2:
            return lambda X: np.full((len(X), len(self.classes)), 1 / len(self.classes))
        C = expert.C / (self.distance if expert.kernel == "linear" else 1.0)
        weight = C * np.array([costs[self.ids[place]] for place in window])
        factors, distance = relevant.weights, relevant.distance or self.distance
        rows = self.scaled(self.X[window]) * factors

        def machine(name):
            svc = SVC(C=1.0, kernel=expert.kernel, gamma=expert.gamma / distance, tol=self.tol)
            return svc.fit(rows, np.where(y == name, 1, -1), sample_weight=weight)

        if len(self.classes) == 2:
            svc = machine(self.classes[1])
            return lambda X: softmax(2 * np.outer(svc.decision_function(X * factors), [-1, 1]))
        machines = [machine(name) if (y == name).any() else None for name in self.classes]

        def predict(X):
            Z = X * factors
            columns = [np.full(len(X), -5.0) if svc is None else svc.decision_function(Z) for svc in machines]
            return softmax(2 * np.column_stack(columns))

        return predict


def softmax(logits):
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


class Relevant:
    """The weights of columns, and the rows since they were estimated."""

    def __init__(self):
        self.weights, self.distance, self.on, self.since = 1.0, None, 0, 0


def spread_of(rows):
    """The mean squared distance of rows from their mean."""
    return np.square(rows - rows.mean(axis=0)).sum(axis=1).mean()


def relevance(column, labels):
    """Pearson's chi-square of bins against classes beyond what chance gives, for each row."""
    cuts = np.quantile(column, [0.2, 0.4, 0.6, 0.8])
    bins = [sum(int(value > cut) + int(value >= cut) for cut in cuts) for value in column]
    kinds, n = sorted(set(labels)), len(labels)
    chi2 = 0.0
    for number in sorted(set(bins)):
        inside = [label for place, label in zip(bins, labels, strict=True) if place == number]
        for kind in kinds:
            expected = len(inside) * list(labels).count(kind) / n
            chi2 += (inside.count(kind) - expected) ** 2 / expected
    return max(0.0, (chi2 - (len(set(bins)) - 1) * (len(kinds) - 1)) / n)


def column_weights(rows, labels):
    """The square roots of relevance, the largest 1 and none below 0.1; 1 where no column tells anything."""
    found = np.array([relevance(column, labels) for column in rows.T])
    return np.sqrt(np.maximum(found / found.max(), 0.01)) if found.max() > 0 else 1.0
