"""Ways to learn a rare class: as is, undersampled, weighted, SMOTE, active learning, VIRTUAL.

Claims tested: those of S. Ertekin's thesis (2009, chapter 5) about VIRTUAL: better g-means than active
learning, SMOTE and a batch SVM, faster than SMOTE. They hold in part.
Data sets: those of the thesis, and waveform thinned to 2 to 32 negatives per positive, at its C and gamma
(table 4.2) where it gives them.

    python -m benchmarks.imbalance                     all sets
    python -m benchmarks.imbalance --only letter,corn

All learners have the same C and gamma and learn the same rows. Rows of letter and satimage are left as they
are, since at its gamma the batch SVM comes near the g-means of the thesis on them and on standardized rows
does not; acq, corn, earn and trade have C and gamma of money-fx, breast C = 1 and gamma = 0.1 on rows in
[0, 1]. A run draws rows by its number: waveform again, abalone and breast by a stratified split of the
thesis' size, of the others 90 % of the training part.

batch           LASVM, three epochs and the finishing step, on the rows as they are
undersampled    on all positives and as many negatives, drawn at random
costs           class_weight="balanced"
SMOTE           on as many positives as negatives, made by imbalanced-learn
SMOTE x2        on twice the positives, as in the thesis
active          VIRTUAL(n_virtual=0): the nearest of 59 rows, until the support vectors hardly change
VIRTUAL         with its defaults: the same, and a row made for each positive support vector
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

RATIOS = (2, 4, 8, 16, 32)

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part(
            "table",
            "g-means, AUC, PRBEP, support vectors and CPU seconds",
            generated=tuple(f"waveform-{ratio}" for ratio in RATIOS),
        ),
    ),
    (Option("--runs", 10, "runs of each set", quick=2, least=1),),
    packages=("imbalanced-learn",),
)
