"""Run the table: `python -m benchmarks.active_learning`."""

from . import BENCHMARK

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.main())
