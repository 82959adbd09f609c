/**
 * The questions that this tab holds: the one on screen and those leased ahead.
 * Pure functions on plain objects; nothing here talks to the server or the screen.
 *
 * @typedef {{id: string, token: string, expires_in: number}} Lease
 * @typedef {{id: string, lease: Lease|null, due?: number, [key: string]: any}} Question
 * @typedef {{current: Question|null, ahead: Question[]}} Queue
 */

/** How many questions are leased ahead of the one on screen. */
export const AHEAD = 5;

/** @returns {Queue} */
export const emptyQueue = () => ({ current: null, ahead: [] });

/** All questions held, the one on screen first. @param {Queue} queue */
export const held = (queue) => (queue.current ? [queue.current, ...queue.ahead] : queue.ahead);

/**
 * Questions came from the server. Those held already and those in `answered` are left out.
 * @param {Queue} queue @param {Question[]} questions @param {Set<string>} answered @param {number} now milliseconds
 * @returns {Queue}
 */
export function arrive(queue, questions, answered, now) {
  const known = new Set([...held(queue).map((q) => q.id), ...answered]);
  const fresh = [];
  for (const question of questions) {
    if (known.has(question.id)) continue;
    known.add(question.id);
    const due = question.lease ? now + question.lease.expires_in * 1000 : undefined;
    fresh.push({ ...question, due });
  }
  const ahead = [...queue.ahead, ...fresh];
  return queue.current ? { ...queue, ahead } : { current: ahead[0] ?? null, ahead: ahead.slice(1) };
}

/** The question on screen is done: the next one takes its place. @param {Queue} queue @returns {Queue} */
export const advance = (queue) => ({ current: queue.ahead[0] ?? null, ahead: queue.ahead.slice(1) });

/**
 * Put a question on screen; the one that was there waits first in line.
 * @param {Queue} queue @param {Question} question @returns {Queue}
 */
export function putBack(queue, question) {
  const others = held(queue).filter((q) => q.id !== question.id);
  return { current: question, ahead: others };
}

/**
 * Put a question next in line: what is on screen stays, since a key may be on its way.
 * @param {Queue} queue @param {Question} question @returns {Queue}
 */
export function putNext(queue, question) {
  if (!queue.current) return { current: question, ahead: queue.ahead };
  if (queue.current.id === question.id) return queue;
  return { ...queue, ahead: [question, ...queue.ahead.filter((q) => q.id !== question.id)] };
}

/** Take a question out, wherever it is. @param {Queue} queue @param {string} id @returns {Queue} */
export function remove(queue, id) {
  if (queue.current?.id === id) return advance(queue);
  return { ...queue, ahead: queue.ahead.filter((q) => q.id !== id) };
}

/**
 * How many questions to ask for now: none while enough are held, so that not every answer is a request.
 * @param {Queue} queue
 */
export function wanted(queue) {
  const missing = AHEAD + (queue.current ? 0 : 1) - queue.ahead.length;
  return queue.current && queue.ahead.length > AHEAD - 2 ? 0 : missing;
}
