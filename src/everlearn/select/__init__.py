"""Selection of representative rows.

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012), chapter IV.
"""

from .exemplars import Exemplars

__all__ = ["Exemplars"]
