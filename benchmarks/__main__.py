"""List the tables: `python -m benchmarks`."""

from __future__ import annotations

from .harness.command import tables

if __name__ == "__main__":
    print("Run one with `python -m benchmarks.NAME`; `--help` shows its parts and options.\n")
    for name, benchmark in tables().items():
        print(f"{name:<18} {benchmark.title}")
