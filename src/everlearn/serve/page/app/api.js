/** Requests to the service, and its events. The only module that knows addresses. */

/** The root of the service, also behind a proxy: this file is served at ROOT/page/app/api.js. */
export const ROOT = new URL("../../", import.meta.url);

/** An answer that is not a success: the problem details of the service, or a lost connection (status 0). */
export class Problem extends Error {
  /** @param {number} status @param {any} details @param {number} [retryAfter] seconds */
  constructor(status, details = {}, retryAfter = 0) {
    super(details.detail || details.title || (status ? `The server answered with status ${status}.` : "No connection to the server."));
    this.status = status;
    this.code = details.code ?? "";
    this.remedy = details.remedy ?? "";
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed later. */
  get temporary() {
    return this.status === 0 || this.status === 429 || this.status >= 500 || this.status === 408;
  }
}

/** A random key; `crypto.randomUUID` exists only on https and localhost. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {string} path relative to the root, e.g. "v1/status"
 * @param {{method?: string, json?: any, body?: BodyInit, key?: string, token?: string, timeout?: number}} [options]
 * @returns {Promise<any>}
 */
export async function request(path, { method = "GET", json, body, key, token, timeout = 20000 } = {}) {
  /** @type {Record<string, string>} */ const headers = { Accept: "application/json" };
  if (json !== undefined) headers["Content-Type"] = "application/json";
  else if (body) headers["Content-Type"] = "application/octet-stream";
  if (key) headers["Idempotency-Key"] = key;
  if (token) headers.Authorization = `Bearer ${token}`;
  let response;
  try {
    response = await fetch(new URL(path, ROOT), {
      method,
      headers,
      body: json === undefined ? body : JSON.stringify(json),
      signal: AbortSignal.timeout(timeout),
      cache: "no-store",
    });
  } catch {
    throw new Problem(0);
  }
  const text = await response.text().catch(() => "");
  let parsed = {};
  try {
    parsed = text ? JSON.parse(text) : {};
  } catch {
    parsed = {};
  }
  if (!response.ok) throw new Problem(response.status, parsed, Number(response.headers.get("Retry-After")) || 0);
  return parsed;
}

/** @param {string} path @param {any} json @param {object} [options] */
export const post = (path, json, options = {}) => request(path, { method: "POST", json, ...options });

/** Sent even while the page goes away. @param {string} path @param {any} json */
export function beacon(path, json) {
  navigator.sendBeacon(new URL(path, ROOT), new Blob([JSON.stringify(json)], { type: "application/json" }));
}

const EVENTS = ["rows", "labels", "withdrawn", "asked", "drift", "status"];

/**
 * Follow the events of the service. One tab of a browser holds the connection and tells the others, because a
 * browser opens at most six connections to a server; when that tab closes another one takes over.
 * @param {(kind: string, data: any) => void} onEvent @param {(connected: boolean) => void} onState
 */
export function follow(onEvent, onState) {
  const channel = new BroadcastChannel(`everlearn ${ROOT.pathname}`);
  channel.onmessage = ({ data }) => ("connected" in data ? onState(data.connected) : onEvent(data.kind, data.data));
  const tell = (/** @type {any} */ message) => channel.postMessage(message);
  const listen = () => {
    const source = new EventSource(new URL("v1/events", ROOT));
    const state = (/** @type {boolean} */ connected) => (onState(connected), tell({ connected }));
    source.onopen = () => state(true);
    source.onerror = () => {
      state(false);
      // A browser gives up for good after an answer such as 503: begin anew.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => (source.close(), listen()), 3000);
    };
    for (const kind of EVENTS) {
      source.addEventListener(kind, (event) => {
        let data = {};
        try {
          data = JSON.parse(event.data);
        } catch {
          return;
        }
        onEvent(kind, data);
        tell({ kind, data });
      });
    }
  };
  if (navigator.locks) navigator.locks.request(`everlearn events ${ROOT.pathname}`, () => (listen(), new Promise(() => {})));
  else listen();
}
