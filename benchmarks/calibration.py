"""How well calibrated are the probabilities? Streams beside River, tables beside CalibratedClassifierCV.

    python benchmarks/calibration.py --streams  eight streams at 10 and 100 % of the labels
    python benchmarks/calibration.py --tables   eight sets of 500 rows
    python benchmarks/calibration.py --all      both, about ten minutes of one core
    python benchmarks/calibration.py --develop  the streams on which the default method was chosen
    python benchmarks/calibration.py --quick .. a trial on few rows

The folder with the data sets is taken from EVERLEARN_DATA. Results go to `--out`: JSON with a description of
the machine and a Markdown report, also printed. One thread, CPU seconds.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from _worker import limit_threads
from lasvm import _data_folder_missing

STREAM_WORDS = """Rows in the order in which they came, at most 10,000 of a stream, in batches of 100: a batch
is predicted, then the labels that were drawn from it become known. Brier score and calibration error (15 bins
of the confidence in the predicted class) are over all rows, whether their label became known or not, times
100; the Brier score of two classes is that of one of them. `LASVM(C=10)` has the scale of the first 500 rows;
"not calibrated" are log-odds of 3 f. Its calibrators all see the same scores, which were computed before the
label was learned. *CPU s* of a calibrator is its own, without LASVM; that of River is all. River's logistic
regression has a StandardScaler, and is its SoftmaxRegression for several classes. Nothing was chosen on these
streams: see `--develop`."""
DEVELOPMENT_WORDS = (
    """The streams on which the method, its prior, its ridges and its half-life were chosen."""
)
ASK_WORDS = """Half of the labels go to the rows nearest to the boundary, half are drawn at random. The
probabilities are measured on all rows as before. *all labels* calibrates on both, *random labels* on the
latter alone."""
SET_WORDS = """`AdaptiveConformal(alpha=0.1)` on the probabilities of "auto", told of labels that were drawn
at random: the share of all rows whose set, given out before any label of the batch was known, held the label,
in percent, and how many classes a set held. At 10 % of the labels a stream has a thousand of them, for which
the theory bounds the error of the coverage by 9 points only."""
TABLE_WORDS = """{train} training rows (half of the set, if it is smaller), at most {test} test rows, means
over {splits} splits. Every machine has C=1 and gamma="scale". *CPU s* is the whole fit. CalibratedClassifier
cross-validates in five folds, but for IDSVM, which has exact leave-one-out scores; it predicts with one
machine, CalibratedClassifierCV with five unless "one SVC" is said. Nothing was chosen on these sets; the
ridges for tables were chosen on heart_statlog, ionosphere, sonar, svmguide1, vehicle, satimage, ijcnn1,
mushrooms, creditcard_sample, glass and fourclass."""


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for part in ("streams", "tables", "all", "develop", "quick"):
        parser.add_argument(f"--{part}", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="folder of the results")
    args = parser.parse_args(argv)
    if not (args.streams or args.tables or args.all or args.develop):
        parser.error("say what to run: --streams, --tables, --all or --develop")
    return args


def _table(results: list[dict[str, Any]], key: str, measure: str) -> str:
    """Readers by streams or sets; the best in bold."""
    from _report import markdown, number

    names = list(results[0]["readers"])
    best = {r[key]: min(found[measure] for found in r["readers"].values()) for r in results}
    lines = []
    for name in names:
        values = [r["readers"][name][measure] for r in results]
        cells = [
            f"**{100 * v:.2f}**" if v <= best[r[key]] else f"{100 * v:.2f}"
            for v, r in zip(values, results, strict=True)
        ]
        cpu = sum(r["readers"][name]["cpu"] for r in results)
        lines.append([name, *cells, f"{100 * sum(values) / len(values):.2f}", number(cpu)])
    return markdown([measure, *[r[key] for r in results], "mean", "CPU s"], lines)


def _streams(args: argparse.Namespace, about: dict[str, Any], settings: dict[str, Any], part: str) -> None:
    from _calibration_streams import DEVELOPMENT_STREAMS, MOST_ROWS, REPORTED_STREAMS, course, ours, rivers
    from _report import Record, machine_lines, say
    from _semi_record import fill, head

    record = Record(args.out, part, about, settings)
    record.stem = record.stem.with_name(record.stem.name.replace("lasvm", "calibration", 1))
    source = REPORTED_STREAMS if part == "streams" else DEVELOPMENT_STREAMS
    for name, make in source.items():
        stream = course(name, make, 1000 if args.quick else MOST_ROWS)
        for rate in (0.1, 1.0) if part == "streams" else (0.02, 0.1, 1.0):
            say(f"{name}, {rate:.0%} of the labels")
            readers = ours(stream, rate, False, 0) | (rivers(stream, rate, 0) if part == "streams" else {})
            record.add({"stream": name, "rate": rate, "ask": False, "readers": readers})
        readers = ours(stream, 0.1, True, 0)
        record.add({"stream": name, "rate": 0.1, "ask": True, "readers": readers})
    title = "Probabilities along streams" + ("" if part == "streams" else ", for development")
    report = [*head(title, about, settings, machine_lines(about)), fill(STREAM_WORDS)]
    if part != "streams":
        report[-1] = fill(DEVELOPMENT_WORDS)
    results = record.data["results"]
    for rate in sorted({r["rate"] for r in results}):
        here = [r for r in results if r["rate"] == rate and not r["ask"]]
        report += [f"## {rate:.0%} of the labels\n", *[_table(here, "stream", m) for m in ("brier", "ece")]]
    here = [r for r in results if r["ask"]]
    report += ["## Labels that were asked for, 10 %\n", fill(ASK_WORDS)]
    report += [_table(here, "stream", measure) for measure in ("brier", "ece")]
    report += ["## Prediction sets, 90 % promised\n", fill(SET_WORDS), _sets(results)]
    record.finish("\n".join(report))


def _sets(results: list[dict[str, Any]]) -> str:
    from _report import markdown

    streams = list(dict.fromkeys(r["stream"] for r in results))
    lines = []
    for rate, ask in sorted({(r["rate"], r["ask"]) for r in results}):
        here = [r for r in results if (r["rate"], r["ask"]) == (rate, ask)]
        found = [next(reader for reader in r["readers"].values() if "coverage" in reader) for r in here]
        title = f"{rate:.0%}" + (", half of them asked for" if ask else "")
        coverage = [100 * reader["coverage"] for reader in found]
        sizes = [reader["set_size"] for reader in found]
        mean = sum(coverage) / len(coverage)
        lines.append([f"coverage, {title}", *[f"{value:.1f}" for value in coverage], f"{mean:.1f}"])
        mean = sum(sizes) / len(sizes)
        lines.append([f"classes in a set, {title}", *[f"{value:.2f}" for value in sizes], f"{mean:.2f}"])
    return markdown(["labels", *streams, "mean"], lines)


def _tables(args: argparse.Namespace, about: dict[str, Any], settings: dict[str, Any]) -> None:
    from _calibration_tables import SETS, SPLITS, TEST, TRAIN, run_set
    from _report import Record, machine_lines, say
    from _semi_record import fill, head

    record = Record(args.out, "tables", about, settings)
    record.stem = record.stem.with_name(record.stem.name.replace("lasvm", "calibration", 1))
    for name in SETS:
        say(name)
        record.add(run_set(name, args.quick))
    words = TABLE_WORDS.format(train=TRAIN, test=TEST, splits=SPLITS)
    title = "Probabilities on tables"
    report = [*head(title, about, settings, machine_lines(about)), fill(words)]
    results = record.data["results"]
    report += [_table(results, "set", measure) for measure in ("brier", "ece", "log_loss")]
    record.finish("\n".join(report))


def main(argv: list[str] | None = None) -> int:
    args = _arguments(argv)
    if missing := _data_folder_missing():
        print(missing, file=sys.stderr)
        return 2
    limit_threads(1)  # before NumPy comes in with any of these

    from threadpoolctl import threadpool_limits

    from _report import _installed, machine

    threadpool_limits(1)
    about = machine(1)
    names = ("everlearn", "river", "numpy", "scipy", "scikit-learn")
    about["packages"] = {name: _installed(name) for name in names}
    settings: dict[str, Any] = {"quick": args.quick}
    if args.develop:
        _streams(args, about, settings, "develop")
    if args.all or args.streams:
        _streams(args, about, settings, "streams")
    if args.all or args.tables:
        _tables(args, about, settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
