/** Curves by uPlot, which is loaded when the first one is drawn. */
import { isDark } from "./prefs.js";
import { html, useEffect, useRef } from "./ui.js";

/** @type {Promise<any>|null} */ let loading = null;

function load() {
  loading ??= new Promise((resolve, reject) => {
    const style = document.createElement("link");
    style.rel = "stylesheet";
    style.href = new URL("../vendor/uPlot.css", import.meta.url).href;
    const script = document.createElement("script");
    script.src = new URL("../vendor/uPlot.js", import.meta.url).href;
    script.onload = () => resolve(/** @type {any} */ (window).uPlot);
    script.onerror = () => ((loading = null), reject(new Error("uPlot could not be loaded")));
    document.head.append(style, script);
  });
  return loading;
}

const color = (/** @type {string} */ name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Vertical lines where drift was found. @param {number[]} marks */
const drawMarks = (marks) => (/** @type {any} */ plot) => {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = color("--warn");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const at of marks) {
    const x = plot.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
};

/** @param {any} uPlot @param {any} points @param {number[]} marks @param {number} width */
function options(uPlot, points, marks, width) {
  const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const percent = (/** @type {any} */ _, /** @type {any[]} */ values) => values.map((v) => `${Math.round(v * 100)} %`);
  const edge = { stroke: "transparent", points: { show: false } };
  const alone = points.length < 3 ? { points: { show: true, size: 8 } } : { points: { show: false } };
  return {
    width,
    height: width < 500 ? 220 : 300,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { x: { time: false }, y: { range: (/** @type {any} */ _, /** @type {number} */ low) => [Math.max(0, Math.floor(low * 20 - 1) / 20), 1] } },
    axes: [{ ...axis, label: "labels", size: 28, labelSize: 18, labelGap: 0, labelFont: axis.font }, { ...axis, values: percent, size: 56 }],
    bands: [{ series: [2, 3], fill: color("--band") }],
    series: [
      {},
      { stroke: color("--accent"), width: 2.5, ...alone },
      edge,
      edge,
      { stroke: color("--muted"), width: 1.5, dash: [6, 5], spanGaps: true, ...alone },
    ],
    hooks: { draw: [drawMarks(marks)] },
  };
}

/**
 * The accuracy on random rows by number of labels, with its interval, beside what random labels gave.
 * @param {{points: any[], marks: number[]}} props
 */
export function Curve({ points, marks }) {
  const box = useRef(/** @type {any} */ (null));
  const dark = isDark();
  useEffect(() => {
    /** @type {any} */ let plot = null;
    let gone = false;
    const data = ["labels", "value", "high", "low", "random"].map((name) => points.map((point) => point[name] ?? null));
    const draw = async () => {
      const uPlot = await load().catch(() => null);
      if (!uPlot || gone || !box.current) return;
      plot?.destroy();
      plot = new uPlot(options(uPlot, points, marks, box.current.clientWidth), data, box.current);
    };
    draw();
    let width = box.current?.clientWidth;
    const watch = new ResizeObserver(() => {
      if (!box.current || box.current.clientWidth === width) return;
      width = box.current.clientWidth;
      draw();
    });
    watch.observe(box.current);
    return () => {
      gone = true;
      watch.disconnect();
      plot?.destroy();
    };
  }, [points, dark]);
  const last = points.at(-1);
  const label = last ? `Learning curve: ${Math.round(last.value * 100)} % accuracy after ${last.labels} labels` : "Learning curve";
  return html`<div class="curve" role="img" aria-label=${label} ref=${box}></div>`;
}
