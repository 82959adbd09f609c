"""Record linkage, plainly: similarities, clusters and scores by their definitions, one pair at a time."""

import itertools
import math
import re
from collections import Counter


def edit_distance(a, b):
    table = [[max(i, j) if 0 in (i, j) else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        table[i][j] = min(
            table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1])
        )
    return table[-1][-1]


def edit_similarity(a, b):
    return 1 - edit_distance(a, b) / max(len(a), len(b), 1)


def jaro(a, b):
    if a == b:
        return 1.0
    if not a or not b:
        return 0.0
    window = max(0, max(len(a), len(b)) // 2 - 1)
    used, first = set(), []
    for i, letter in enumerate(a):
        places = [j for j in range(len(b)) if abs(i - j) <= window and j not in used and b[j] == letter]
        if places:
            used.add(places[0])
            first.append(letter)
    second = [b[j] for j in sorted(used)]
    m = len(first)
    if m == 0:
        return 0.0
    t = sum(x != y for x, y in zip(first, second, strict=True)) / 2
    return (m / len(a) + m / len(b) + (m - t) / m) / 3


def jaro_winkler(a, b):
    p = 0
    while p < min(4, len(a), len(b)) and a[p] == b[p]:
        p += 1
    return jaro(a, b) + 0.1 * p * (1 - jaro(a, b))


def tokens(text):
    return re.findall("[a-z0-9]+", text.lower())


def jaccard(a, b):
    a, b = set(a), set(b)
    return len(a & b) / len(a | b) if a | b else 1.0


def soft_tfidf(name, other, names):
    """The Soft-TFIDF of two of the names of a block."""
    documents = [set(tokens(n)) for n in names]

    def weights(text):
        counts = Counter(tokens(text))
        raw = {
            w: math.log(c + 1) * math.log(1 + len(names) / max(1, sum(w in d for d in documents)))
            for w, c in counts.items()
        }
        length = math.sqrt(sum(v * v for v in raw.values()))
        return {w: v / length for w, v in raw.items()}

    def one_way(s, t):
        total = 0.0
        for w in s:
            best = max(sorted(t), key=lambda v: jaro_winkler(w, v), default=None)
            if best is not None and jaro_winkler(w, best) >= 0.9:
                total += s[w] * t[best] * jaro_winkler(w, best)
        return total

    s, t = weights(name), weights(other)
    return min(1.0, (one_way(s, t) + one_way(t, s)) / 2)


def block_key(name):
    found = tokens(name)
    return f"{found[-1]}|{found[0][0]}" if found else ""


def thesis_vector(a, b, names):
    """Name, email, url, affiliation, address, and four flags; names are those of the block."""
    similarities, flags = [soft_tfidf(a["name"], b["name"], names)], []
    for field, compare in (
        ("email", lambda x, y: edit_similarity(x.lower(), y.lower())),
        ("url", lambda x, y: edit_similarity(x.lower(), y.lower())),
        ("affiliation", lambda x, y: jaccard(tokens(x), tokens(y))),
        ("address", lambda x, y: jaccard(tokens(x), tokens(y))),
    ):
        missing = not a[field] or not b[field]
        flags.append(float(missing))
        similarities.append(0.0 if missing else compare(a[field], b[field]))
    return similarities + flags


def dbscan(distance, eps, min_pts):
    """Labels by the definition; -1 is noise."""
    n = len(distance)
    near = [[j for j in range(n) if j == i or distance[i][j] <= eps] for i in range(n)]
    labels, cluster = [-1] * n, -1
    for i in range(n):
        if labels[i] != -1 or len(near[i]) < min_pts:
            continue
        cluster += 1
        labels[i], queue = cluster, [i]
        while queue:
            point = queue.pop(0)
            if len(near[point]) < min_pts:
                continue
            for j in near[point]:
                if labels[j] == -1:
                    labels[j] = cluster
                    queue.append(j)
    return labels


def pairwise_scores(truth, clusters):
    pairs = list(itertools.combinations(range(len(truth)), 2))
    same = {p for p in pairs if truth[p[0]] == truth[p[1]]}
    together = {p for p in pairs if clusters[p[0]] == clusters[p[1]]}
    precision = len(same & together) / len(together) if together else 1.0
    recall = len(same & together) / len(same) if same else 1.0
    return precision, recall


def b_cubed_scores(truth, clusters):
    n = len(truth)
    precision = recall = 0.0
    for i in range(n):
        cluster = {j for j in range(n) if clusters[j] == clusters[i]}
        person = {j for j in range(n) if truth[j] == truth[i]}
        precision += len(cluster & person) / len(cluster) / n
        recall += len(cluster & person) / len(person) / n
    return precision, recall
