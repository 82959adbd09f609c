"""List, run and report the claims: `python -m benchmarks.reproduce list | run ID ... | report`."""

from __future__ import annotations

from .laboratory.command import main

if __name__ == "__main__":
    raise SystemExit(main())
