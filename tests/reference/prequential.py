"""Plain prequential scores and remembered predictions: the slow twins of Prequential and PendingPredictions.

All rows are kept, and everything is counted anew, pair by pair, whenever somebody asks. The weight of a row
is 1 in the window and in total, and fading^(labels since) with fading.
"""

import math
from collections import Counter

NAN = float("nan")


class PlainPrequential:
    def __init__(self, window, fading):
        self.window, self.fading, self.rows = window, fading, []

    def update(self, true, predicted, scores):
        """`scores`: for each row a dict of a value for each class, or None."""
        for y, p, s in zip(true, predicted, scores, strict=True):
            known = [row[0] for row in self.rows]
            count = Counter(known)
            majority = min(count, key=lambda label: (-count[label], label)) if count else None
            self.rows.append((y, p, known[-1] if known else None, majority, s))

    def weighted(self, span):
        rows = self.rows[-self.window :] if span == "window" else self.rows
        f = self.fading if span == "fading" else 1
        return [(row, f ** (len(rows) - 1 - i)) for i, row in enumerate(rows)]

    def judge(self, span, who):
        """`who`: 1 for the learner, 2 for no-change, 3 for the majority."""
        rows = self.weighted(span)
        rows = [(row[0], row[who], w) for row, w in rows if row[1] is not None and row[who] is not None]
        n = sum(w for _, _, w in rows)
        classes = {y for y, _, _ in rows} | {p for _, p, _ in rows}
        true = {k: sum(w for y, _, w in rows if y == k) for k in classes}
        called = {k: sum(w for _, p, w in rows if p == k) for k in classes}
        right = {k: sum(w for y, p, w in rows if y == p == k) for k in classes}
        recalls = [right[k] / true[k] for k in classes if true[k]]
        above = sum(right.values()) * n - sum(true[k] * called[k] for k in classes)
        below = math.sqrt(n * n - sum(t * t for t in true.values()))
        below *= math.sqrt(n * n - sum(c * c for c in called.values()))
        one_sided = sum(t > 0 for t in true.values()) < 2 or sum(c > 0 for c in called.values()) < 2
        return {
            "n": n,
            "accuracy": sum(right.values()) / n if n else NAN,
            "g_means": math.prod(recalls) ** (1 / len(recalls)) if len(recalls) > 1 else NAN,
            "mcc": NAN if not n else 0.0 if one_sided else above / below,
        }

    def auc(self, span):
        """The mean over the classes of the share of pairs that are in the right order."""
        rows = self.weighted(span)
        if span == "total" and len(rows) > self.window:
            return NAN
        rows = [(y, s, w) for (y, p, _, _, s), w in rows[-self.window :] if p is not None and s is not None]
        found = []
        for k in sorted({y for y, _, _ in rows}):
            pairs = [(a[k], b[k], w * v) for y, a, w in rows if y == k for z, b, v in rows if z != k]
            won = sum(w * ((a > b) + (a == b) / 2) for a, b, w in pairs)
            found += [won / sum(w for _, _, w in pairs)] if pairs else []
        return sum(found) / len(found) if found else NAN


class PlainPendingPredictions:
    def __init__(self, capacity):
        self.capacity, self.held = capacity, []

    def add(self, ids, predictions, scores):
        for key, p, s in zip(ids, predictions, scores, strict=True):
            self.held = [*(entry for entry in self.held if entry[0] != key), (key, p, s)][-self.capacity :]

    def take(self, ids):
        found = []
        for key in ids:
            found.append(next((entry[1:] for entry in self.held if entry[0] == key), None))
            self.held = [entry for entry in self.held if entry[0] != key]
        return found
