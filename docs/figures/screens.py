"""Screens of the labeling page: `python docs/figures/screens.py`, after the tests of the page have run.

    pytest tests/serve/browser -k "test_screens or after_an_answer or dropped"

They leave pictures of all screens in out/screens; those that the pages show are copied from there, for light
and for dark pages.
"""

import io
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
SCREENS = ROOT / "out" / "screens"
IMAGES = ROOT / "docs" / "images"
# The name in docs/images, and that of the screen, which exists in both themes.
SHOWN = {
    "label": "label-text-desk",
    "question": "label-seen-desk",
    "why": "answered-desk",
    "progress": "progress-desk",
    "start": "start-fields",
}


def main() -> int:
    """Copy the pictures, with few colors, which screens have anyway."""
    missing = []
    for name, screen in SHOWN.items():
        for theme, target in (("light", f"{name}.png"), ("dark", f"{name}-dark.png")):
            source = SCREENS / f"{screen}-{theme}.png"
            if not source.exists():
                missing.append(source.name)
                continue
            buffer = io.BytesIO()
            Image.open(source).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(
                buffer, "PNG", optimize=True
            )
            (IMAGES / target).write_bytes(buffer.getvalue())
            print(f"docs/images/{target}: {len(buffer.getvalue()) // 1000} kB")
    if missing:
        print(f"not in out/screens: {', '.join(missing)}; run the tests of the page first", file=sys.stderr)
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
