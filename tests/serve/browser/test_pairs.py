"""Two records on the page: side by side, with differences marked, answered by a key."""

import pytest

from everlearn.linkage import Blocking, NeverEndingLinker
from serve.browser.conftest import Server
from serve.browser.looks import LOOKS, fits, no_violation

RECORDS = [
    {"id": "a", "name": "Ann Lee", "born": "1980-02-01", "city": "Rome"},
    {"id": "b", "name": "Anne Lee", "born": "1980-02-01", "city": "Rome"},
    {"id": "c", "name": "Bob Ray", "born": "", "city": "Oslo"},
    {"id": "d", "name": "Bob <b>Rae</b>", "born": "1975-07-30", "city": "Oslo"},
]
FIELDS = """() => [...document.querySelectorAll("table.pair tbody tr")].map(row => ({
  name: row.querySelector("th").childNodes[0].textContent.trim(),
  differs: row.classList.contains("differs"),
  cells: [...row.querySelectorAll("td")].map(cell => cell.innerText.trim()),
  marked: [...row.querySelectorAll("td mark")].map(mark => mark.textContent),
}))"""


@pytest.fixture
def pairs_server(tmp_path):
    """A service on a store of records that are linked."""
    with NeverEndingLinker.open(tmp_path / "store.everlearn", blocking=Blocking("city")) as linker:
        linker.add(RECORDS)
    server = Server(tmp_path)
    yield server
    if server.process.poll() is None:
        server.kill()


def test_a_pair_is_shown_side_by_side_and_answered_by_a_key(pairs_server, person, tmp_path):
    ann = person(pairs_server, "Ann")
    given = {}
    row = None
    for _ in range(2):
        row, _ = ann.question(row)
        ann.page.wait_for_selector("table.pair")
        head = ann.page.query_selector_all("table.pair thead th")
        assert [cell.text_content() for cell in head] == ["Field", "Left", "Right"]
        fields = {field["name"]: field for field in ann.page.evaluate(FIELDS)}
        assert list(fields) == ["id", "name", "born", "city"]
        left, right = (next(r for r in RECORDS if r["id"] == fields["id"]["cells"][side]) for side in (0, 1))
        for name in ("name", "city"):
            assert fields[name]["cells"] == [left[name], right[name]]  # markup is text
        assert {name for name, field in fields.items() if field["differs"]} == {
            name for name in left if left[name] != right[name]
        }
        assert fields["name"]["marked"]
        assert not fields["city"]["marked"]
        boxes = [
            cell.bounding_box() for cell in ann.page.query_selector_all("table.pair tbody tr:nth-child(2) td")
        ]
        assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
        assert boxes[0]["y"] == boxes[1]["y"]
        no_violation(ann.page)
        ann.shoot(f"pair-{left['id']}")
        label = "same" if left["city"] == "Rome" else "different"
        given[left["id"], right["id"]] = label
        ann.page.keyboard.press(ann.keys()[label])
    ann.all_sent()
    assert [entry["label"] for entry in reversed(pairs_server.answers("Ann"))] == list(given.values())
    pairs_server.kill()
    with NeverEndingLinker.open(tmp_path / "store.everlearn") as linker:
        clusters = linker.link()
        assert clusters["a"] == clusters["b"]
        assert clusters["c"] != clusters["d"]
        assert {(change.kind, change.reason) for change in linker.journal()} == {("merge", "answer a = b")}


def test_a_pair_fits_on_a_phone(pairs_server, person):
    ann = person(pairs_server, "Bo", **LOOKS["phone"])
    ann.question()
    ann.page.wait_for_selector("table.pair")
    fits(ann.page)
    no_violation(ann.page)
    ann.shoot("pair-phone")
    ann.page.tap("button.class:has-text('different')")
    ann.all_sent()
    assert [entry["label"] for entry in pairs_server.answers("Bo")] == ["different"]
