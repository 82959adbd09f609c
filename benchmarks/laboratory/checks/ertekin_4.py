"""Chapters 4 and 5 of Ertekin's thesis: rare classes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from scipy.stats import rankdata

from ...harness.statistics import signed_rank
from ..results import Results
from ..verdict import Check, checks_of
from ..words import ahead, common, count, mean, num, pct, points

RARE, TABLE, VIRTUAL, ASKED = "papers-rare", "imbalance-table", "papers-virtual", "query_strategies-table"
WAVES = [f"waveform-{ratio}" for ratio in (2, 4, 8, 16, 32)]
ADULTS = [f"adult-{ratio}" for ratio in (3, 10, 20, 30)]
REUTERS = ("acq", "corn", "crude", "earn", "grain", "interest", "money-fx", "ship", "trade", "wheat")
UCI = ("breast", "letter", "satimage")
THESIS = (*REUTERS, *UCI, "abalone")
UNDERSAMPLED = "papers-undersampling"
PRINTED_WINS = ("crude", "money-fx", "ship", "trade", "wheat", "satimage")  # of the sets that are at hand
TIE = 0.001  # the runs of the thesis often give the same value to the last digit


@checks_of("ertekin-fig-4.3")
def small_pools(results: Results) -> Sequence[Check]:
    g, time = (
        {
            who: results.pick("query_strategies-pools", f"runs.saturation.{metric}", learner=who).by("set")
            for who in ("59 drawn", "full search")
        }
        for metric in ("g_means", "cpu")
    )
    ratios = {k: time["full search"][k] / time["59 drawn"][k] for k in time["59 drawn"]}
    return [
        count(
            "g-means at saturation is within 0.5 points of a full search",
            {k: abs(g["59 drawn"][k] - g["full search"][k]) <= 0.5 for k in ratios},
        ),
        count(
            f"It is at least four times as fast ({num(min(ratios.values()))} to {num(max(ratios.values()))})",
            {k: ratio >= 4 for k, ratio in ratios.items()},
        ),
    ]


def _asked(results: Results, who: str, metric: str) -> dict[str, float]:
    return results.pick(ASKED, f"runs.{who}.{metric}").by("set")


@checks_of("ertekin-fig-4.4")
def saturation(results: Results) -> Sequence[Check]:
    batch, active = (_asked(results, who, "g_means") for who in ("batch", "active"))
    lost = {key: batch[key] - active[key] for key in batch}
    return [
        count(
            "Where the support vectors saturate, g-means is within 0.5 points of an SVM on all rows",
            {key: value <= 0.5 for key, value in lost.items()},
            0.75,
            lambda key: f"(-{lost[key]:.1f})",
        )
    ]


@checks_of("ertekin-table-4.3")
def early_stopping(results: Results) -> Sequence[Check]:
    batch, active = (
        {metric: _asked(results, who, metric) for metric in ("g_means", "auc", "share", "support_ratio")}
        for who in ("batch", "active")
    )
    imbalance = results.pick(ASKED, "imbalance").by("set")
    thesis = results.pick(ASKED, "thesis.share").by("set")
    share, ratio = active["share"], active["support_ratio"]
    return [
        count(
            "g-means is at most 0.5 points below the SVM on all rows",
            {k: active["g_means"][k] >= batch["g_means"][k] - 0.5 for k in share},
            0.75,
        ),
        count(
            "AUC is at most 0.2 points below",
            {k: active["auc"][k] >= batch["auc"][k] - 0.2 for k in share},
            0.75,
        ),
        count(
            f"It reads {min(share.values()):.0f} to {max(share.values()):.0f} % of the rows, "
            "within a factor of two of the thesis",
            {k: 0.5 <= share[k] / thesis[k] <= 2 for k in share},
            0.9,
        ),
        count(
            "Support vectors are at least twice as balanced as the data",
            {k: ratio[k] < imbalance[k] / 2 for k in share},
            0.9,
        ),
    ]


def _rare(results: Results, name: str, learner: str, metric: str) -> dict[float, float]:
    return results.pick(RARE, metric, set=name, learner=learner).by("share")


@checks_of("ertekin-fig-4.5")
def waves(results: Results) -> Sequence[Check]:
    at = 0.2
    g = {who: {n: _rare(results, n, who, "g_means")[at] for n in WAVES} for who in ("active", "random")}
    drop = {who: g[who]["waveform-2"] - g[who]["waveform-32"] for who in g}
    whole = {who: {n: _rare(results, n, who, "g_means")[1.0] for n in WAVES} for who in g}
    return [
        Check(
            f"At 20 % of the rows g-means falls by {100 * drop['active']:.1f} points from 2 to 32 negatives "
            f"for each positive, with random sampling by {100 * drop['random']:.1f}.",
            drop["active"] < drop["random"],
        ),
        count("There it is above random sampling", {n: g["active"][n] > g["random"][n] for n in WAVES}, 0.8),
        count(
            "With all rows both are within one point",
            {n: abs(whole["active"][n] - whole["random"][n]) < 0.01 for n in WAVES},
            0.8,
        ),
    ]


@checks_of("ertekin-fig-4.6")
def adults(results: Results) -> Sequence[Check]:
    active, random = ({n: _rare(results, n, who, "prbep") for n in ADULTS} for who in ("active", "random"))
    best = {n: max(active[n].values()) for n in ADULTS}
    ever = {n: max(random[n].values()) for n in ADULTS}
    lead = {n: best[n] - ever[n] for n in ADULTS}
    return [
        count(
            "The best PRBEP of active learning comes before all rows are learned",
            {n: max(active[n], key=lambda s, n=n: active[n][s]) < 1 for n in ADULTS},
            0.75,
        ),
        count("It is above what random sampling ever reaches", {n: lead[n] > 0 for n in ADULTS}, 0.75),
        Check(
            f"The lead grows from {points(lead['adult-3'])} at 3 to {points(lead['adult-30'])} at 30.",
            lead["adult-30"] > lead["adult-3"],
        ),
    ]


@checks_of("ertekin-fig-4.7")
def roc(results: Results) -> Sequence[Check]:
    names = ("interest", "adult-3", "satimage")
    early = {n: _rare(results, n, "active", "auc")[0.2] for n in names}
    same = {n: _rare(results, n, "random", "auc")[0.2] for n in names}
    whole = {n: _rare(results, n, "random", "auc")[1.0] for n in names}
    return [
        count(
            "AUC with 20 % of the rows is at most 0.5 points below an SVM on all",
            {n: early[n] > whole[n] - 0.005 for n in names},
            detail=lambda n: f"({early[n]:.3f} and {whole[n]:.3f})",
        ),
        count(
            "It is above random sampling of as many",
            {n: early[n] > same[n] for n in names},
            detail=lambda n: f"({early[n]:.3f} and {same[n]:.3f})",
        ),
    ]


@checks_of("ertekin-fig-4.8")
def support_ratios(results: Results) -> Sequence[Check]:
    ratio = {
        who: {n: _rare(results, n, who, "support_ratio") for n in results.pick(RARE, "auc").by("set")}
        for who in ("active", "random")
    }
    early = {n: ratio["active"][n][0.05] < ratio["random"][n][0.05] for n in ratio["active"]}
    end = {n: ratio["active"][n][1.0] / ratio["random"][n][1.0] for n in ratio["active"]}
    return [
        count("At 5 % of the rows active learning has the more balanced support vectors", early, 0.8),
        count("With all rows both ratios are within 10 %", {n: 0.9 < v < 1.1 for n, v in end.items()}, 0.8),
    ]


def _table(results: Results, learner: str, metric: str) -> dict[str, float]:
    return results.pick(TABLE, metric, learner=learner).by("set")


FIVE = ("batch", "undersampled", "SMOTE", "costs", "active")


def _five(results: Results, metric: str) -> dict[str, dict[str, float]]:
    """The five methods of chapter 4 on sets of its table; undersampled to the ratio that the thesis takes."""
    undersampled = results.pick(UNDERSAMPLED, metric).by("set")
    tables = {who: _table(results, who, metric) for who in FIVE} | {"undersampled": undersampled}
    return {who: {key: table[key] for key in undersampled} for who, table in tables.items()}


def _ranks(tables: dict[str, dict[str, float]]) -> dict[str, float]:
    keys = common(*tables.values())
    ranks = [rankdata([-table[key] for table in tables.values()]) for key in keys]
    return {who: fmean(row[i] for row in ranks) for i, who in enumerate(tables)}


def _shown(ranks: dict[str, float]) -> str:
    return ", ".join(f"{who} {rank:.1f}" for who, rank in ranks.items())


@checks_of("ertekin-fig-4.9")
def against_others(results: Results) -> Sequence[Check]:
    g = _five(results, "g_means")
    ranks = _ranks(g)
    best = {key: max(table[key] for table in g.values()) for key in g["active"]}
    return [
        Check(
            f"Mean ranks in g-means: {_shown(ranks)}; active learning is third or better.",
            ranks["active"] <= sorted(ranks.values())[2],
        ),
        count(
            "It is within two points of the best",
            {key: g["active"][key] > best[key] - 0.02 for key in best},
            0.7,
            lambda key: f"({points(g['active'][key] - best[key], 1)})",
        ),
    ]


@checks_of("ertekin-table-4.4")
def time_of_smote(results: Results) -> Sequence[Check]:
    time, prbep = (_five(results, metric) for metric in ("cpu", "prbep"))
    ratio = mean(time["active"]) / mean(time["SMOTE"])
    return [
        Check(f"Active learning takes {num(ratio)} times the CPU time of SMOTE and its SVM.", ratio < 1),
        ahead("PRBEP is as high or higher", prbep["active"], prbep["SMOTE"], 0.5),
    ]


@checks_of("ertekin-table-4.5")
def ranks_of_prbep(results: Results) -> Sequence[Check]:
    values = _five(results, "prbep")
    ranks = _ranks(values)
    best = {key: max(table[key] for table in values.values()) for key in values["active"]}
    wins = sum(values["active"][key] >= best[key] - TIE for key in best)
    over = {key: values["active"][key] - values["undersampled"][key] for key in best}
    p = signed_rank(list(over.values()))
    return [
        Check(f"Mean ranks in PRBEP: {_shown(ranks)}.", ranks["active"] == min(ranks.values())),
        Check(
            f"Active learning is best, or within 0.1 points of it, on {wins} of {len(best)} sets "
            f"(best on {len(PRINTED_WINS)} of these in the thesis).",
            wins >= len(best) / 2,
        ),
        Check(
            f"It is above undersampling on {sum(v > 0 for v in over.values())} of {len(over)} sets "
            f"(p = {num(p or 1.0, 2)}).",
            p is not None and p < 0.05 and fmean(over.values()) > 0,
        ),
    ]


@checks_of("ertekin-fig-5.2")
def virtual_waves(results: Results) -> Sequence[Check]:
    virtual, active = (_table(results, who, "g_means") for who in ("VIRTUAL", "active"))
    lead = {n: virtual[n] - active[n] for n in WAVES}
    few = max(abs(lead["waveform-2"]), abs(lead["waveform-4"]))
    return [
        Check(f"At 2 and 4 negatives the lead is at most {points(few)}.", few < 0.03),
        Check(
            "The lead at 2, 4, 8, 16, 32: " + ", ".join(f"{100 * lead[n]:+.1f}" for n in WAVES) + " points.",
            lead["waveform-2"] < lead["waveform-8"] < lead["waveform-32"],
        ),
    ]


def _virtual(results: Results, name: str, metric: str, learner: str = "VIRTUAL") -> dict[int, float]:
    return results.pick(VIRTUAL, metric, set=name, learner=learner).by("labels")


@checks_of("ertekin-fig-5.3")
def growth_of_virtual(results: Results) -> Sequence[Check]:
    name = "waveform-32"
    positives, negatives, made = (
        _virtual(results, name, metric)
        for metric in ("support_positives", "support_negatives", "made_support")
    )
    real = {n: positives[n] - made[n] for n in positives}
    last = max(positives)
    data = 32
    return [
        Check(
            f"After 150 rows there are {num(negatives[150] / real[150])} negative for each real positive "
            f"support vector, in the data {data}.",
            negatives[150] / real[150] < 3,
        ),
        Check(
            f"After {last:,} rows virtual rows raise {num(real[last])} positive support vectors to "
            f"{num(positives[last])}.",
            positives[last] > 1.6 * real[last],
        ),
    ]


@checks_of("ertekin-fig-5.4")
def stable(results: Results) -> Sequence[Check]:
    g, size = (_virtual(results, "waveform-4", metric) for metric in ("g_means", "support"))
    half, last = sorted(g)[-2:]
    change = size[last] / size[half] - 1
    return [
        Check(
            f"From {half:,} to {last:,} rows support vectors change by {100 * change:+.1f} % and g-means by "
            f"{points(g[last] - g[half])}.",
            abs(g[last] - g[half]) < 0.01,
        )
    ]


@checks_of("ertekin-fig-5.5")
def reuters(results: Results) -> Sequence[Check]:
    virtual, active = (_table(results, who, "g_means") for who in ("VIRTUAL", "active"))
    imbalance = results.pick(TABLE, "imbalance").by("set")
    lead = {n: virtual[n] - active[n] for n in REUTERS}
    rare = sorted(REUTERS, key=lambda n: -imbalance[n])
    many, few = fmean(lead[n] for n in rare[:5]), fmean(lead[n] for n in rare[5:])
    curves = {
        n: _virtual(results, n, "g_means", "SMOTE x2")[500] < _virtual(results, n, "g_means")[500]
        for n in ("ship", "interest")
    }
    return [
        count("VIRTUAL is above active learning", {n: lead[n] > 0 for n in REUTERS}, 0.8),
        Check(f"Its lead is {points(many)} in the five rarest and {points(few)} in the others.", many > few),
        count("With 500 rows SMOTE is below VIRTUAL", curves),
    ]


@checks_of("ertekin-fig-5.6")
def uci(results: Results) -> Sequence[Check]:
    g = {who: _table(results, who, "g_means") for who in ("VIRTUAL", "active", "SMOTE x2")}
    return [
        count("VIRTUAL is above active learning", {n: g["VIRTUAL"][n] > g["active"][n] for n in UCI}),
        count("VIRTUAL is above SMOTE", {n: g["VIRTUAL"][n] > g["SMOTE x2"][n] for n in UCI}),
    ]


@checks_of("ertekin-table-5.2")
def made_support(results: Results) -> Sequence[Check]:
    share = {who: _table(results, who, "share") for who in ("VIRTUAL", "SMOTE x2")}
    ratio = {
        who: {
            n: value / max(1, _table(results, who, "support_positives")[n])
            for n, value in _table(results, who, "support_negatives").items()
        }
        for who in ("VIRTUAL", "SMOTE x2", "active")
    }
    mine, theirs = (fmean(share[who][n] for n in THESIS) for who in ("VIRTUAL", "SMOTE x2"))
    return [
        count(
            f"A larger share of its virtual rows become support vectors ({pct(mine, 0)} and "
            f"{pct(theirs, 0)} in the mean)",
            {n: share["VIRTUAL"][n] > share["SMOTE x2"][n] for n in THESIS},
            0.9,
        ),
        count(
            "Its support vectors are more balanced than those of SMOTE and of active learning",
            {n: ratio["VIRTUAL"][n] <= min(ratio[w][n] for w in ("SMOTE x2", "active")) for n in THESIS},
            0.7,
        ),
    ]


@checks_of("ertekin-table-5.3")
def virtual_table(results: Results) -> Sequence[Check]:
    names = ("batch", "SMOTE x2", "active", "VIRTUAL")
    g = {who: _table(results, who, "g_means") for who in names}
    found = []
    for who in names[:3]:
        differences = [g["VIRTUAL"][n] - g[who][n] for n in THESIS]
        p = signed_rank(differences)
        wins = sum(d > 0 for d in differences)
        text = f"Against {who}: {wins} of {len(THESIS)} sets, mean {points(fmean(differences))}"
        found.append(Check(f"{text}, p = {p:.2g}.", p is not None and p < 0.05 and fmean(differences) > 0))
    time = {who: mean(_table(results, who, "cpu")) for who in ("VIRTUAL", "SMOTE x2")}
    ratio = time["VIRTUAL"] / time["SMOTE x2"]
    return [*found, Check(f"It takes {num(ratio)} times the CPU time of SMOTE and its SVM.", ratio < 1)]
