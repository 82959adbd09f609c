/** Asking and answering from one queue of questions: joins the pure modules with the server and the screen. */
import { Problem, beacon, newKey, post, request } from "./api.js";
import { dropExpired, releaseBody, renewEvery, renewed } from "./lease.js";
import { arrive, emptyQueue, held, putBack, putNext, remove, wanted } from "./queue.js";
import { onNews, onRefused, onSent, outbox, say, status } from "./state.js";
import { signal } from "./ui.js";
import { emptyPast, record, redo, settle, strike, undo } from "./undo.js";

export class Session {
  /** @param {"asked"|"disagreements"|"suspects"} name */
  constructor(name) {
    this.name = name;
    this.queue = signal(emptyQueue());
    this.past = signal(emptyPast());
    /** Why there is no question, from the server. @type {import("../vendor/signals.js").Signal<any>} */
    this.empty = signal(null);
    /** What happened last: an answer, an undo, a redo. @type {import("../vendor/signals.js").Signal<any>} */
    this.event = signal(null);
    this.comment = signal("");
    this.wrongField = signal("");
    /** @type {Set<string>} */ this.recent = new Set();
    this.active = false;
    // New rows or a released lease may be a question for somebody who waits for one.
    onNews.add(() => {
      if (!this.active || this.queue.value.current || this.asking) return;
      clearTimeout(this.retry);
      this.retry = setTimeout(() => this.fill(), 300);
    });
    onSent.add((operation, result) => this.sent(operation, result));
    onRefused.add((operation) => this.refused(operation));
  }

  enter() {
    this.active = true;
    this.remember();
    this.queue.value = dropExpired(this.queue.value, Date.now());
    this.fill();
    this.planRenewal();
  }

  /** What was answered in this tab, for undo after a reload; the browser forgets it with the tab. */
  remember() {
    if (this.kept) return;
    this.kept = `everlearn past ${this.name} ${outbox.scope}`;
    try {
      this.past.value = { ...emptyPast(), ...JSON.parse(sessionStorage.getItem(this.kept) ?? "{}") };
    } catch {
      // No storage in this window: undo reaches back to the last reload, and History beyond.
    }
    this.past.subscribe(() => {
      clearTimeout(this.saving);
      this.saving = setTimeout(() => this.save(), 300);
    });
  }

  save() {
    if (!this.kept) return;
    const { done, undone } = this.past.value;
    // Storage is small: the newest answers if not all of them fit.
    for (const most of [done.length, 100, 10]) {
      try {
        sessionStorage.setItem(this.kept, JSON.stringify({ done: done.slice(-most), undone }));
        return;
      } catch {
        continue;
      }
    }
  }

  /** Give back what is leased: somebody else may answer it. @param {boolean} [closing] */
  leave(closing = false) {
    this.active = false;
    clearTimeout(this.renewal);
    clearTimeout(this.retry);
    const body = releaseBody(held(this.queue.value));
    this.queue.value = emptyQueue();
    if (!body.leases.length) return;
    if (closing) beacon("v1/leases:release", body);
    else post("v1/leases:release", body).catch(() => {});
  }

  /** Lease more questions if few are left. */
  async fill() {
    if (!this.active || this.asking || status.value?.setup_needed) return;
    const n = wanted(this.queue.value);
    if (n <= 0) return;
    this.asking = true;
    clearTimeout(this.retry);
    let pause = 0;
    let found = 0;
    try {
      const unsent = outbox.waiting.map((operation) => operation.id);
      const exclude = [...new Set([...held(this.queue.value).map((q) => q.id), ...unsent])];
      const query = new URLSearchParams({ n: String(n), queue: this.name, exclude: exclude.join(",") });
      const { questions, empty } = await request(`v1/questions?${query}`);
      found = questions.length;
      if (!this.active) post("v1/leases:release", releaseBody(questions)).catch(() => {});
      else {
        const first = !this.queue.value.current;
        this.queue.value = arrive(this.queue.value, questions, this.recent, Date.now());
        if (first) this.announce();
      }
      this.empty.value = this.queue.value.current ? null : (empty ?? { reason: "waiting", message: "Waiting for a question." });
      if (!found) pause = (empty?.retry_after ?? 3) * 1000;
    } catch (error) {
      pause = (error instanceof Problem && error.retryAfter * 1000) || 2000;
      if (!this.queue.value.current) this.empty.value = { reason: "offline", message: /** @type {Error} */ (error).message };
    }
    this.asking = false;
    if (pause && this.active) this.retry = setTimeout(() => this.fill(), Math.min(Math.max(pause, 500), 60000));
    else if (found && wanted(this.queue.value) > 0) this.fill();
  }

  announce() {
    const question = this.queue.value.current;
    if (question) say(`Question: ${summary(question)}. ${question.why?.text ?? ""}`);
  }

  /** @param {"label"|"skip"|"unsure"} kind @param {string} [label] */
  answer(kind, label) {
    const question = this.queue.value.current;
    if (!question) return;
    const answer = { id: question.id, kind, key: newKey() };
    // A class is shown as text, and sent as the value that the project has for it.
    if (kind === "label") answer.label = status.value.classes.find((/** @type {any} */ c) => String(c) === label) ?? label;
    if (question.lease) answer.lease = { id: question.lease.id, token: question.lease.token };
    if (this.comment.value.trim()) answer.comment = this.comment.value.trim();
    if (this.wrongField.value) answer.wrong_field = this.wrongField.value;
    this.past.value = record(this.past.value, { question, answer });
    this.send(question, answer, "answer");
  }

  /** @param {any} question @param {any} answer @param {"answer"|"redo"} what */
  send(question, answer, what) {
    this.recent.add(question.id);
    this.comment.value = "";
    this.wrongField.value = "";
    this.queue.value = remove(this.queue.value, question.id);
    this.event.value = { what, question, answer, result: null };
    outbox.add({ key: answer.key, kind: "answer", id: question.id, answer });
    this.announce();
    this.fill();
  }

  undo() {
    const [past, entry] = undo(this.past.value);
    if (!entry) return;
    this.past.value = past;
    this.recent.delete(entry.question.id);
    this.queue.value = putBack(this.queue.value, entry.question);
    this.comment.value = entry.answer.comment ?? "";
    this.wrongField.value = entry.answer.wrong_field ?? "";
    const unsent = outbox.cancel(entry.answer.key);
    const key = newKey();
    this.event.value = { what: "undo", question: entry.question, answer: entry.answer, key, result: unsent ? { unsent } : null };
    if (!unsent) outbox.add({ key, kind: "withdraw", id: entry.question.id });
    say(`Undone. Question again: ${summary(entry.question)}`);
  }

  redo() {
    const [past, entry] = redo(this.past.value, newKey());
    if (!entry) return;
    this.past.value = past;
    this.send(entry.question, entry.answer, "redo");
  }

  /** @param {any} operation @param {any} result */
  sent(operation, result) {
    this.past.value = settle(this.past.value, operation.key, result);
    const event = this.event.value;
    if (event && (event.answer.key === operation.key || event.key === operation.key)) this.event.value = { ...event, result };
    // A row skipped now may be asked again once the model has changed.
    if (operation.kind === "answer") setTimeout(() => this.recent.delete(operation.id), 5000);
  }

  /** The server does not accept an answer: its question is asked once more. @param {any} operation */
  refused(operation) {
    const entry = this.past.value.done.find(({ answer }) => answer.key === operation.key);
    if (!entry) return;
    this.past.value = strike(this.past.value, operation.key);
    this.recent.delete(entry.question.id);
    const empty = !this.queue.value.current;
    if (this.active) this.queue.value = putNext(this.queue.value, entry.question);
    if (empty) this.announce();
    const event = this.event.value;
    if (event?.answer.key === operation.key) this.event.value = { ...event, result: { status: "refused" } };
  }

  planRenewal() {
    clearTimeout(this.renewal);
    this.renewal = setTimeout(async () => {
      if (this.active && document.visibilityState === "visible") await this.renew();
      if (this.active) this.planRenewal();
    }, renewEvery(status.value?.settings?.lease_seconds ?? 90));
  }

  /** Renew every lease held; questions ahead whose lease is lost are dropped. */
  async renew() {
    this.queue.value = dropExpired(this.queue.value, Date.now());
    await Promise.all(
      held(this.queue.value).map(async (question) => {
        if (!question.lease) return;
        try {
          const path = `v1/leases/${encodeURIComponent(question.lease.id)}/renew`;
          const { expires_in: seconds } = await post(path, { token: question.lease.token });
          const swap = (/** @type {any} */ q) => (q?.id === question.id ? renewed(q, seconds, Date.now()) : q);
          const { current, ahead } = this.queue.value;
          this.queue.value = { current: swap(current), ahead: ahead.map(swap) };
        } catch (error) {
          const lost = error instanceof Problem && !error.temporary;
          if (lost && this.queue.value.current?.id !== question.id) this.queue.value = remove(this.queue.value, question.id);
        }
      }),
    );
    this.fill();
  }
}

/** A row in a few words. @param {any} question */
export function summary(question) {
  const fields = question.pair ? question.pair.left : (question.fields ?? []);
  const words = fields.map((/** @type {any} */ f) => (f.kind === "text" ? f.text : `${f.name} ${f.text}`)).join(", ");
  return words.length > 200 ? `${words.slice(0, 200)}…` : words || question.id;
}

/** @type {Record<string, Session>} */
export const sessions = {
  asked: new Session("asked"),
  disagreements: new Session("disagreements"),
  suspects: new Session("suspects"),
};

addEventListener("pagehide", () => {
  for (const session of Object.values(sessions)) {
    session.save();
    if (session.active) session.leave(true);
  }
});
addEventListener("pageshow", (event) => event.persisted && location.reload());
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "visible") return;
  for (const session of Object.values(sessions)) if (session.active) session.renew();
});
