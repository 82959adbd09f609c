"""`LASVM(device="cuda")` on a GPU, beside the fit on the CPU of the same machine, `SVC`, and xRFM.

Claim: the exact SVM in milliseconds, with the dual objective of `SVC`; predictions and pools at the speed of
the bus; time that grows with the number of rows as on the CPU, up to ten million.
Data sets: those of the `lasvm` table at its C and gamma. The number of rows of a working set and the share of
its violation that is solved were chosen on them.

    python -m benchmarks.gpu fit --only mnist8,covtype    some data sets
    python -m benchmarks.gpu predict                      rows a second
    python -m benchmarks.gpu --quick                      a trial

It needs a build with CUDA, and PyTorch or CuPy to put rows into the memory of the device.
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("fit", "time of an exact fit, from the memory of the device and of the host"),
        Part("cold", "the first fit of a process, from its import on", files=False),
        Part("peers", "SVC and scikit-learn-intelex on the CPU of the same machine, one fit each"),
        Part("predict", "rows a second, and bytes a second from the memory of the host", files=False),
        Part("pool", "active learning from a pool of 10^8 rows", files=False),
        Part("growth", "time and memory of fits of up to ten million generated rows", files=False),
        Part("sweeps", "a semi-supervised cut of tens of millions of rows", files=False),
    ),
    (
        Option("--rows", None, "at most this many rows of each data set", quick=2_000, parse=int, least=100),
        Option("--repeats", 5, "fits of each kind", quick=2, least=1),
        Option("--limit", 600.0, "seconds for a fit of a peer on the CPU", least=1),
    ),
    packages=("torch", "cupy-cuda13x", "xrfm", "scikit-learn-intelex"),
)
