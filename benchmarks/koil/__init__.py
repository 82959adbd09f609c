"""KOIL and other one-pass learners by AUC, on the fourteen data sets of the KOIL paper.

Claim: KOIL reaches the AUC that its paper (Hu et al., AAAI 2015) prints, and what others reach when tuned.
Data sets: the paper's, with its partitions where they are published, own stratified ones otherwise
(shuttle). Parameters are cross-validated inside the first training part of each set; nothing else was tuned.

    python -m benchmarks.koil                     all sets, about half an hour
    python -m benchmarks.koil --only sonar,glass

Four partitions into five folds, hence 20 runs. Features from 0 to 1, one pass in the given order, AUC with
ties as one half. KOIL keeps 100 rows of each class (10 neighbors, eta = 0.01), OAM as many, the others 200.
Tuned by powers of two: sigma and C for KOIL and NORMA (learning rate 0.01 C, regularization 1/C), sigma for
RBP, Forgetron and Projectron (eta = 0.1), C for OAM. OPAUC has eta = 0.01 as in the paper and, in a column of
its own, eta and alpha tuned. A second NORMA also has its shrinking tuned, which with rare positives is better
than 0.01. `poker, raw` is poker as the authors distribute it, not scaled; `--only poker` runs both.
"""

from __future__ import annotations

from ..harness.command import Benchmark, Part

BENCHMARK = Benchmark(__name__, __doc__, (Part("table", "AUC of all learners on all sets"),))
