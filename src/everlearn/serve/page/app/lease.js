/**
 * When leases are renewed and when they are lost. Pure: the clock comes from outside.
 * @typedef {import("./queue.js").Question} Question
 */

/** Milliseconds until the next renewal: a third of the lease. @param {number} seconds length of a lease */
export const renewEvery = (seconds) => Math.max(1000, (seconds * 1000) / 3);

/** Whether the lease of a question is over. @param {Question} question @param {number} now */
export const expired = (question, now) => question.due !== undefined && question.due <= now;

/**
 * After a time without renewal (a hidden tab, a sleeping machine) the questions ahead may be with somebody else:
 * those are dropped. The one on screen stays, since a late answer still counts.
 * @param {import("./queue.js").Queue} queue @param {number} now
 * @returns {import("./queue.js").Queue}
 */
export const dropExpired = (queue, now) => ({ ...queue, ahead: queue.ahead.filter((q) => !expired(q, now)) });

/** @param {Question} question @param {number} seconds @param {number} now @returns {Question} */
export const renewed = (question, seconds, now) => ({ ...question, due: now + seconds * 1000 });

/** The body of a release. @param {Question[]} questions */
export const releaseBody = (questions) => ({
  leases: questions.filter((q) => q.lease).map(({ lease }) => ({ id: lease.id, token: lease.token })),
});
