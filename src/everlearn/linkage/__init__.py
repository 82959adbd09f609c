"""Record linkage with few labels: find the records that are the same person or product.

`link` does it in one call. Its parts, in the order of the work:

====================  ========================================================================================
`Records`             a table of records with the kind of each field
`Blocking`            the pairs to compare: `Exact`, `Prefix`, `Tokens`, `MinHash`, `WordPairs` and other keys
`PairFeatures`        similarities of a pair
`PairwiseLinker`      a learned decision about pairs, and clusters from it
`ActiveLinker`        asks about the pairs that matter
`NeverEndingLinker`   records that arrive without end, in a store; all can be taken back
`metrics`             pairwise and B-cubed scores
====================  ========================================================================================

S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009), section 3.4.
"""

from typing import Any

from . import metrics
from .active import ActiveLinker, PairQuestion
from .answers import Contradiction, PairAnswers, contradictions
from .blocking import (
    AuthorName,
    Blocking,
    BlockingReport,
    Exact,
    Key,
    MinHash,
    Pairs,
    Phonetic,
    Prefix,
    Tokens,
    Value,
    WordPairs,
    default_blocking,
)
from .clustering import average_linkage, connected_components, dbscan
from .features import PairFeatures
from .linker import Linkage, PairPredictions, PairwiseLinker
from .metrics import LinkageScores, b_cubed_scores, cluster_confusion, pair_scores, pairwise_scores
from .one_call import link
from .records import Records

__all__ = [
    "ActiveLinker",
    "AuthorName",
    "Blocking",
    "BlockingReport",
    "Contradiction",
    "Exact",
    "Key",
    "Linkage",
    "LinkageScores",
    "MinHash",
    "NeverEndingLinker",
    "PairAnswers",
    "PairFeatures",
    "PairPredictions",
    "PairQuestion",
    "Pairs",
    "PairwiseLinker",
    "Phonetic",
    "Prefix",
    "Records",
    "Tokens",
    "Value",
    "WordPairs",
    "average_linkage",
    "b_cubed_scores",
    "cluster_confusion",
    "connected_components",
    "contradictions",
    "dbscan",
    "default_blocking",
    "link",
    "metrics",
    "pair_scores",
    "pairwise_scores",
]


def __getattr__(name: str) -> Any:
    """Import `NeverEndingLinker` when it is first used: it needs a database, the rest does not."""
    if name == "NeverEndingLinker":
        from .never_ending import NeverEndingLinker

        return NeverEndingLinker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
