/** What every view needs: templates, hooks, signals, and how numbers and times are written. */
import { h, render } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

export const html = htm.bind(h);
export { render };
export { useEffect, useRef, useState, useLayoutEffect } from "../vendor/hooks.js";
export { signal, computed, effect, batch } from "../vendor/signals.js";

/** 0.914 -> "91.4 %" @param {number|null|undefined} share @param {number} [digits] */
export const percent = (share, digits = 1) =>
  share === null || share === undefined || Number.isNaN(share) ? "–" : `${(100 * share).toFixed(digits)}\u202f%`;

/** 12345 -> "12,345" @param {number|null|undefined} count */
export const number = (count) => (count === null || count === undefined ? "–" : count.toLocaleString("en-US"));

/** 0.912345 -> "0.912" @param {number|null|undefined} value */
export const short = (value) =>
  value === null || value === undefined ? "–" : String(Number(Number(value).toPrecision(3)));

/** @param {number} count @param {string} one @param {string} [many] */
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** How long ago, in words. @param {string|number} when ISO text or seconds @param {number} [now] */
export function ago(when, now = Date.now()) {
  const time = typeof when === "number" ? when * 1000 : Date.parse(when);
  if (Number.isNaN(time)) return "";
  const minutes = Math.round((now - time) / 60000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 60 * 24) return `${Math.round(minutes / 60)} h ago`;
  return new Date(time).toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
}

/** A key cap. @param {{children?: any}} props */
export const Key = ({ children }) => (children ? html`<kbd aria-hidden="true">${children}</kbd>` : null);
