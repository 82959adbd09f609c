"""Which rows are worth a label, and the loop that asks for them while a stream goes by.

A rule looks at a model and at rows without labels. ``rule.utilities(model, X)`` says how much each row is
worth asking about, ``rule.query(model, X)`` which rows to ask about; neither changes the model or the rule.
The model may be any classifier with a ``decision_function``, scikit-learn's included. `learn_stream` takes a
model through a stream: ask the rule, ask the oracle, learn, go on.

==============  ==============================================================================================
`All`           asks about every row: what the others are compared with
`RampRegion`    asks about rows that can lie inside the ramp, from which a ramp-loss SVM can learn
`RecentMargin`  asks about the row nearest to the boundary of every h rows: a fixed share of the stream
==============  ==============================================================================================

Z. Wang, S. Vucetic, "Fast Online Training of Ramp Loss Support Vector Machines" (ICDM 2009).
"""

from .all_rows import All
from .ramp_region import RampRegion
from .recent_margin import RecentMargin
from .stream import learn_stream

__all__ = ["All", "RampRegion", "RecentMargin", "learn_stream"]
