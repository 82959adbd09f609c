"""A soak test: ten million rows through a bounded learner whose store is a file. Does anything grow?

Claim: memory, time per row and the time to open the store stay flat; the store itself grows slowly.
Data: generated. Nothing was tuned.

    python -m benchmarks.soak stream               10,000,000 rows, a line of the table for each tenth
    python -m benchmarks.soak stream --learner LASVM    another learner, by its name

Interrupt it at any time: the next run with the same arguments goes on from the store in `--folder`;
`--again` starts over.

What a user would choose for a stream of this length: batches of 10,000 rows, `retention="needed"`, one
question per 1,000 rows, answered at once. Rows a second count everything: a batch is durable before `step`
returns.
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part("stream", "rows a second, memory, time to open, and size of the store", files=False),
        Part(
            "torture", "kills, power cuts and full disks at writes: does a store lose anything?", files=False
        ),
    ),
    (
        Option("--rows", 10_000_000, "rows in all", quick=20_000, least=10),
        Option("--batch", 10_000, "rows of a batch", quick=1_000, least=1),
        Option("--learner", None, "a class of everlearn (default: the default learner)"),
        Option("--folder", "out/soak", "where the store is", quick="out/soak-quick"),
        Option("--again", False, "start over"),
    ),
)
