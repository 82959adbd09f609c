"""Every view: on a phone, in the dark, enlarged, by keyboard, for a screen reader; markup in rows."""

from serve.browser.conftest import SCREENS, mails, serving
from serve.browser.looks import LOOKS, fits, no_violation

VIEWS = ["label", "review", "history", "progress", "settings"]


def visit(one, view):
    one.page.click(f"header nav >> text={view.capitalize()}")
    one.page.wait_for_selector(f"main.{view}")
    if view == "label":
        one.question()
    elif view == "review":
        one.page.wait_for_selector("main h2")
    elif view == "history":
        one.page.wait_for_selector("text=/^[0-9,]+ answers?$/")
    elif view == "progress":
        one.page.wait_for_selector("text=Model version")
        one.page.wait_for_timeout(300)


def test_views_have_no_violation_and_fit(server, person):
    """With what the service says; see test_gallery.py for all looks."""
    ann = person(server, "Ann, views", "admin", **LOOKS["phone"])
    ann.answer(6)
    ann.all_sent()
    for view in VIEWS:
        visit(ann, view)
        no_violation(ann.page)
        fits(ann.page)
    ann.page.click("button[aria-label='Show all keys']")
    ann.page.wait_for_selector("dialog[open]")
    no_violation(ann.page)
    ann.shoot("keys-phone")


def test_the_theme_can_be_chosen(server, person):
    ann = person(server, "theme", color_scheme="light")
    ann.question()
    theme = lambda: ann.page.evaluate("document.documentElement.dataset.theme")  # noqa: E731
    assert theme() == "light"
    ann.page.keyboard.press("t")
    assert theme() == "dark"
    ann.page.reload()
    ann.question()
    assert theme() == "dark"


def test_a_finger_answers_on_a_phone(server, person):
    ann = person(server, "finger", **LOOKS["phone"])
    row, _ = ann.question()
    for button in ann.page.query_selector_all(".answers button"):
        assert button.bounding_box()["height"] >= 44
    box = ann.page.query_selector(".answers").bounding_box()
    assert box["y"] + box["height"] <= 844
    ann.page.tap("button.class:has-text('spam')")
    ann.question(row)
    ann.all_sent()
    ann.page.tap("button:has-text('Undo')")
    ann.page.wait_for_selector(f"[data-question='{row}']")
    ann.all_sent()
    assert not server.answers("finger")


def test_twice_as_large(server, person):
    """200 % zoom of a window of 1280 x 800 is a window of 640 x 400."""
    ann = person(server, "zoom", "admin", viewport={"width": 640, "height": 400}, device_scale_factor=2)
    ann.answer(2)
    for view in VIEWS:
        visit(ann, view)
        fits(ann.page)
    visit(ann, "label")
    ann.shoot("label-zoom", full_page=True)
    ann.page.click("button.class:has-text('ham')")


def test_all_by_keyboard_with_visible_focus(server, person):
    ann = person(server, "keyboard")
    row, _ = ann.question()
    for _ in range(60):
        ann.page.keyboard.press("Tab")
        if ann.page.evaluate("document.activeElement.matches('button.class')"):
            break
    outline = ann.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    ann.page.keyboard.press("Enter")
    ann.question(row)


def test_a_screen_reader_hears_the_next_question(server, person):
    ann = person(server, "reader")
    row, _ = ann.question()
    before = ann.page.text_content("#spoken")
    assert before.startswith("Question: ")
    ann.page.keyboard.press("1")
    _, text = ann.question(row)
    assert text[:40] in ann.page.text_content("#spoken")


def test_markup_in_rows_is_text(empty_server, person):
    hostile = "<img src=x onerror='window.hacked = 1'><script>window.hacked = 1</script>"
    rows = [
        {
            "text": f"{hostile} {number}",
            hostile: hostile,
            "site": "javascript:window.hacked=1",
            "picture": hostile,
        }
        for number in range(12)
    ]
    empty_server.set_up(rows, classes=[hostile, "b"], name=hostile)
    ann = person(empty_server, "Eve <b>", "admin")
    row, text = ann.question()
    assert text.startswith(hostile)
    assert ann.page.text_content(".brand") == hostile
    ann.page.keyboard.press("c")
    ann.page.keyboard.type(hostile)
    ann.page.keyboard.press("Enter")
    ann.page.keyboard.press("1")
    ann.question(row)
    ann.all_sent()
    for view in VIEWS:
        visit(ann, view)
    visit(ann, "history")
    assert hostile in ann.page.text_content("table.history")
    visit(ann, "label")
    ann.page.wait_for_timeout(200)
    assert ann.page.evaluate("window.hacked === undefined")
    assert not ann.page.query_selector("main script, main [onerror], main a[href^='javascript']")
    ann.shoot("hostile")


def test_a_picture_that_is_missing_does_not_block(empty_server, person):
    """One that nobody answers for, one that is no picture, and none at all."""
    pictures = ["https://127.0.0.1:9/none.png", "data:image/png;base64,AAAA", ""]
    empty_server.set_up([{"text": f"row {n}", "picture": pictures[n % 3]} for n in range(12)])
    ann, row, seen = person(empty_server), None, []
    for _ in range(9):
        row, text = ann.question(row)
        has_picture = int(text.split()[1]) % 3 != 2
        if has_picture:
            ann.page.wait_for_selector("text=The picture could not be loaded.")
        seen.append(ann.page.query_selector(".missing") is not None)
        assert seen[-1] == has_picture
        ann.page.keyboard.press("1")
    ann.all_sent()
    assert set(seen) == {True, False}
    assert len(empty_server.answers()) == 9


def test_under_a_path(tmp_path, person):
    """As behind a proxy, which may or may not cut off the path: page, link, cookie, answers and events."""
    with serving(tmp_path, mails(60), "--root-path", "/labels") as started:
        assert started.url.endswith("/labels")
        ann = person(started)
        assert "/labels/" in ann.page.url
        ann.answer(3)
        ann.all_sent()
        assert len(started.answers()) == 3
        ann.page.reload()
        ann.question()
        assert [cookie["path"] for cookie in ann.context.cookies()] == ["/labels"]


def test_text_from_right_to_left(empty_server, person):
    arabic = "مرحبا، هذه رسالة قصيرة عن الاجتماع غدا، والجدول مرفق معها."
    empty_server.set_up([{"text": f"{arabic} {number}", "amount": number} for number in range(12)])
    ann = person(empty_server, "rtl")
    _, text = ann.question()
    assert text.startswith(arabic)
    assert ann.page.evaluate("getComputedStyle(document.querySelector('.prose')).direction") == "rtl"
    ann.shoot("label-rtl")


def test_a_file_that_is_dropped(empty_server, person):
    ann = person(empty_server, "starter", "admin")
    ann.page.wait_for_selector(".drop")
    no_violation(ann.page)
    ann.shoot("start-drop")
    lines = "\\n".join(
        f"{'win a free prize' if n % 2 else 'agenda of the meeting'} {n},{n}.5" for n in range(40)
    )
    drop = f"""() => {{
      const data = new DataTransfer();
      data.items.add(new File(["subject,amount\\n{lines}\\n"], "mails.csv", {{ type: "text/csv" }}));
      const drop = new DragEvent("drop", {{ dataTransfer: data, bubbles: true }});
      document.querySelector(".drop").dispatchEvent(drop);
    }}"""
    ann.page.evaluate(drop)
    ann.page.wait_for_selector("select[aria-label='Type of subject']")
    no_violation(ann.page)
    for field, kind, column in (("subject", "label", "subject"), ("subject", "text", "")):
        ann.page.select_option(f"select[aria-label='Type of {field}']", kind)
        assert ann.page.input_value("label:has-text('Label column') select") == column
    ann.page.click("button:has-text('Start labeling')")
    ann.page.wait_for_selector("text=Name at least two classes")
    ann.page.fill("textarea", "spam\nham")
    for theme in ("dark", "light"):
        ann.page.emulate_media(color_scheme=theme)
        ann.shoot(f"start-fields-{theme}", full_page=True)
    ann.page.click("button:has-text('Start labeling')")
    row, text = ann.question()
    assert text
    ann.page.keyboard.press(ann.keys()["spam"])
    ann.question(row)
    ann.all_sent()
    assert [entry["label"] for entry in empty_server.answers()] == ["spam"]


def test_a_file_that_is_no_table(empty_server, person):
    ann = person(empty_server, "wrong file", "admin")
    ann.page.wait_for_selector(".drop")
    ann.page.set_input_files("input[type=file]", {"name": "x.csv", "mimeType": "text/csv", "buffer": b""})
    ann.page.wait_for_selector(".problem")
    assert ann.page.text_content(".problem").strip()


def test_without_a_session_the_page_asks_for_a_token(server, browser):
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{server.url}/")
        page.wait_for_selector("input[type=password]")
        no_violation(page)
        page.screenshot(path=SCREENS / "sign-in.png")
        page.fill("input[type=password]", "el_wrong")
        page.click("button:has-text('Sign in')")
        page.wait_for_selector("text=This token is not valid.")
        page.fill("input[type=password]", server.token)
        page.click("button:has-text('Sign in')")
        page.wait_for_selector("[data-question]")


def test_who_signed_out_comes_back_by_a_new_link_or_a_token(server, person):
    """The admin makes both from the page and the interface; a used link says what to do."""
    first = server.link("Returning")
    ann = person(server, "admin of people", "admin")
    guest = person(server, "Returning")
    guest.question()
    guest.page.goto(first)  # another open link: the same person
    guest.question()
    guest.page.click("header nav >> text=Settings")
    guest.page.click("text=Sign out")
    guest.page.wait_for_selector("input[type=password]")
    guest.page.goto(first)
    guest.page.wait_for_selector("text=This link was used before")
    visit(ann, "settings")
    ann.page.click("button[aria-label='New link for Returning']")
    link = ann.page.input_value(".new-link input")
    guest.page.goto(link)
    guest.question()
    assert server.call("GET", "/v1/people")["people"][-1]["sessions"] >= 1
    ann.page.click("button[aria-label='Revoke the access of Returning']")
    ann.page.click("text=Revoke all access")
    ann.page.wait_for_selector("button[aria-label='New link for Returning']", state="detached")
    guest.page.reload()
    guest.page.wait_for_selector("input[type=password]")
    token = server.call("POST", "/v1/tokens", {"name": "Returning", "role": "annotator"})["token"]
    guest.page.fill("input[type=password]", token)
    guest.page.click("button:has-text('Sign in')")
    guest.page.wait_for_selector("[data-question]")


def test_words_and_rows_explain_an_answer_in_a_blind_project(server, person):
    ann = person(server, "explained")
    ann.answer(12)
    ann.all_sent()
    ann.page.wait_for_selector("text=Model:")
    ann.page.keyboard.press("e")
    ann.page.wait_for_selector("#evidence h2")
    ann.page.wait_for_selector("#evidence .prose mark")
    assert ann.page.query_selector(".question > .card mark") is None


def test_a_viewer_sees_progress_only(server, person):
    viewer = person(server, "viewer", "viewer")
    viewer.page.wait_for_selector("text=Model version")
    links = viewer.page.query_selector_all("header nav a")
    assert [link.text_content() for link in links] == ["Progress", "Settings"]
