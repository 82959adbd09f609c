"""Run the table: `python -m benchmarks.query_strategies`."""

from . import BENCHMARK

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.main())
