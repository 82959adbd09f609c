"""The files of the walkthroughs: payments, tickets for three teams, and articles as embeddings."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from everlearn.datasets import make_fraud_stream

OPENINGS = ("Hello,", "Hi team,", "Good morning,", "Dear support,", "To whom it may concern,", "Hey,")
CLOSINGS = ("Thanks!", "Please help.", "Best regards", "Waiting for your answer.", "This is urgent.", "")
TICKETS = {
    "billing": (
        ("my invoice", "the bill of last month", "my card", "the refund", "the yearly plan", "this payment"),
        ("was charged twice", "shows the wrong amount", "has not arrived", "still includes the old price"),
    ),
    "technical": (
        ("the app", "the login page", "my account", "the search", "the new update", "the export"),
        ("crashes since yesterday", "shows an error", "is very slow", "does not accept my password"),
    ),
    "delivery": (
        ("my parcel", "the order", "the package", "the replacement", "the courier", "my shipment"),
        ("is five days late", "was left at a neighbor", "arrived damaged", "cannot be tracked any more"),
    ),
}
CUSTOMERS = ("private", "private", "private", "business")


def write_payments(path, n=4000):
    """Card payments in order of time, one in twenty a fraud; the pattern of the frauds changes halfway."""
    make_fraud_stream(n, label_noise=0.0, random_state=0).write_csv(path)


def tickets(n=900, seed=3):
    """Support tickets as (id, message, amount of the order, customer, page, team); some mix two teams."""
    rng = np.random.default_rng(seed)
    teams = list(TICKETS)
    for number in range(1, n + 1):
        team = teams[rng.integers(3)]
        things, troubles = TICKETS[team]
        other = teams[rng.integers(3)] if rng.random() < 0.1 else team
        thing = TICKETS[other][0][rng.integers(len(things))]
        trouble = troubles[rng.integers(len(troubles))]
        opening, closing = OPENINGS[rng.integers(len(OPENINGS))], CLOSINGS[rng.integers(len(CLOSINGS))]
        text = f"{opening} {thing} {trouble} (order {rng.integers(1000, 9999)}). {closing}".strip()
        amount = round(float(rng.lognormal(3.5, 0.5)), 2)
        yield f"t{number}", text, amount, CUSTOMERS[rng.integers(4)], f"https://shop.example/{number}", team


def write_tickets(path, n=900, solved=True):
    """Tickets, and the teams that solved them."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["ticket", "message", "amount", "customer", "page", "team"][: 5 + solved])
        writer.writerows(ticket[: 5 + solved] for ticket in tickets(n))


def write_articles(path, n=1500, width=48):
    """Articles as unit vectors of an embedding model, of four sections that overlap."""
    rng = np.random.default_rng(5)
    sections = np.array(["culture", "economy", "science", "sports"])
    topics = rng.normal(size=(4, 3, width))  # three topics in each section
    section, topic = rng.integers(4, size=n), rng.integers(3, size=n)
    vectors = topics[section, topic] + 1.1 * rng.normal(size=(n, width))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    columns = {
        "article": [f"a{i + 1}" for i in range(n)],
        "url": [f"https://news.example/{i + 1}" for i in range(n)],
        "embedding": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), width),
        "section": sections[section].tolist(),
    }
    pq.write_table(pa.table(columns), path)
