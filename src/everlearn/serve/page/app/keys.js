/**
 * Which key does what. Classes get 1 to 9 and then the letters that no action uses; every key can be changed.
 *
 * @typedef {{id: string, name: string, key: string}} Action
 */

/** @type {Action[]} */
export const ACTIONS = [
  { id: "skip", name: "Skip", key: "s" },
  { id: "unsure", name: "Unsure", key: "n" },
  { id: "undo", name: "Undo", key: "u" },
  { id: "redo", name: "Redo", key: "r" },
  { id: "comment", name: "Comment", key: "c" },
  { id: "wrong_field", name: "Wrong field", key: "w" },
  { id: "evidence", name: "Show why", key: "e" },
  { id: "fold", name: "Show whole text", key: "f" },
  { id: "view_label", name: "Go to Label", key: "l" },
  { id: "view_review", name: "Go to Review", key: "v" },
  { id: "view_history", name: "Go to History", key: "h" },
  { id: "view_progress", name: "Go to Progress", key: "p" },
  { id: "view_settings", name: "Go to Settings", key: "," },
  { id: "theme", name: "Switch theme", key: "t" },
  { id: "help", name: "Show all keys", key: "?" },
];

const DIGITS = "123456789";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

/**
 * The key map for these classes.
 * @param {string[]} classes @param {Record<string, string>} changed own keys by id ("class:NAME" for classes)
 * @returns {{byKey: Record<string, string>, byId: Record<string, string>}}
 */
export function keyMap(classes, changed = {}) {
  /** @type {Record<string, string>} */ const byKey = {};
  /** @type {Record<string, string>} */ const byId = {};
  const give = (/** @type {string} */ id, /** @type {string} */ key) => {
    if (!key || key in byKey) return;
    byKey[key] = id;
    byId[id] = key;
  };
  const ids = [...classes.map((name) => `class:${name}`), ...ACTIONS.map((action) => action.id)];
  for (const id of ids) if (changed[id]) give(id, changed[id]);
  for (const action of ACTIONS) if (!byId[action.id]) give(action.id, action.key);
  const free = [...DIGITS, ...LETTERS].filter((key) => !(key in byKey));
  for (const name of classes) if (!byId[`class:${name}`]) give(`class:${name}`, free.shift() ?? "");
  return { byKey, byId };
}

/**
 * What this key press means: an id of the key map, "undo" or "redo" for Ctrl+Z and Ctrl+Y, else null.
 * Keys typed into a field, and keys with Ctrl, Alt or Meta, belong to the browser.
 * @param {KeyboardEvent} event @param {Record<string, string>} byKey @param {boolean} single whether single keys are on
 */
export function meaning(event, byKey, single = true) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.isComposing || target?.matches?.("input, textarea, select, [contenteditable=true]")) return null;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if ((event.ctrlKey || event.metaKey) && !event.altKey) {
    if (key === "z") return event.shiftKey ? "redo" : "undo";
    return key === "y" ? "redo" : null;
  }
  if (event.altKey || !single || event.repeat) return null;
  return byKey[key] ?? null;
}

/** Whether a key can be given to an action: one printable character. @param {string} key */
export const usable = (key) => key.length === 1 && key.trim() === key && key !== "";

/** How a key is written on a button. @param {string|undefined} key */
export const shown = (key) => (key ? key.toUpperCase() : "");
