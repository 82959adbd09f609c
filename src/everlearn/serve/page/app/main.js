/** The frame: header, views, keys, messages. */
import { Problem, ROOT, post } from "./api.js";
import { History } from "./history.js";
import { ACTIONS, meaning, shown } from "./keys.js";
import { Label, Review, act, pickByKey } from "./label.js";
import { isDark, prefs, toggleTheme } from "./prefs.js";
import { Progress } from "./progress.js";
import { Settings } from "./settings.js";
import { Start } from "./start.js";
import { begin, classes, connected, failure, go, helpOpen, keyOf, keys, opened, outbox, refused, restored, signedOut, spoken, status, usedLink, view, waiting } from "./state.js";
import { Key, html, percent, plural, render, useEffect, useRef, useState } from "./ui.js";

const NAMES = { label: "Label", review: "Review", history: "History", progress: "Progress", settings: "Settings" };
const PAGES = { label: Label, review: Review, history: History, progress: Progress, settings: Settings, start: Start };

function Header() {
  const s = status.value;
  const entries = s?.setup_needed
    ? [["start", "Start"], ["settings", "Settings"]]
    : Object.entries(NAMES).filter(([id]) => s?.me?.role !== "viewer" || id === "progress" || id === "settings");
  // A figure from a few rows would only distract here; Progress has it with its interval.
  const accuracy = s?.accuracy?.n >= 20 ? s.accuracy : null;
  return html`<header>
    <a class="brand" href="#/label" dir="auto">${s?.name || "everlearn"}</a>
    <nav aria-label="Views">${entries.map(
      ([id, name]) => html`<a key=${id} href=${`#/${id}`} aria-current=${view.value === id ? "page" : undefined}
        title=${keyOf(`view_${id}`) ? `Key ${shown(keyOf(`view_${id}`))}` : undefined}>${name}</a>`,
    )}</nav>
    <div class="facts">
      ${accuracy && html`<a class="fact" href="#/progress" title="Accuracy, with its 95 % interval"><span class="word">Accuracy </span>${percent(accuracy.value, 0)}<span class="wide-only"> (${percent(accuracy.low, 0)} – ${percent(accuracy.high, 0)})</span></a>`}
      ${s?.budget?.left !== null && s?.budget?.left !== undefined && html`<span class="fact wide-only">${plural(s.budget.left, "question")} left</span>`}
      <button class="icon" onClick=${toggleTheme} aria-label=${isDark() ? "Light theme" : "Dark theme"} title=${isDark() ? "Light theme" : "Dark theme"}>
        <svg viewBox="0 0 20 20" aria-hidden="true"><circle cx="10" cy="10" r="7" /><path d="M10 3a7 7 0 0 1 0 14z" /></svg></button>
      <button class="icon" onClick=${() => (helpOpen.value = true)} aria-label="Show all keys" title="Show all keys"><span aria-hidden="true">?</span></button>
    </div>
  </header>`;
}

/** What is not as it should be, in one line. */
function Banner() {
  const count = waiting.value.filter((operation) => operation.kind === "answer").length;
  const undos = waiting.value.length - count;
  const what = count ? plural(count, "answer") : plural(undos, "undo", "undos");
  const stuck = waiting.value.length > 0 && (failure.value || !connected.value);
  const one = waiting.value.length === 1;
  const text = stuck
    ? `${what} waiting to be sent. ${signedOut.value ? "Sign in again to send." : `${one ? "It is" : "They are"} saved in this ${outbox.store?.durable ? "browser" : "tab"} and will be sent when the server is back.`}`
    : !connected.value
      ? "No connection to the server. You can keep answering the questions that are already loaded."
      : "";
  return html`<div class="banners">
    <div role="status" class=${text ? "banner" : "banner off"}>${text}</div>
    ${refused.value.map(
      (item, index) => html`<div class="banner bad" role="alert" key=${index}>The answer for row ${item.id} was refused. ${item.text}
        <button class="quiet" onClick=${() => (refused.value = refused.value.filter((_, i) => i !== index))}>Dismiss</button></div>`,
    )}
  </div>`;
}

function Help() {
  const dialog = useRef(/** @type {any} */ (null));
  useEffect(() => {
    if (helpOpen.value && !dialog.current.open) dialog.current.showModal();
    if (!helpOpen.value && dialog.current.open) dialog.current.close();
  }, [helpOpen.value]);
  const list = [...classes.value.map((name) => ({ id: `class:${name}`, name })), ...ACTIONS];
  return html`<dialog ref=${dialog} aria-labelledby="help-title" onClose=${() => (helpOpen.value = false)}>
    <h2 id="help-title">Keys</h2>
    ${!prefs.value.single && html`<p class="muted">Single-key shortcuts are off.</p>`}
    <ul class="keys" tabindex="0" aria-labelledby="help-title">${list.map(({ id, name }) => html`<li key=${id}><span dir="auto">${name}</span><kbd>${shown(keys.value.byId[id]) || "–"}</kbd></li>`)}
      <li><span>Undo, redo</span><span><kbd>Ctrl Z</kbd> <kbd>Ctrl Y</kbd></span></li></ul>
    <p class="actions"><a href="#/settings" onClick=${() => (helpOpen.value = false)}>Change keys</a>
      <button class="primary" autofocus onClick=${() => (helpOpen.value = false)}>Close</button></p>
  </dialog>`;
}

/** No session: a link opens one, or a token of the person. */
function SignIn() {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState("");
  const enter = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      await post("v1/session", undefined, { token: token.trim() });
      history.replaceState(null, "", ROOT.href);
      location.reload();
    } catch (error) {
      const status = error instanceof Problem ? error.status : 0;
      setProblem(status === 401 ? "This token is not valid." : status === 403 ? "This token is for programs. Ask an admin for a link." : /** @type {Error} */ (error).message);
    }
  };
  return html`<main class="signin" id="main"><h1>everlearn</h1>
    ${usedLink && html`<p class="notice" role="alert">This link was used before, or it has expired. Ask an admin for a new one.</p>`}
    <p>Sign in with the link that an admin sent you. It works once; after that, this browser stays signed in. If it no longer works, ask for a new one.</p>
    <p class="muted">Or use a token: your own, or the one that the server printed when it started.</p>
    <form onSubmit=${enter}><label><span>Token</span><input type="password" autocomplete="off" required value=${token} onInput=${(/** @type {any} */ e) => setToken(e.target.value)} /></label>
      <button class="primary" type="submit">Sign in</button></form>
    <p class="problem" role="alert">${problem}</p></main>`;
}

function App() {
  const name = view.value;
  useEffect(() => {
    document.title = `${NAMES[name] ?? "Start"} · ${status.value?.name || "everlearn"}`;
  }, [name, status.value?.name]);
  if (signedOut.value && !waiting.value.length) return html`<${SignIn} />`;
  if (!status.value || !opened.value) return html`<main class="signin" id="main" aria-busy="true"><h1>everlearn</h1><p role="status">${connected.value ? "Loading…" : "No connection to the server. Trying again…"}</p></main>`;
  const Page = PAGES[name];
  return html`<a class="skip-link" href="#main" onClick=${(/** @type {Event} */ e) => (e.preventDefault(), document.getElementById("main")?.focus())}>Skip to main content</a>
    <${Header} />
    <${Banner} />
    <main id="main" tabindex="-1" class=${name}><${Page} key=${name} /></main>
    ${restored.value > 0 && html`<div class="visually-hidden" role="status">${plural(restored.value, "unsent answer")} restored from an earlier visit.</div>`}
    <div class="visually-hidden" aria-live="polite" aria-atomic="true" id="spoken">${spoken.value}</div>
    <${Help} />`;
}

addEventListener("keydown", (event) => {
  if (helpOpen.value || !opened.value) return;
  const answering = view.value === "label" || view.value === "review";
  if (answering && !event.ctrlKey && !event.metaKey && !(/** @type {Element} */ (event.target).matches?.("input, textarea, select")) && pickByKey(event.key)) return event.preventDefault();
  const id = meaning(event, keys.value.byKey, prefs.value.single);
  if (!id) return;
  let taken = true;
  if (id === "theme") toggleTheme();
  else if (id === "help") helpOpen.value = true;
  else if (id.startsWith("view_")) go(id.slice(5));
  else taken = answering && act(id);
  if (taken) event.preventDefault();
});

render(html`<${App} />`, /** @type {Element} */ (document.getElementById("app")));
begin();
