"""Run the table: `python -m benchmarks.gpu`."""

from . import BENCHMARK

if __name__ == "__main__":
    raise SystemExit(BENCHMARK.main())
