"""Learning from few labels and many rows that have none.

====================  ========================================================================================
`SubmodS3VM`          labels for unlabeled rows, any number of them and of classes, and a rule for new ones
`QPS3VM`              the same for few rows, searched more thoroughly, or exactly
`StreamS3VM`          the same for batches that come one after the other, in constant memory
`PessimisticSplit`    the splits into labeled and unlabeled rows on which supervised learning does worst
====================  ========================================================================================

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012).
"""

from .s3vm import QPS3VM, SubmodS3VM
from .splits import PessimisticSplit
from .stream_s3vm import StreamS3VM

__all__ = ["QPS3VM", "PessimisticSplit", "StreamS3VM", "SubmodS3VM"]
