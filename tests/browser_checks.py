"""What a page in a browser does wrong for a reader: as sentences, none if all is well."""

from pathlib import Path

SCREENS = Path(__file__).parents[1] / "out" / "screens"

# Contrast as in WCAG 2.2, level AA. In drawings, colors are blended from the shapes under a text, so
# that a number on a colored cell is judged on that cell.
CHECKS = r"""
() => {
  const problems = [];
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => {
    const a = top[3];
    return [0, 1, 2].map((i) => top[i] * a + under[i] * (1 - a)).concat(1);
  };
  const luminance = (color) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = color.map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const opacity = (element) => {
    let value = 1;
    for (let e = element; e; e = e.parentElement) value *= Number(getComputedStyle(e).opacity);
    return value;
  };
  const paint = (element, isText) => {
    const style = getComputedStyle(element);
    const inSvg = element instanceof SVGElement && !(element instanceof SVGSVGElement);
    let color = inSvg ? style.fill : isText ? style.color : style.backgroundColor;
    if (!color || color === "none" || color.startsWith("url")) return [0, 0, 0, 0];
    const found = rgba(color);
    found[3] *= opacity(element) * (inSvg ? Number(style.fillOpacity) : 1);
    return found;
  };
  const name = (element) => {
    const word = element.className?.baseVal ?? element.className;
    return element.tagName.toLowerCase() + (word ? "." + String(word).split(" ").join(".") : "");
  };
  const quote = (text) => JSON.stringify(text.trim().replace(/\s+/g, " ").slice(0, 40));
  const scrolls = (element) => {
    for (let e = element; e && e !== document.body; e = e.parentElement)
      if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(e).overflowX)) return true;
    return false;
  };
  const visible = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const under = (element, box) => {
    const chain = [];
    for (let e = element; e; e = e.parentElement) chain.push(e);
    if (!(element instanceof SVGElement)) return chain;
    const shapes = document.elementsFromPoint(box.left + box.width / 2, box.top + box.height / 2)
      .filter((e) => e instanceof SVGElement && !e.closest("text"));
    return [...shapes, ...chain.filter((e) => !(e instanceof SVGElement))];
  };
  const darkMode = getComputedStyle(document.documentElement).colorScheme.includes("dark")
    && matchMedia("(prefers-color-scheme: dark)").matches;

  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) problems.push(`the page is ${wide} px wide in a window of ${innerWidth}`);

  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1)
      problems.push(`heading ${quote(heading.textContent)} of level ${next} after level ${level}`);
    level = next;
  }
  if (document.querySelectorAll("h1").length !== 1) problems.push("not exactly one h1");

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const element = node.parentElement;
    if (!node.data.trim() || ["SCRIPT", "STYLE", "title", "desc"].includes(element.tagName)) continue;
    if (!visible(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = [...range.getClientRects()].find((r) => r.width > 1 && r.height > 1);
    if (!box) continue;
    const style = getComputedStyle(element);
    const matrix = element instanceof SVGElement ? element.getScreenCTM() : { a: 1, b: 0 };
    const scale = Math.hypot(matrix.a, matrix.b);
    const size = parseFloat(style.fontSize) * scale;
    const what = `${quote(node.data)} in ${name(element)}`;
    if (size < 9.5) problems.push(`${what} is only ${size.toFixed(1)} px high`);
    if ((box.right > innerWidth + 1 || box.left < -1) && !scrolls(element))
      problems.push(`${what} leaves the window`);

    let ground = darkMode ? [18, 18, 18, 1] : [255, 255, 255, 1];
    for (const below of under(element, box).reverse()) ground = over(paint(below, false), ground);
    const ink = over(paint(element, true), ground);
    const [high, low] = [luminance(ink), luminance(ground)].sort((a, b) => b - a);
    const contrast = (high + 0.05) / (low + 0.05);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (large ? 3 : 4.5))
      problems.push(`${what} has a contrast of only ${contrast.toFixed(2)}`);
  }

  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")]
      .filter((e) => e.textContent.trim() && visible(e))
      .map((e) => [e, e.getBoundingClientRect()])
      .filter(([, box]) => box.width > 0);
    texts.forEach(([element, a], i) => {
      const what = quote(element.textContent);
      const sides = [frame.left - a.left, a.right - frame.right, frame.top - a.top, a.bottom - frame.bottom];
      const outside = Math.max(...sides);
      if (outside > 1) problems.push(`${what} leaves its drawing`);
      for (const [other, b] of texts.slice(i + 1)) {
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 1 && high > 3) problems.push(`${what} overlaps ${quote(other.textContent)}`);
      }
    });
  }
  return [...new Set(problems)];
}
"""


def page_problems(page):
    """Sideways scrolling, texts that are faint, tiny, cut off or on each other, headings out of order."""
    size = page.viewport_size
    height = page.evaluate("document.documentElement.scrollHeight")
    page.set_viewport_size({"width": size["width"], "height": max(size["height"], height)})
    found = page.evaluate(CHECKS)
    page.set_viewport_size(size)
    return found


def keep_screenshot(page, name):
    """Save the whole page as out/screens/NAME.png, for people to look at."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENS / f"{name}.png", full_page=True)
