"""Which rows are worth a label, the loop that asks for them while a stream goes by, and when to stop asking.

A query strategy looks at a model and at rows without labels. ``strategy.utilities(model, X)`` says how much
each row is worth asking about, ``strategy.query(model, X)`` which rows to ask about; neither changes the
model or the query strategy. The model may be any classifier with a ``decision_function``, scikit-learn's
included.

For a stream, judged as it goes by; `learn_stream` takes a model through it: ask the query strategy, ask the
oracle, learn, go on.

==============  ==============================================================================================
`All`           asks about every row: what the others are compared with
`RampRegion`    asks about rows that can lie inside the ramp, from which a ramp-loss SVM can learn
`RecentMargin`  asks about the row nearest to the boundary of every few rows: a fixed share of the stream
==============  ==============================================================================================

For a pool, from which rows are drawn at random; a model with ``predict_proba`` alone will do for all but
`AutoMargin`. `as_skactiveml` makes them strategies of scikit-activeml.

==============  ==============================================================================================
`Auto`          the default: near the boundary, every tenth query far from all rows asked
`Random`        asks about rows at random: what the others are compared with
`Margin`        asks about the row nearest to the boundary, of 59 drawn (`pool_size_for` has other numbers)
`AutoMargin`    the same, of as many drawn as it takes to find five within the margin
`Submodular`    asks about a batch of rows near to the boundary that are unlike each other
`Gradient`      takes the row that the model gets most wrong; needs the labels
==============  ==============================================================================================

`everlearn.ActiveLearner` is the loop over a pool; `Terminal` lets it ask a person, `History` is its record.
`Coverage` says how far rows are from all that were asked about.
`stopping` has the rules that say when enough has been asked, and why.

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (ICDM 2009).
S. Ertekin, "Learning in Extreme Conditions" (thesis, 2009).
W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012).
"""

from . import stopping
from ._answers import StopAsking
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
    "RampRegion",
    "Random",
    "RecentMargin",
    "StopAsking",
    "Submodular",
    "Terminal",
    "as_skactiveml",
    "learn_stream",
    "pool_size_for",
    "stopping",
]
