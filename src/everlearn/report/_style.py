"""The look of a report: the palettes, the style sheet and the script that shows values under the pointer.

The five line colors of each palette were found by search: each has a contrast of at least 3 to the background
(text: 4.5), and any two can be told apart with each kind of color blindness. Nothing is shown by color alone:
lines differ in dash and width, and "correct" and "wrong" are spelled out.
"""

from __future__ import annotations

LIGHT = {
    "page": "#f6f6f3",
    "card": "#ffffff",
    "text": "#1b1d20",
    "soft": "#575c64",
    "rule": "#dfe0dc",
    "axis": "#8b9097",
    "c1": "#0a4ea6",
    "c2": "#a23e24",
    "c3": "#0a7d5b",
    "c4": "#a33b86",
    "c5": "#8b8200",
    "base": "#6a7078",
    "warn": "#fff4dd",
    "edge": "#b87a00",
}
DARK = {
    "page": "#131518",
    "card": "#1b1e22",
    "text": "#e9eaec",
    "soft": "#a8aeb7",
    "rule": "#33383f",
    "axis": "#7d848d",
    "c1": "#63a4f1",
    "c2": "#f09158",
    "c3": "#3fd69d",
    "c4": "#e58fca",
    "c5": "#e2cd4b",
    "base": "#a0a7b0",
    "warn": "#2e2716",
    "edge": "#d9a13a",
}


def _variables(palette: dict[str, str]) -> str:
    return ";".join(f"--{name}:{color}" for name, color in palette.items())


STYLE = (
    ":root{color-scheme:light dark;"
    + _variables(LIGHT)
    + "}\n@media screen and (prefers-color-scheme:dark){:root{"
    + _variables(DARK)
    + "}}\n"
    + """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--page);color:var(--text);
font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"Helvetica Neue","Noto Sans","Liberation Sans",Arial,sans-serif;font-variant-numeric:tabular-nums}
main,header,footer{max-width:1140px;margin:0 auto;padding:0 24px}
header{padding-top:40px}
h1{font-size:30px;line-height:1.2;font-weight:650;letter-spacing:-.015em;margin:0 0 12px;
overflow-wrap:anywhere}
h2{font-size:20px;line-height:1.3;font-weight:640;letter-spacing:-.01em;margin:48px 0 4px}
h3{font-size:15.5px;line-height:1.35;font-weight:640;margin:0}
p{margin:0 0 10px;max-width:78ch}
a{color:var(--c1)}
.summary{font-size:19px;line-height:1.5;margin:0 0 12px;max-width:66ch;text-wrap:pretty}
.soft,.caption{color:var(--soft)}
.caption{font-size:13.5px;line-height:1.45;margin:3px 0 0;max-width:108ch;text-wrap:pretty}
nav{font-size:14px;margin:18px 0 0}
nav ul{display:flex;flex-wrap:wrap;gap:4px 20px;list-style:none;margin:0;padding:0}
.about{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:2px 18px;margin:0;font-size:13.5px}
.about dt{color:var(--soft)}
.about dd{margin:0;overflow-wrap:anywhere}
code,pre{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.92em}
pre{overflow-x:auto;margin:10px 0 0;line-height:1.5;tab-size:4}
.notes{background:var(--warn);border-left:4px solid var(--edge);border-radius:0 6px 6px 0;padding:10px 16px;
margin:18px 0 0;font-size:14px}
.notes ul{margin:2px 0 0;padding-left:18px}
.notes li{overflow-wrap:anywhere}
.tiles{display:grid;
grid-template-columns:repeat(auto-fit,minmax(min(100%,250px),1fr));gap:16px;margin:22px 0 18px;padding:0}
.tile{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:16px 18px 14px;
display:flex;flex-direction:column;margin:0}
.tile dt{font-size:14px;color:var(--soft)}
.tile dd{margin:0;font-size:38px;line-height:1.25;font-weight:640;letter-spacing:-.02em;white-space:nowrap}
.tile dd.detail{font-size:13.5px;font-weight:400;letter-spacing:0;color:var(--soft);white-space:normal;
line-height:1.45;margin-top:4px;overflow-wrap:anywhere}
.changes{font-size:15px;margin:0 0 14px;max-width:78ch}
.explained{border-left:4px solid var(--c1);padding:2px 0 2px 14px;margin:12px 0 0;font-size:14.5px}
.cards{display:grid;
grid-template-columns:repeat(auto-fit,minmax(min(100%,330px),1fr));gap:16px;margin:14px 0 0}
.card{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:16px 18px 12px;margin:0;
min-width:0;container-type:inline-size;position:relative}
.cards.three{grid-template-columns:repeat(auto-fit,minmax(min(100%,310px),1fr))}
.card.whole{grid-column:1/-1}
.legend{display:flex;flex-wrap:wrap;gap:2px 18px;list-style:none;margin:10px 0 4px;padding:0;font-size:13px;
align-items:center}
.legend li{display:flex;align-items:center;gap:7px;overflow-wrap:anywhere}
.legend b{font-weight:620;min-width:3.1em}
.legend b:empty{min-width:0}
.legend .at{position:absolute;top:17px;right:18px;color:var(--soft);background:var(--card);padding-left:10px}
.key{width:26px;height:12px;flex:none}
.chart{display:block;width:100%;height:auto;overflow:visible}
.chart.narrow{display:none}
text{font-size:12px;fill:var(--text)}
text.tick,text.unit{fill:var(--soft)}
.grid{stroke:var(--rule);fill:none;stroke-width:1}
.axis{stroke:var(--axis);fill:none;stroke-width:1}
.line{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.own{stroke-width:2.3}
.fading{stroke-width:1.3;stroke-dasharray:.1 3.6;stroke-linecap:round}
.dash{stroke-dasharray:7 4}
.majority{stroke:var(--base);stroke-dasharray:7 4;stroke-width:1.4}
.nochange{stroke:var(--base);stroke-dasharray:2 4;stroke-width:1.7}
.level{stroke:var(--text);stroke-dasharray:9 4 2 4;stroke-width:1.3}
.dots{stroke-width:5;stroke-dasharray:none}
.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}.c4{stroke:var(--c4)}.c5{stroke:var(--c5)}
.band{stroke:none;opacity:.2}
.band.c3{fill:var(--c3)}
.drift path{stroke:var(--c4);stroke-width:1.2;stroke-dasharray:4 3;fill:none}
.drift .flag{fill:var(--c4);stroke:none}
.touch{fill:none;pointer-events:all}
.cursor{stroke:var(--text);stroke-width:1;opacity:0}
.reading .cursor{opacity:.55}
.rug path{stroke-width:1.4}
.a1{opacity:.45}.a2{opacity:.65}.a3{opacity:.85}
.frame{fill:none;stroke:var(--axis);stroke-width:1}
.right{fill:var(--c1)}.wrong{fill:var(--c2)}
.beside>.card{margin-top:16px}
@media (min-width:900px){.beside.one{display:grid;grid-template-columns:minmax(0,2fr) minmax(0,3fr);gap:16px}
.beside.one>.card{margin-top:14px;grid-column:auto}}
.matrices{display:grid;
grid-template-columns:repeat(auto-fill,minmax(min(100%,310px),1fr));gap:16px;margin:14px 0 0}
.matrices.many{grid-template-columns:repeat(auto-fill,minmax(min(100%,430px),1fr))}
.matrix{display:block;width:100%;max-width:500px;height:auto;margin:6px auto 0}
.matrix.large text{font-size:14px}
.matrix.small text{font-size:10px}
.matrix.large text.unit{font-size:12.5px}
details{margin:8px 0 2px;font-size:13.5px}
summary{cursor:pointer;color:var(--soft);padding:3px 0}
summary:hover{color:var(--text)}
summary:focus-visible,a:focus-visible,.scroll:focus-visible{outline:2px solid var(--c1);outline-offset:2px;
border-radius:3px}
.scroll{overflow-x:auto;margin:6px 0 4px;background:
linear-gradient(90deg,var(--card) 30%,transparent) 0 0/40px 100% no-repeat local,
linear-gradient(270deg,var(--card) 30%,transparent) 100% 0/40px 100% no-repeat local,
linear-gradient(90deg,var(--rule),transparent) 0 0/10px 100% no-repeat scroll,
linear-gradient(270deg,var(--rule),transparent) 100% 0/10px 100% no-repeat scroll}
table{border-collapse:collapse;font-size:13.5px;width:100%}
caption{text-align:left;color:var(--soft);padding:0 0 6px;font-size:13px}
th{font-weight:600;color:var(--soft);font-size:12.5px;text-align:left;vertical-align:bottom}
td,tbody th{padding:5px 14px 5px 0;border-top:1px solid var(--rule);vertical-align:top}
thead th{padding:0 14px 5px 0}
thead .n{white-space:normal;min-width:4.6em}
tbody .t:first-child{min-width:7em}
tbody th{color:var(--text);font-size:13.5px}
td:last-child,th:last-child{padding-right:0}
.n{text-align:right;white-space:nowrap;overflow-wrap:normal}
.t{min-width:5.5em;max-width:26em;overflow-wrap:break-word}
.measured{display:inline-flex;align-items:center;gap:12px}
.bar{width:84px;height:9px}
.bar rect{fill:var(--rule)}.bar .c1{fill:var(--c1);stroke:none}.bar .c2{fill:var(--c2);stroke:none}
.no{color:var(--c2);font-weight:620}.yes{color:var(--c3);font-weight:620}
footer{color:var(--soft);font-size:12.5px;padding-top:36px;padding-bottom:40px}
@container (max-width:700px){.chart.wide{display:none}.chart.narrow{display:block}}
@container (max-width:860px){.chart.wide text{font-size:15px}}
@container (min-width:600px){.chart:not(.wide) text{font-size:10.5px}}
@container (max-width:430px){.chart text{font-size:14.5px}}
@container (max-width:370px){.chart text{font-size:16.5px}}
@media (max-width:560px){
main,header,footer{padding-left:14px;padding-right:14px}
header{padding-top:24px}
h1{font-size:25px}
.summary{font-size:16px}
.card{padding:13px 13px 9px}
.tiles{gap:10px}
.tile{padding:12px 14px}
.tile dd{font-size:32px}
.about{grid-template-columns:minmax(0,1fr)}
.about dd{margin-bottom:5px}
.bar{display:none}
td,tbody th,thead th{padding-right:10px}
.n:first-child,thead .n{min-width:0}
.t{min-width:4em}
}
@page{margin:14mm}
@media print{
:root{--page:#ffffff}
body{font-size:11pt}
main,header,footer{max-width:none;padding-left:0;padding-right:0}
nav,.legend .at,details:not([open]){display:none}
.card,.tile,.notes,tr{break-inside:avoid}
h2,h3,caption,.caption{break-after:avoid}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
"""
)

# Optional: shows the values under the pointer in the legend. They are computed from the drawn points; data-x
# and data-y hold "low high start end" of the axes.
SCRIPT = """
"use strict";
for (const svg of document.querySelectorAll("svg[data-x]")) {
  const card = svg.closest(".card"), cursor = svg.querySelector(".cursor");
  const [x0, x1, p0, p1] = svg.dataset.x.split(" ").map(Number);
  const [y0, y1, q0, q1] = svg.dataset.y.split(" ").map(Number);
  const at = card.querySelector(".at"), shown = [...card.querySelectorAll("b[data-of]")];
  const last = shown.map(b => b.textContent);
  let lines = null;
  const read = () => [...svg.querySelectorAll("path[data-line]")].map(path => ({
    of: path.dataset.line,
    points: path.getAttribute("d").split(/[M ]/).filter(Boolean).map(p => p.split(/[,h]/).map(Number)),
  }));
  const text = v => svg.dataset.kind === "score" ? v.toFixed(3) : Math.abs(v) >= 1000
    ? Math.round(v).toLocaleString("en-US") : String(Number(v.toPrecision(3)));
  svg.addEventListener("pointermove", event => {
    const matrix = svg.getScreenCTM();
    const place = Math.min(Math.max((event.clientX - matrix.e) / matrix.a, p0), p1);
    lines = lines || read();
    svg.classList.add("reading");
    cursor.setAttribute("transform", `translate(${place - p0} 0)`);
    const row = x0 + (place - p0) / (p1 - p0) * (x1 - x0);
    at.textContent = "at row " + Math.round(row).toLocaleString("en-US");
    for (const b of shown) {
      let best = null;
      for (const p of lines.filter(l => l.of === b.dataset.of).flatMap(l => l.points))
        if (best === null || Math.abs(p[0] - place) < Math.abs(best[0] - place)) best = p;
      const near = best !== null && Math.abs(best[0] - place) < (p1 - p0) / 20;
      b.textContent = near ? text(y0 + (best[1] - q0) / (q1 - q0) * (y1 - y0)) : "\\u2013";
    }
  });
  svg.addEventListener("pointerleave", () => {
    svg.classList.remove("reading");
    at.textContent = "";
    shown.forEach((b, i) => { b.textContent = last[i]; });
  });
}
"""
