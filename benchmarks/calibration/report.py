"""The tables of both parts."""

from __future__ import annotations

from ..harness.report import fill, head, markdown, number
from ..harness.run import Data, Result

STREAM_WORDS = """Rows in the order in which they came, at most 10,000 of a stream, in batches of 100: a batch
is predicted, then the labels that were drawn from it become known. Brier score and calibration error (15 bins
of the confidence in the predicted class) are over all rows, whether their label became known or not, times
100; the Brier score of two classes is that of one of them. `LASVM(C=10)` has the scale of the first 500 rows;
"not calibrated" are log-odds of 3 f. Its calibrators all see the same scores, which were computed before the
label was learned. *CPU s* of a calibrator is its own, without LASVM; that of River is all. River's logistic
regression has a StandardScaler, and is its SoftmaxRegression for several classes. Nothing was chosen on
these streams: see `streams --develop`."""
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


def streams_report(data: Data) -> str:
    """Brier score and calibration error, with labels at random and queried, and prediction sets."""
    results, develop = data["results"], data["settings"].get("develop", False)
    title = "Probabilities along streams" + ", for development" * develop
    parts = [*head(title, data), fill(DEVELOPMENT_WORDS if develop else STREAM_WORDS)]
    for rate in sorted({r["rate"] for r in results}):
        here = [r for r in results if r["rate"] == rate and not r["ask"]]
        parts += [f"## {rate:.0%} of the labels\n", *[_table(here, "stream", m) for m in ("brier", "ece")]]
    here = [r for r in results if r["ask"]]
    parts += ["## Labels that were queried, 10 %\n", fill(ASK_WORDS)]
    parts += [_table(here, "stream", measure) for measure in ("brier", "ece")]
    return "\n".join([*parts, "## Prediction sets, 90 % promised\n", fill(SET_WORDS), _sets(results)])


def tables_report(data: Data) -> str:
    """Brier score, calibration error and log loss."""
    results = data["results"]
    parts = [*head("Probabilities on tables", data), fill(TABLE_WORDS.format(**data["settings"]))]
    return "\n".join([*parts, *[_table(results, "set", m) for m in ("brier", "ece", "log_loss")]])


def _table(results: list[Result], key: str, measure: str) -> str:
    """Readers by streams or sets; the best in bold."""
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


def _sets(results: list[Result]) -> str:
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
