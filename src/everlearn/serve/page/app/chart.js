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

/** @param {number} n points of the curve @param {number[]} marks @param {number} width */
function options(n, marks, width) {
  const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const percent = (/** @type {any} */ _, /** @type {any[]} */ values) => values.map((v) => `${Math.round(v * 100)} %`);
  const edge = { stroke: "transparent", points: { show: false } };
  const alone = n < 3 ? { points: { show: true, size: 8 } } : { points: { show: false } };
  return {
    width,
    height: width < 500 ? 220 : 300,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { x: { time: false, range: (/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => [0, Math.max(high, low + 1)] }, y: { range: (/** @type {any} */ _, /** @type {number} */ low) => [Math.max(0, Math.floor(low * 20 - 1) / 20), 1] } },
    axes: [{ ...axis, label: "labels", size: 28, labelSize: 18, labelGap: 0, labelFont: axis.font }, { ...axis, values: percent, size: 56 }],
    bands: [{ series: [2, 3], fill: color("--band") }],
    series: [
      {},
      { stroke: color("--accent"), width: 2.5, spanGaps: true, ...alone },
      { ...edge, spanGaps: true },
      { ...edge, spanGaps: true },
      { stroke: color("--muted"), width: 2, dash: [6, 5], spanGaps: true, points: { show: true, size: 6, fill: color("--paper") } },
    ],
    hooks: { draw: [drawMarks(marks)] },
  };
}

/**
 * Columns for uPlot: both curves over all numbers of labels of either.
 * @param {any[]} points @param {any[]} baseline @returns {(number|null)[][]}
 */
export function columns(points, baseline) {
  const at = (/** @type {any[]} */ list) => new Map(list.map((point) => [point.labels, point]));
  const [ours, random] = [at(points), at(baseline)];
  const labels = [...new Set([...ours.keys(), ...random.keys()])].sort((a, b) => a - b);
  const column = (/** @type {Map<number, any>} */ of, /** @type {string} */ name) => labels.map((n) => of.get(n)?.[name] ?? null);
  return [labels, column(ours, "value"), column(ours, "high"), column(ours, "low"), column(random, "value")];
}

/**
 * The accuracy on random rows by number of labels, with its interval, beside a learner fed random labels alone.
 * @param {{points: any[], baseline: any[], marks: number[]}} props
 */
export function Curve({ points, baseline, marks }) {
  const box = useRef(/** @type {any} */ (null));
  const dark = isDark();
  useEffect(() => {
    /** @type {any} */ let plot = null;
    let gone = false;
    const data = columns(points, baseline);
    const draw = async () => {
      const uPlot = await load().catch(() => null);
      if (!uPlot || gone || !box.current) return;
      plot?.destroy();
      plot = new uPlot(options(points.length, marks, box.current.clientWidth), data, box.current);
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
  }, [points, baseline, dark]);
  const last = points.at(-1);
  const label = last ? `Learning curve: ${Math.round(last.value * 100)} % accuracy after ${last.labels} labels` : "Learning curve";
  return html`<div class="curve" role="img" aria-label=${label} ref=${box}></div>`;
}
