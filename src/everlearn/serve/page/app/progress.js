/** How well it does, what is left, who works, and whether more labels are worth it. */
import { ROOT } from "./api.js";
import { Curve } from "./chart.js";
import { status } from "./state.js";
import { ago, html, number, percent, plural, short } from "./ui.js";

/** @param {{name: string, value: any, note?: any}} props */
const Tile = ({ name, value, note }) => html`<div class="tile"><dt>${name}</dt><dd><span class="big">${value}</span>${note && html`<span class="note">${note}</span>`}</dd></div>`;

/** @param {{budget: any}} props */
function budgetNote({ budget }) {
  if (!budget?.limit) return "no label budget";
  return html`<progress max=${budget.limit} value=${budget.asked} aria-label="Label budget used"></progress>${number(budget.left)} of ${number(budget.limit)} questions left`;
}

/** @param {{stopping: any}} props */
function Stop({ stopping }) {
  if (!stopping) return null;
  const known = stopping.expected_gain_100 !== null && stopping.expected_gain_100 !== undefined;
  const title = stopping.stop ? "You can stop here" : known ? "Keep going" : "Too early to say when to stop";
  return html`<section class=${`stop ${stopping.stop ? "yes" : known ? "no" : "unknown"}`} aria-label="Stop signal">
    <h2>${title}</h2>
    <p>${stopping.text}</p>
  </section>`;
}

/** Where the stream changed. @param {{drift: any[]}} props */
function Drift({ drift }) {
  if (!drift?.length) return null;
  return html`<section><h2>Drift</h2><ul class="facts">${drift.slice(-5).map(
    (alarm, index) => html`<li key=${index}>After ${plural(alarm.labels ?? 0, "label")} (row ${number(alarm.row)}), ${ago(alarm.time)}${alarm.note ? `: ${alarm.note}` : ""}</li>`,
  )}</ul></section>`;
}

/** @param {{people: any[]}} props */
function People({ people }) {
  if (!people?.length) return null;
  const most = Math.max(...people.map((p) => p.answers), 1);
  return html`<section><h2>People</h2>
    <div class="scroll" role="region" aria-label="People" tabindex="0"><table class="plain">
      <thead><tr><th scope="col">Name</th><th scope="col" class="num">Answers</th><th scope="col"><span class="visually-hidden">Share</span></th><th scope="col" class="num" title="Estimated from rows that several people answered">Reliability</th></tr></thead>
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
    <p>${plural(agreement.n, "row")} answered by more than one person.${" "}
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
  const baseline = s.baseline ?? [];
  const marks = (s.drift ?? []).map((/** @type {any} */ d) => d.labels).filter(Number.isFinite);
  const active = s.people?.filter((/** @type {any} */ p) => p.active).length ?? 0;
  return html`<div class="page">
    <h1>Progress</h1>
    <dl class="tiles">
      <${Tile} name="Accuracy" value=${accuracy ? percent(accuracy.value, accuracy.n < 100 ? 0 : 1) : "–"}
        note=${accuracy ? `${percent(accuracy.low, 0)} to ${percent(accuracy.high, 0)} · ${plural(accuracy.n, "random check")}` : "needs 5 random checks"} />
      <${Tile} name="Labels" value=${number(s.labels)} note=${budgetNote({ budget: s.budget })} />
      <${Tile} name="Rows" value=${number(s.rows)} note=${s.rows_per_second ? `${short(s.rows_per_second)} per second` : "none arriving now"} />
      <${Tile} name="Open questions" value=${number(s.open_questions)} note=${`${plural(active, "person", "people")} active`} />
    </dl>
    <section class="chart">
      <h2>Learning curve</h2>
      ${points.length > 1
        ? html`<${Curve} points=${points} baseline=${baseline} marks=${marks} />
          <p class="legend"><span><span class="swatch line"></span>this model, with its 95 % interval</span>
            ${baseline.length > 0 && html`<span><span class="swatch dashed"></span>a learner trained on the random checks alone</span>`}
            ${marks.length > 0 && html`<span><span class="swatch mark"></span>drift</span>`}</p>
          <p class="muted small">${accuracy?.of === "rows"
            ? "Accuracy on true labels: how often answers are wrong is estimated from the rows that several people answered."
            : `Accuracy is agreement with the answers: a wrong answer counts against the model. ${s.settings?.overlap?.answers > 1 ? "Once enough rows have several answers" : "If two people answer some of the rows (Settings)"}, it is corrected for that.`}</p>
          <details><summary>As a table</summary><div class="scroll" role="region" aria-label="Learning curve as a table" tabindex="0"><table class="plain">
            <thead><tr><th scope="col" class="num">Labels</th><th scope="col" class="num">Accuracy</th><th scope="col" class="num">95 % interval</th><th scope="col" class="num">Checks</th></tr></thead>
            <tbody>${points.map(
              (/** @type {any} */ p) => html`<tr key=${p.labels}><td class="num">${number(p.labels)}</td><td class="num">${percent(p.value)}</td>
                <td class="num">${percent(p.low)} – ${percent(p.high)}</td><td class="num">${number(p.n)}</td></tr>`,
            )}
            ${baseline.map(
              (/** @type {any} */ p) => html`<tr key=${`random ${p.labels}`}><td class="num">${number(p.labels)} random</td><td class="num">${percent(p.value)}</td>
                <td class="num">${percent(p.low)} – ${percent(p.high)}</td><td class="num">${number(p.n)}</td></tr>`,
            )}</tbody></table></div></details>`
        : html`<p class="muted">The curve begins after a few random checks. About one question in ten is drawn at random, because only those measure the accuracy without bias.</p>`}
    </section>
    <${Stop} stopping=${s.stopping} />
    <${Drift} drift=${s.drift} />
    <div class="two"><${People} people=${s.people} /><${Agreement} agreement=${s.agreement} /></div>
    <p class="muted small">Model version ${number(s.model_version)} · ${number(s.sequence)} events in the log ${["admin", "viewer"].includes(s.me?.role) && html` · <a href=${new URL("v1/report", ROOT).href} target="_blank" rel="noopener">Report</a>`}</p>
  </div>`;
}
