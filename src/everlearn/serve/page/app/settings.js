/** Theme, text size and keys of this device; who has access, exports, and how the project asks. */
import { ROOT, post, request } from "./api.js";
import { ACTIONS, shown, usable } from "./keys.js";
import { prefs, setPrefs } from "./prefs.js";
import { classes, keys, refresh, status } from "./state.js";
import { html, percent, plural, useEffect, useState } from "./ui.js";

function Appearance() {
  const { theme, large, single } = prefs.value;
  return html`<section><h2>Appearance</h2>
    <div class="segments" role="radiogroup" aria-label="Theme">${["auto", "light", "dark"].map(
      (name) => html`<button key=${name} role="radio" aria-checked=${String(theme === name)} onClick=${() => setPrefs({ theme: name })}>${name === "auto" ? "System" : name === "dark" ? "Dark" : "Light"}</button>`,
    )}</div>
    <label class="check"><input type="checkbox" checked=${large} onChange=${(/** @type {any} */ e) => setPrefs({ large: e.target.checked })} /> Larger text in questions</label>
    <label class="check"><input type="checkbox" checked=${single} onChange=${(/** @type {any} */ e) => setPrefs({ single: e.target.checked })} /> Single-key shortcuts (when off, only buttons and Ctrl+Z work)</label>
  </section>`;
}

function Keys() {
  const [waitingFor, setWaitingFor] = useState("");
  const list = [...classes.value.map((name) => ({ id: `class:${name}`, name: `Label “${name}”` })), ...ACTIONS];
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
    <p class="muted">Select a key, then press the new one. Escape cancels.</p>
    <ul class="keys">${list.map(
      ({ id, name }) => html`<li key=${id}><span dir="auto">${name}</span>
        <button class=${`key${waitingFor === id ? " listening" : ""}`} aria-label=${`Key for ${name}: ${shown(keys.value.byId[id]) || "none"}. Change`}
          onClick=${() => setWaitingFor(waitingFor === id ? "" : id)} onKeyDown=${(/** @type {KeyboardEvent} */ e) => press(e, id)} onBlur=${() => setWaitingFor("")}>
          ${waitingFor === id ? "Press a key" : html`<kbd>${shown(keys.value.byId[id]) || "–"}</kbd>`}</button></li>`,
    )}</ul>
    <button class="tool" disabled=${!Object.keys(prefs.value.keys).length} onClick=${() => setPrefs({ keys: {} })}>Reset keys</button>
  </section>`;
}

const ROLES = { annotator: "Annotator", viewer: "Viewer", producer: "Program", admin: "Admin" };

/** A link that was just created. @param {{made: any}} props */
function NewLink({ made }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => setCopied(false), [made]);
  if (!made) return null;
  if (made.problem) return html`<p class="problem">${made.problem.message}</p>`;
  const copy = async () => setCopied(await navigator.clipboard?.writeText(made.url).then(() => true, () => false) ?? false);
  return html`<div class="new-link"><label><span>Send this link to ${made.name}. It works once and expires in a week.</span>
      <input readonly value=${made.url} onFocus=${(/** @type {any} */ e) => e.target.select()} /></label>
    <button class="tool" onClick=${copy}>${copied ? "Copied" : "Copy"}</button></div>`;
}

/** Who can sign in: invite somebody, send a new link, revoke. @param {{me: string}} props */
function People({ me }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState("annotator");
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [people, setPeople] = useState(/** @type {any[]} */ ([]));
  const [asked, setAsked] = useState("");
  const load = () => request("v1/people").then((found) => setPeople(found.people), () => {});
  useEffect(() => void load(), []);
  const link = async (/** @type {string} */ name, /** @type {string} */ role) => {
    setMade(await post("v1/links", { name, role }).then(({ url }) => ({ url, name }), (problem) => ({ problem })));
    load();
  };
  const revoke = async (/** @type {string} */ name) => {
    setAsked("");
    await request(`v1/people/${encodeURIComponent(name)}`, { method: "DELETE" }).catch((problem) => setMade({ problem }));
    load();
  };
  const invite = (/** @type {Event} */ event) => {
    event.preventDefault();
    link(name.trim(), role).then(() => setName(""));
  };
  const access = (/** @type {any} */ p) =>
    [p.sessions && plural(p.sessions, "browser"), p.tokens && plural(p.tokens, "token"), p.links && plural(p.links, "unused link")].filter(Boolean).join(", ");
  return html`<section><h2>People</h2>
    ${people.length > 0 && html`<div class="scroll" role="region" aria-label="People with access" tabindex="0"><table class="plain people">
      <thead><tr><th scope="col">Name</th><th scope="col">Role</th><th scope="col" class="access">Signed in with</th><th scope="col"><span class="visually-hidden">Actions</span></th></tr></thead>
      <tbody>${people.map(
        (p) => html`<tr key=${`${p.name} ${p.role}`}><th scope="row"><span dir="auto">${p.name}</span></th><td>${ROLES[p.role] ?? p.role}</td><td class="muted access">${access(p)}</td>
          <td class="do">${asked === p.name
            ? html`<button class="quiet danger" onClick=${() => revoke(p.name)}>Revoke all access</button><button class="quiet" onClick=${() => setAsked("")}>Cancel</button>`
            : html`${p.role !== "producer" && html`<button class="quiet" aria-label=${`New link for ${p.name}`} onClick=${() => link(p.name, p.role)}>New link</button>`}
              ${p.name !== me && html`<button class="quiet" aria-label=${`Revoke the access of ${p.name}`} onClick=${() => setAsked(p.name)}>Revoke</button>`}`}</td></tr>`,
      )}</tbody></table></div>`}
    <form class="inline" onSubmit=${invite}>
      <label><span>Name</span><input required dir="auto" maxlength="100" value=${name} onInput=${(/** @type {any} */ e) => setName(e.target.value)} /></label>
      <label><span>Role</span><select value=${role} onChange=${(/** @type {any} */ e) => setRole(e.target.value)}>
        ${["annotator", "viewer", "admin"].map((r) => html`<option key=${r} value=${r}>${ROLES[r]}</option>`)}</select></label>
      <button class="primary" type="submit">Invite</button>
    </form>
    <div role="status" class="made"><${NewLink} made=${made} /></div>
    <p class="muted small">Somebody who signed out, or uses another browser, needs a new link. Answers stay when access is revoked.</p>
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
    settings.blind ? "Predictions are hidden until a question is answered." : "Predictions are shown with the questions.",
    answers > 1 && fraction > 0 ? `${percent(fraction, 0)} of the questions go to ${plural(answers, "person", "people")}.` : "Every question goes to one person.",
    settings.group_duplicates ? "Near-duplicates are labeled together." : "Near-duplicates are asked one by one.",
  ];
  if (!admin) return html`<section><h2>Project</h2><ul class="facts">${facts.map((fact) => html`<li key=${fact}>${fact}</li>`)}</ul></section>`;
  const check = (/** @type {string} */ name, /** @type {string} */ text) =>
    html`<label class="check"><input type="checkbox" checked=${settings[name]} onChange=${(/** @type {any} */ e) => change({ [name]: e.target.checked })} /> ${text}</label>`;
  return html`<section><h2>Project</h2>
    ${check("blind", "Hide predictions until a question is answered (blind)")}
    ${check("group_duplicates", "Label near-duplicates together")}
    <div class="inline">
      <label><span>People per shared question</span><input type="number" min="1" max="9" value=${answers} onChange=${(/** @type {any} */ e) => change({ overlap_answers: Number(e.target.value) })} /></label>
      <label><span>Shared questions, %</span><input type="number" min="0" max="100" value=${Math.round(fraction * 100)} onChange=${(/** @type {any} */ e) => change({ overlap_fraction: Number(e.target.value) / 100 })} /></label>
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
    ${settings && html`<${Project} settings=${settings} admin=${me?.role === "admin"} />`}
    ${me?.role === "admin" && html`<${People} me=${me.name} />`}
    ${exportable && html`<section><h2>Export</h2><p class="links">
      ${["csv", "parquet", "jsonl"].map((format) => html`<a key=${format} href=${new URL(`v1/export?what=labels&format=${format}`, ROOT).href} download>Labels as ${format === "jsonl" ? "JSON lines" : format === "csv" ? "CSV" : "Parquet"}</a>`)}
      <a href=${new URL("v1/export?what=model", ROOT).href} download>Model as ONNX</a></p></section>`}
    <p class="muted small">Signed in as ${me?.name} (${me?.role}). <button class="quiet" onClick=${leave}>Sign out</button></p>
  </div>`;
}
