"""The parameters of the learner of pairs, if none is given.

Similarities are from 0 to 1, and whether two records match is decided field by field, as a tree does. So the
Laplacian kernel, which adds up the differences of single features, is better than the RBF kernel on all sets
that were used for choosing (FEBRL 1 to 3, generated authors, train and valid parts of DBLP-ACM and
Amazon-Google), and no worse than a random forest. C from 3 to 30, and gamma from 0.5 to 2 over the number of
features, hardly matter.
"""

from typing import Any

PAIR_LEARNER: dict[str, Any] = {"C": 10, "kernel": "laplacian", "gamma": "auto"}
MATCH_WEIGHT = 2  # matches are rare, and a missed one counts twice
