"""Generated people for measurements of time and memory: names, addresses, emails, phones, with duplicates."""

from __future__ import annotations

import numpy as np

from everlearn.linkage import Blocking, Exact, MinHash, Records

SCHEMA = {"name": "name", "street": "address", "city": "category", "email": "email", "born": "date"}
DUPLICATES = 0.2  # of the records repeat an earlier one, with errors
_SYLLABLES = [a + b for a in "bdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "in", "or")]


def _words(rng: np.random.Generator, n: int, syllables: int) -> np.ndarray:
    parts = rng.choice(_SYLLABLES, size=(n, syllables))
    return np.unique(["".join(row) for row in parts])


def _pick(rng: np.random.Generator, words: np.ndarray, n: int) -> np.ndarray:
    """Words with frequencies in proportion to 1 / sqrt(rank)."""
    share = 1 / np.sqrt(np.arange(1, len(words) + 1))
    return rng.choice(words, size=n, p=share / share.sum())


def _misspelled(rng: np.random.Generator, texts: np.ndarray, rate: float) -> list[str]:
    """In some texts a letter is replaced."""
    found = texts.tolist()
    for i in np.flatnonzero(rng.random(len(found)) < rate):
        place = int(rng.integers(len(found[i])))
        found[i] = found[i][:place] + "abcdefghijklmnopqrstuvwxyz"[rng.integers(26)] + found[i][place + 1 :]
    return found


def people(n: int, seed: int = 0) -> tuple[Records, np.ndarray]:
    """Records, and the person of each."""
    rng = np.random.default_rng(seed)
    person = np.arange(n)
    again = np.flatnonzero(rng.random(n) < DUPLICATES)
    again = again[again > 0]
    person[again] = person[(rng.random(len(again)) * again).astype(int)]
    first, last = _words(rng, 400, 2), _words(rng, max(200, n // 40), 3)
    streets, cities = _words(rng, max(100, n // 20), 3), _words(rng, max(50, n // 500), 3)
    given, family = _pick(rng, first, n)[person], _pick(rng, last, n)[person]
    names = np.char.add(np.char.add(given, " "), family)
    numbers = rng.integers(1, 300, n)[person].astype(str)
    street = np.char.add(np.char.add(numbers, " "), _pick(rng, streets, n)[person])
    host = _pick(rng, _words(rng, 300, 2), n)[person]
    email = np.char.add(np.char.add(np.char.add(given, family), np.char.add("@", host)), ".org")
    days = np.datetime64("1940-01-01") + rng.integers(0, 25_000, n)[person]
    email = np.where(rng.random(n) < 0.3, "", email)
    columns = {
        "name": _misspelled(rng, names, 0.1),
        "street": _misspelled(rng, street, 0.1),
        "city": _pick(rng, cities, n)[person].tolist(),
        "email": email.tolist(),
        "born": days.astype(str).tolist(),
    }
    return Records(columns, SCHEMA), person


def blocking() -> Blocking:
    """Five to ten pairs for each record, whatever their number: similar names, equal streets or emails."""
    return Blocking(MinHash("name", bands=10, rows=6), Exact("street"), Exact("email"), max_block_size=200)
