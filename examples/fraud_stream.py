"""Fraud detection with 500 questions
==================================

Fraud detection with few labels: 20,000 payments, 500 questions, 10 % of the answers wrong.

From a CSV file to a report. Payments arrive in batches of 200; each batch is predicted before any of its
labels is known. `NeverEndingLearner` with default settings selects five rows of each batch to ask about. The
answers arrive one batch later. One payment in twenty is a fraud, and halfway through the stream the frauds
change their pattern. For comparison, a second learner asks about random rows.

Of random questions, one in twenty is about a fraud, so that two of three "fraud" answers are label noise.
Near the decision boundary frauds are several times as frequent, and noise matters less. Both learners are
evaluated on all rows with the true labels, which they never see. Nothing was tuned.
``--rows 4000 --seed 3`` makes a shorter stream, and another one.

Prints the scores of both, writes the report out/fraud_stream.html and saves out/fraud_stream.png.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter
from sklearn.metrics import recall_score, roc_auc_score
from tqdm import tqdm

from everlearn.datasets import make_fraud_stream
from everlearn.metrics import g_means
from everlearn.read import open_source
from everlearn.report import write_report
from everlearn.stream import NeverEndingLearner

BATCH = 200
LABEL_RATE = 0.025  # questions per row: 500 for 20,000
WINDOW = 2000  # rows over which scores are computed

NAMES = {"auto": "near the boundary", "random": "random questions"}
COLORS = {"auto": "#0b6e99", "random": "#d9820a"}
INK = "#333333"


@dataclass
class Run:
    """A learner, its predictions, its questions, and the questions that are not answered yet."""

    query: str
    learner: NeverEndingLearner
    predicted: list = field(default_factory=list)
    scores: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    waiting: list = field(default_factory=list)

    def step(self, batch, answers):
        """Learn a batch, then the answers to the questions of the batch before."""
        out = self.learner.step(batch.X, ids=batch.ids, time=float(batch.time[-1]))
        self.predicted += [0 if label is None else label for label in out.predictions]
        self.scores += [0.0] * len(batch) if out.decision_values is None else out.decision_values.tolist()
        self.answer(answers)
        self.waiting = [question.id for question in out.questions]
        self.asked += self.waiting

    def answer(self, answers):
        """Answer the open questions."""
        self.learner.label(self.waiting, [answers[row] for row in self.waiting], by="annotator")


def begin(query, place, scale_features, labels, seed):
    """A new learner with default settings and a label budget."""
    learner = NeverEndingLearner.open(
        place,
        query_strategy=query,
        label_rate=LABEL_RATE,
        label_budget=labels,
        scale_features=scale_features,
        window=100,
        random_state=seed,
    )
    return Run(query, learner)


def scores_of(run, truth, rows):
    """g-means, recall of frauds, false alarms and AUC over some rows, with the true labels."""
    true, predicted, scores = truth[rows], np.array(run.predicted)[rows], np.array(run.scores)[rows]
    return {
        "g_means": g_means(true, predicted),
        "recall": recall_score(true, predicted),
        "false alarms": float(predicted[true == 0].mean()),
        "auc": roc_auc_score(true, scores),
        "accuracy": float((true == predicted).mean()),
    }


def curve_of(run, truth):
    """The scores over the last rows after each batch; NaN until the window is half full."""
    ends = np.arange(BATCH, len(truth) + 1, BATCH)
    nothing = dict.fromkeys(("g_means", "auc", "accuracy"), float("nan"))
    found = [
        scores_of(run, truth, slice(max(0, end - WINDOW), end)) if end >= WINDOW // 2 else nothing
        for end in ends.tolist()
    ]
    return {"rows": ends.tolist()} | {name: [scores[name] for scores in found] for name in nothing}


def show(runs, stream):
    """Print the scores of both learners, over the whole stream and before and after the drift."""
    n, middle = len(stream), stream.drift_row
    parts = {
        "all rows": slice(0, n),
        "before the drift": slice(0, middle),
        "after the drift": slice(middle, n),
    }
    names = ("g_means", "recall", "false alarms", "auc")
    print(f"\n{'':<24}{'':<18}" + "".join(f"{name:>14}" for name in names))
    for run in runs:
        for part, rows in parts.items():
            scores = scores_of(run, stream.truth, rows)
            first = NAMES[run.query] if part == "all rows" else ""
            print(f"{first:<24}{part:<18}" + "".join(f"{scores[name]:>14.3f}" for name in names))
    number = {name: row for row, name in enumerate(stream.ids.tolist())}
    for run in runs:
        rows = [number[name] for name in run.asked]
        frauds, wrong = stream.truth[rows].sum(), (stream.truth[rows] != stream.answers[rows]).sum()
        name = NAMES[run.query].capitalize()
        print(f"{name}: {len(rows)} questions, {frauds} of them about frauds, {wrong} wrong answers")


def report(runs, stream, schema, source, path):
    """Write the report of the first learner, with the scores of the other for comparison."""
    ours, other = runs
    data = ours.learner.report_data(
        title="Fraud detection with 500 questions",
        source=str(source),
        features=str(schema),
        window=WINDOW,
        peers=[{"name": NAMES[other.query], **curve_of(other, stream.truth)}],
        notes=[
            "Scores are over all rows with the true labels, which the learner never sees. For a real "
            "stream, only answers are available: see the audit.",
            f"Frauds change their pattern at row {stream.drift_row:,}.",
        ],
    )
    kept = {name: data["curves"][name] for name in ("rows", "labels", "asked", "support_vectors")}
    curve = curve_of(ours, stream.truth)
    at = {row: place for place, row in enumerate(curve["rows"])}
    places = [at[int(row)] for row in kept["rows"]]
    scores = {name: [curve[name][place] for place in places] for name in ("g_means", "auc", "accuracy")}
    data["curves"] = kept | scores
    write_report(data, path)


def draw(runs, stream, path):
    """Save a plot of g-means over the stream and of the frauds among the questions."""
    figure = Figure(figsize=(14, 6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.14, h_pad=0.12)
    figure.suptitle(
        "Fraud detection: the same number of labels, but for the right rows",
        x=0.012,
        ha="left",
        fontsize=18,
        fontweight="bold",
    )
    course, questions = figure.subplots(1, 2)
    number = {name: row for row, name in enumerate(stream.ids.tolist())}
    for run in runs:
        curve = curve_of(run, stream.truth)
        style = {"color": COLORS[run.query], "linewidth": 2.4, "label": NAMES[run.query]}
        course.plot(curve["rows"], curve["g_means"], **style)
        frauds = np.cumsum(stream.truth[[number[name] for name in run.asked]])
        questions.plot(np.arange(1, len(frauds) + 1), frauds, **style)
    course.axvline(stream.drift_row, color="#bbbbbb", linewidth=1.2, zorder=0)
    beside = {"xytext": (6, 6), "textcoords": "offset points", "fontsize": 12, "color": "#777777"}
    course.annotate("concept drift", (stream.drift_row, 0), **beside)
    course.set_ylim(0, 1)
    course.set_title(f"g-means over the last {WINDOW:,} rows (prequential)", loc="left", fontsize=14)
    course.set_xlabel("rows", fontsize=13)
    questions.set_title("frauds among the questions", loc="left", fontsize=14)
    questions.set_xlabel("questions", fontsize=13)
    questions.set_ylim(bottom=0)
    for panel in (course, questions):
        panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        panel.grid(axis="y", color="#e6e6e6")
        panel.set_axisbelow(True)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelsize=12, colors=INK)
    figure.legend(
        *course.get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False, fontsize=13
    )
    figure.savefig(path, dpi=130)


def main(rows=20_000, seed=0, out="out"):
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    payments = folder / "payments.csv"
    stream = make_fraud_stream(rows, random_state=seed)
    stream.write_csv(payments)
    print(f"{payments}: {stream}\n")
    answers = dict(zip(stream.ids.tolist(), stream.answers.tolist(), strict=True))
    store = folder / "fraud.everlearn"
    for old in folder.glob(store.name + "*"):
        old.unlink()
    with open_source(payments, label="is_fraud", id="id", time="time", batch_size=BATCH) as source:
        print(source.schema)
        labels = int(LABEL_RATE * rows)
        columns = source.schema.scale_features
        places = {"auto": store, "random": ":memory:"}
        runs = [begin(query, places[query], columns, labels, seed) for query in places]
        runs[0].learner.set_schema(source.schema.state())
        with tqdm(total=rows, desc="payments", unit=" rows") as bar:
            for batch in source:
                for run in runs:
                    run.step(batch, answers)
                bar.update(len(batch))
    for run in runs:
        run.answer(answers)
    show(runs, stream)
    page, picture = folder / "fraud_stream.html", folder / "fraud_stream.png"
    report(runs, stream, source.schema, payments, page)
    for run in runs:
        run.learner.close()
    draw(runs, stream, picture)
    print(f"\nReport: {page}\nPicture: {picture}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Fraud detection with 500 questions.")
    parser.add_argument("--rows", type=int, default=20_000, help="number of payments, 4,000 or more")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="out", help="output folder")
    main(**vars(parser.parse_args()))
