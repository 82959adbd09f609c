/**
 * What was answered here, in order, and what was taken back. Pure; without limit.
 *
 * @typedef {{question: any, answer: any, result?: any}} Done
 * @typedef {{done: Done[], undone: Done[]}} Past
 */

/** @returns {Past} */
export const emptyPast = () => ({ done: [], undone: [] });

/** A new answer. What had been taken back can no longer be redone. @param {Past} past @param {Done} entry @returns {Past} */
export const record = (past, entry) => ({ done: [...past.done, entry], undone: [] });

/** @param {Past} past @returns {[Past, Done|null]} the last answer moves to the undone ones */
export function undo(past) {
  const entry = past.done.at(-1);
  if (!entry) return [past, null];
  return [{ done: past.done.slice(0, -1), undone: [...past.undone, entry] }, entry];
}

/** @param {Past} past @param {string} key the new idempotency key @returns {[Past, Done|null]} */
export function redo(past, key) {
  const entry = past.undone.at(-1);
  if (!entry) return [past, null];
  const again = { question: entry.question, answer: { ...entry.answer, key } };
  return [{ done: [...past.done, again], undone: past.undone.slice(0, -1) }, again];
}

/** An answer that does not count: the server refused it. @param {Past} past @param {string} key @returns {Past} */
export const strike = (past, key) => ({ ...past, done: past.done.filter((entry) => entry.answer.key !== key) });

/** The server's result for the answer with this key. @param {Past} past @param {string} key @param {any} result @returns {Past} */
export const settle = (past, key, result) => ({
  ...past,
  done: past.done.map((entry) => (entry.answer.key === key ? { ...entry, result } : entry)),
});
