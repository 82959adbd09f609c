"""The modules of the page that hold no view, in the browser that runs them."""

import pytest


@pytest.fixture(scope="module")
def run(server, browser):
    """Run a script with all modules by name."""
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{server.url}/healthz")

        def run(script):
            names = ["queue", "undo", "keys", "lease", "outbox", "marks"]
            load = "".join(f'const {n} = await import("{server.url}/page/app/{n}.js");' for n in names)
            return page.evaluate(f"async () => {{ {load} {script} }}")

        yield run


def test_queue(run):
    script = """
      const question = (id) => ({ id, lease: { id: "L" + id, token: "t", expires_in: 90 } });
      let q = queue.arrive(queue.emptyQueue(), [1, 2, 3, 2].map(question), new Set([3]), 1000);
      const seen = [queue.held(q).map((x) => x.id), q.current.due, queue.wanted(q)];
      q = queue.putBack(queue.advance(q), question(1));
      seen.push(queue.held(q).map((x) => x.id), queue.held(queue.remove(q, 2)).map((x) => x.id));
      seen.push(queue.wanted(queue.emptyQueue()));
      for (const n of [9, 2, 1]) seen.push(queue.held(queue.putNext(q, question(n))).map((x) => x.id));
      seen.push(queue.held(queue.putNext(queue.emptyQueue(), question(9))).map((x) => x.id));
      return seen;
    """
    next_in_line = [[1, 9, 2], [1, 2], [1, 2], [9]]
    assert run(script) == [[1, 2], 91_000, 4, [1, 2], [1], 6, *next_in_line]


def test_leases(run):
    script = """
      const held = { current: { id: 1, due: 5 }, ahead: [{ id: 2, due: 5 }, { id: 3, due: 50 }] };
      const left = lease.dropExpired(held, 10);
      const due = lease.renewed({ id: 1 }, 90, 5).due;
      return [left.current.id, left.ahead.map((q) => q.id), lease.renewEvery(90), due,
              lease.releaseBody([{ id: 1, lease: { id: "a", token: "b", expires_in: 1 } }, { id: 2 }])];
    """
    assert run(script) == [1, [3], 30_000, 90_005, {"leases": [{"id": "a", "token": "b"}]}]


def test_undo(run):
    script = """
      const entry = (n) => ({ question: { id: n }, answer: { key: "k" + n } });
      let past = [1, 2].map(entry).reduce(undo.record, undo.emptyPast());
      let undone, redone;
      [past, undone] = undo.undo(past);
      [past, redone] = undo.redo(past, "new");
      past = undo.settle(past, "new", { status: "learned" });
      const seen = [undone.answer.key, redone.answer.key, past.done.map((e) => e.result?.status ?? null)];
      [past] = undo.undo(past);
      past = undo.record(past, entry(3));
      return [...seen, past.undone.length, undo.undo(undo.emptyPast())[1]];
    """
    assert run(script) == ["k2", "new", [None, "learned"], 0, None]


def test_keys(run):
    script = """
      const many = Array.from({ length: 30 }, (_, n) => "c" + n);
      const map = keys.keyMap(many, { "class:c0": "u", skip: "1" });
      const given = Object.keys(map.byKey);
      const input = document.createElement("input");
      const press = (key, more = {}) => keys.meaning({ key, target: document.body, ...more }, map.byKey);
      return [map.byId["class:c0"], map.byId.skip, map.byId["class:c1"], map.byId.undo ?? null,
              given.length === new Set(given).size, press("U"),
              press("z", { ctrlKey: true }), press("u", { target: input }),
              press("1", { ctrlKey: true }), press("u", { repeat: true })];
    """
    assert run(script) == ["u", "1", "2", None, True, "class:c0", "undo", None, None, None]


def test_batches_of_unsent_answers(run):
    """Answers before a withdrawal go first; two answers for a row never share a request."""
    script = """
      const ids = (list) => outbox.nextBatch(list).map((o) => o.id);
      const a = (id) => ({ kind: "answer", id });
      const w = (id) => ({ kind: "withdraw", id });
      return [ids([a(1), a(2), w(1), a(1)]), ids([w(1), a(1)]), ids([a(1), a(1)]), ids([])];
    """
    assert run(script) == [[1, 2], [1], [1], []]


def test_marks(run):
    script = """
      const cut = marks.cut("\\u{1F600} money now", [[2, 7, 0.9], [0, 1, -1], [3, 5, 1], [90, 95, 1]]);
      const [left, right] = marks.differences("12 Baker Street", "12 baker St.");
      const only = (parts) => parts.filter((p) => p.weight).map((p) => p.text);
      return [cut.map((p) => [p.text, p.weight]), only(left), only(right), left.map((p) => p.text).join("")];
    """
    cut, left, right, whole = run(script)
    assert cut == [["\U0001f600", -1], [" ", 0], ["money", 0.9], [" now", 0]]
    assert (left, right, whole) == (["Street"], ["St."], "12 Baker Street")
