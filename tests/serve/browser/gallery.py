"""What the service might say, for pictures of every screen: rows of all kinds, people, curves."""

import base64
import math
import struct
import zlib

TEXT = (
    "Hello, I was charged twice for my subscription this month. The invoice says 49 EUR, but my bank shows "
    "two payments on the same day. Could you please refund one of them? Thank you!"
)


def picture(width=240, height=120):
    """A picture with a slope of gray, as a data URL."""
    lines = b"".join(
        b"\0" + bytes((x + y) * 255 // (width + height) for x in range(width)) for y in range(height)
    )

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")
    png = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
    return "data:image/png;base64," + base64.b64encode(png).decode()


def marks(text, weights):
    """Highlights of these words."""
    return [[text.index(word), text.index(word) + len(word), weight] for word, weight in weights.items()]


def field(name, kind, value, **more):
    text = "" if value is None else str(value)
    shown = {"text": text, "unit": None, "unusual": None, "highlights": [], **more}
    return {"name": name, "kind": kind, "value": value, **shown}


def question(number, fields, kind, text, **more):
    why = {"kind": kind, "text": text, "rank": number, "utility": None, "between": None, "like_it": None}
    lease = {"id": f"l{number}", "token": "t", "expires_in": 90}
    why |= more.pop("why", {})
    shown = {"pair": None, "evidence": [], "prediction": None, "duplicates": []}
    return {"id": f"r{number}", "lease": lease, "why": why, "fields": fields, **shown, **more}


def ticket(highlights=()):
    return [
        field("message", "text", TEXT, highlights=list(highlights)),
        field("plan", "category", "business"),
        field("channel", "category", "mail"),
    ]


def payment():
    high = {"text": "higher than 99.2 % of rows", "percentile": 99.2}
    return [
        field("amount", "number", 1249.9, text="1,249.90", unit="EUR", unusual=high),
        field("merchant", "category", "Harbor Electronics"),
        field("country", "category", "PT", unusual={"text": "rare: 3 of 1,840 rows", "percentile": None}),
        field("time", "date", "2026-03-14 02:41"),
        field("cards used today", "number", 4, unusual={"text": "the highest so far", "percentile": 99.9}),
        field("website", "link", "https://example.com/orders/1249"),
        field("phone", "category", None),
    ]


def sensor():
    wave = [round(20 + 3 * math.sin(k / 5) + (9 if 40 <= k < 46 else 0), 2) for k in range(96)]
    flat = [round(1.01 + 0.004 * math.sin(k / 3), 4) for k in range(96)]
    return [
        field("machine", "category", "Press 4"),
        field("temperature", "series", wave, text="96 numbers"),
        field("pressure", "series", flat, text="96 numbers"),
        field("hours since service", "number", 412, unit="h"),
    ]


def photo():
    return [
        field("photo", "image", picture(480, 240)),
        field("caption", "text", "Front of the parcel, left corner."),
    ]


def pair():
    names = ["name", "street", "city", "birth year", "phone"]
    left = ["Katharina Maria Lindqvist", "12 Harbour Street", "Bristol", "1984", "0117 496 0371"]
    right = ["Katarina Lindqvist", "12 Harbor St.", "Bristol", "1984", None]
    return {
        "left": [field(name, "category", value) for name, value in zip(names, left, strict=True)],
        "right": [field(name, "category", value) for name, value in zip(names, right, strict=True)],
        "differs": ["name", "street", "phone"],
    }


EVIDENCE = [
    ["for", "billing", 0.21, "I see two payments of 49 EUR on my card. Please refund one. · plan: business"],
    ["for", "billing", 0.14, "The invoice for March is wrong, I was charged for three seats. · plan: team"],
    ["for", "billing", 0.09, "Please send me the invoice again. · plan: free"],
    ["against", "account", 0.12, "I cannot change the mail address of my subscription. · plan: business"],
    ["against", "bug", 0.05, "The page shows an error after I pay. · plan: team"],
]


def explanation(name):
    keys = ("speaks", "label", "share", "summary")
    words = {
        "charged": 1.0,
        "invoice": 0.8,
        "refund": 0.7,
        "payments": 0.6,
        "subscription": -0.5,
        "bank": 0.3,
    }
    return {
        "id": name,
        "model_version": 231,
        "prediction": {"label": "billing", "confidence": 0.87},
        "evidence": [
            {"id": f"e{at}", "of": "billing", **dict(zip(keys, item, strict=True))}
            for at, item in enumerate(EVIDENCE)
        ],
        "fields": ticket(marks(TEXT, words)),
    }


def point(labels, value, n):
    half = 1.96 * math.sqrt(value * (1 - value) / n)
    return {"labels": labels, "value": value, "low": value - half, "high": min(1, value + half), "n": n}


def status(role="admin", **more):
    curve = [point(k, round(0.95 - 2.4 * k**-0.6, 4), min(120, 5 + k // 10)) for k in range(60, 1200, 20)]
    baseline = [point(k, round(0.92 - 1.5 * k**-0.5, 4), 118 - k) for k in (10, 15, 20, 30, 40, 60, 80)]
    people = [
        {"name": "Ada Quist", "answers": 612, "active": True, "reliability": 0.97},
        {"name": "Bo Marsh", "answers": 401, "active": True, "reliability": 0.91},
        {"name": "مريم", "answers": 175, "active": False, "reliability": None},
    ]
    return {
        "name": "Support tickets",
        "sequence": 1932,
        "model_version": 1204,
        "rows": 18_240,
        "labels": 1188,
        "open_questions": 7,
        "open_leases": 5,
        "classes": ["billing", "bug", "account", "other"],
        "schema": [],
        "budget": {"asked": 1195, "limit": 2000, "left": 805},
        "accuracy": {key: curve[-1][key] for key in ("value", "low", "high", "n")} | {"of": "rows"},
        "curve": curve,
        "baseline": baseline,
        "drift": [
            {
                "row": 9_410,
                "labels": 640,
                "time": 1.78e9,
                "policy": "retrain",
                "note": "learner restarted on the last 100 labels",
            }
        ],
        "stopping": {
            "stop": False,
            "text": "100 more labels should add 0.6 points, at most 1.3 points (90 % sure).",
            "expected_gain_100": 0.006,
            "largest_gain_100": 0.013,
        },
        "agreement": {"cohen": {"Ada Quist,Bo Marsh": 0.81}, "fleiss": 0.79, "n": 118},
        "people": people,
        "rows_per_second": 12.5,
        "settings": {
            "blind": True,
            "overlap": {"answers": 2, "fraction": 0.1},
            "group_duplicates": False,
            "lease_seconds": 90,
        },
        "setup_needed": False,
        "me": {"name": "Ada Quist", "role": role},
        **more,
    }


PEOPLE = {
    "people": [
        {"name": "Ada Quist", "role": "admin", "sessions": 2, "tokens": 0, "links": 0},
        {"name": "Bo Marsh", "role": "annotator", "sessions": 1, "tokens": 0, "links": 0},
        {"name": "crm export", "role": "producer", "sessions": 0, "tokens": 1, "links": 0},
        {"name": "مريم", "role": "annotator", "sessions": 0, "tokens": 0, "links": 1},
    ]
}


def history():
    said = [
        ("billing", "I was charged twice for my subscription this month. · plan: business", "", ""),
        (
            "bug",
            "The export stops at 80 % and then nothing happens. · plan: team",
            "seen by two customers",
            "",
        ),
        ("account", "لا أستطيع تغيير كلمة المرور الخاصة بي · plan: free", "", ""),
        (None, "??? · plan: free", "", "message"),
        ("other", "Just wanted to say thank you! · plan: team", "", ""),
    ]
    entries = [
        {
            "id": f"r{at}",
            "kind": "label" if label else "skip",
            "label": label,
            "by": "Ada Quist",
            "at": 1.78e9 - 86400 * at,
            "comment": comment,
            "wrong_field": wrong,
            "summary": text,
        }
        for at, (label, text, comment, wrong) in enumerate(said)
    ]
    return {"entries": entries, "total": len(entries)}
