"""Twenty-two files as they come from offices, shops, sensors and databases, with their options."""

import bz2
import html
import io
import json
import lzma
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

N_ROWS = 60


@dataclass
class RealFile:
    """A file: its name, what is in it, its bytes, and the parameters of `open_source` that it needs."""

    name: str
    contents: str
    data: bytes
    options: dict[str, Any] = field(default_factory=dict)


def _random():
    return np.random.default_rng(7)


def _german(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def _days(template, hours=False):
    """Ascending days through 2025, so that all days of a month occur."""
    found = []
    for i in range(N_ROWS):
        day, month = i * 7 % 28 + 1, i * 12 // N_ROWS + 1
        twelve = (i * 5) % 12 + 1
        parts = {"d": day, "m": month, "h": i * 5 % 24, "t": i * 37 % 60, "h12": twelve, "p": "AP"[i % 2]}
        found.append(template.format(**parts))
    return found


def _table(header, columns, delimiter=","):
    rows = zip(*columns, strict=True)
    return "\n".join([delimiter.join(header), *(delimiter.join(map(str, row)) for row in rows)]) + "\n"


def _amounts():
    return np.round(_random().lognormal(6, 1.2, N_ROWS), 2).tolist()


def _cycle(*values):
    return [values[i % len(values)] for i in range(N_ROWS)]


LABELS = _cycle("0", "0", "1")


def _unit_vectors(length):
    rows = _random().normal(size=(N_ROWS, length))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _json_lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _parquet():
    table = pa.table(
        {
            "doc_id": [f"d{i}" for i in range(N_ROWS)],
            "vector": pa.array(_unit_vectors(16).astype(np.float32).tolist(), pa.list_(pa.float32(), 16)),
            "label": _cycle("sports", "politics", "science"),
        }
    )
    buffer = io.BytesIO()
    pa.parquet.write_table(table, buffer)
    return buffer.getvalue()


def _npz():
    buffer = io.BytesIO()
    np.savez(buffer, x=_random().normal(size=(N_ROWS, 4)), y=np.arange(N_ROWS) % 2)
    return buffer.getvalue()


def _zstd(text):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(text.encode())
    return sink.getvalue().to_pybytes()


def real_files():
    """The files."""
    amounts = _amounts()
    quoted = [f'"${value:,.2f}"' for value in amounts]
    words = [
        "parcel",
        "came",
        "late",
        "the",
        "box",
        "was",
        "open",
        "but",
        "staff",
        "helped",
        "me",
        "at",
        "once",
    ]
    reviews = [
        '"' + " ".join(np.roll(words, i)[: 8 + i % 7]) + f'\nReview ""{i}"" of many"' for i in range(N_ROWS)
    ]
    vectors = _unit_vectors(8)
    return [
        RealFile(
            "bank.csv",
            "German bank export: Windows-1252, semicolons, `1.295,32 €`, `03.01.2025 08:31`, Ja/Nein",
            _table(
                ["Buchung", "Betrag", "Empfänger", "Geprüft", "label"],
                [
                    _days("{d:02}.{m:02}.2025 {h:02}:{t:02}"),
                    [f"{_german(value)} €" for value in amounts],
                    _cycle("Müller", "Größer", "Café"),
                    _cycle("Ja", "Nein"),
                    LABELS,
                ],
                ";",
            ).encode("cp1252"),
        ),
        RealFile(
            "excel.txt",
            "“Unicode text” of Excel: UTF-16 with a byte-order mark, tabs, `1,5`",
            _table(
                ["Größe", "Menge", "label"],
                [[f"{v / 7:.1f}".replace(".", ",") for v in range(N_ROWS)], range(N_ROWS), LABELS],
                "\t",
            ).encode("utf-16"),
        ),
        RealFile(
            "ventes.csv",
            "French: byte-order mark, narrow no-break spaces `1 234,50`, `31/01/2025`, oui/non",
            _table(
                ["date", "montant", "payé", "label"],
                [
                    _days("{d:02}/{m:02}/2025"),
                    [f"{v:,.2f}".replace(",", "\u202f").replace(".", ",") for v in amounts],
                    _cycle("oui", "non", "oui"),
                    LABELS,
                ],
                ";",
            ).encode("utf-8-sig"),
        ),
        RealFile(
            "schweiz.csv",
            "Swiss: `CHF 1'234.50`",
            _table(
                ["Preis", "label"], [[f"CHF {v:,.2f}".replace(",", "'") for v in amounts], LABELS]
            ).encode(),
        ),
        RealFile(
            "sales.csv",
            'US: `"$1,234.50"`, `1/31/2025 8:31 PM`, `12.5%`, Yes/No',
            _table(
                ["when", "total", "discount", "returned", "label"],
                [
                    _days("{m}/{d}/2025 {h12}:{t:02} {p}M"),
                    quoted,
                    [f"{i % 40 / 2}%" for i in range(N_ROWS)],
                    _cycle("Yes", "No", "no"),
                    LABELS,
                ],
            ).encode(),
        ),
        RealFile(
            "india.csv",
            'Indian grouping: `"₹12,34,567"`',
            _table(
                ["income", "label"], [_cycle('"₹12,34,567"', '"₹98,450"', '"₹1,02,30,000"'), LABELS]
            ).encode(),
        ),
        RealFile(
            "macintosh.csv",
            "lines end in CR alone",
            _table(["x", "shop", "label"], [range(N_ROWS), _cycle("a", "b"), LABELS])
            .replace("\n", "\r")
            .encode(),
        ),
        RealFile(
            "ambiguous.csv",
            "`03/04/2025`, no day after the 12th, rows not sorted",
            _table(
                ["date", "x", "label"],
                [
                    [f"{i * 5 % 12 + 1:02}/{i * 7 % 12 + 1:02}/2025" for i in range(N_ROWS)],
                    range(N_ROWS),
                    LABELS,
                ],
            ).encode(),
        ),
        RealFile(
            "sorted.csv",
            "`12/11/2025`, then `01/12/2025`: both readings fit, but only one is in order",
            _table(
                ["date", "x", "label"],
                [[f"{i % 12 + 1:02}/{i // 12 + 8:02}/2025" for i in range(N_ROWS)], range(N_ROWS), LABELS],
            ).encode(),
        ),
        RealFile(
            "codes.csv",
            'codes: `"1,234"` next to `A12`, postal codes `01067`, phone numbers `601 234 567`',
            _table(
                ["product", "zip", "phone", "price", "label"],
                [
                    _cycle('"1,234"', "A12", '"7,001"'),
                    _cycle("01067", "80331", "20095"),
                    [f"601 {i // 2:03} {i // 2 * 7:03}" for i in range(N_ROWS)],
                    amounts,
                    LABELS,
                ],
            ).encode(),
        ),
        RealFile(
            "ledger.csv",
            "accounting: `(1.234,50)` is negative, and so is `12,50-`",
            _table(
                ["saldo", "label"], [_cycle("1.234,50", "(99,10)", "12,50-", "7,-"), LABELS], ";"
            ).encode(),
        ),
        RealFile(
            "currencies.csv",
            "several currencies: `€5` and `$5` are not the same",
            _table(["paid", "x", "label"], [_cycle("€5", "$7", "$12"), amounts, LABELS]).encode(),
        ),
        RealFile(
            "russian.csv",
            "Cyrillic in Windows-1251, with `--encoding cp1251`",
            _table(
                ["город", "сумма", "label"],
                [_cycle("Москва", "Казань"), [_german(v).replace(".", " ") for v in amounts], LABELS],
                ";",
            ).encode("cp1251"),
            {"encoding": "cp1251"},
        ),
        RealFile(
            "orders.jsonl",
            "nested objects, keys that are missing, milliseconds since 1970, true/false",
            _json_lines(
                {
                    "ts": 1_735_891_860_000 + 3_600_000 * i,
                    "user": {"age": 20 + i % 50, "address": {"country": ["DE", "FR"][i % 2]}},
                    "express": i % 3 == 0,
                    **({"coupon": "SPRING"} if i % 4 == 0 else {}),
                    "label": i % 2,
                }
                for i in range(N_ROWS)
            ),
        ),
        RealFile(
            "embeddings.jsonl",
            "a list of 8 numbers of length 1 in each row, and lists of tags",
            _json_lines(
                {"id": i, "embedding": vectors[i].tolist(), "tags": ["a"] * (i % 3), "label": i % 2}
                for i in range(N_ROWS)
            ),
        ),
        RealFile("documents.parquet", "embeddings as a list column of float32", _parquet()),
        RealFile("arrays.npz", "NumPy arrays `x` (60 rows of 4) and `y`", _npz()),
        RealFile(
            "wide.csv.xz",
            "500 numeric columns, compressed with xz",
            lzma.compress(
                _table(
                    [*(f"f{i}" for i in range(500)), "class"],
                    [*(np.round(column, 3) for column in _random().normal(size=(500, N_ROWS))), LABELS],
                ).encode()
            ),
        ),
        RealFile(
            "reviews.csv.bz2",
            "long text with line breaks and quotes, compressed with bzip2",
            bz2.compress(_table(["review", "stars", "label"], [reviews, _cycle(1, 5, 3), LABELS]).encode()),
        ),
        RealFile(
            "survey.csv",
            "missing values: empty, `NA`, `N/A`, `?`, `nan`; an empty column; an index without a name",
            _table(
                ["", "age", "city", "comment", "agrees", "label"],
                [
                    range(N_ROWS),
                    _cycle("31", "NA", "44", "?"),
                    _cycle("Oslo", "", "N/A"),
                    _cycle("", "nan"),
                    _cycle("y", "n", ""),
                    LABELS,
                ],
            ).encode(),
        ),
        RealFile(
            "access.csv.zst",
            "web server: `10/Oct/2024:13:55:36 +0200`, compressed with zstd; the header repeats, rows repeat",
            _zstd(
                2
                * _table(
                    ["time", "bytes", "label"],
                    [_days("{d:02}/Oct/2024:{h:02}:{t:02}:36 +0200"), _cycle(512, 1024), LABELS],
                )
            ),
        ),
        RealFile(
            "sensor.tsv",
            "ISO times without seconds, `1.5e-3`, plain integers",
            _table(
                ["timestamp", "current", "count", "label"],
                [
                    _days("2025-{m:02}-{d:02}T{h:02}:{t:02}"),
                    _cycle("1.5e-3", "2E+4", "-.5"),
                    range(N_ROWS),
                    LABELS,
                ],
                "\t",
            ).encode(),
        ),
    ]


def as_markdown(file, source):
    """A line of the table in the documentation: what the schema makes of the file."""
    fields, shown = source.schema.fields, []
    for one in fields if len(fields) <= 8 else [fields[0], fields[-1]]:
        example, note = source.examples.get(one.name, ""), source.schema.note_on(one)
        words = [_code(one.name), one.kind, _code(example) if example else "", f"({note})" if note else ""]
        shown.append(" ".join(filter(None, words)))
    if len(fields) > 8:
        shown.insert(1, f"and {len(fields) - 2} more")
    layout = f"{source.format}{', ' if source.layout else ''}{source.layout}"
    contents = re.sub("`([^`]*)`", lambda match: _code(match[1]), file.contents)
    return f"| {_code(file.name)} | {contents} | {layout} | {'<br>'.join(shown)} |"


def _code(text):
    """Data in the documentation; backticks are for the names of everlearn."""
    return f"<code>{html.escape(text, quote=False).replace('|', '&#124;')}</code>"
