"""A project of short notes in two classes, served by a process."""

import json
import uuid

WORDS = {
    "praise": ["great", "thanks", "love", "perfect", "happy"],
    "refund": ["money", "return", "broken", "charged", "back"],
}


def note(number):
    """A row and its class."""
    label = list(WORDS)[number % 2]
    words = WORDS[label]
    text = " ".join(words[(number * step + step) % len(words)] for step in (1, 2, 3))
    return {"id": f"n{number}", "note": f"{text} {number}", "amount": float(number % 17), "kind": "a"}, label


def upload(client, rows):
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    kind = {"Content-Type": "application/x-ndjson"}
    seen = client.post("/v1/setup:inspect?name=notes.jsonl", content=lines, headers=kind)
    assert seen.status_code == 200, seen.text
    return seen.json()


def set_up_notes(process, n_rows=100):
    with process.client() as admin:
        seen = upload(admin, [note(number)[0] for number in range(n_rows)])
        fields = [{"name": field["name"], "kind": field["kind"]} for field in seen["fields"]]
        given = {"upload": seen["upload"], "fields": fields, "label_column": None, "classes": list(WORDS)}
        response = admin.post("/v1/setup", json={**given, "name": "Notes"})
        assert response.status_code == 200, response.text
        return response.json()


def truth(question):
    text = next(field["text"] for field in question["fields"] if field["name"] == "note")
    return next(label for label, words in WORDS.items() if text.split()[0] in words)


def answers_to(questions, label=truth):
    return {
        "answers": [
            {
                "id": question["id"],
                "kind": "label",
                "label": label(question),
                "key": uuid.uuid4().hex,
                "lease": {name: question["lease"][name] for name in ("id", "token")},
            }
            for question in questions
        ]
    }


def ask(client, n=5):
    response = client.get("/v1/questions", params={"n": n})
    assert response.status_code == 200, response.text
    return response.json()
