"""River's own benchmark: progressive accuracy on the streams of its binary and multiclass tracks.

Question: how do our learners as they come compare with what River published for its own in 2023?
Data sets: Bananas, Phishing and ImageSegments from River's wheel, and Elec2 from EVERLEARN_DATA (River
downloads it). The defaults of AdaptiveSVM were chosen on other streams; elec2 is among the sets
on which the size of LASVM's reserve was chosen, which plays no part here.

    python -m benchmarks.river_tracks scores                    all streams, five minutes of one core
    python -m benchmarks.river_tracks scores --only phishing    one stream, no file needed

River's protocol: every row is predicted, then learned, one at a time, in the order of the file. Some of
River's learners run here as well, with the parameters of its benchmark, to see that the protocol is the same.
"no change" repeats the last class.
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (Part("scores", "accuracy of all learners", generated=("bananas", "phishing", "segments")),),
    (
        Option("--threads", 1, "threads for every learner", least=1),
        Option("--rows", None, "at most this many rows of a stream", quick=300, parse=int, least=50),
    ),
    packages=("river",),
)
