"""People at the page: keys, undo, several at once, reloads, a server that dies."""

import json
import re
from collections import Counter

from serve.browser.looks import no_violation


def by_id(entries):
    return {str(entry["id"]): entry for entry in entries}


def test_two_hundred_questions_by_keys(server, person):
    ann = person(server, "two hundred")
    given = []
    for part in range(10):  # while rows arrive
        given += ann.answer(20, given[-1][0] if given else None)
        row = {"text": f"A new message, number {part}", "amount": part, "channel": "mail", "picture": ""}
        server.call("POST", "/v1/rows", {"rows": [{"fields": row}]})
    assert len({row for row, _ in given}) == 200
    ann.all_sent()
    kept = by_id(server.answers("two hundred"))
    assert {row: entry["label"] for row, entry in kept.items()} == dict(given)
    ann.page.keyboard.press("p")
    ann.page.wait_for_selector("text=Model version")
    ann.page.wait_for_timeout(500)
    ann.shoot("progress-after-200", full_page=True)


def test_the_next_question_does_not_wait_for_the_server(server, person):
    """Every answer is held back: the questions leased ahead still follow each other."""
    ann = person(server, "held back")
    ann.question()
    ann.page.wait_for_timeout(500)
    held = []
    ann.page.route("**/v1/labels", lambda route: held.append(route), times=1)
    given = ann.answer(4)
    assert len({row for row, _ in given}) == 4
    assert not server.answers("held back")
    ann.question(given[-1][0])
    for route in held:
        route.continue_()
    ann.all_sent()
    assert {str(entry["id"]) for entry in server.answers("held back")} == {row for row, _ in given}


def test_undo_and_redo(server, person):
    ann = person(server, "undo")
    given = ann.answer(4)
    ann.all_sent()
    version = server.call("GET", "/v1/status")["model_version"]
    for row, _ in reversed(given[1:]):
        ann.page.keyboard.press("u")
        ann.page.wait_for_selector(f"[data-question='{row}']")
    ann.all_sent()
    ann.page.wait_for_selector("text=The model has unlearned it")
    assert {str(entry["id"]) for entry in server.answers("undo")} == {given[0][0]}
    assert server.call("GET", "/v1/status")["model_version"] > version
    ann.page.keyboard.press("r")
    ann.page.keyboard.press("Control+y")
    ann.all_sent()
    kept = {str(entry["id"]): entry["label"] for entry in server.answers("undo")}
    assert kept == dict(given[:3])
    # Another answer than before: nothing is left to redo.
    row, _ = ann.question()
    assert row == given[3][0]
    ann.page.keyboard.press("Control+z")
    ann.page.wait_for_selector(f"[data-question='{given[2][0]}']")
    ann.page.keyboard.press("s")
    ann.page.wait_for_selector("button:has-text('Redo'):disabled")
    ann.all_sent()
    kept = {str(entry["id"]): entry["kind"] for entry in server.answers("undo")}
    assert {row: kept[row] for row, _ in given[:3]} == {
        given[0][0]: "label",
        given[1][0]: "label",
        given[2][0]: "skip",
    }


def test_undo_and_redo_after_a_reload(server, person):
    ann = person(server, "undo later")
    given = ann.answer(4)
    ann.all_sent()
    ann.page.keyboard.press("u")
    ann.page.wait_for_selector(f"[data-question='{given[3][0]}']")
    ann.all_sent()
    ann.page.reload()
    ann.page.wait_for_selector("button:has-text('Redo'):enabled")
    ann.page.keyboard.press("r")
    ann.page.wait_for_selector("text=Redone")
    ann.all_sent()
    assert {str(entry["id"]): entry["label"] for entry in server.answers("undo later")} == dict(given)
    for row, _ in reversed(given):
        ann.page.keyboard.press("u")
        ann.page.wait_for_selector(f"[data-question='{row}']")
    ann.page.wait_for_selector("text=The model has unlearned it")
    ann.all_sent()
    assert not server.answers("undo later")


def test_undo_before_the_answer_was_sent(server, person):
    ann = person(server, "unsent undo")
    ann.question()
    sent = []
    ann.page.route("**/v1/labels", lambda route: (sent.append(route.request.post_data), route.abort()))
    (row, _), _ = ann.answer(2)
    ann.page.keyboard.press("u")
    ann.page.keyboard.press("u")
    ann.page.wait_for_selector(f"[data-question='{row}']")
    ann.page.wait_for_timeout(300)
    ann.page.unroute("**/v1/labels")
    ann.all_sent()
    assert not server.answers("unsent undo")


def test_two_people_never_see_the_same_question(server, person):
    ann, bob = person(server, "Ann at once"), person(server, "Bob at once")
    seen = {"Ann at once": [], "Bob at once": []}
    last = dict.fromkeys(seen)
    for _ in range(25):
        for one in (ann, bob):
            [(last[one.name], _)] = one.answer(1, last[one.name])
            seen[one.name].append(last[one.name])
    assert not set(seen["Ann at once"]) & set(seen["Bob at once"])
    assert all(len(set(rows)) == 25 for rows in seen.values())


def test_skip_unsure_comment_and_wrong_field(server, person):
    ann = person(server, "remarks")
    skipped, _ = ann.question()
    ann.page.keyboard.press("s")
    unsure, _ = ann.question(skipped)
    ann.page.keyboard.press("n")
    row, _ = ann.question(unsure)
    ann.page.keyboard.press("c")
    ann.page.keyboard.type("12 s: letters typed here are no answers")
    ann.page.keyboard.press("Enter")
    ann.page.keyboard.press("w")
    number = ann.page.text_content("button.chip:has-text('amount') kbd")
    ann.page.keyboard.press(number)
    ann.page.wait_for_selector("text=Wrong field: amount")
    assert ann.question()[0] == row
    ann.page.keyboard.press(ann.keys()["spam"])
    ann.all_sent()
    kept = by_id(server.answers("remarks"))
    assert set(kept) == {skipped, unsure, row}
    assert (kept[skipped]["kind"], kept[unsure]["kind"], kept[row]["label"]) == ("skip", "unsure", "spam")
    assert kept[row]["comment"] == "12 s: letters typed here are no answers"
    assert kept[row]["wrong_field"] == "amount"


def test_unsent_answers_survive_reload_and_crash(server, person):
    ann = person(server, "reload")
    ann.question()
    ann.page.wait_for_timeout(300)
    bodies = []
    refuse = lambda route: (bodies.append(route.request.post_data), route.abort())  # noqa: E731
    ann.context.route("**/v1/labels", refuse)
    given = ann.answer(3)
    ann.page.wait_for_selector("text=3 answers waiting to be sent")
    ann.page.reload()
    ann.page.wait_for_selector("text=3 answers waiting to be sent")
    shown, _ = ann.question()
    assert shown not in {row for row, _ in given}
    ann.page.close()
    assert not server.answers("reload")
    ann.context.unroute("**/v1/labels")
    ann.open()
    ann.question()
    ann.all_sent()
    kept = server.answers("reload")
    assert sorted((str(entry["id"]), entry["label"]) for entry in kept) == sorted(given)
    # The same keys before and after, so that an answer whose confirmation was lost does not count twice.
    keys = {answer["key"] for body in bodies for answer in json.loads(body)["answers"]}
    assert len(keys) == 3


def test_an_answer_whose_confirmation_is_lost_counts_once(server, person):
    ann = person(server, "lost")
    ann.question()
    lost = []

    def lose(route):
        if not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    ann.page.route("**/v1/labels", lose)
    ((row, _),) = ann.answer(1)
    ann.page.wait_for_selector("text=1 answer waiting to be sent")
    ann.all_sent()
    assert lost == [200]
    assert [str(entry["id"]) for entry in server.answers("lost")] == [row]


def test_a_refused_answer_is_asked_again(server, person):
    ann = person(server)
    first, _ = ann.question()
    refusal = {"detail": "'b' is no class of this project.", "remedy": "The classes are spam and ham."}
    ann.context.route(
        "**/v1/labels",
        lambda route: route.fulfill(status=422, json=refusal, content_type="application/problem+json"),
        times=1,
    )
    ann.answer(1)
    ann.page.wait_for_selector(f"text=The answer for row {first} was refused. 'b' is no class")
    ann.page.wait_for_selector("text=refused, and asked again")
    no_violation(ann.page)
    ann.shoot("refused")
    second, _ = ann.question()
    assert second != first
    ann.answer(1)
    assert ann.question(second)[0] == first
    ann.answer(1, second)
    ann.all_sent()
    assert set(by_id(server.answers(ann.name))) == {first, second}


def test_a_server_that_is_killed_and_comes_back(fresh_server, person):
    ann = person(fresh_server, "killed")
    given = ann.answer(5)
    ann.all_sent()
    ann.question(given[-1][0])
    ann.page.wait_for_timeout(500)
    fresh_server.kill()
    given += ann.answer(3, given[-1][0])
    ann.page.wait_for_selector("text=3 answers waiting to be sent")
    ann.shoot("offline")
    fresh_server.start()
    ann.all_sent()
    given += ann.answer(5, given[-1][0])
    ann.all_sent()
    ann.page.wait_for_selector(".banner.off", state="attached")
    counts = Counter(str(entry["id"]) for entry in fresh_server.answers("killed"))
    assert counts == Counter(row for row, _ in given)
    assert max(counts.values()) == 1


def test_leases_go_back_when_the_page_is_left(fresh_server, person):
    ann = person(fresh_server, "leaver")
    ann.question()
    ann.page.wait_for_timeout(300)
    assert fresh_server.call("GET", "/v1/status")["open_leases"] >= 5
    ann.page.goto("about:blank")
    for _ in range(50):
        ann.page.wait_for_timeout(50)
        left = fresh_server.call("GET", "/v1/status")["open_leases"]
        if not left:
            break
    assert left == 0


def test_leases_are_renewed_while_the_page_is_visible(fresh_server, person):
    fresh_server.call("PATCH", "/v1/settings", {"lease_seconds": 6})
    ann = person(fresh_server, "renewer")
    with ann.page.expect_request(re.compile(r"/v1/leases/[^/]+/renew$")) as request:
        ann.question()
    assert request.value.response().status == 200


def test_one_connection_for_events_serves_all_tabs(server, person):
    ann = person(server, "tabs", "admin")
    asked = []
    ann.context.on("request", lambda request: asked.append(request.url))
    ann.question()
    other = ann.context.new_page()
    other.goto(f"{server.url}/#/progress")
    other.wait_for_selector("text=Model version")
    before = other.text_content(".page > .small")
    ann.answer(1)
    ann.all_sent()
    other.bring_to_front()
    ann.page = other
    ann.until("old => document.querySelector('.page > .small').textContent !== old", before)
    assert sum(url.endswith("/v1/events") for url in asked) <= 1


def test_keys_can_be_changed_and_switched_off(server, person):
    ann = person(server, "keys")
    ann.question()
    ann.page.keyboard.press(",")
    ann.page.click("button[aria-label^='Key for Skip']")
    ann.page.keyboard.press("x")
    ann.page.reload()
    ann.page.wait_for_selector("main.settings")
    ann.page.keyboard.press("l")
    row, _ = ann.question()
    ann.page.keyboard.press("x")
    ann.question(row)
    ann.all_sent()
    assert [entry["kind"] for entry in server.answers("keys")] == ["skip"]
    ann.page.click("nav >> text=Settings")
    ann.page.click("text=Single-key shortcuts")
    ann.page.click("nav >> text=Label")
    row, _ = ann.question()
    ann.page.keyboard.press("1")
    ann.page.wait_for_timeout(200)
    assert ann.question()[0] == row


def test_the_prediction_is_revealed_after_the_answer(server, person):
    ann = person(server, "blind")
    given = ann.answer(1)
    ann.question(given[0][0])
    ann.page.wait_for_selector(".last .model")
    assert not ann.page.query_selector(".question .prediction")
    server.call("PATCH", "/v1/settings", {"blind": False})
    try:
        ann.page.reload()
        ann.page.wait_for_selector(".question .prediction")
    finally:
        server.call("PATCH", "/v1/settings", {"blind": True})


def test_history_is_searched_and_changed(server, person):
    ann = person(server, "historian")
    given = ann.answer(3)
    ann.all_sent()
    ann.page.keyboard.press("h")
    row, label = given[1]
    select = ann.page.wait_for_selector(f"select[aria-label='Answer for row {row}']")
    other = "ham" if label == "spam" else "spam"
    select.select_option(other)
    ann.page.wait_for_timeout(300)
    ann.all_sent()
    assert by_id(server.answers("historian"))[row]["label"] == other
    ann.page.wait_for_selector("text=3 answers")
    ann.page.fill("input[type=search]", other)
    labels = [given[0][1], other, given[2][1]]
    ann.page.wait_for_selector(f"text=/^{labels.count(other)} answers?$/")
