"""Plain versions of what `SubmodS3VM` adds to the thesis: label scores from an SVM, rho by hidden labels."""

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from reference.s3vm import choice_of_positives, default_weight, from_matrix
from reference.submodular import largest


def svm_scores(K, y, C=1.0):
    """Scores of the SVM on the rows with labels −1, +1, brought to the spread of the sums Σ_i y_i K_ij."""
    L, U = np.flatnonzero(y), np.flatnonzero(y == 0)
    sums = K[np.ix_(U, L)] @ y[L]
    if len(np.unique(y[L])) < 2:
        return sums
    machine = SVC(C=C, kernel="precomputed", tol=1e-6).fit(K[np.ix_(L, L)], y[L])
    scores = machine.decision_function(K[np.ix_(U, L)]) - machine.intercept_
    wide, narrow = (np.mean(np.abs(part - part.mean())) for part in (sums, scores))
    return scores * wide / narrow if narrow > 1e-9 * wide else sums


def label(K, y, k, rho, C=1.0):
    """The k positives by the fast path from these scores: +1, all other rows without a label −1."""
    problem, scores = from_matrix(K, y), svm_scores(K, y, C)
    found = largest(scores, k)
    if rho > 0:
        choice = choice_of_positives(problem._replace(s=scores), C, default_weight(y, rho, C))
        found = choice.linearize(found, k)
    labels = np.array(y, float)
    labels[problem.rows] = -1
    labels[problem.rows[found]] = 1
    return labels


def hits(K, y, share, rho, folds, random_states, C=1.0):
    """How many labels are found when they are hidden, a fold at a time."""
    L, right = np.flatnonzero(y), 0
    for state in random_states:
        for _, hidden in StratifiedKFold(folds, shuffle=True, random_state=state).split(L, y[L]):
            known = np.array(y, float)
            known[L[hidden]] = 0
            n = np.count_nonzero(known == 0)
            k = int(np.floor(n * share)) + (n * share % 1 > n * (1 - share) % 1)  # the largest remainder
            right += np.sum(label(K, known, k, rho, C)[L[hidden]] == y[L[hidden]])
    return right
