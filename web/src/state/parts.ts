// The parts of the page that the first screen does without: each a chunk that comes when it is needed.

import { useEffect, useSyncExternalStore } from "react";

export interface Part<T> {
  /** Gets it; one that did not come is asked for again by the next call. */
  load: () => Promise<T>;
  /** Null until it has come. `wanted`: asks for it. */
  use: (wanted?: boolean) => T | null;
}

function part<T>(get: () => Promise<T>): Part<T> {
  let value: T | null = null;
  let coming: Promise<T> | null = null;
  const listeners = new Set<() => void>();
  const load = () => {
    coming ??= get().then(
      (come) => {
        value = come;
        for (const listener of listeners) listener();
        return come;
      },
      (error: unknown) => {
        coming = null;
        throw error;
      },
    );
    return coming;
  };
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const use = (wanted = true) => {
    useEffect(() => {
      // Without a network the page does without it.
      if (wanted) load().catch(() => {});
    }, [wanted]);
    return useSyncExternalStore(subscribe, () => value, () => null);
  };
  return { load, use };
}

export const richText = part(() => import("../components/RichText").then((module) => module.RichText));
/** Large, and most answers have no code. */
export const colours = part(() => import("../components/highlight").then((module) => module.colour));
export const longList = part(() => import("../components/LongList").then((module) => module.LongList));
export const timelineView = part(() => import("../components/TimelineView").then((module) => module.TimelineView));
export const planBody = part(() => import("../components/PlanBody").then((module) => module.PlanBody));
export const filesPanel = part(() => import("../components/FilesPanel").then((module) => module.FilesPanel));
export const collectionsPanel = part(() => import("../components/CollectionsPanel").then((module) => module.CollectionsPanel));
export const projectsPanel = part(() => import("../components/ProjectsPanel").then((module) => module.ProjectsPanel));
export const settingsDialog = part(() => import("../components/Settings").then((module) => module.Settings));
