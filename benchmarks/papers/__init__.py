"""Figures and tables of the papers that no other table measures, each on few rows.

Question: do the curves and tables of the documents behind everlearn come out as they say? Each part names its
figures; `python -m benchmarks.reproduce list` has the claims.
Data sets: those of the documents where they are at hand, with fewer rows, so that a part takes minutes. C and
gamma are theirs where they give them. Nothing was tuned.

    python -m benchmarks.papers                 everything, about half an hour of one core
    python -m benchmarks.papers digits locality
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("digits", "Ertekin, figures 3.1 to 3.5: ten digits, one and two epochs, averaged perceptron"),
        Part("cache", "Ertekin, figure 3.6: training time against the size of the kernel cache"),
        Part("finishing", "Ertekin, tables 3.2 and 3.3, figure 3.7: one epoch, before and after finishing"),
        Part("retraining", "Ertekin, figure 3.13: updating against retraining, 50 rows drawn or all"),
        Part("rare", "Ertekin, figures 4.5 to 4.9: active against random selection of a rare class"),
        Part("undersampling", "Ertekin, figure 4.9, table 4.5: the thesis' ratio of undersampling"),
        Part("virtual", "Ertekin, figures 5.3 to 5.6: support vectors and g-means as VIRTUAL learns"),
        Part("stages", "Ertekin, figures 6.1 to 6.7: error, support vectors, kernel values as rows come"),
        Part("ramp_end", "Ertekin, figure 6.5: error and support vectors against the end of the ramp"),
        Part(
            "ramp_sets",
            "Wang and Vucetic, table I: nine sets, five learners",
            generated=("Gauss", "waveform"),
        ),
        Part("ramp_labels", "Wang and Vucetic, figure 6: accuracy against labels asked for"),
        Part("surrogate", "Emara, figures III.3, III.4, III.12, tables III.10 and III.11"),
        Part("large_labels", "Emara, tables III.7 and III.8: few labels, many rows, the worst splits"),
        Part("summaries", "Emara, figures IV.13 to IV.16 and VII.5 to VII.9: exemplars instead of a batch"),
        Part("locality", "Emara, figures VI.5 to VI.10: how far a new row changes an RBF SVM"),
        Part("convergence", "Mitra et al., figure 1: accuracy against labels", generated=("twonorm",)),
        Part("koil_figures", "Hu et al., figures: compensation, size of the buffers, neighbors"),
    ),
    (
        Option("--threads", 1, "threads for every learner", least=1),
        Option("--rows", 5_000, "training rows at most", quick=300, least=100),
        Option("--seeds", 3, "draws", quick=1, least=1),
    ),
    packages=("threadpoolctl",),
)
