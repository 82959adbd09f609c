"""Every screen, with contents as in use: wide and narrow, light and dark; pictures in out/screens."""

import json
from urllib.parse import urlsplit

import pytest

from serve.browser import gallery
from serve.browser.looks import LOOKS, fits, no_violation

SUSPECT = "labeled bug, but the model disagrees (margin -1.31)"


NEAR = "near the boundary between billing and account (margin 0.08); 216 unlabeled rows like it"
CHECK = "random check: drawn at random, to measure the accuracy without bias"
LEASED = "All 5 open questions are with other people. Unanswered ones come back."
STOP = "100 more labels should add 0.1 points, at most 0.4 points (90 % sure)."


def asked(number, fields, kind, text, **more):
    """One question, as the service sends it."""
    return {"questions": [gallery.question(number, fields, kind, text, **more)], "empty": None}


def none(reason, message, retry_after=None):
    return {"questions": [], "empty": {"reason": reason, "message": message, "retry_after": retry_after}}


def screens():
    """The name of each screen, its address, the questions, and what else the status says."""
    why = {"utility": -0.083, "like_it": 216}
    known = {"prediction": {"label": "billing", "confidence": 0.87}}
    seen = {"settings": {**gallery.status()["settings"], "blind": False}}
    far = "no label near here yet: 340 unlabeled rows like it"
    again = "asked of several people: 1 of 2 answers so far"
    stop = {"stop": True, "text": STOP, "expected_gain_100": 0.001, "largest_gain_100": 0.004}
    yield "label-text", "label", asked(1, gallery.ticket(), "uncertain", NEAR, why=why), {}
    yield "label-seen", "label", asked(1, gallery.ticket(), "uncertain", NEAR, why=why, **known), seen
    yield "label-table", "label", asked(2, gallery.payment(), "random", CHECK), {}
    yield "label-image", "label", asked(3, gallery.photo(), "cold_start", far, duplicates=["a", "b"]), {}
    pair = asked(4, [], "uncertain", NEAR, pair=gallery.pair())
    yield "label-pair", "label", pair, {"classes": ["same", "different"]}
    yield "label-series", "label", asked(5, gallery.sensor(), "overlap", again), {"classes": ["ok", "fault"]}
    many = [f"Category {number}" for number in range(1, 23)]
    yield "label-many", "label", asked(8, gallery.ticket(), "random", CHECK), {"classes": many}
    yield "help", "label", asked(1, gallery.ticket(), "random", CHECK), {}
    yield "empty", "label", none("all_leased", LEASED, 41), {}
    conflict = "asked again: two people disagree"
    yield "disagreements", "review", asked(6, gallery.ticket(), "disagreement", conflict), {}
    yield "disagreements-none", "review", none("all_answered", "No row has conflicting answers."), {}
    yield "suspects", "review", asked(7, gallery.ticket(), "suspect", SUSPECT), {}
    yield "history", "history", none("", ""), {}
    yield "progress", "progress", none("", ""), {}
    yield "progress-stop", "progress", none("", ""), {"stopping": stop, "drift": [], "people": []}
    yield "settings", "settings", none("", ""), {}
    yield "start", "start", none("", ""), {"setup_needed": True, "name": ""}


class Stage:
    """Says what a screen needs in place of the service."""

    def __init__(self, one):
        self.said, self.one = {"status": gallery.status(), "questions": none("waiting", "")}, one
        one.context.route("**/v1/**", self.say)

    def say(self, route):
        path = urlsplit(route.request.url).path.removeprefix("/v1/")
        known = {
            "history": gallery.history(),
            "people": gallery.PEOPLE,
            "links": {"url": "http://127.0.0.1:8765/join?code=el_5b1c0a9d2e3f_example"},
            "leases:release": {"released": 1},
            **self.said,
        }
        if path == "events":
            return route.fulfill(status=200, content_type="text/event-stream", body="retry: 60000\n\n")
        if path.startswith("explanations/"):
            return route.fulfill(json=gallery.explanation(path.removeprefix("explanations/")))
        if path == "labels":
            (answer,) = json.loads(route.request.post_data)["answers"]
            before = {"label": "billing", "confidence": 0.87}
            result = {"id": answer["id"], "status": "learned", "learned_label": answer.get("label")}
            result |= {"prediction_before": before, "changed_model": True}
            return route.fulfill(json={"sequence": 1933, "model_version": 1205, "results": [result]})
        if path.startswith("labels/"):
            return route.fulfill(
                json={"id": "r1", "sequence": 1934, "model_version": 1206, "answers_left": 0}
            )
        return route.fulfill(json=known[path])

    def show(self, view, questions, more):
        """Open a view while the service says this."""
        self.said = {"questions": questions, "status": gallery.status(**more)}
        page = self.one.page
        page.goto(f"{self.one.server.url}/#/{view}")
        page.reload()
        page.wait_for_selector("main h1, main.label [data-question], main.label .empty", state="attached")
        page.wait_for_timeout(250)
        return page


@pytest.fixture(params=LOOKS)
def stage(server, person, request):
    # Without transitions, colors are what they are at once.
    look = {**LOOKS[request.param], "reduced_motion": "reduce"}
    made = Stage(person(server, f"Gallery {request.param}", "admin", **look))
    made.look = request.param
    return made


def taken(stage, name, **options):
    """Pictures in both themes; axe looks at one of them, for each window another."""
    page = stage.one.page
    fits(page)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        if (theme == "dark") == (stage.look == "phone"):
            no_violation(page)
        stage.one.shoot(f"{name}-{stage.look}-{theme}", **options)
    page.emulate_media(color_scheme="light")


def test_screens(stage):
    for name, view, questions, more in screens():
        page = stage.show(view, questions, more)
        if name == "suspects":
            page.click("text=Suspected mistakes")
            page.wait_for_selector("text=but the model disagrees")
        if name == "help":
            page.keyboard.press("?")
            page.wait_for_selector("dialog[open]")
        if name.startswith("progress"):
            page.wait_for_selector(".curve canvas")
        if name == "label-seen":
            page.wait_for_selector("mark")
            page.click("text=Why the model thinks so")
            page.wait_for_selector("#evidence li")
        if name == "settings":
            page.fill("form input", "Lee")
            page.click("button:has-text('Invite')")
            page.wait_for_selector(".new-link input")
        taken(stage, name, full_page=view not in ("label", "review"))


def test_what_happens_after_an_answer(stage):
    """The answer, its explanation, undo; and without a connection."""
    several = [gallery.question(n, gallery.ticket(), "random", CHECK) for n in range(1, 8)]
    page = stage.show("label", {"questions": several, "empty": None}, {})
    page.wait_for_selector("[data-question=r1]")
    page.keyboard.press("1")
    page.wait_for_selector("text=learned")
    page.keyboard.press("e")
    page.wait_for_selector("#evidence mark")
    taken(stage, "answered")
    page.keyboard.press("e")
    page.keyboard.press("u")
    page.wait_for_selector("text=The model has unlearned it")
    taken(stage, "undone")
    stage.one.context.route("**/v1/labels", lambda route: route.abort())
    page.keyboard.press("2")
    page.wait_for_selector("text=1 answer waiting to be sent")
    taken(stage, "offline")
