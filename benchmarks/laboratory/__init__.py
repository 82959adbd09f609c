"""What the papers claim, what we claim, and what was measured: `python -m benchmarks.reproduce`.

claims/*.toml   one entry for each claim: its place, protocol, cost, data sets, and the part that measures it
catalogue       reads and checks them
results         recorded runs as one tidy table: a row for each measured value
checks/         for each claim, conditions on rows of that table; the verdict follows from them
verdict         checks, findings, and how a verdict comes about
runs            runs the parts of claims, and resumes them
papers_page, comparison_page   the pages of the documentation that are made of all this
command         `list`, `run` and `report`
"""
