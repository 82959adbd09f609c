"""Generated author records: ambiguous names, several people behind each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ._draws import count, number

# Name: records and people, as in table 3.2 of Ertekin's thesis.
AUTHOR_NAMES: Mapping[str, tuple[int, int]] = {
    "A. Gupta": (506, 44),
    "A. Kumar": (143, 36),
    "C. Chen": (536, 103),
    "D. Johnson": (350, 41),
    "J. Anderson": (327, 43),
    "J. Robinson": (115, 30),
    "J. Smith": (743, 86),
    "K. Tanaka": (53, 20),
    "M. Jones": (352, 53),
    "M. Miller": (230, 34),
}


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_FIRST_NAMES = {
    "A": "Aarav Aditi Ajay Akash Alok Amit Amita Anand Anil Anita Anjali Ankur Arjun Arun Asha Ashok Atul",
    "C": "Carl Chao Chen Cheng Chi Chia Chih Chin Ching Chong Chris Chuan Chun Chung Colin Craig Cynthia",
    "D": "Dale Daniel Darren David Dean Deborah Dennis Derek Diana Diane Donald Donna Dorothy Douglas Duncan",
    "J": "Jack Jacob James Jane Janet Jason Jean Jeffrey Jennifer Jeremy Jill John Jonathan Joseph Julia",
    "K": "Kaito Kana Katsumi Kazuki Kazuo Keiko Keita Ken Kenji Kenta Kiyoshi Koichi Koji Kota Kumi Kyoko",
    "M": "Mabel Marc Margaret Maria Mark Martha Mary Matthew Maurice Megan Melissa Michael Monica Morgan",
}
_UNIVERSITIES = _words(
    "Arizona Berlin Bologna Bristol Calgary Cambridge Chicago Delhi Dresden Dublin Edinburgh Geneva Ghent "
    "Hamburg Helsinki Kyoto Leeds Leiden Lisbon London Lyon Madrid Melbourne Michigan Milan Munich Nagoya "
    "Ohio Oregon Osaka Oslo Ottawa Oxford Padua Paris Porto Prague Princeton Rome Seoul Sydney Taipei "
    "Tokyo Turin Utah Vermont Vienna Virginia Warsaw Waterloo Zurich"
)
_DEPARTMENTS = (
    "Computer Science",
    "Mathematics",
    "Physics",
    "Electrical Engineering",
    "Statistics",
    "Biology",
    "Chemistry",
    "Information Systems",
)
_STREETS = _words("Park Main Oak Hill Station Church River Mill Lake Garden North Market")
_SHORT = {
    "Department": "Dept",
    "University": "Univ",
    "Engineering": "Eng",
    "Computer": "Comp",
    "Science": "Sci",
}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MISSING = {"email": 0.25, "url": 0.5, "affiliation": 0.05, "address": 0.2}
_TYPO, _SHARED, _SURVIVES, _ABBREVIATED = 0.05, 0.1, 0.6, 0.2
_STYLES = ("full", "middle", "initials")


def make_author_records(
    names: Mapping[str, tuple[int, int]] | None = None,
    *,
    scale: float = 0.2,
    styles: Sequence[float] = (0.6, 0.2, 0.2),
    random_state: int = 0,
) -> tuple[list[dict[str, str]], NDArray[np.int64]]:
    """Draw records of authors with ambiguous names.

    A person has a first name, perhaps a middle initial, 1 + Poisson(0.4) affiliations, a tenth of them shared
    with a namesake, and a user name that survives a move with probability 0.6. A record has one of three
    styles of the name, an affiliation that may be abbreviated, and a typing error in 5 % of the fields.
    Email, url, affiliation and address are missing with probability 0.25, 0.5, 0.05 and 0.2. The
    first people of a name have many records, the others few: in proportion to 1 / rank, at least one each.

    Parameters
    ----------
    names : dict of str to (int, int), default=None
        The names, such as "J. Smith", with the number of records and people. None takes the ten names of
        Ertekin's thesis, 3,355 records of 490 people.
    scale : float, default=0.2
        By which these numbers are multiplied.
    styles : sequence of 3 floats, default=(0.6, 0.2, 0.2)
        The shares of the styles of a name in records: the full first name, with the middle initial, and
        initials alone, from which namesakes are hard to tell.
    random_state : int, default=0
        The seed. A name draws from ``default_rng([random_state, place of the name])``: its records do not
        depend on other names.

    Returns
    -------
    records, person : list of dict of str to str, and int64 array of shape (n_records,)
        Records with the fields name, email, url, affiliation and address, "" for a missing value, and the
        person of each. The records of a name are consecutive.

    References
    ----------
    Ş. Ertekin, *Learning in Extreme Conditions: Online and Active Learning with Massive, Imbalanced and Noisy
    Data*, 2009, section 3.4.

    Examples
    --------
    >>> from everlearn.datasets import make_author_records
    >>> records, person = make_author_records(random_state=0)
    >>> len(records), len(set(person.tolist()))
    (671, 99)
    """
    seed = count("random_state", random_state, 0)
    factor = number("scale", scale, np.nextafter(0, 1), 1e6, "a positive number")
    try:
        shares = np.asarray(styles, dtype=np.float64)
    except (TypeError, ValueError):  # no numbers
        shares = np.zeros(0)
    if shares.shape != (3,) or not np.isfinite(shares).all() or (shares < 0).any() or not shares.sum() > 0:
        raise ValueError(
            f"styles must be three shares (full, middle initial, initials) from 0, got {styles!r}."
        )
    shares = shares / shares.sum()
    records: list[dict[str, str]] = []
    people: list[int] = []
    for place, (name, (n_records, n_people)) in enumerate((names or AUTHOR_NAMES).items()):
        n, a = (max(1, round(factor * value)) for value in (n_records, n_people))
        made, person = _block(name, n, min(a, n), shares, np.random.default_rng([seed, place]))
        start = max(people, default=-1) + 1
        records += made
        people += [start + p for p in person]
    return records, np.array(people, dtype=np.int64)


def _block(
    name: str, n: int, n_people: int, styles: NDArray[np.float64], rng: np.random.Generator
) -> tuple[list[dict[str, str]], list[int]]:
    """The records of one name in random order, and the person of each."""
    initial, last = name[0].upper(), name.split()[-1]
    places: list[tuple[str, str, str]] = []
    authors = [_author(initial, last, places, rng) for _ in range(n_people)]
    shares = 1 / np.arange(1, n_people + 1)
    extra = rng.multinomial(n - n_people, shares / shares.sum())
    person = rng.permutation(np.repeat(np.arange(n_people), 1 + extra)).tolist()
    return [_record(authors[p], last, styles, rng) for p in person], person


def _author(
    initial: str, last: str, places: list[tuple[str, str, str]], rng: np.random.Generator
) -> dict[str, object]:
    firsts = _FIRST_NAMES.get(initial, initial + "a").split()
    first = str(rng.choice(firsts))
    middle = str(rng.choice(list(_LETTERS))).upper() if rng.random() < 0.5 else ""
    jobs, user = [], ""
    for move in range(1 + int(rng.poisson(0.4))):
        if places and rng.random() < _SHARED:
            place = places[int(rng.integers(len(places)))]
        else:
            place = _place(rng)
            places.append(place)
        if move == 0 or rng.random() >= _SURVIVES:
            user = _user(first, middle, last, rng)
        jobs.append((*place, user))
    return {"first": first, "middle": middle, "jobs": jobs}


def _place(rng: np.random.Generator) -> tuple[str, str, str]:
    """Affiliation, address and domain."""
    town, department = str(rng.choice(_UNIVERSITIES)), str(rng.choice(_DEPARTMENTS))
    address = f"{rng.integers(1, 200)} {rng.choice(_STREETS)} Street, {town} {rng.integers(10000, 99999)}"
    short = "".join(word[0] for word in department.split()).lower()
    return f"Department of {department}, University of {town}", address, f"{short}.{town.lower()}.edu"


def _user(first: str, middle: str, last: str, rng: np.random.Generator) -> str:
    f, m, surname = first.lower(), middle.lower(), last.lower()
    forms = (
        f"{f[0]}{m}{surname}",
        f,
        f"{f}.{surname}",
        f"{surname}{rng.integers(1, 100)}",
        f"{f[0]}{m}{surname[0]}",
    )
    return forms[int(rng.integers(len(forms)))]


def _record(
    author: dict[str, object], last: str, styles: NDArray[np.float64], rng: np.random.Generator
) -> dict[str, str]:
    first, middle, jobs = str(author["first"]), str(author["middle"]), author["jobs"]
    assert isinstance(jobs, list)
    affiliation, address, domain, user = jobs[int(rng.integers(len(jobs)))]
    style = rng.choice(_STYLES, p=styles)
    if style == "initials":
        given = f"{first[0]}." + (f" {middle}." if middle else "")
    else:
        given = f"{first} {middle}." if style == "middle" and middle else first
    if rng.random() < _ABBREVIATED:
        for word, short in _SHORT.items():
            affiliation = affiliation.replace(word, short)
    # A typing error in a name must leave it in its block: only letters inside the first name are changed.
    if len(given) > 3 and rng.random() < _TYPO:
        given = given[0] + _typo(given[1:], rng)
    record = {"name": f"{given} {last}"}
    values = {"email": f"{user}@{domain}", "url": f"http://www.{domain}/~{user}"}
    for field, value in {**values, "affiliation": affiliation, "address": address}.items():
        text = _typo(value, rng) if rng.random() < _TYPO else value
        record[field] = "" if rng.random() < _MISSING[field] else text
    return record


def _typo(text: str, rng: np.random.Generator) -> str:
    """A letter replaced, dropped, doubled, or swapped with the next."""
    places = [i for i, letter in enumerate(text) if letter.isalpha()]
    if not places:
        return text
    i, kind = int(rng.choice(places)), int(rng.integers(4))
    middle = (str(rng.choice(list(_LETTERS))), "", text[i] * 2, text[i + 1 : i + 2] + text[i])[kind]
    return text[:i] + middle + text[i + 1 + (kind == 3) :]
