/** What all views share: the status of the project, the connection, the unsent answers, the view on screen. */
import { Problem, follow, request } from "./api.js";
import { keyMap } from "./keys.js";
import { Outbox } from "./outbox.js";
import { prefs } from "./prefs.js";
import { computed, signal } from "./ui.js";

export const VIEWS = ["label", "review", "history", "progress", "settings", "start"];

/** @type {import("../vendor/signals.js").Signal<any>} */
export const status = signal(null);
export const connected = signal(true);
/** @type {import("../vendor/signals.js").Signal<import("./outbox.js").Operation[]>} */
export const waiting = signal([]);
/** The last failure to send, or null. @type {import("../vendor/signals.js").Signal<any>} */
export const failure = signal(null);
/** Answers that the server refused for good. @type {import("../vendor/signals.js").Signal<{id: string, text: string}[]>} */
export const refused = signal([]);
export const signedOut = signal(false);
/** Whether what an earlier page left unsent is known, so that it is not asked again. */
export const opened = signal(false);
/** Read aloud by screen readers. */
export const spoken = signal("");
export const helpOpen = signal(false);
/** How many unsent answers an earlier page left. */
export const restored = signal(0);

export const view = signal("label");
export const classes = computed(() => status.value?.classes?.map(String) ?? []);
export const keys = computed(() => keyMap(classes.value, prefs.value.keys));

/** The key of an action or class. @param {string} id */
export const keyOf = (id) => (prefs.value.single ? keys.value.byId[id] : "");

/** @param {string} text */
export const say = (text) => (spoken.value = text);

/** Called when something happened on the server. @type {Set<() => void>} */
export const onNews = new Set();
/** @type {Set<(operation: any, result: any) => void>} */
export const onSent = new Set();
/** @type {Set<(operation: any) => void>} */
export const onRefused = new Set();

export const outbox = new Outbox({
  onChange(list, problem) {
    waiting.value = list;
    document.documentElement.dataset.unsent = String(list.length);
    if (problem?.status === 401) signedOut.value = true;
    if (!list.length) failure.value = null;
    else if (problem) failure.value = problem;
  },
  onSent(operation, result) {
    failure.value = null;
    for (const listener of onSent) listener(operation, result);
    refreshSoon();
  },
  onRefused(operation, problem) {
    refused.value = [...refused.value, { id: operation.id, text: [problem.message, problem.remedy].filter(Boolean).join(" ") }];
    for (const listener of onRefused) listener(operation);
  },
});

/** @returns {Promise<boolean>} whether the status could be read */
export async function refresh() {
  try {
    status.value = await request("v1/status");
    connected.value = true;
    signedOut.value = false;
    return true;
  } catch (error) {
    if (error instanceof Problem && (error.status === 401 || error.status === 403)) signedOut.value = true;
    else connected.value = false;
    return false;
  }
}

/** @type {any} */ let planned = null;
let last = 0;

/** Read the status again, at most once a second however many events come. */
export function refreshSoon() {
  if (planned) return;
  const pause = Math.max(60, last + 1000 - Date.now());
  planned = setTimeout(async () => {
    planned = null;
    last = Date.now();
    if (document.visibilityState === "visible") await refresh();
  }, pause);
}

/** Whether the page was opened by a link that had been used before. */
export const usedLink = location.hash === "#/used-link";

function readHash() {
  const name = location.hash.replace(/^#\/?/, "");
  view.value = VIEWS.includes(name) ? name : "label";
}

/** @param {string} name */
export const go = (name) => (location.hash = `#/${name}`);

export async function begin() {
  addEventListener("hashchange", readHash);
  readHash();
  while (!(await refresh()) && !signedOut.value) await new Promise((resolve) => setTimeout(resolve, 1500));
  if (signedOut.value) return;
  // By the store, because a project may be renamed while answers wait.
  restored.value = await outbox.open(`${status.value.store} ${status.value.me.name}`);
  opened.value = true;
  follow(
    () => {
      refreshSoon();
      for (const listener of onNews) listener();
    },
    (state) => {
      connected.value = state;
      if (state) {
        refreshSoon();
        outbox.flush();
      }
    },
  );
  addEventListener("online", () => outbox.flush());
  document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && refreshSoon());
  // A page that is closed with unsent answers keeps them, but the browser asks whether that is meant.
  addEventListener("beforeunload", (event) => {
    if (waiting.value.length && !outbox.store?.durable) event.preventDefault();
  });
  if (status.value.setup_needed) go("start");
  else if (status.value.me.role === "viewer") go("progress");
}
