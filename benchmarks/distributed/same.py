"""The same model as one machine, and what it costs to get it."""

from __future__ import annotations

from ..harness.data import covtype_task, load_task
from ..harness.report import head, markdown
from ..harness.run import Data, Run
from .measure import cluster, compare

COVTYPE = {f"covtype{rows}": rows for rows in (12_500, 25_000, 50_000, 100_000, 200_000, 531_012)}
NAMES = ("a9a", "ijcnn1", "mnist8", *COVTYPE)
REPEATED = ("a9a", "ijcnn1", "covtype12500")  # fitted twice


def run_part(run: Run) -> None:
    """Fit every set; results are on disk after every set."""
    settings = run.settings
    with cluster(settings["workers"]) as client:
        for name in run.missing(run.chosen(NAMES, quick=("a9a", "ijcnn1"))):
            task = covtype_task(COVTYPE[name]) if name in COVTYPE else load_task(name)
            result = compare(
                client, task.head(settings["rows"]), settings["partitions"], repeat=name in REPEATED
            )
            run.add(result | {"set": name})


def report(data: Data) -> str:
    """One line for each set."""
    lines = [
        [
            result["title"],
            f"{result['rows']:,} x {result['features']}",
            f"{result['dual']:+.1e}",
            f"{100 * result['equal']:.3f}",
            str(result["rounds"]),
            f"{result['candidates']:,}",
            f"{sum(result['violators']):,}",
            f"{result['support']:,}",
            f"{result['sent'] / 1e6:.1f}",
            f"{result['received'] / 1e6:.1f}",
            f"{result['ratio']:.2f}",
            {True: "yes", False: "NO", None: ""}[result["same_bits"]],
            f"{result['cluster_cpu']:.1f}",
            f"{result['one_cpu']:.1f}",
        ]
        for result in data["results"]
    ]
    titles = ["set", "rows", "dual", "decisions equal %", "rounds", "candidates", "violators", "vectors"]
    titles += ["MB sent", "MB received", "kernel values", "same bits", "CPU s", "one machine CPU s"]
    parts = head("DistributedSVM against one LASVM", data)
    parts.append(markdown(titles, lines))
    parts.append(
        "Dual: relative difference from that of one machine. Rounds: exchanges with the partitions.\n"
        "Candidates: support vectors of the local models. MB sent: arrays times workers. Kernel values:\n"
        "those of all processes over those of one machine. Same bits: whether a second fit gave the same\n"
        "model, bit for bit. CPU: of all processes, with Dask.\n"
    )
    return "\n".join(parts)
