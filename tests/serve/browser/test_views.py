"""Every view: on a phone, in the dark, enlarged, by keyboard, for a screen reader; markup in rows."""

import pytest
from axe_playwright_python.sync_playwright import Axe

VIEWS = ["label", "review", "history", "progress", "settings"]


def no_violation(page):
    """What axe finds wrong for people with disabilities, with the elements."""
    found = Axe().run(page).response["violations"]
    assert not [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in found]


def fits(page):
    """Nothing is wider than the window."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


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


LOOKS = {
    "desk": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
}


@pytest.mark.parametrize("look", LOOKS)
def test_views(server, person, look):
    ann = person(server, f"Ann, {look}", "admin", **LOOKS[look])
    ann.answer(12)
    ann.all_sent()
    for view in VIEWS:
        visit(ann, view)
        no_violation(ann.page)
        fits(ann.page)
        ann.shoot(f"{view}-{look}", full_page=view not in ("label", "review"))
    ann.page.click("button[aria-label='Show all keys']")
    ann.page.wait_for_selector("dialog[open]")
    no_violation(ann.page)
    ann.shoot(f"keys-{look}")
    background = ann.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (background == "rgb(23, 24, 26)") == (look == "dark")


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
    ann.page.wait_for_selector("select[aria-label='Kind of subject']")
    no_violation(ann.page)
    ann.page.fill("textarea", "spam\nham")
    ann.shoot("start-fields", full_page=True)
    ann.page.click("text=Start labeling")
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
        page.fill("input[type=password]", "el_wrong")
        page.click("button:has-text('Open')")
        page.wait_for_selector("text=This token is not known.")
        page.fill("input[type=password]", server.token)
        page.click("button:has-text('Open')")
        page.wait_for_selector("[data-question]")


def test_a_viewer_sees_progress_only(server, person):
    viewer = person(server, "viewer", "viewer")
    viewer.page.wait_for_selector("text=Model version")
    links = viewer.page.query_selector_all("header nav a")
    assert [link.text_content() for link in links] == ["Progress", "Settings"]
