/** What a person set on this device: theme, keys, text size. Kept in localStorage. */
import { effect, signal } from "./ui.js";

const NAME = "everlearn preferences";
const DEFAULTS = { theme: "auto", keys: {}, single: true, large: false };

function load() {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(NAME) ?? "{}") };
  } catch {
    return { ...DEFAULTS };
  }
}

/** @type {import("../vendor/signals.js").Signal<{theme: string, keys: Record<string, string>, single: boolean, large: boolean}>} */
export const prefs = signal(load());

/** @param {Partial<typeof DEFAULTS>} change */
export const setPrefs = (change) => (prefs.value = { ...prefs.value, ...change });

const dark = matchMedia("(prefers-color-scheme: dark)");
const system = signal(dark.matches);
dark.addEventListener("change", () => (system.value = dark.matches));

/** Whether the page is dark now. */
export const isDark = () => (prefs.value.theme === "auto" ? system.value : prefs.value.theme === "dark");

/** Light becomes dark and dark becomes light. */
export const toggleTheme = () => setPrefs({ theme: isDark() ? "light" : "dark" });

effect(() => {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  document.documentElement.dataset.large = String(prefs.value.large);
  try {
    localStorage.setItem(NAME, JSON.stringify(prefs.value));
  } catch {
    // A private window without storage: the setting lasts as long as the tab.
  }
});
