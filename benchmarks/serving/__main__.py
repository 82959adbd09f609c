"""Run the tables: `python -m benchmarks.serving`."""

from . import BENCHMARK

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.main())
