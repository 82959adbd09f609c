"""The benchmarks of everlearn: one package per table, on one harness. `python -m benchmarks` lists them."""
