"""Run the table: `python -m benchmarks.river_tracks`."""

from . import BENCHMARK

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.main())
