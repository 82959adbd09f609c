/** A row as a person reads it: text, fields of a table, pictures, series, pairs of records. */
import { cut, differences } from "./marks.js";
import { html, short, useState } from "./ui.js";

const LONG = 900;

/** Only web addresses become links and pictures: a row may hold anything. @param {any} value */
export function safeUrl(value, { image = false } = {}) {
  const text = String(value ?? "").trim();
  if (image && /^data:image\/(png|jpeg|gif|webp|avif);base64,/i.test(text)) return text;
  try {
    const url = new URL(text, document.baseURI);
    return ["http:", "https:"].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/** @param {{parts: {text: string, weight: number}[], difference?: boolean}} props */
export function Marked({ parts, difference = false }) {
  return parts.map(({ text, weight }) => {
    if (!weight) return text;
    const strength = Math.abs(weight) > 0.66 ? 3 : Math.abs(weight) > 0.33 ? 2 : 1;
    const kind = difference ? "differs" : `${weight > 0 ? "for" : "against"} w${strength}`;
    return html`<mark class=${kind}>${text}</mark>`;
  });
}

/** @param {{text: string, highlights?: any, unfolded?: boolean, onUnfold?: () => void, keyName?: string}} props */
function Text({ text, highlights, unfolded, onUnfold, keyName }) {
  const long = Array.from(text).length > LONG;
  const parts = cut(text, highlights);
  const folded = long && !unfolded;
  return html`<div class=${`prose${folded ? " folded" : ""}`} dir="auto"><${Marked} parts=${parts} /></div>
    ${long && html`<button class="quiet unfold" aria-expanded=${unfolded ? "true" : "false"} onClick=${onUnfold}>
      ${unfolded ? "Show less" : "Show all"} ${keyName && html`<kbd aria-hidden="true">${keyName}</kbd>`}
    </button>`}`;
}

/** @param {{value: any, name: string}} props */
function Picture({ value, name }) {
  const [broken, setBroken] = useState(false);
  const url = safeUrl(value, { image: true });
  if (!url || broken)
    return html`<p class="missing" role="note">The picture could not be loaded.${" "}
      ${url && !url.startsWith("data:") && html`<a href=${url} target="_blank" rel="noopener noreferrer">Open the link</a>`}</p>`;
  return html`<img class="picture" src=${url} alt=${`Picture in ${name}`} onError=${() => setBroken(true)} referrerpolicy="no-referrer" />`;
}

/** A line of numbers, without axes. @param {{values: any, name: string}} props */
export function Series({ values, name }) {
  const numbers = (Array.isArray(values) ? values : []).map(Number);
  const known = numbers.filter(Number.isFinite);
  if (known.length < 2) return html`<span>${known.map(short).join(", ") || "–"}</span>`;
  const low = Math.min(...known);
  const high = Math.max(...known);
  const x = (/** @type {number} */ i) => (i / (numbers.length - 1)) * 300;
  const y = (/** @type {number} */ v) => 44 - ((v - low) / (high - low || 1)) * 40;
  let path = "";
  let pen = "M";
  numbers.forEach((v, i) => {
    if (!Number.isFinite(v)) return void (pen = "M");
    path += `${pen}${x(i).toFixed(1)} ${y(v).toFixed(1)}`;
    pen = "L";
  });
  // As many digits as it takes to tell the ends apart.
  const digits = Math.max(3, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / (high - low || 1))) + 2);
  const written = (/** @type {number} */ v) => String(Number(v.toPrecision(Math.min(digits, 12))));
  const label = `${name}: ${numbers.length} values from ${written(low)} to ${written(high)}, last ${written(/** @type {number} */ (known.at(-1)))}`;
  return html`<span class="series"><svg viewBox="0 0 300 48" preserveAspectRatio="none" role="img" aria-label=${label}>
      <path d=${path} vector-effect="non-scaling-stroke" /></svg>
    <span class="range" aria-hidden="true"><span>${written(high)}</span><span>${written(low)}</span></span></span>`;
}

/** Where a value lies among those seen. @param {{unusual: any}} props */
function Unusual({ unusual }) {
  if (!unusual) return null;
  const { percentile, text } = unusual;
  const at = 3 + Math.min(Math.max(Number(percentile), 0), 100) * 0.5;
  const gauge = html`<svg class="gauge" viewBox="0 0 56 6" aria-hidden="true">
      <rect x="0" y="2" width="56" height="2" rx="1" /><circle cx=${at} cy="3" r="3" /></svg>`;
  return html`<span class="unusual">${percentile !== null && percentile !== undefined && gauge} ${text}</span>`;
}

/** @param {{field: any, parts?: any}} props */
function Value({ field, parts }) {
  const { kind, value, text, unit, name } = field;
  const written = text ?? (value === null || value === undefined ? "" : String(value));
  if ((kind === "series" || kind === "vector") && Array.isArray(value)) return html`<${Series} values=${value} name=${name} />`;
  if (value === null || value === "" || (written === "" && kind !== "image")) return html`<span class="none">missing</span>`;
  if (kind === "image") return html`<${Picture} key=${String(value)} value=${value} name=${name} />`;
  if (parts) return html`<span dir="auto"><${Marked} parts=${parts} difference=${true} /></span>`;
  const url = kind === "link" ? safeUrl(value) : null;
  if (url) return html`<a href=${url} target="_blank" rel="noopener noreferrer" dir="auto">${written}</a>`;
  return html`<span dir="auto"><${Marked} parts=${cut(written, field.highlights)} /></span>${unit && html` <span class="unit">${unit}</span>`}`;
}

/** @typedef {{unfolded: boolean, onUnfold: () => void, foldKey: string, picking: boolean, wrong: string, onPick: (name: string) => void}} RowProps */

/** The number by which a field is picked, or a mark that it was. @param {RowProps & {name: string, index: number}} props */
function Pick({ name, index, picking, wrong, onPick }) {
  if (wrong === name) return html`<span class="chip wrong">wrong</span>`;
  if (!picking) return null;
  return html`<button class="chip" onClick=${() => onPick(name)}>${index < 9 && html`<kbd aria-hidden="true">${index + 1}</kbd> `}<span class="visually-hidden">${name} </span>wrong?</button>`;
}

/** Texts and pictures that are there come first, in full width. @param {any} field */
const isLong = (field) => ["text", "image"].includes(field.kind) && field.value !== null && field.value !== "";

/** @param {RowProps & {fields: any[]}} props */
function Fields({ fields, ...row }) {
  const texts = fields.filter(isLong);
  const others = fields.filter((f) => !isLong(f));
  const index = (/** @type {any} */ field) => (isLong(field) ? texts.indexOf(field) : texts.length + others.indexOf(field));
  return html`${texts.map(
    (field) => html`<section class="long" key=${field.name}>
      <h2 class="name">${field.name} <${Pick} ...${row} name=${field.name} index=${index(field)} /></h2>
      ${field.kind === "image" || !field.text
        ? html`<${Value} field=${field} />`
        : html`<${Text} text=${field.text} highlights=${field.highlights} unfolded=${row.unfolded} onUnfold=${row.onUnfold} keyName=${row.foldKey} />`}
    </section>`,
  )}
  ${others.length > 0 &&
  html`<dl class="fields">
    ${others.map(
      (field) => html`<div key=${field.name} class=${field.unusual ? "odd" : ""}>
        <dt><span dir="auto">${field.name}</span> <${Pick} ...${row} name=${field.name} index=${index(field)} /></dt>
        <dd class=${field.kind}><${Value} field=${field} /><${Unusual} unusual=${field.unusual} /></dd>
      </div>`,
    )}
  </dl>`}`;
}

/** Two records, field by field, with what differs marked. On a phone it is no table to the eye; its roles remain. @param {RowProps & {pair: any}} props */
function Pair({ pair, ...row }) {
  const right = new Map(pair.right.map((/** @type {any} */ f) => [f.name, f]));
  const names = [...new Set([...pair.left, ...pair.right].map((f) => f.name))];
  const left = new Map(pair.left.map((/** @type {any} */ f) => [f.name, f]));
  return html`<div class="pair-wrap" role="region" aria-label="Two records, side by side" tabindex="0">
    <table class="pair" role="table">
      <thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader">Field</th><th scope="col" role="columnheader">Left</th><th scope="col" role="columnheader">Right</th></tr></thead>
      <tbody role="rowgroup">
        ${names.map((name, index) => {
          const [a, b] = [left.get(name), right.get(name)];
          const differs = pair.differs?.includes(name) ?? false;
          const marks = differs && a?.text && b?.text ? differences(a.text, b.text) : [undefined, undefined];
          return html`<tr role="row" key=${name} class=${differs ? "differs" : "same"}>
            <th scope="row" role="rowheader">${name}${differs ? html`<span class="visually-hidden"> differs</span>` : ""}
              <${Pick} ...${row} name=${name} index=${index} /></th>
            <td role="cell">${a ? html`<${Value} field=${a} parts=${marks[0]} />` : html`<span class="none">missing</span>`}</td>
            <td role="cell">${b ? html`<${Value} field=${b} parts=${marks[1]} />` : html`<span class="none">missing</span>`}</td>
          </tr>`;
        })}
      </tbody>
    </table>
  </div>`;
}

/** @param {RowProps & {question: any}} props */
export function Row({ question, ...row }) {
  if (question.pair) return html`<${Pair} pair=${question.pair} ...${row} />`;
  if (!question.fields?.length) return html`<p class="none">The contents of row ${question.id} are not stored.</p>`;
  return html`<${Fields} fields=${question.fields} ...${row} />`;
}

/** The names of the fields, in the order in which they are numbered. @param {any} question @returns {string[]} */
export const fieldNames = (question) =>
  question.pair
    ? [...new Set([...question.pair.left, ...question.pair.right].map((f) => f.name))]
    : [...(question.fields ?? [])].sort((a, b) => Number(isLong(b)) - Number(isLong(a))).map((f) => f.name);
