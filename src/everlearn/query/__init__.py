"""Query strategies, which select the rows worth labeling, and the loops that ask for labels.

A query strategy looks at a model and at unlabeled rows. ``strategy.utilities(model, X)`` says how much a
label of each row is worth, ``strategy.query(model, X)`` which rows to ask about; neither changes the model or
the strategy. The model may be any classifier with a ``decision_function``, including scikit-learn's.

Strategies for streams; `learn_stream` is the loop: select, ask the oracle, learn, continue.

==============  ==============================================================================================
`All`           selects every row: a baseline
`RampRegion`    selects rows that may lie inside the ramp, from which a ramp-loss SVM can learn
`RecentMargin`  selects the row nearest to the boundary from each block: a fixed fraction of the stream
==============  ==============================================================================================

Strategies for pools, from which rows are drawn at random. A model with ``predict_proba`` instead of
``decision_function`` works with all but `AutoMargin`. `as_skactiveml` converts them to scikit-activeml.

==============  ==============================================================================================
`Auto`          the default: near the boundary, and every tenth question far from all rows asked about
`Random`        selects rows at random: a baseline, and unbiased
`Margin`        selects the row nearest to the boundary, of 59 drawn (`pool_size_for` computes other numbers)
`AutoMargin`    the same, of as many drawn as needed to find five within the margin
`Submodular`    selects a batch of rows near the boundary that differ from each other
`Gradient`      selects the row that the model gets most wrong; needs the labels
==============  ==============================================================================================

`everlearn.ActiveLearner` is the loop over a pool; `Terminal` lets it ask a person, `History` is its record.
`Coverage` computes the distance of rows to all rows asked about. `stopping` has the stopping rules.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (ICDM 2009).
S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009).
W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012).
"""

from . import stopping
from ._answers import StopAsking
from ._pool import PoolQueryStrategy
from ._strategy import QueryStrategy, StreamQueryStrategy
from .activeml import as_skactiveml
from .all_rows import All
from .auto import Auto
from .auto_margin import AutoMargin
from .coverage import Coverage
from .gradient import Gradient
from .history import History
from .margin import Margin, pool_size_for
from .ramp_region import RampRegion
from .random_rows import Random
from .recent_margin import RecentMargin
from .stream import learn_stream
from .submodular import Submodular
from .terminal import Terminal

__all__ = [
    "All",
    "Auto",
    "AutoMargin",
    "Coverage",
    "Gradient",
    "History",
    "Margin",
    "PoolQueryStrategy",
    "QueryStrategy",
    "RampRegion",
    "Random",
    "RecentMargin",
    "StopAsking",
    "StreamQueryStrategy",
    "Submodular",
    "Terminal",
    "as_skactiveml",
    "learn_stream",
    "pool_size_for",
    "stopping",
]
