/** How well it does, what is left, who works, and whether more labels are worth it. */
import { ROOT } from "./api.js";
import { Curve } from "./chart.js";
import { status } from "./state.js";
import { ago, html, number, percent, plural, short } from "./ui.js";

/** @param {{name: string, value: any, note?: any}} props */
const Tile = ({ name, value, note }) => html`<div class="tile"><dt>${name}</dt><dd><span class="big">${value}</span>${note && html`<span class="note">${note}</span>`}</dd></div>`;

/** @param {{budget: any}} props */
function budgetNote({ budget }) {
  if (!budget?.limit) return "no limit set";
  return html`<progress max=${budget.limit} value=${budget.asked} aria-label="Budget used"></progress> ${number(budget.left)} left of ${number(budget.limit)}`;
}

/** @param {{stopping: any}} props */
function Stop({ stopping }) {
  if (!stopping) return null;
  const gain = stopping.expected_gain_100;
  return html`<section class=${`stop ${stopping.stop ? "yes" : "no"}`} aria-label="Stop signal">
    <h2>${stopping.stop ? "You could stop here" : "Keep going"}</h2>
    <p>${stopping.text}</p>
    ${gain !== null && gain !== undefined &&
    html`<p class="muted">Expected from 100 more labels: <b>${gain >= 0 ? "+" : "−"}${short(100 * Math.abs(gain))}</b> points of accuracy.</p>`}
  </section>`;
}

/** Where the stream changed. @param {{drift: any[]}} props */
function Drift({ drift }) {
  if (!drift?.length) return null;
  return html`<section><h2>Drift</h2><ul class="facts">${drift.slice(-5).map(
    (alarm, index) => html`<li key=${index}>At row ${number(alarm.row)}, ${ago(alarm.time)}${alarm.note ? `: ${alarm.note}` : ""}</li>`,
  )}</ul></section>`;
}

/** @param {{people: any[]}} props */
function People({ people }) {
  if (!people?.length) return null;
  const most = Math.max(...people.map((p) => p.answers), 1);
  return html`<section><h2>People</h2>
    <div class="scroll" role="region" aria-label="People" tabindex="0"><table class="plain">
      <thead><tr><th scope="col">Name</th><th scope="col" class="num">Answers</th><th scope="col"><span class="visually-hidden">Share</span></th><th scope="col" class="num">Reliability</th></tr></thead>
      <tbody>${people.map(
        (p) => html`<tr key=${p.name}><th scope="row"><span class=${`dot ${p.active ? "on" : "off"}`} aria-hidden="true"></span><span dir="auto">${p.name}</span>
            ${p.active ? html`<span class="visually-hidden"> at work</span>` : ""}</th>
          <td class="num">${number(p.answers)}</td>
          <td><meter min="0" max=${most} value=${p.answers} aria-label=${`${p.name}: ${p.answers} answers`}></meter></td>
          <td class="num">${percent(p.reliability, 0)}</td></tr>`,
      )}</tbody></table></div></section>`;
}

/** @param {{agreement: any}} props */
function Agreement({ agreement }) {
  if (!agreement?.n) return null;
  const pairs = Object.entries(agreement.cohen ?? {});
  return html`<section><h2>Agreement</h2>
    <p>${plural(agreement.n, "row")} answered by several people.${" "}
      ${agreement.fleiss !== null && agreement.fleiss !== undefined && html`Fleiss' κ <b>${short(agreement.fleiss)}</b>.`}</p>
    ${pairs.length > 0 && html`<dl class="kappas">${pairs.map(
      ([names, kappa]) => html`<div key=${names}><dt dir="auto">${names.replace(",", " and ")}</dt><dd>κ ${short(/** @type {number} */ (kappa))}</dd></div>`,
    )}</dl>`}</section>`;
}

export function Progress() {
  const s = status.value;
  if (!s) return null;
  const accuracy = s.accuracy;
  const points = s.curve ?? [];
  const marks = (s.drift ?? []).map((/** @type {any} */ d) => (typeof d === "number" ? d : d.labels)).filter(Number.isFinite);
  const random = points.filter((/** @type {any} */ p) => p.random !== null && p.random !== undefined);
  const active = s.people?.filter((/** @type {any} */ p) => p.active).length ?? 0;
  return html`<div class="page">
    <h1>Progress</h1>
    <dl class="tiles">
      <${Tile} name="Accuracy on random rows" value=${accuracy ? percent(accuracy.value, accuracy.n < 100 ? 0 : 1) : "–"}
        note=${accuracy ? `${percent(accuracy.low, 0)} to ${percent(accuracy.high, 0)} · ${plural(accuracy.n, "row")}` : "no random row answered yet"} />
      <${Tile} name="Labels" value=${number(s.labels)} note=${budgetNote({ budget: s.budget })} />
      <${Tile} name="Rows" value=${number(s.rows)} note=${`${short(s.rows_per_second ?? 0)} a second`} />
      <${Tile} name="Open questions" value=${number(s.open_questions)} note=${`${plural(active, "person", "people")} at work`} />
    </dl>
    <section class="chart">
      <h2>Learning curve</h2>
      ${points.length > 1
        ? html`<${Curve} points=${points} marks=${marks} />
          <p class="legend"><span class="swatch line"></span>with questions, and its interval
            ${random.length > 0 && html`<span class="swatch dashed"></span>random labels`}
            ${marks.length > 0 && html`<span class="swatch mark"></span>drift`}</p>
          <details><summary>As a table</summary><div class="scroll" role="region" aria-label="Learning curve as a table" tabindex="0"><table class="plain">
            <thead><tr><th scope="col" class="num">Labels</th><th scope="col" class="num">Accuracy</th><th scope="col" class="num">Interval</th><th scope="col" class="num">Random</th></tr></thead>
            <tbody>${points.map(
              (/** @type {any} */ p) => html`<tr key=${p.labels}><td class="num">${number(p.labels)}</td><td class="num">${percent(p.value)}</td>
                <td class="num">${percent(p.low)} – ${percent(p.high)}</td><td class="num">${percent(p.random)}</td></tr>`,
            )}</tbody></table></div></details>`
        : html`<p class="muted">The curve begins when some random rows have been answered and more rows have come: only random rows measure without bias.</p>`}
    </section>
    <${Stop} stopping=${s.stopping} />
    <${Drift} drift=${s.drift} />
    <div class="two"><${People} people=${s.people} /><${Agreement} agreement=${s.agreement} /></div>
    <p class="muted small">Model version ${number(s.model_version)} · log at ${number(s.sequence)} ${["admin", "viewer"].includes(s.me?.role) && html` · <a href=${new URL("v1/report", ROOT).href} target="_blank" rel="noopener">Report</a>`}</p>
  </div>`;
}
