"""Run the table: `python -m benchmarks.streams`."""

from . import BENCHMARK

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.main())
