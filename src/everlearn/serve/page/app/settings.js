/** Theme, text size and keys of this device; invitations, exports, and how the project asks. */
import { ROOT, post, request } from "./api.js";
import { ACTIONS, shown, usable } from "./keys.js";
import { prefs, setPrefs } from "./prefs.js";
import { classes, keys, refresh, status } from "./state.js";
import { html, percent, plural, useState } from "./ui.js";

function Appearance() {
  const { theme, large, single } = prefs.value;
  return html`<section><h2>Appearance</h2>
    <div class="segments" role="radiogroup" aria-label="Theme">${["auto", "light", "dark"].map(
      (name) => html`<button key=${name} role="radio" aria-checked=${String(theme === name)} onClick=${() => setPrefs({ theme: name })}>${name === "auto" ? "As the system" : name === "dark" ? "Dark" : "Light"}</button>`,
    )}</div>
    <label class="check"><input type="checkbox" checked=${large} onChange=${(/** @type {any} */ e) => setPrefs({ large: e.target.checked })} /> Larger text in questions</label>
    <label class="check"><input type="checkbox" checked=${single} onChange=${(/** @type {any} */ e) => setPrefs({ single: e.target.checked })} /> Single keys act (off: only buttons, and Ctrl+Z)</label>
  </section>`;
}

function Keys() {
  const [waitingFor, setWaitingFor] = useState("");
  const list = [...classes.value.map((name) => ({ id: `class:${name}`, name: `Answer “${name}”` })), ...ACTIONS];
  const press = (/** @type {KeyboardEvent} */ event, /** @type {string} */ id) => {
    if (waitingFor !== id || event.key === "Tab") return;
    if (event.key === "Enter" || event.key === " ") return;
    event.preventDefault();
    event.stopPropagation();
    setWaitingFor("");
    const key = event.key.toLowerCase();
    if (event.key === "Escape" || !usable(key)) return;
    // The key moves here; what had it gets its usual key, or none.
    const others = Object.fromEntries(Object.entries(prefs.value.keys).filter(([, used]) => used !== key));
    setPrefs({ keys: { ...others, [id]: key } });
  };
  return html`<section><h2>Keys</h2>
    <p class="muted">Choose an action, then press its new key. Escape keeps the old one.</p>
    <ul class="keys">${list.map(
      ({ id, name }) => html`<li key=${id}><span dir="auto">${name}</span>
        <button class=${`key${waitingFor === id ? " listening" : ""}`} aria-label=${`Key of ${name}: ${shown(keys.value.byId[id]) || "none"}. Change`}
          onClick=${() => setWaitingFor(waitingFor === id ? "" : id)} onKeyDown=${(/** @type {KeyboardEvent} */ e) => press(e, id)} onBlur=${() => setWaitingFor("")}>
          ${waitingFor === id ? "Press a key" : html`<kbd>${shown(keys.value.byId[id]) || "–"}</kbd>`}</button></li>`,
    )}</ul>
    <button class="tool" disabled=${!Object.keys(prefs.value.keys).length} onClick=${() => setPrefs({ keys: {} })}>Usual keys</button>
  </section>`;
}

function Invite() {
  const [name, setName] = useState("");
  const [role, setRole] = useState("annotator");
  const [result, setResult] = useState(/** @type {any} */ (null));
  const invite = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setResult(await post("v1/links", { name, role }).catch((problem) => ({ problem })));
  };
  return html`<section><h2>Invite</h2>
    <form class="inline" onSubmit=${invite}>
      <label><span>Name</span><input required dir="auto" value=${name} onInput=${(/** @type {any} */ e) => setName(e.target.value)} /></label>
      <label><span>Role</span><select value=${role} onChange=${(/** @type {any} */ e) => setRole(e.target.value)}>
        ${["annotator", "viewer", "admin"].map((r) => html`<option key=${r}>${r}</option>`)}</select></label>
      <button class="primary" type="submit">Make a link</button>
    </form>
    <div role="status">${result?.problem && html`<p class="problem">${result.problem.message}</p>`}
      ${result?.url && html`<label class="link"><span>Works once. Send it to ${name}.</span><input readonly value=${result.url} onFocus=${(/** @type {any} */ e) => e.target.select()} /></label>`}</div>
  </section>`;
}

/** How the project asks; an admin can change it. @param {{settings: any, admin: boolean}} props */
function Project({ settings, admin }) {
  const [problem, setProblem] = useState("");
  const { answers = 1, fraction = 0 } = settings.overlap ?? {};
  const change = async (/** @type {any} */ json) => {
    const failed = await request("v1/settings", { method: "PATCH", json }).then(() => "", (error) => error.message);
    setProblem(failed);
    refresh();
  };
  const facts = [
    settings.blind ? "The prediction is shown after the answer." : "The prediction is shown with the question.",
    answers > 1 && fraction > 0 ? `${percent(fraction, 0)} of the questions are put to ${plural(answers, "person", "people")}.` : "Every question is put to one person.",
    settings.group_duplicates ? "Near-duplicates are answered together." : "Near-duplicates are asked one by one.",
  ];
  if (!admin) return html`<section><h2>Project</h2><ul class="facts">${facts.map((fact) => html`<li key=${fact}>${fact}</li>`)}</ul></section>`;
  const check = (/** @type {string} */ name, /** @type {string} */ text) =>
    html`<label class="check"><input type="checkbox" checked=${settings[name]} onChange=${(/** @type {any} */ e) => change({ [name]: e.target.checked })} /> ${text}</label>`;
  return html`<section><h2>Project</h2>
    ${check("blind", "Blind: show the prediction only after the answer")}
    ${check("group_duplicates", "Answer near-duplicates together")}
    <div class="inline">
      <label><span>Answers for rows asked several times</span><input type="number" min="1" max="9" value=${answers} onChange=${(/** @type {any} */ e) => change({ overlap_answers: Number(e.target.value) })} /></label>
      <label><span>Percent of the questions</span><input type="number" min="0" max="100" value=${Math.round(fraction * 100)} onChange=${(/** @type {any} */ e) => change({ overlap_fraction: Number(e.target.value) / 100 })} /></label>
    </div>
    <p class="problem" role="alert">${problem}</p>
  </section>`;
}

const leave = async () => {
  await post("v1/leave", {}).catch(() => {});
  location.reload();
};

export function Settings() {
  const { me, settings } = status.value ?? {};
  const exportable = ["admin", "viewer"].includes(me?.role);
  return html`<div class="page narrow">
    <h1>Settings</h1>
    <${Appearance} />
    <${Keys} />
    ${me?.role === "admin" && html`<${Invite} />`}
    ${exportable && html`<section><h2>Export</h2><p class="links">
      ${["csv", "parquet", "jsonl"].map((format) => html`<a key=${format} href=${new URL(`v1/export?what=labels&format=${format}`, ROOT).href} download>Labels as ${format === "jsonl" ? "JSON lines" : format === "csv" ? "CSV" : "Parquet"}</a>`)}
      <a href=${new URL("v1/export?what=model", ROOT).href} download>Model as ONNX</a></p></section>`}
    ${settings && html`<${Project} settings=${settings} admin=${me?.role === "admin"} />`}
    <p class="muted small">Signed in as ${me?.name} (${me?.role}). <button class="quiet" onClick=${leave}>Sign out</button></p>
  </div>`;
}
