/** Everything one has answered: searched, changed, removed. */
import { newKey, request } from "./api.js";
import { classes, onSent, outbox, status } from "./state.js";
import { ago, html, plural, useEffect, useState } from "./ui.js";

const PAGE = 50;

/** @param {any} entry */
const written = (entry) => (entry.kind === "label" ? String(entry.label) : entry.kind === "skip" ? "skipped" : "unsure");

/** @param {{entry: any, own: boolean, onChange: (entry: any, label: string) => void}} props */
function Entry({ entry, own, onChange }) {
  const options = [...new Set([written(entry), ...classes.value])];
  return html`<tr>
    <td class="what"><span class="summary" dir="auto">${entry.summary || `Row ${entry.id}`}</span>
      ${entry.comment && html`<span class="note" dir="auto">“${entry.comment}”</span>`}
      ${entry.wrong_field && html`<span class="chip wrong">wrong field: ${entry.wrong_field}</span>`}</td>
    <td>${own
      ? html`<select aria-label=${`Answer for row ${entry.id}`} value=${written(entry)} onChange=${(/** @type {any} */ e) => onChange(entry, e.target.value)}>
          ${options.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}
          <option value="">Remove answer</option></select>`
      : html`<b>${written(entry)}</b>`}</td>
    <td class="muted by" dir="auto" title=${entry.by}>${entry.by}</td>
    <td class="muted when">${ago(entry.at)}</td>
  </tr>`;
}

export function History() {
  const [q, setQ] = useState("");
  const [offset, setOffset] = useState(0);
  const [found, setFound] = useState(/** @type {any} */ (null));
  const [problem, setProblem] = useState("");
  const [tick, setTick] = useState(0);
  useEffect(() => {
    const again = () => setTick((n) => n + 1);
    onSent.add(again);
    return () => void onSent.delete(again);
  }, []);
  useEffect(() => {
    let gone = false;
    const timer = setTimeout(async () => {
      try {
        const query = new URLSearchParams({ q, offset: String(offset), limit: String(PAGE) });
        const answer = await request(`v1/history?${query}`);
        if (!gone) setFound(answer), setProblem("");
      } catch (error) {
        if (!gone) setProblem(/** @type {Error} */ (error).message);
      }
    }, q ? 150 : 0);
    return () => ((gone = true), clearTimeout(timer));
  }, [q, offset, tick]);

  const me = status.value?.me?.name;
  const change = (/** @type {any} */ entry, /** @type {string} */ label) => {
    if (label === written(entry)) return;
    outbox.add({ key: newKey(), kind: "withdraw", id: entry.id });
    if (!label) return;
    const key = newKey();
    const value = status.value.classes.find((/** @type {any} */ c) => String(c) === label);
    outbox.add({ key, kind: "answer", id: entry.id, answer: { id: entry.id, kind: "label", label: value ?? label, comment: entry.comment || undefined, key } });
  };
  const entries = found?.entries ?? [];
  const total = found?.total ?? 0;
  return html`<div class="page">
    <h1>History</h1>
    <label class="search"><span class="visually-hidden">Search answers</span>
      <input type="search" placeholder="Search rows, labels and comments" value=${q} onInput=${(/** @type {any} */ e) => (setQ(e.target.value), setOffset(0))} /></label>
    <p class="muted" role="status">${problem || (found ? (total || q ? plural(total, "answer") : "Your answers will be listed here.") : "Loading…")}</p>
    ${entries.length > 0 &&
    html`<div class="scroll" role="region" aria-label="Answers" tabindex="0"><table class="plain history">
      <thead><tr><th scope="col">Row</th><th scope="col">Answer</th><th scope="col" class="by">By</th><th scope="col" class="when">When</th></tr></thead>
      <tbody>${entries.map((/** @type {any} */ entry) => html`<${Entry} key=${`${entry.id} ${entry.by}`} entry=${entry} own=${entry.by === me} onChange=${change} />`)}</tbody>
    </table></div>
    ${total > PAGE && html`<nav class="pager" aria-label="Pages of answers">
      <button class="tool" disabled=${offset === 0} onClick=${() => setOffset(Math.max(0, offset - PAGE))}>Newer</button>
      <span class="muted">${offset + 1} – ${Math.min(offset + PAGE, total)}</span>
      <button class="tool" disabled=${offset + PAGE >= total} onClick=${() => setOffset(offset + PAGE)}>Older</button></nav>`}`}
  </div>`;
}
