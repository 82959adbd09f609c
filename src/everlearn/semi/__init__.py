"""Semi-supervised learning: few labeled and many unlabeled rows.

====================  ========================================================================================
`SubmodS3VM`          labels any number of unlabeled rows, and trains a classifier for new rows
`QPS3VM`              the same for few rows, with a more thorough or an exact search
`StreamS3VM`          the same for a stream of batches, in constant memory
`PessimisticSplit`    splits into labeled and unlabeled rows that are hardest for supervised learning
====================  ========================================================================================

W. Emara, "A Submodular Optimization Framework for Never-Ending Learning" (thesis, 2012).
"""

from .s3vm import QPS3VM, SubmodS3VM
from .splits import PessimisticSplit
from .stream_s3vm import StreamS3VM

__all__ = ["QPS3VM", "PessimisticSplit", "StreamS3VM", "SubmodS3VM"]
