"""More generated tables, of which some are two: citations, long products, patients, concerts, people, firms.

They have what the first ones lack: records that repeat in one of two tables, long descriptions, columns with
other names, dates in many forms, half of all values missing, legal forms of eight countries.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

from .tables import Maker, Record
from .words import BRANDS, CITIES, FIRMS, FIRST, LAST, MONTHS, STREETS, THINGS, TYPES, WORDS, words

Tables = tuple[list[Record], list[Record] | None, np.ndarray, np.ndarray | None]

_SYLLABLES = [a + b for a in words("b c d f g h k l m n p r s t v w z br tr st pl ch") for b in "aeiou"]
VENUES = {
    "International Conference on Very Large Data Bases": "VLDB",
    "ACM SIGMOD International Conference on Management of Data": "SIGMOD",
    "IEEE Transactions on Knowledge and Data Engineering": "TKDE",
    "Journal of Machine Learning Research": "JMLR",
    "Communications of the ACM": "CACM",
    "Information Systems": "Inf. Syst.",
}


def _vocabulary(n: int) -> list[str]:
    random = np.random.default_rng(1)
    found = {"".join(random.choice(_SYLLABLES, int(random.integers(2, 4)))) for _ in range(2 * n)}
    return sorted(found)[:: max(1, len(found) // n)][:n]


VOCABULARY = _vocabulary(900)


def _word(make: Maker) -> str:
    """A word; the frequency falls with its rank."""
    return VOCABULARY[int(len(VOCABULARY) * make.random.random() ** 2)]


def _one(seed: int, n: int, thing: Callable[[Maker], Any], show: Callable[[Maker, Any], Record]) -> Tables:
    """One table: one to four records of each of n things."""
    make = Maker(seed)
    rows, entity = [], []
    for number in range(n):
        made = thing(make)
        for _ in range(1 if make.chance(0.4) else int(make.random.integers(1, 5))):
            rows.append(show(make, made))
            entity.append(number)
    order = make.random.permutation(len(rows))
    return [rows[at] for at in order], None, np.array(entity)[order], None


def _two(
    seed: int,
    n: int,
    thing: Callable[[Maker], Any],
    shows: tuple[Callable[[Maker, Any], Record], Callable[[Maker, Any], Record]],
    repeats: int = 1,
) -> Tables:
    """Two tables with half of n things in both; the second has up to so many records of a thing."""
    make = Maker(seed)
    rows: tuple[list[Record], list[Record]] = [], []
    entity: tuple[list[int], list[int]] = [], []
    for number in range(n):
        made = thing(make)
        for side in (0, 1) if make.chance(0.5) else (int(make.random.integers(2)),):
            for _ in range(int(make.random.integers(1, repeats + 1)) if side else 1):
                rows[side].append(shows[side](make, made))
                entity[side].append(number)
    orders = [make.random.permutation(len(side)) for side in rows]
    left, right = ([side[at] for at in order] for side, order in zip(rows, orders, strict=True))
    first, second = (np.array(side)[order] for side, order in zip(entity, orders, strict=True))
    return left, right, first, second


def _day(make: Maker, first: str, days: int) -> str:
    return str(np.datetime64(first) + int(make.random.integers(0, days)))


def _written(make: Maker, iso: str) -> str:
    """A date in one of several forms."""
    year, month, day = map(int, iso.split("-"))
    name = MONTHS[month - 1]
    forms = [f"{day} {name} {year}", f"{name} {day}, {year}", f"{day:02}.{month:02}.{year}"]
    return str(make.one([iso, *forms, f"{day}-{name[:3]}-{year % 100:02}", f"{day} {name[:3]} {year}"]))


def citations(seed: int, n: int = 800) -> Tables:
    """Clean citations, and up to three dirty ones: initials, cut titles, abbreviated venues, few years."""
    known: list[dict[str, Any]] = []

    def thing(make: Maker) -> dict[str, Any]:
        if known and make.chance(0.25):  # a later paper of the same people, under almost the same title
            made = {**make.one(known)}
            title = list(made["title"])
            title[int(make.random.integers(len(title)))] = _word(make)
            made |= {"title": title, "venue": make.one(VENUES), "year": made["year"] + make.one([0, 1, 2])}
        else:
            people = [(make.one(FIRST), make.one(LAST)) for _ in range(int(make.random.integers(1, 5)))]
            title = [_word(make) for _ in range(int(make.random.integers(4, 10)))]
            year = int(make.random.integers(1985, 2005))
            made = {"title": title, "authors": people, "venue": make.one(VENUES), "year": year}
        known.append(made)
        return made

    def clean(make: Maker, made: dict[str, Any]) -> Record:
        authors = ", ".join(f"{first} {last}" for first, last in made["authors"])
        venue = VENUES[made["venue"]] if make.chance(0.8) else made["venue"]
        return {
            "title": " ".join(made["title"]),
            "authors": authors,
            "venue": venue,
            "year": str(made["year"]),
        }

    def dirty(make: Maker, made: dict[str, Any]) -> Record:
        title = [make.typo(word, 0.04) for word in made["title"]]
        title = title[: max(3, len(title) - 2)] if make.chance(0.15) else title
        people = made["authors"][:3] if make.chance(0.4) else made["authors"]
        authors = ", ".join(f"{first[0]} {last}" for first, last in people)
        short = [w[:4] + "." if len(w) > 5 and make.chance(0.6) else w for w in made["venue"].split()]
        venue = VENUES[made["venue"]] if make.chance(0.4) else " ".join(short)
        return {
            "title": " ".join(title),
            "authors": authors + (" et al" if len(people) < len(made["authors"]) else ""),
            "venue": venue if make.chance(0.7) else "",
            "year": str(made["year"]) if make.chance(0.45) else "",
        }

    return _two(seed, n, thing, (clean, dirty), repeats=3)


def long_products(seed: int, n: int = 800) -> Tables:
    """Names and descriptions of 25 words; models of a line differ in a few characters, prices in shops."""
    lines = Maker(seed + 1)
    known = [
        (lines.one(BRANDS), lines.one(THINGS), lines.one("ABDEFGX"), [_word(lines) for _ in range(20)])
        for _ in range(n // 6)
    ]

    def thing(make: Maker) -> dict[str, Any]:
        brand, kind, letter, line = make.one(known)
        code = f"{letter}{make.random.integers(100, 999)}{make.one(['', 's', 'k'])}"
        text = [*make.random.permutation(line)[:15], *(_word(make) for _ in range(8))]
        price = float(make.random.lognormal(4.5, 1))
        return {"brand": brand, "kind": kind, "code": code, "text": text, "price": price}

    def first(make: Maker, made: dict[str, Any]) -> Record:
        return {
            "name": f"{made['brand']} {made['kind']} - {made['code']}",
            "description": f"{made['brand']} {made['kind']} {made['code']}/ {' '.join(made['text'])}",
            "price": f"${made['price']:.2f}" if make.chance(0.4) else "",
        }

    def second(make: Maker, made: dict[str, Any]) -> Record:
        code, price = made["code"], made["price"] * float(make.random.normal(1, 0.1))
        text = make.random.permutation(made["text"][: int(make.random.integers(3, 14))])
        name = f"{made['brand']} {make.one([code, code.upper(), f'{code[0]}-{code[1:]}'])} {made['kind']}"
        return {
            "name": make.typo(name, 0.1),
            "description": " ".join(text) if make.chance(0.6) else "",
            "price": f"{price:.2f} EUR".replace(".", ",") if make.chance(0.6) else "",
        }

    return _two(seed, n, thing, (first, second))


def patients(seed: int, n: int = 800) -> Tables:
    """Columns whose names differ in case; dates, telephone numbers and sex in other forms."""

    def thing(make: Maker) -> Record:
        return {
            "last_name": make.one(LAST),
            "first_name": make.one(FIRST),
            "birth_date": _day(make, "1930-01-01", 30_000),
            "sex": make.one("MF"),
            "phone": make.digits(10),
            "street": f"{make.random.integers(1, 200)} {make.one(STREETS)} {make.one(TYPES)}",
            "city": make.one(CITIES),
        }

    def first(make: Maker, made: Record) -> Record:
        row = make.spoiled(made, 0.15, 0.1)
        return {name.replace("_", " ").title(): value for name, value in row.items()}

    def second(make: Maker, made: Record) -> Record:
        phone = made["phone"]
        row = {
            **made,
            "last_name": made["last_name"] if make.chance(0.93) else make.one(LAST),  # married
            "first_name": made["first_name"] if make.chance(0.8) else made["first_name"][:3],
            "birth_date": _written(make, made["birth_date"]),
            "sex": {"M": "male", "F": "female"}[made["sex"]],
            "phone": f"+1 ({phone[:3]}) {phone[3:6]} {phone[6:]}",
            "street": make.short(made["street"], TYPES),
        }
        return make.spoiled(row, 0.15, 0.1)

    return _two(seed, n, thing, (first, second), repeats=2)


def concerts(seed: int, n: int = 600) -> Tables:
    """Bands that play often; dates in seven forms, prices with a currency before or after."""
    names = Maker(seed + 5)
    bands = [f"{names.one(['The ', ''])}{names.one(WORDS)} {_word(names).title()}" for _ in range(n // 10)]
    halls = [f"{names.one(WORDS)} {names.one(['Hall', 'Arena', 'Club'])}" for _ in range(30)]

    def thing(make: Maker) -> dict[str, Any]:
        price = int(make.random.integers(10, 120)) + make.one([0, 0.5, 0.9])
        day = _day(make, "2015-01-01", 1500)
        return {"band": make.one(bands), "hall": make.one(halls), "day": day, "price": price}

    def show(make: Maker, made: dict[str, Any]) -> Record:
        price = f"{made['price']:.2f}"
        comma = price.replace(".", ",")
        row = {
            "artist": made["band"],
            "venue": made["hall"] if make.chance(0.8) else made["hall"].split()[0],
            "day": _written(make, made["day"]),
            "price": make.one([f"${price}", f"{price} EUR", f"{comma} €", f"USD {price}"]),
        }
        return make.spoiled(row, 0.12, 0.1)

    return _one(seed, n, thing, show)


def half_missing(seed: int, n: int = 600) -> Tables:
    """People; half of all values but the last name are missing."""

    def thing(make: Maker) -> Record:
        first, last = make.one(FIRST), make.one(LAST)
        return {
            "family": last,
            "given": first,
            "birth": _day(make, "1940-01-01", 25_000),
            "phone": make.digits(9),
            "email": f"{first[0]}.{last}{make.random.integers(1, 99)}@{make.one('abcd')}.org".lower(),
            "city": make.one(CITIES),
            "street": f"{make.random.integers(1, 200)} {make.one(STREETS)} {make.one(TYPES)}",
            "employer": f"{make.one(WORDS)} {make.one(['Systems', 'Foods', 'Energy'])}",
        }

    return _one(seed, n, thing, lambda make, made: make.spoiled(made, 0.5, 0.08))


def firms(seed: int, n: int = 600) -> Tables:
    """Companies of eight countries: legal forms are left out, accents dropped, most other values missing."""

    def thing(make: Maker) -> dict[str, Any]:
        country = make.one(FIRMS)
        forms, trades, own = (text.split("|" if "|" in text else None) for text in FIRMS[country])
        parts = own if country in ("ru", "jp", "gr") else [*own, *LAST, *VOCABULARY[:100]]
        name = [make.one(parts).title() for _ in range(make.one([1, 2]))] + [make.one(trades)]
        return {"country": country, "form": make.one(forms), "name": name, "city": make.one(CITIES)}

    def show(make: Maker, made: dict[str, Any]) -> Record:
        form = made["form"] if make.chance(0.65) else make.one(["", made["form"].replace(".", "").lower()])
        joint = "" if made["country"] == "jp" else " "
        parts = [form, *made["name"]] if made["country"] in ("ru", "jp") else [*made["name"], form]
        name = joint.join(part for part in parts if part)
        if make.chance(0.2):
            found = unicodedata.normalize("NFKD", name).replace("ß", "ss").replace("ł", "l")
            name = "".join(letter for letter in found if not unicodedata.combining(letter))
        host = "".join(letter for letter in "".join(made["name"][:-1]).lower() if letter.isascii())
        site = f"{make.one(['http://www.', 'www.'])}{host}.{made['country']}{make.one(['', '/'])}"
        row = {
            "company": name,
            "city": made["city"],
            "website": site if host and make.chance(0.5) else "",
        }
        return make.spoiled(row, 0.2, 0.1)

    return _one(seed, n, thing, show)


MORE_TABLES: dict[str, Callable[[int], Tables]] = {
    "citations": citations,
    "long_products": long_products,
    "patients": patients,
    "concerts": concerts,
    "half_missing": half_missing,
    "firms": firms,
}
