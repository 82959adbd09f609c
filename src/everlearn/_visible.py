r"""Text from data, safe to show at a terminal: what would not be seen, or would act, is written out.

Escaped are control characters (an escape sequence can move the cursor, set the clipboard or the title),
characters that turn the direction of writing, line and paragraph separators, surrogates, and everything that
Unicode says is invisible unless it is supported (zero-width characters, tags, variation selectors).

Escaping is one-to-one: two different texts never look the same because of it. A backslash that could be
taken for the beginning of an escape, or stands before one, is doubled; all others stay.
"""

import json
import re
from typing import Any

_UNSAFE = (
    "\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_ESCAPED = re.compile(
    rf"(?P<slashes>\\+)(?=[{_UNSAFE}]|x[0-9a-f]{{2}}|u[0-9a-f]{{4}}|U[0-9a-f]{{8}})|(?P<unsafe>[{_UNSAFE}])"
)

_ANY_UNSAFE = re.compile(f"[{_UNSAFE}]")


def visible(text: Any, keep: str = "", exact: bool = True) -> str:
    r"""A text with unsafe characters as ``\xhh``, ``\uhhhh`` or ``\Uhhhhhhhh``.

    Parameters
    ----------
    text : object
        Anything; shown as `str` has it.
    keep : str, default=""
        Characters to leave as they are, such as a tab.
    exact : bool, default=True
        Whether backslashes are doubled where they could be misread. Messages that quote by `repr`, which has
        the same escapes, are easier to read without.

    Returns
    -------
    str
        One line of printable text, unless a line feed is kept.

    Examples
    --------
    >>> from everlearn._visible import visible
    >>> print(visible("sp\x1b[2Jam\u202e"))
    sp\x1b[2Jam\u202e
    """

    def escape(match: re.Match[str]) -> str:
        if match["slashes"]:
            return match["slashes"] * (2 if exact else 1)
        character = match["unsafe"]
        code = ord(character)
        if character in keep:
            return character
        return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

    shown = str(text)
    return (
        shown
        if shown.isascii() and shown.isprintable() and "\\" not in shown
        else _ESCAPED.sub(escape, shown)
    )


def visible_lines(text: Any, indent: str = "  ", exact: bool = True) -> str:
    """A text of several lines; all but the first are indented, so that none can pass for one of ours.

    Parameters
    ----------
    text : object
        Anything; shown as `str` has it.
    indent : str, default="  "
        What further lines begin with.
    exact : bool, default=True
        See `visible`.

    Returns
    -------
    str
        Lines of printable text; tabs stay.
    """
    lines = str(text).replace("\r\n", "\n").split("\n")
    return f"\n{indent}".join(visible(line, keep="\t", exact=exact) for line in lines)


def json_visible(document: str) -> str:
    """A JSON document with unsafe characters as its own escapes: the same values, safe to show.

    Parameters
    ----------
    document : str
        JSON. Outside strings it has no unsafe character but white space.

    Returns
    -------
    str
        JSON that is equal to it.
    """

    def escape(match: re.Match[str]) -> str:
        character = match[0]
        return character if character in "\n\t\r" else json.dumps(character)[1:-1]

    return _ANY_UNSAFE.sub(escape, document)
