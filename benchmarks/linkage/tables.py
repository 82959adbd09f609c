"""Generated tables of things that people link: restaurants, products, people, companies, songs.

Each has what makes such tables hard: namesakes that differ in one field, misspellings, abbreviations, words
that are left out, values in the wrong field or missing, and one to five records of a thing.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

import numpy as np

from .words import BRANDS, CITIES, CUISINES, FIRST, LAST, SCRIPTS, STREETS, SUFFIXES, THINGS, TYPES, WORDS

Record = dict[str, str]
Table = tuple[list[Record], np.ndarray]


class Maker:
    """Draws values and spoils them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one(self, values: Any) -> Any:
        """One of some values."""
        values = list(values)
        return values[int(self.random.integers(len(values)))]

    def chance(self, p: float) -> bool:
        """Whether something happens."""
        return bool(self.random.random() < p)

    def digits(self, n: int) -> str:
        """A number of n digits."""
        return "".join(str(d) for d in self.random.integers(0, 10, n))

    def typo(self, text: str, p: float = 0.15) -> str:
        """Perhaps one letter more, less, another, or two swapped."""
        if len(text) < 3 or not self.chance(p):
            return text
        at, letter = int(self.random.integers(len(text) - 1)), self.one(string.ascii_lowercase)
        if not text.isascii():
            letter = self.one(text)
        return self.one(
            [
                text[:at] + text[at + 1 :],
                text[:at] + letter + text[at:],
                text[:at] + letter + text[at + 1 :],
                text[:at] + text[at + 1] + text[at] + text[at + 2 :],
            ]
        )

    def short(self, text: str, table: dict[str, str], p: float = 0.5) -> str:
        """Perhaps with abbreviations."""
        words = [table.get(word, word) if self.chance(p) else word for word in text.split()]
        return " ".join(words)

    def spoiled(self, record: Record, missing: float = 0.1, typos: float = 0.15) -> Record:
        """With misspellings, other case and missing values; the first field is not missing."""
        found = {}
        for place, (name, value) in enumerate(record.items()):
            text = self.typo(value, typos)
            text = text.upper() if self.chance(0.08) else text
            found[name] = "" if place and self.chance(missing) else text
        return found


def _entities(
    n: int, seed: int, thing: Callable[[Maker, int], Any], show: Callable[[Maker, Any], Record], most: int
) -> Table:
    """One to ``most`` records of each of n things, in random order."""
    make = Maker(seed)
    rows, entity = [], []
    for number in range(n):
        made = thing(make, number)
        for _ in range(1 if make.chance(0.4) else int(make.random.integers(1, most + 1))):
            rows.append(show(make, made))
            entity.append(number)
    order = make.random.permutation(len(rows))
    return [rows[at] for at in order], np.array(entity)[order]


def restaurants(seed: int, n: int = 600) -> Table:
    """Name, address, city, phone and cuisine; chains have branches in several places."""
    chains = [f"{a} {b}" for a, b in zip(WORDS[:12], WORDS[20:32], strict=True)]

    def thing(make: Maker, _: int) -> Record:
        name = make.one(chains) if make.chance(0.3) else f"{make.one(WORDS)} {make.one(WORDS)}"
        kind = make.one(["Restaurant", "Cafe", "Grill", "Kitchen", "House", ""])
        return {
            "name": f"{name} {kind}".strip(),
            "address": f"{make.random.integers(1, 999)} {make.one(STREETS)} {make.one(TYPES)}",
            "city": make.one(CITIES),
            "phone": make.digits(10),
            "cuisine": make.one(CUISINES),
        }

    def show(make: Maker, made: Record) -> Record:
        p = made["phone"]
        forms = [f"{p[:3]}-{p[3:6]}-{p[6:]}", f"({p[:3]}) {p[3:6]}-{p[6:]}", f"{p[:3]}/{p[3:6]}-{p[6:]}"]
        words = made["name"].split()
        name = " ".join(words[:-1]) if len(words) > 2 and make.chance(0.3) else made["name"]
        row = {
            **made,
            "name": f"The {name}" if make.chance(0.1) else name,
            "address": make.short(made["address"], TYPES),
            "phone": make.one(forms),
            "cuisine": make.short(made["cuisine"], CUISINES, 0.4),
        }
        return make.spoiled(row)

    return _entities(n, seed, thing, show, 3)


def products(seed: int, n: int = 700) -> Table:
    """Title, maker and price; models of one line differ in a number."""

    def thing(make: Maker, _: int) -> Record:
        model = f"{make.one('ABDEFGX')}{make.one(string.ascii_uppercase)}-{make.random.integers(1, 40) * 10}"
        size = make.one(["", "16GB", "32GB", "black", "white", "2-pack"])
        return {
            "brand": make.one(BRANDS),
            "model": model,
            "thing": make.one(THINGS),
            "size": size,
            "word": make.one(WORDS).lower(),
            "price": f"{make.random.lognormal(4, 1):.2f}",
        }

    def show(make: Maker, made: Record) -> Record:
        model = made["model"].replace("-", make.one(["-", "", " "]))
        parts = [made["brand"], model, made["word"], made["thing"], made["size"]]
        if make.chance(0.3):
            parts.remove(made["word"])
        if make.chance(0.3):
            parts.append(make.one(["new", "retail box", "with warranty", "digital", "wireless"]))
        if make.chance(0.2):
            make.random.shuffle(parts)
        price = float(made["price"]) * float(make.random.normal(1, 0.05))
        row = {
            "title": " ".join(p for p in parts if p),
            "manufacturer": made["brand"] if make.chance(0.6) else "",
            "price": f"${price:,.2f}" if make.chance(0.5) else f"{price:.2f}",
        }
        return make.spoiled(row, 0.15)

    return _entities(n, seed, thing, show, 3)


def people(seed: int, n: int = 700) -> Table:
    """Twelve fields of people; families share a last name, an address and a phone number."""
    families = Maker(seed + 1)
    homes = [
        (
            families.one(LAST),
            f"{families.random.integers(1, 999)} {families.one(STREETS)} {families.one(TYPES)}",
            families.one(CITIES),
            families.digits(5),
            families.digits(9),
        )
        for _ in range(n // 2)
    ]

    def thing(make: Maker, number: int) -> Record:
        last, street, city, code, phone = make.one(homes)
        first, middle = make.one(FIRST), make.one(FIRST)
        day = np.datetime64("1930-01-01") + int(make.random.integers(0, 30_000))
        return {
            "first_name": first,
            "middle_name": middle,
            "last_name": last,
            "gender": make.one("MF"),
            "birth_date": str(day),
            "street": street,
            "city": city,
            "zip": code,
            "phone": phone,
            "email": f"{first}.{last}{number % 90}@{make.one(['mail', 'post', 'web'])}.com".lower(),
            "occupation": make.one(["teacher", "nurse", "engineer", "driver", "cook", "clerk"]),
            "status": make.one(["active", "inactive"]),
        }

    def show(make: Maker, made: Record) -> Record:
        row = dict(made)
        if make.chance(0.1):
            row["first_name"], row["last_name"] = row["last_name"], row["first_name"]
        if make.chance(0.4):
            row["middle_name"] = row["middle_name"][0]
        if make.chance(0.15):
            row["first_name"] = row["first_name"][0] + "."
        year, month, day = made["birth_date"].split("-")
        row["birth_date"] = make.one([made["birth_date"]] * 3 + [f"{day}/{month}/{year}"])
        row["street"] = make.short(row["street"], TYPES)
        if make.chance(0.1):  # moved
            row |= {
                "street": f"{make.random.integers(1, 999)} {make.one(STREETS)} Street",
                "zip": make.digits(5),
            }
        if make.chance(0.1):
            row["status"] = make.one(["active", "inactive"])
        return make.spoiled(row, 0.2, 0.08)

    return _entities(n, seed, thing, show, 4)


def companies(seed: int, n: int = 700) -> Table:
    """Two fields: name and country."""

    def thing(make: Maker, _: int) -> Record:
        words = (
            [make.one(WORDS), make.one(WORDS)] if make.chance(0.6) else [make.one(LAST), "&", make.one(LAST)]
        )
        trade = make.one(
            ["Logistics", "Systems", "Foods", "Energy", "Trading", "Software", "Partners", "Consulting"]
        )
        return {
            "company": " ".join([*words, trade, make.one(SUFFIXES)]),
            "country": make.one(["Germany", "France", "United Kingdom", "United States", "Spain", "Japan"]),
        }

    codes = {"Germany": "DE", "France": "FR", "Spain": "ES", "Japan": "JP", "United": "U."}

    def show(make: Maker, made: Record) -> Record:
        name = make.short(made["company"], {**SUFFIXES, "&": "and"}, 0.5)
        words = name.split()
        if make.chance(0.25):
            words = words[:-1]
        return make.spoiled(
            {"company": " ".join(words), "country": make.short(made["country"], codes, 0.3)}, 0.1, 0.25
        )

    return _entities(n, seed, thing, show, 3)


def songs(seed: int, n: int = 500) -> Table:
    """Title, artist, album, year and length; covers, live versions and albums of one artist."""
    titles = Maker(seed + 2)
    known = [
        f"{titles.one(WORDS)} {titles.one(['of', 'in', 'and', 'without'])} {titles.one(WORDS)}"
        for _ in range(n // 2)
    ]
    bands = [f"{titles.one(['The ', ''])}{titles.one(WORDS)} {titles.one(LAST)}s" for _ in range(n // 8)]

    def thing(make: Maker, _: int) -> Record:
        return {
            "title": make.one(known) + (" (Live)" if make.chance(0.15) else ""),
            "artist": make.one(bands),
            "album": f"{make.one(WORDS)} {make.one(['Nights', 'Days', 'Sessions', 'Tapes'])}",
            "year": str(make.random.integers(1960, 2024)),
            "length": str(make.random.integers(120, 420)),
        }

    def show(make: Maker, made: Record) -> Record:
        row = dict(made)
        if make.chance(0.15):
            row["title"] += make.one([" - Remastered", " [Explicit]", f" (feat. {make.one(FIRST)})"])
        if make.chance(0.2):
            row["artist"] = row["artist"].removeprefix("The ")
        if make.chance(0.1):
            row["title"], row["artist"] = f"{row['artist']} - {row['title']}", ""
        if make.chance(0.3):
            seconds = int(row["length"]) + int(make.random.integers(-2, 3))
            row["length"] = f"{seconds // 60}:{seconds % 60:02d}"
        return make.spoiled(row, 0.12)

    return _entities(n, seed, thing, show, 5)


def scripts(seed: int, n: int = 600) -> Table:
    """Names, birth dates, cities and addresses in four scripts."""

    def thing(make: Maker, _: int) -> Record:
        script = make.one(SCRIPTS)
        last, first, cities = SCRIPTS[script]
        joint = "" if script == "chinese" else " "
        given = make.one(first) + (make.one(first) if script == "chinese" and make.chance(0.7) else "")
        day = np.datetime64("1940-01-01") + int(make.random.integers(0, 25_000))
        number = str(make.random.integers(1, 300))
        place = make.one(cities)
        return {
            "name": make.one(last) + joint + given,
            "born": str(day),
            "city": place,
            "address": f"{place}{joint}{make.one(last)}{joint}{number}{'号' if script == 'chinese' else ''}",
        }

    def show(make: Maker, made: Record) -> Record:
        row = dict(made)
        words = row["name"].split()
        if len(words) == 2 and make.chance(0.3):
            row["name"] = make.one(
                [f"{words[1]} {words[0]}", f"{words[0]}, {words[1]}", f"{words[0]} {words[1][0]}."]
            )
        return make.spoiled(row, 0.15, 0.12)

    return _entities(n, seed, thing, show, 3)


def names_only(seed: int, n: int = 500) -> Table:
    """A single field."""
    table, person = people(seed + 10, n)
    return [
        {"person": f"{row['first_name']} {row['middle_name']} {row['last_name']}"} for row in table
    ], person


TABLES: dict[str, Callable[[int], Table]] = {
    "restaurants": restaurants,
    "products": products,
    "people": people,
    "companies": companies,
    "songs": songs,
    "scripts": scripts,
    "names_only": names_only,
}
