"""Stopping rules: when to stop asking for labels, and why.

After each label a stopping rule receives the `Progress` of the loop, and returns a `Verdict`: whether to
stop, the reason with numbers, and the evidence. It needs neither the model nor the rows, so it works with any
loop. Rules can be combined: ``a | b`` stops when one of them says stop, ``a & b`` when both do.

===================  =========================================================================================
`SupportSaturation`  stops when the number of support vectors no longer changes
`MarginExhausted`    stops when the rows asked about lie outside the margin
`StatQ`              stops when nearly all rows lie outside the margin, weighted by the confidence
`LabelBudget`        stops after a number of labels
`CostOfLabel`        stops when the next label is expected to be worth less than it costs
`AnyOf`, `AllOf`     combinations
===================  =========================================================================================

A verdict may change with more labels: a loop can stop at the first one, or continue and ask again later. With
``a & b`` both must say stop at the same time.

>>> from everlearn.query.stopping import Progress, LabelBudget, SupportSaturation
>>> rule = SupportSaturation(n_iter_no_change=3) | LabelBudget(100)
>>> for labels, n_support in enumerate([8, 9, 9, 9, 9], start=1):
...     rule.update(Progress(labels, n_support=n_support))
>>> rule.verdict().stop
True
>>> print(rule.verdict().reason)
The number of support vectors stayed between 9 and 9 over the last 3 labels: 0 apart, 0 allowed.
"""

from ._stopping_rule import Progress, StoppingRule, Verdict
from .combined import AllOf, AnyOf
from .cost_of_label import CostOfLabel
from .label_budget import LabelBudget
from .margin_exhausted import MarginExhausted
from .statistical_queries import StatQ
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
