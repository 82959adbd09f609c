"""When to stop asking for labels, and why.

A stopping rule is told after each label what the loop knows, an `Progress`, and gives its `Verdict`: whether
to stop, in words with numbers, and the evidence. It looks neither at the model nor at the rows, so that it
goes with any loop. Rules are combined: ``a | b`` stops when one of them would, ``a & b`` when both would.

===================  =========================================================================================
`SupportSaturation`  stops when the number of support vectors no longer changes
`MarginExhausted`    stops when the rows asked about lie outside the margin
`StatQ`              stops when nearly all rows lie outside the margin, weighed by the confidence
`LabelBudget`        stops after so many labels
`CostOfLabel`        stops when the next label is expected to bring less than it costs
`AnyOf`, `AllOf`     the combinations
===================  =========================================================================================

A verdict is about the evidence so far and may change with more of it: a loop that stops takes it at its word,
one that goes on may ask again. With ``a & b`` both must hold at the same time.

>>> from everlearn.query.stopping import Progress, LabelBudget, SupportSaturation
>>> rule = SupportSaturation(n_iter_no_change=3) | LabelBudget(100)
>>> for labels, n_support in enumerate([8, 9, 9, 9, 9], start=1):
...     rule.update(Progress(labels, n_support=n_support))
>>> rule.verdict().stop
True
>>> print(rule.verdict().reason)
The support vectors stayed within 9 to 9 over the last 3 questions: a spread of 0, allowed is 0.
"""

from ._rule import Progress, StoppingRule, Verdict
from .combined import AllOf, AnyOf
from .cost_of_label import CostOfLabel
from .label_budget import LabelBudget
from .margin_exhausted import MarginExhausted
from .statq import StatQ
from .support_saturation import SupportSaturation

__all__ = [
    "AllOf",
    "AnyOf",
    "CostOfLabel",
    "LabelBudget",
    "MarginExhausted",
    "Progress",
    "StatQ",
    "StoppingRule",
    "SupportSaturation",
    "Verdict",
]
