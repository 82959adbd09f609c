/** The view in which people spend their hours: a question, its answers, what the last answer did. */
import { request } from "./api.js";
import { shown } from "./keys.js";
import { cut } from "./marks.js";
import { Marked, Row, fieldNames } from "./row.js";
import { sessions } from "./session.js";
import { classes, keyOf, status, view } from "./state.js";
import { Key, html, percent, plural, short, signal, useEffect, useLayoutEffect, useRef, useState } from "./ui.js";

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
    why.rank !== null && why.rank !== undefined ? `no. ${why.rank} in queue` : "",
    why.utility !== null && why.utility !== undefined ? `utility ${short(why.utility)}` : "",
    why.like_it && !why.text.includes(String(why.like_it)) ? `${plural(why.like_it, "row")} like it` : "",
    duplicates?.length ? `also labels ${plural(duplicates.length, "near-duplicate")}` : "",
  ].filter(Boolean);
  return html`<p class="why"><span class=${`dot ${why.kind}`} aria-hidden="true"></span><span class="said"><span class="reason">${why.text.slice(0, 1).toUpperCase() + why.text.slice(1)}</span>
    ${details.length > 0 && html` <span class="details">${details.join(" · ")}</span>`}</span></p>`;
}

/**
 * Why the model predicts what it predicts, once it is asked for: of the question on screen or, in a blind project,
 * of the row that was answered last.
 * @param {any} id @param {any} version the explanation is fetched again when it changes
 */
function useExplanation(id, version) {
  const [found, setFound] = useState(/** @type {any} */ (null));
  useEffect(() => {
    if (id === undefined || id === null) return void setFound(null);
    let gone = false;
    request(`v1/explanations/${encodeURIComponent(id)}`).then(
      (explanation) => gone || setFound(explanation),
      (problem) => gone || setFound({ id, problem }),
    );
    return () => void (gone = true);
  }, [id, version]);
  return found && String(found.id) === String(id) ? found : null;
}

/** @param {{evidence: any[], label: any}} props */
function Evidence({ evidence, label }) {
  if (!evidence.length) return html`<p class="muted">No single labeled row stands out for this prediction.</p>`;
  const sides = ["for", "against"].map((side) => [side, evidence.filter((item) => item.speaks === side)]);
  return sides.map(
    ([side, items]) => items.length > 0 && html`<section key=${side}>
      <h3 class="name">Labeled rows that speak ${side} <b>${String(label)}</b></h3>
      <ul>${items.map(
        (/** @type {any} */ item) => html`<li key=${item.id}>
          <span class="share">${percent(item.share, 0)}</span>
          <span class="summary" dir="auto">${item.summary || item.id}</span>
          <span class="tag">${String(item.label)}</span>
        </li>`,
      )}</ul></section>`,
  );
}

/** The texts of a row in which words are marked. @param {{fields: any[]}} props */
function MarkedTexts({ fields }) {
  const marked = fields.filter((field) => field.highlights?.length);
  if (!marked.length) return null;
  return html`<div class="marked">${marked.map((field) => html`<p key=${field.name} class="prose" dir="auto"><${Marked} parts=${cut(field.text, field.highlights)} /></p>`)}
    <p class="legend"><mark class="for w3">words for it</mark> <mark class="against w3">words against it</mark></p></div>`;
}

/** @param {{of: any, blind: boolean, explanation: any}} props */
function Explained({ of, blind, explanation }) {
  const open = evidenceOpen.value;
  if (!of) return null;
  const { prediction, problem } = explanation ?? {};
  const name = blind ? "Why the model thought so" : "Why the model thinks so";
  return html`<div class="evidence">
    <button class="quiet" aria-expanded=${String(open)} aria-controls="evidence" onClick=${() => act("evidence")}>
      ${name} <${Key}>${shown(keyOf("evidence"))}<//></button>
    <div id="evidence" class=${open ? "card explained" : ""} hidden=${!open} aria-live="polite">
      ${!explanation ? html`<p class="muted">Loading…</p>` : problem ? html`<p class="muted">${problem.message}</p>` : !prediction ? html`<p class="muted">There is no model yet.</p>` : html`
        <h2>${blind ? "Your last answer" : "This question"}: the model ${blind ? "now says" : "says"} <b>${String(prediction.label)}</b>${prediction.confidence === null ? "" : `, ${percent(prediction.confidence, 0)}`}</h2>
        ${blind && html`<${MarkedTexts} fields=${explanation.fields} />`}
        <${Evidence} evidence=${explanation.evidence} label=${prediction.label} />`}
    </div>
  </div>`;
}

const WORDS = { skip: "skipped", unsure: "unsure" };

/** What the last answer, undo or redo did, and what the model thought. @param {{event: any}} props */
function Last({ event }) {
  if (!event) return html`<p class="last" aria-live="polite">${" "}</p>`;
  const { what, answer, result } = event;
  const named = answer.kind === "label" ? html`<b>${String(answer.label)}</b>` : html`<b>${WORDS[answer.kind]}</b>`;
  if (what === "undo") {
    const text = !result
      ? "Undoing…"
      : result.unsent
        ? "It had not been sent yet."
        : result.gone
          ? "The server did not have it."
          : `The model has unlearned it (now version ${result.model_version}).`;
    return html`<p class="last" aria-live="polite"><span class="did">Undone: ${named}.</span> ${text}</p>`;
  }
  const before = result?.prediction_before;
  const agreed = before && answer.kind === "label" && String(before.label) === String(answer.label);
  const state = !result
    ? "saved"
    : { vote: "counted as a vote", learned: "learned", skipped: "comes back once the model has changed", unsure: "left to others", refused: "refused, and asked again" }[
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
  if (!question && !done.length && !undone.length) return null;
  return html`<div class="answers" role="group" aria-label="Answers">
    <${Last} event=${now.event.value} />
    ${now.wrongField.value && html`<p class="attached"><span class="chip wrong">Wrong field: ${now.wrongField.value}</span>
      <button class="quiet" onClick=${() => (now.wrongField.value = "")}>Remove</button></p>`}
    ${commenting.value && html`<${Comment} now=${now} />`}
    ${question && html`<div class=${`classes${names.length > 6 ? " many" : ""}`}>
      ${names.map(
        (name) => html`<button key=${name} class="class" aria-keyshortcuts=${keyOf(`class:${name}`) || undefined}
          onClick=${() => now.answer("label", name)}><span dir="auto">${name}</span> <${Key}>${shown(keyOf(`class:${name}`))}<//></button>`,
      )}
    </div>`}
    <div class="tools">
      ${question && html`<${Tool} id="skip" name="Skip" />
      <${Tool} id="unsure" name="Unsure" />
      <${Tool} id="comment" name="Comment" pressed=${commenting.value} />
      <${Tool} id="wrong_field" name="Wrong field" pressed=${picking.value} />`}
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
  return html`<label class="comment"><span>Comment, sent with your answer (Enter closes)</span>
    <textarea ref=${box} rows="2" dir="auto" maxlength="2000" value=${now.comment.value} onKeyDown=${close}
      onInput=${(/** @type {any} */ e) => (now.comment.value = e.target.value)}></textarea></label>`;
}

const TITLES = {
  no_rows: "No rows yet",
  all_leased: "Nothing for you right now",
  budget_spent: "The label budget is spent",
  all_answered: "All done for now",
  no_strategy: "No questions",
  offline: "No connection",
  waiting: "One moment",
};

/** @param {{empty: any, queue: string}} props */
function Empty({ empty, queue }) {
  if (!empty) return html`<div class="empty" aria-busy="true"><p class="muted">Loading questions…</p></div>`;
  const title = queue !== "asked" && empty.reason === "all_answered" ? "Nothing to review" : TITLES[empty.reason];
  return html`<div class="empty" role="status"><h2>${title ?? "No questions"}</h2><p>${empty.message}</p>
    ${empty.retry_after ? html`<p class="muted">Checking again in ${plural(Math.ceil(empty.retry_after), "second")}.</p>` : ""}</div>`;
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
  const blind = status.value?.settings?.blind ?? true;
  const event = now.event.value;
  const answered = event?.result?.prediction_before && event.what !== "undo" ? event.question : null;
  const of = blind ? answered : question?.prediction ? question : null;
  // Without blinding, words are marked in the question itself; else only those who ask see why.
  const explanation = useExplanation(!blind || evidenceOpen.value ? of?.id : null, blind ? event?.result?.model_version : 0);
  const marked = !blind && question && !question.pair && explanation?.fields ? { ...question, fields: explanation.fields } : question;
  return html`<div class=${`labeling${question?.pair ? " wide" : ""}`}>
    <article class="question" aria-label="Question" data-question=${question?.id}>
      <h1 class="visually-hidden">${view.value === "review" ? "Review" : "Label"}</h1>
      ${question
        ? html`<${Why} why=${question.why} duplicates=${question.duplicates} />
          ${question.prediction && html`<p class="prediction">Model: <b>${String(question.prediction.label)}</b> ${percent(question.prediction.confidence, 0)}</p>`}
          <div class="card" key=${question.id}>
            <${Row} question=${marked} unfolded=${unfolded.value} onUnfold=${() => act("fold")} foldKey=${shown(keyOf("fold"))}
              picking=${picking.value} wrong=${now.wrongField.value}
              onPick=${(/** @type {string} */ name) => ((now.wrongField.value = name), (picking.value = false))} />
          </div>
`
        : html`<${Empty} empty=${now.empty.value} queue=${now.name} />`}
      <${Explained} of=${of} blind=${blind} explanation=${explanation} />
    </article>
    <${Answers} now=${now} question=${question} />
  </div>`;
}

/** Questions that need a second look. */
export function Review() {
  const tab = (/** @type {any} */ name, /** @type {string} */ text) =>
    html`<button role="tab" aria-selected=${String(reviewQueue.value === name)} class="tab" onClick=${() => (reviewQueue.value = name)}>${text}</button>`;
  const explain = {
    disagreements: "Rows that people labeled differently.",
    suspects: "Rows whose label the model contradicts. Confirm the label, or correct it.",
  };
  return html`<div class="review">
    <div class="tabs" role="tablist" aria-label="Review queue">${tab("disagreements", "Disagreements")}${tab("suspects", "Suspected mistakes")}</div>
    <p class="muted center">${explain[reviewQueue.value]}</p>
    <${Label} key=${reviewQueue.value} />
  </div>`;
}

