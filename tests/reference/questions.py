"""Plain NumPy choice of rows to ask about (ACTV): the slow twin of query.Submodular.

W. Emara (2012), chapter V. Of the unlabeled rows U choose M that maximize

    F(A) = Σ_{j∈A} (−λ2 |s_j| − λ3 Σ_{j'∈U} K_jj') − λ1 Σ_{j,j'∈A} K_jj',        s_j = Σ_{i∈L} y_i K_ij

on which the labels do not agree (λ2), unlike each other (λ1); λ3 > 0 prefers outlying rows.
"""

import numpy as np

from reference.submodular import Choice


def default_weights(M, n_labeled):
    return 1.0, 2 * M / max(n_labeled, 1), 0.0


def choice_of_questions(K_UU, s, weights):
    K_UU = np.asarray(K_UU, float)
    apart, unsure, dense = weights
    others = K_UU[~np.eye(len(K_UU), dtype=bool)]
    choice = Choice(K_UU, -unsure * np.abs(s) - dense * K_UU.sum(axis=1), -apart)
    return choice, -2 * apart * min(others, default=0.0)


def questions(K_UU, K_LU, y, M, weights=None):
    """The M rows to ask about, the most wanted first."""
    choice, h = choice_of_questions(
        K_UU, np.asarray(y, float) @ K_LU, default_weights(M, len(y)) if weights is None else weights
    )
    return choice.lazy(min(M, len(choice.w)), h).order
