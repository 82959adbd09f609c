"""How a page is looked at: windows and themes, and what must hold in each."""

from axe_playwright_python.sync_playwright import Axe

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LOOKS = {"desk": {}, "phone": PHONE}


def no_violation(page):
    """What axe finds wrong for people with disabilities, with the elements."""
    found = Axe().run(page).response["violations"]
    wrong = [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in found]
    assert not wrong, wrong


def fits(page):
    """Nothing is wider than the window."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
