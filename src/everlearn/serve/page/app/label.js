/** The view in which people spend their hours: a question, its answers, what the last answer did. */
import { shown } from "./keys.js";
import { Row, fieldNames } from "./row.js";
import { sessions } from "./session.js";
import { classes, keyOf, status, view } from "./state.js";
import { Key, html, percent, plural, short, signal, useEffect, useLayoutEffect, useRef } from "./ui.js";

const unfolded = signal(false);
const evidenceOpen = signal(false);
const commenting = signal(false);
const picking = signal(false);
export const reviewQueue = signal(/** @type {"disagreements"|"suspects"} */ ("disagreements"));

/** The queue that the view on screen shows. */
export const session = () => (view.value === "review" ? sessions[reviewQueue.value] : sessions.asked);

/** What a key means while a question is on screen. @param {string} id @returns {boolean} whether it meant something */
export function act(id) {
  const now = session();
  if (id === "undo") now.undo();
  else if (id === "redo") now.redo();
  else if (!now.queue.value.current) return false;
  else if (id.startsWith("class:")) now.answer("label", id.slice(6));
  else if (id === "skip" || id === "unsure") now.answer(id);
  else if (id === "comment") commenting.value = !commenting.value;
  else if (id === "wrong_field") picking.value = !picking.value;
  else if (id === "evidence") evidenceOpen.value = !evidenceOpen.value;
  else if (id === "fold") unfolded.value = !unfolded.value;
  else return false;
  return true;
}

/** A digit while fields are numbered picks one. @param {string} key @returns {boolean} whether it was taken */
export function pickByKey(key) {
  if (!picking.value || !/^[1-9]$|^Escape$/.test(key)) return false;
  const question = session().queue.value.current;
  const name = question && fieldNames(question)[Number(key) - 1];
  if (name) session().wrongField.value = name;
  picking.value = false;
  return true;
}

/** @param {{why: any, duplicates?: string[]}} props */
function Why({ why, duplicates }) {
  if (!why) return null;
  const details = [
    why.rank !== null && why.rank !== undefined ? `rank ${why.rank}` : "",
    why.utility !== null && why.utility !== undefined ? `utility ${short(why.utility)}` : "",
    why.like_it && !why.text.includes(String(why.like_it)) ? `${plural(why.like_it, "row")} like it` : "",
    duplicates?.length ? `answers ${plural(duplicates.length, "near-duplicate")} too` : "",
  ].filter(Boolean);
  return html`<p class="why"><span class=${`dot ${why.kind}`} aria-hidden="true"></span><span class="reason">${why.text}</span>
    ${details.length > 0 && html`<span class="details">${details.join(" · ")}</span>`}</p>`;
}

/** @param {{evidence: any[]}} props */
function Evidence({ evidence }) {
  if (!evidence.length && status.value?.settings?.blind) return null;
  const open = evidenceOpen.value;
  const sides = ["for", "against"].map((side) => [side, evidence.filter((item) => item.speaks === side)]);
  return html`<div class="evidence">
    <button class="quiet" aria-expanded=${String(open)} aria-controls="evidence" onClick=${() => act("evidence")}>
      Evidence <${Key}>${shown(keyOf("evidence"))}<//></button>
    <div id="evidence" hidden=${!open}>
      ${!evidence.length && html`<p class="muted">No labeled row speaks for or against yet.</p>`}
      ${sides.map(
        ([side, items]) => items.length > 0 && html`<section key=${side}>
          <h2 class="name">Speaks ${side}</h2>
          <ul>${items.map(
            (/** @type {any} */ item) => html`<li key=${item.id}>
              <span class="tag">${String(item.of ?? item.label)}</span>
              <span class="share">${percent(item.share, 0)}</span>
              <span class="summary" dir="auto">${item.summary || item.id}</span>
              <span class="muted">labeled ${String(item.label)}</span>
            </li>`,
          )}</ul></section>`,
      )}
    </div>
  </div>`;
}

const WORDS = { skip: "skipped", unsure: "marked unsure" };

/** What the last answer, undo or redo did, and what the model thought. @param {{event: any}} props */
function Last({ event }) {
  if (!event) return html`<p class="last" aria-live="polite">${" "}</p>`;
  const { what, answer, result } = event;
  const named = answer.kind === "label" ? html`<b>${String(answer.label)}</b>` : html`<b>${WORDS[answer.kind]}</b>`;
  if (what === "undo") {
    const text = !result
      ? "Taking it back…"
      : result.unsent
        ? "It had not been sent."
        : result.gone
          ? "The server did not have it."
          : `The model has unlearned it (version ${result.model_version}).`;
    return html`<p class="last" aria-live="polite"><span class="did">Undone: ${named}.</span> ${text}</p>`;
  }
  const before = result?.prediction_before;
  const agreed = before && answer.kind === "label" && String(before.label) === String(answer.label);
  const state = !result
    ? "saved"
    : { vote: "kept as a vote", learned: "learned", skipped: "comes back when the model has changed", unsure: "noted" }[
        /** @type {string} */ (result.status)
      ] ?? "saved";
  return html`<p class="last" aria-live="polite">
    <span class="did">${what === "redo" ? "Redone: " : "You: "}${named}</span>
    ${before && html`<span class=${`model ${agreed ? "agreed" : "differed"}`}>Model: <b>${String(before.label)}</b>
      ${before.confidence !== null && before.confidence !== undefined ? ` ${percent(before.confidence, 0)}` : ""}
      ${answer.kind === "label" ? (agreed ? " ✓" : " ✗") : ""}
      <span class="visually-hidden">${answer.kind === "label" ? (agreed ? "agreed" : "differed") : ""}</span></span>`}
    <span class="muted">${state}${result?.model_version ? ` · version ${result.model_version}` : ""}</span></p>`;
}

/** @param {{id: string, name: string, disabled?: boolean, pressed?: boolean}} props */
function Tool({ id, name, disabled = false, pressed }) {
  return html`<button class="tool" disabled=${disabled} aria-pressed=${pressed === undefined ? undefined : String(pressed)}
    aria-keyshortcuts=${keyOf(id) || undefined} onClick=${() => act(id)}>${name} <${Key}>${shown(keyOf(id))}<//></button>`;
}

/** @param {{now: import("./session.js").Session, question: any}} props */
function Answers({ now, question }) {
  const { done, undone } = now.past.value;
  const names = classes.value;
  return html`<div class="answers" role="group" aria-label="Answers">
    <${Last} event=${now.event.value} />
    ${now.wrongField.value && html`<p class="attached"><span class="chip wrong">Wrong field: ${now.wrongField.value}</span>
      <button class="quiet" onClick=${() => (now.wrongField.value = "")}>Remove</button></p>`}
    ${commenting.value && html`<${Comment} now=${now} />`}
    <div class=${`classes${names.length > 6 ? " many" : ""}`}>
      ${names.map(
        (name) => html`<button key=${name} class="class" disabled=${!question} aria-keyshortcuts=${keyOf(`class:${name}`) || undefined}
          onClick=${() => now.answer("label", name)}><span dir="auto">${name}</span> <${Key}>${shown(keyOf(`class:${name}`))}<//></button>`,
      )}
    </div>
    <div class="tools">
      <${Tool} id="skip" name="Skip" disabled=${!question} />
      <${Tool} id="unsure" name="Unsure" disabled=${!question} />
      <${Tool} id="comment" name="Comment" disabled=${!question} pressed=${commenting.value} />
      <${Tool} id="wrong_field" name="Wrong field" disabled=${!question} pressed=${picking.value} />
      <span class="gap"></span>
      <${Tool} id="undo" name="Undo" disabled=${!done.length} />
      <${Tool} id="redo" name="Redo" disabled=${!undone.length} />
    </div>
  </div>`;
}

/** @param {{now: import("./session.js").Session}} props */
function Comment({ now }) {
  const box = useRef(/** @type {any} */ (null));
  // At once: letters typed before the box has the focus would be answers.
  useLayoutEffect(() => box.current?.focus(), []);
  const close = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" && !(event.key === "Enter" && !event.shiftKey)) return;
    event.preventDefault();
    commenting.value = false;
  };
  return html`<label class="comment"><span>Comment, sent with the answer (Enter closes)</span>
    <textarea ref=${box} rows="2" dir="auto" maxlength="2000" value=${now.comment.value} onKeyDown=${close}
      onInput=${(/** @type {any} */ e) => (now.comment.value = e.target.value)}></textarea></label>`;
}

const TITLES = {
  no_rows: "No rows yet",
  all_leased: "Others are answering the open questions",
  budget_spent: "The budget is spent",
  all_answered: "All answered",
  no_strategy: "No questions are asked",
  offline: "No connection",
  waiting: "One moment",
};

/** @param {{empty: any}} props */
function Empty({ empty }) {
  if (!empty) return html`<div class="empty" aria-busy="true"><p class="muted">Fetching questions…</p></div>`;
  return html`<div class="empty" role="status"><h2>${TITLES[empty.reason] ?? "No question now"}</h2><p>${empty.message}</p>
    ${empty.retry_after ? html`<p class="muted">Looking again in ${plural(Math.ceil(empty.retry_after), "second")}.</p>` : ""}</div>`;
}

export function Label() {
  const now = session();
  const question = now.queue.value.current;
  useEffect(() => {
    now.enter();
    return () => now.leave();
  }, [now]);
  // Before the question can be seen: a key pressed at once must find what it opens left open.
  useLayoutEffect(() => {
    unfolded.value = false;
    picking.value = false;
    commenting.value = Boolean(now.comment.value);
    scrollTo({ top: 0, behavior: "instant" });
  }, [question?.id]);
  return html`<div class=${`labeling${question?.pair ? " wide" : ""}`}>
    <article class="question" aria-label="Question" data-question=${question?.id}>
      <h1 class="visually-hidden">${view.value === "review" ? "Review" : "Label"}</h1>
      ${question
        ? html`<${Why} why=${question.why} duplicates=${question.duplicates} />
          ${question.prediction && html`<p class="prediction">Model: <b>${String(question.prediction.label)}</b> ${percent(question.prediction.confidence, 0)}</p>`}
          <div class="card" key=${question.id}>
            <${Row} question=${question} unfolded=${unfolded.value} onUnfold=${() => act("fold")} foldKey=${shown(keyOf("fold"))}
              picking=${picking.value} wrong=${now.wrongField.value}
              onPick=${(/** @type {string} */ name) => ((now.wrongField.value = name), (picking.value = false))} />
          </div>
          <${Evidence} evidence=${question.evidence ?? []} />`
        : html`<${Empty} empty=${now.empty.value} />`}
    </article>
    <${Answers} now=${now} question=${question} />
  </div>`;
}

/** Questions that need a second look. */
export function Review() {
  const tab = (/** @type {any} */ name, /** @type {string} */ text) =>
    html`<button role="tab" aria-selected=${String(reviewQueue.value === name)} class="tab" onClick=${() => (reviewQueue.value = name)}>${text}</button>`;
  const explain = {
    disagreements: "Rows that people answered differently.",
    suspects: "Rows whose label the model cannot reconcile with their neighbors.",
  };
  return html`<div class="review">
    <div class="tabs" role="tablist" aria-label="Review queue">${tab("disagreements", "Disagreements")}${tab("suspects", "Suspected mistakes")}</div>
    <p class="muted center">${explain[reviewQueue.value]}</p>
    <${Label} key=${reviewQueue.value} />
  </div>`;
}

