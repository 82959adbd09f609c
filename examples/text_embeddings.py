"""Text with embeddings: sort 60 of 900 texts, get the rest
========================================================

Real sentences that are on every machine with SciPy: the summaries of its functions. Which module is a
function from? The texts are embedded by wordllama, a small model whose weights are part of its package; any
other embedding works the same way. `LASVM` with ``kernel="cosine"`` learns from the labels that
`ActiveLearner` asks for. For comparison: the same number of random labels, and TF-IDF instead of embeddings.
"""

import importlib
import inspect
from pathlib import Path

import numpy as np
import wordllama
from matplotlib.figure import Figure
from sklearn.feature_extraction.text import TfidfVectorizer

from everlearn import LASVM, ActiveLearner, query

MODULES = ("linalg", "signal", "special", "stats")
LABELS, SEEDS = 60, 3

# %%
# The texts: the first two paragraphs of each docstring, without the name of the function.
texts, modules = [], []
for module in MODULES:
    found = importlib.import_module(f"scipy.{module}")
    for name in sorted(found.__all__):
        words = (inspect.getdoc(getattr(found, name)) or "").split("\n\n")
        words = [part for part in words if "(" not in part.split("\n")[0]]  # signatures of compiled functions
        text = " ".join(" ".join(words[:2]).replace(name, "it").split())
        if len(text) > 40:
            texts.append(text)
            modules.append(module)
y = np.array(modules)
print(f"{len(texts)} texts: " + ", ".join(f"{np.sum(y == name)} {name}" for name in MODULES))
print(f'For example: "{texts[0][:90]}..."')

# %%
# Embeddings: a row of 256 numbers for each text. The cosine kernel compares their angles.
own = Path(wordllama.__file__).parent
embedder = wordllama.WordLlama.load(dim=256, cache_dir=own, disable_download=True)
rows = {
    "embeddings": np.asarray(embedder.embed(texts, norm=True)),
    "TF-IDF": TfidfVectorizer(sublinear_tf=True).fit_transform(texts),
}

# %%
# A quarter of the texts is kept for testing. The loop asks about the others.
order = np.random.default_rng(0).permutation(len(y))
test, pool = order[: len(y) // 4], order[len(y) // 4 :]
strategies = {
    ("embeddings", "asked"): (query.Auto, "#0b6e99", "-"),
    ("embeddings", "random"): (query.Random, "#0b6e99", ":"),
    ("TF-IDF", "asked"): (query.Auto, "#d9820a", "-"),
    ("TF-IDF", "random"): (query.Random, "#d9820a", ":"),
}
curves = {}
for (kind, how), (strategy, _, _) in strategies.items():
    X = rows[kind]
    runs = []
    for seed in range(SEEDS):
        loop = ActiveLearner(LASVM(C=10, kernel="cosine"), strategy(random_state=seed), random_state=seed)
        loop.run(X[pool], y[pool], LABELS, test=(X[test], y[test]), score_every=5)
        runs.append([record["score"] for record in loop.history[9::5]])
    curves[kind, how] = np.mean(np.array(runs, dtype=float), axis=0)
    print(f"{kind:<10} {LABELS} labels, {how:<6}  {curves[kind, how][-1]:.1%} of {len(test)} other texts")
everything = LASVM(C=10, kernel="cosine", random_state=0).fit(rows["embeddings"][pool], y[pool])
level = everything.score(rows["embeddings"][test], y[test])
print(f"embeddings all {len(pool)} labels      {level:.1%}")

# %%
# Accuracy by the number of labels, mean of three runs.
figure = Figure(figsize=(11, 5.5), layout="constrained")
panel = figure.subplots()
panel.axhline(
    level, color="#8a949e", linewidth=1.4, linestyle=(0, (5, 2)), label=f"embeddings, all {len(pool)} labels"
)
for (kind, how), (_, color, style) in strategies.items():
    panel.plot(
        range(10, LABELS + 1, 5), curves[kind, how], color=color, ls=style, lw=2.4, label=f"{kind}, {how}"
    )
panel.set(xlabel="labels", ylim=(0.3, 1))
panel.set_title("accuracy on other texts", loc="left", fontsize=14)
panel.grid(axis="y", color="#e6e6e6")
panel.spines[["top", "right"]].set_visible(False)
panel.legend(frameon=False, loc="lower right")
path = Path("out/text_embeddings.png")
path.parent.mkdir(exist_ok=True)
figure.savefig(path, dpi=110)
print(f"Picture: {path}")
