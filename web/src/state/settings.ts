// A person's choices about the page, kept in localStorage. theme.js reads the theme before the first drawing.

import type { ModelList } from "../wire";
import { keep, kept } from "./kept";
import { Store } from "./store";

export type Theme = "system" | "light" | "dark";

const THEMES: readonly Theme[] = ["system", "light", "dark"];

/** Also in public/theme.js. */
export const THEME_KEY = "espalier.theme";
const MODEL_KEY = "espalier.model";
const ENTER_KEY = "espalier.enter";
const WORK_KEY = "espalier.work";

function storedTheme(): Theme {
  const value = kept(THEME_KEY) as Theme | null;
  return value !== null && THEMES.includes(value) ? value : "system";
}

interface Settings {
  theme: Theme;
  /** The key Enter sends a message; otherwise it begins a line, and Ctrl+Enter sends. */
  enterSends: boolean;
  /** The cards of calls are shown in each answer. Otherwise a line stands for them, which unfolds them. */
  showsWork: boolean;
  /** A role or a model's id; null leaves it to the service. */
  model: string | null;
  /** The models that the deployment offers; null until the service has told them. */
  offered: ModelList | null;
}

export const settings = new Store<Settings>({ theme: storedTheme(), enterSends: true, showsWork: false, model: null, offered: null }, true);

export function setTheme(theme: Theme): void {
  settings.set({ theme });
  keep(THEME_KEY, theme === "system" ? null : theme);
  show(theme);
}

export function setEnterSends(enterSends: boolean): void {
  settings.set({ enterSends });
  keep(ENTER_KEY, enterSends ? null : "line");
}

export function setShowsWork(showsWork: boolean): void {
  settings.set({ showsWork });
  keep(WORK_KEY, showsWork ? "open" : null);
}

/** Loads the choices that the first screen, which was drawn before, does not know. */
export function loadSettings(): void {
  settings.set({ enterSends: kept(ENTER_KEY) === null, showsWork: kept(WORK_KEY) === "open" });
}

export function setModel(model: string | null): void {
  settings.set({ model });
  keep(MODEL_KEY, model);
}

let told = () => {};
/** Resolves when the service has told its models, or failed to. */
export const offerIsKnown = new Promise<void>((resolve) => (told = resolve));

/** An earlier choice holds if the deployment still offers it. Null: the service did not answer. */
export function offer(offered: ModelList | null): void {
  told();
  if (!offered) return;
  const before = kept(MODEL_KEY);
  const model = before !== null && choicesOf(offered).includes(before) ? before : null;
  settings.set({ offered, model });
}

/** The values of a request's `model`: roles first. The default role needs no value. */
export function choicesOf({ roles, models }: ModelList): string[] {
  return [...Object.keys(roles).filter((role) => role !== DEFAULT_ROLE), ...models.map(({ id }) => id)];
}

/** Whether the chosen model reads images and PDFs. True where this is unknown: then the service judges the message. */
export function readsMedia({ offered, model }: Settings): boolean {
  if (!offered) return true;
  const chosen = model ?? DEFAULT_ROLE;
  const id = offered.roles[chosen]?.[0] ?? chosen;
  return offered.models.find((each) => each.id === id)?.capabilities?.vision ?? true;
}

/** The role of a request without `model` (docs/wire-protocol.md). */
export const DEFAULT_ROLE = "primary";

function show(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

// All tabs of a browser share the theme.
if (typeof window !== "undefined") {
  window.addEventListener("storage", (event) => {
    if (event.key !== THEME_KEY) return;
    const theme = storedTheme();
    settings.set({ theme });
    show(theme);
  });
}
