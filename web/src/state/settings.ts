// What a person chose about the page. Kept in localStorage; theme.js reads the theme before the first drawing.

import type { ModelList } from "../wire";
import { Store } from "./store";

export type Theme = "system" | "light" | "dark";

export const THEMES: readonly Theme[] = ["system", "light", "dark"];

/** Also in public/theme.js. */
export const THEME_KEY = "espalier.theme";
const MODEL_KEY = "espalier.model";
const MEMORY_KEY = "espalier.memory";

function stored(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function keep(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Storage is forbidden: the choice holds as long as the page.
  }
}

function storedTheme(): Theme {
  const value = stored(THEME_KEY) as Theme | null;
  return value !== null && THEMES.includes(value) ? value : "system";
}

interface Settings {
  theme: Theme;
  /** A role or a model's id; null leaves it to the service. */
  model: string | null;
  /** Whether chats remember, and may use what is remembered. */
  memory: boolean;
  /** What the deployment offers; null as long as it has not said. */
  offered: ModelList | null;
}

export const settings = new Store<Settings>({ theme: storedTheme(), model: null, memory: stored(MEMORY_KEY) === "on", offered: null });

export function setTheme(theme: Theme): void {
  settings.set({ theme });
  keep(THEME_KEY, theme === "system" ? null : theme);
  show(theme);
}

export function setModel(model: string | null): void {
  settings.set({ model });
  keep(MODEL_KEY, model);
}

export function setMemory(memory: boolean): void {
  settings.set({ memory });
  keep(MEMORY_KEY, memory ? "on" : null);
}

let told = () => {};
/** Ends when the deployment has said what it offers, or will not. */
export const offerIsKnown = new Promise<void>((resolve) => (told = resolve));

/** What was chosen earlier holds only if it is still offered. Null: nobody knows what is. */
export function offer(offered: ModelList | null): void {
  told();
  if (!offered) return;
  const before = stored(MODEL_KEY);
  const model = before !== null && choicesOf(offered).includes(before) ? before : null;
  settings.set({ offered, model });
}

/** The names that a request may have as its `model`: roles first. The default needs none. */
export function choicesOf({ roles, models }: ModelList): string[] {
  return [...Object.keys(roles).filter((role) => role !== DEFAULT_ROLE), ...models.map(({ id }) => id)];
}

/** Whether the model that would answer now reads images and PDFs. Where nobody knows, the service says. */
export function readsMedia({ offered, model }: Settings): boolean {
  if (!offered) return true;
  const chosen = model ?? DEFAULT_ROLE;
  const id = offered.roles[chosen]?.[0] ?? chosen;
  return offered.models.find((each) => each.id === id)?.capabilities?.vision ?? true;
}

/** Who answers where nobody was chosen (docs/wire-protocol.md). */
export const DEFAULT_ROLE = "primary";

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

// Another tab's choice is this one's as well.
if (typeof window !== "undefined") {
  window.addEventListener("storage", (event) => {
    if (event.key !== THEME_KEY) return;
    const theme = storedTheme();
    settings.set({ theme });
    show(theme);
  });
}
