"""Text at a terminal: nothing in it acts, nothing is hidden, and no two texts look the same."""

import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everlearn._visible import json_visible, visible, visible_lines

NASTY = st.text(
    st.one_of(
        st.sampled_from("\\xuU01ab\n\t\x07\x1b\x7f\x9b\u200b\u202e\u2028\ufeff\ud800\U000e0041[m "),
        st.characters(exclude_categories=()),
    ),
    max_size=12,
)


def parsed(shown):
    """What `visible` was given: the way back, written independently of the way there."""
    text, at = "", 0
    while at < len(shown):
        slashes = len(shown) - at - len(shown[at:].lstrip("\\"))
        escape = re.match(r"x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})", shown[at + slashes :])
        if slashes and escape:
            text += "\\" * (slashes // 2)
            at += slashes
            if slashes % 2:
                text += chr(int(escape[1] or escape[2] or escape[3], 16))
                at += escape.end()
        else:
            text += shown[at : at + max(slashes, 1)]
            at += max(slashes, 1)
    return text


@given(NASTY)
def test_escaping_is_one_to_one(text):
    assert parsed(visible(text)) == text


@given(NASTY)
def test_nothing_that_acts_or_hides_is_left(text):
    categories = {unicodedata.category(character) for character in visible(text)}
    assert not categories & {"Cc", "Cf", "Cs", "Zl", "Zp"}


def test_every_control_and_format_character_of_unicode_is_escaped():
    for code in range(0x110000):
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert visible(chr(code)).startswith("\\"), hex(code)


@pytest.mark.parametrize("character", "\u034f\u115f\u3164\ufe0f\uffa0\U000e0100")
def test_characters_that_are_drawn_as_nothing_are_escaped(character):
    assert visible(f"a{character}b") != f"a{character}b"


@pytest.mark.parametrize(
    "text", ["", "plain", "Größe 5 €", "naïve Ω 漢字 😀", r"C:\new\table", "[red]no[/red]"]
)
def test_ordinary_text_stays(text):
    assert visible(text) == text


def test_anything_can_be_shown():
    assert visible(7) == "7"
    assert visible("a\tb", keep="\t") == "a\tb"


def test_lines_cannot_pass_for_ours():
    assert visible_lines("one\r\ntwo\x1b\nError: three") == "one\n  two\\x1b\n  Error: three"


@given(st.dictionaries(NASTY, NASTY, max_size=3))
def test_json_stays_equal(value):
    document = json_visible(json.dumps(value, indent=1, ensure_ascii=False))
    assert json.loads(document) == value
    assert not {unicodedata.category(c) for c in document.replace("\n", "")} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
