"""Run the table: `python -m benchmarks.semi`."""

from . import BENCHMARK

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.main())
