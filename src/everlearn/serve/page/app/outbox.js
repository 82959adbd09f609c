/**
 * Answers that the server has not yet confirmed, in order, kept in IndexedDB with their idempotency keys: a reload,
 * a lost connection or a crashed tab loses none, and sending one twice does not count it twice.
 *
 * @typedef {{key: string, scope: string, kind: "answer"|"withdraw", id: string, answer?: any, position?: number}} Operation
 */
import { Problem, post, request, ROOT } from "./api.js";

const NAME = `everlearn ${ROOT.pathname}`;
const BATCH = 50;

/** @template T @param {IDBRequest<T>} asked @returns {Promise<T>} */
const done = (asked) =>
  new Promise((resolve, reject) => {
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error);
  });

/** A store of operations; without IndexedDB (some private windows) they live as long as the tab. */
export async function openStore() {
  try {
    const opening = indexedDB.open(NAME, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("outbox", { keyPath: "key" });
    const database = await done(opening);
    const table = (/** @type {IDBTransactionMode} */ mode) => database.transaction("outbox", mode).objectStore("outbox");
    return {
      durable: true,
      /** @param {Operation} operation */
      put: (operation) => done(table("readwrite").put(operation)),
      /** @param {string} key */
      remove: (key) => done(table("readwrite").delete(key)),
      /** @returns {Promise<Operation[]>} */
      all: async () => (await done(table("readonly").getAll())).sort((a, b) => a.position - b.position),
    };
  } catch {
    return { durable: false, put: async () => {}, remove: async () => {}, all: async () => [] };
  }
}

/** The first operations that one request can carry: answers up to the first withdrawal, or one withdrawal.
 * @param {Operation[]} waiting @param {number} [most] */
export function nextBatch(waiting, most = BATCH) {
  if (!waiting.length || waiting[0].kind === "withdraw") return waiting.slice(0, 1);
  const end = waiting.findIndex((operation) => operation.kind === "withdraw");
  const answers = end < 0 ? waiting : waiting.slice(0, end);
  // Two answers for one row are two requests: one request is one decision for each row.
  const rows = new Set();
  const batch = [];
  for (const operation of answers.slice(0, most)) {
    if (rows.has(operation.id)) break;
    rows.add(operation.id);
    batch.push(operation);
  }
  return batch;
}

export class Outbox {
  /**
   * @param {{onChange: (waiting: Operation[], problem: Problem|null) => void,
   *          onSent: (operation: Operation, result: any) => void,
   *          onRefused: (operation: Operation, problem: Problem) => void}} on
   */
  constructor(on) {
    this.on = on;
    /** @type {Operation[]} */ this.waiting = [];
    /** @type {Set<string>} */ this.sending = new Set();
    this.scope = "";
    this.failures = 0;
    this.one = false;
    /** @type {any} */ this.timer = null;
  }

  /** Take up what an earlier page of the same person in the same project left. @param {string} scope */
  async open(scope) {
    this.scope = scope;
    this.store = await openStore();
    const left = (await this.store.all()).filter((operation) => operation.scope === scope);
    const known = new Set(this.waiting.map((operation) => operation.key));
    this.waiting = [...left.filter((operation) => !known.has(operation.key)), ...this.waiting];
    this.changed();
    this.flush();
    return left.length;
  }

  /** @param {Omit<Operation, "scope">} operation */
  add(operation) {
    const full = { ...operation, scope: this.scope, position: performance.timeOrigin + performance.now() };
    this.waiting.push(full);
    this.store?.put(full).catch(() => {});
    this.changed();
    this.flush();
  }

  /** Take back an answer that has not left the page. @param {string} key @returns {boolean} whether that was so */
  cancel(key) {
    if (this.sending.has(key) || !this.waiting.some((operation) => operation.key === key)) return false;
    this.drop(key);
    this.changed();
    return true;
  }

  /** @param {string} key */
  drop(key) {
    this.waiting = this.waiting.filter((operation) => operation.key !== key);
    this.store?.remove(key).catch(() => {});
  }

  /** @param {Problem|null} [problem] */
  changed(problem = null) {
    this.on.onChange([...this.waiting], problem);
  }

  /** Send what waits, one request at a time; after a failure again later, at once when the connection is back. */
  async flush() {
    if (this.busy || !this.scope || !this.waiting.length) return;
    this.busy = true;
    clearTimeout(this.timer);
    let pause = 0;
    while (this.waiting.length && !pause) pause = await this.sendSome();
    this.busy = false;
    if (pause > 0) this.timer = setTimeout(() => this.flush(), pause);
  }

  /** @returns {Promise<number>} milliseconds to wait before the next try; 0 to go on */
  async sendSome() {
    const batch = nextBatch(this.waiting, this.one ? 1 : BATCH);
    this.sending = new Set(batch.map((operation) => operation.key));
    try {
      const results = await this.deliver(batch);
      this.failures = 0;
      this.one = false;
      for (const [index, operation] of batch.entries()) {
        this.drop(operation.key);
        this.on.onSent(operation, results[index]);
      }
      this.changed();
      return 0;
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem(0);
      if (problem.temporary || problem.status === 401) {
        this.failures += 1;
        this.changed(problem);
        return problem.retryAfter * 1000 || Math.min(500 * 2 ** this.failures, 10000);
      }
      // Refused: all answers of the request were. Alone, each of them shows whether it is the one.
      if (batch.length > 1) this.one = true;
      else {
        this.drop(batch[0].key);
        this.on.onRefused(batch[0], problem);
        this.changed();
      }
      return 0;
    } finally {
      this.sending = new Set();
    }
  }

  /** @param {Operation[]} batch @returns {Promise<any[]>} a result for each operation */
  async deliver(batch) {
    if (batch[0].kind === "answer") {
      const answers = batch.map((operation) => operation.answer);
      const { results, ...rest } = await post("v1/labels", { answers });
      return batch.map((operation, index) => {
        const result = results.find((/** @type {any} */ r) => r.id === operation.id) ?? results[index] ?? {};
        return { ...rest, ...result };
      });
    }
    try {
      return [await request(`v1/labels/${encodeURIComponent(batch[0].id)}`, { method: "DELETE", key: batch[0].key })];
    } catch (error) {
      // Nothing to take back: the answer never arrived, or the row was erased. What was wanted is so.
      if (error instanceof Problem && error.status === 404) return [{ id: batch[0].id, gone: true }];
      throw error;
    }
  }
}
