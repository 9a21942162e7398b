// Parts of the page that the first screen does not need. Each is a chunk that the page loads when it needs it.

import { useEffect, useSyncExternalStore } from "react";
import { features } from "../feature";

export interface Part<T> {
  /** Loads the part. After a failure the next call tries again. */
  load: () => Promise<T>;
  /** The part; null until it has come. `wanted`: loads it. */
  use: (wanted?: boolean) => T | null;
  /** The part, if it has come. */
  now: () => T | null;
}

export function part<T>(get: () => Promise<T>): Part<T> {
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
      // Without a network the page goes on without this part.
      if (wanted) load().catch(() => {});
    }, [wanted]);
    return useSyncExternalStore(subscribe, now, () => null);
  };
  const now = () => value;
  return { load, use, now };
}

export const answerView = part(() => import("../components/Answer").then((module) => module.Answer));
export const richText = part(() => import("../components/RichText").then((module) => module.RichText));
/** A part of its own: it is large, and most answers have no code. */
export const colours = part(() => import("../components/highlight").then((module) => module.colour));
export const attaching = part(() => import("../attach/attach").then((module) => module.attach));
export const findBar = part(() => import("../find/FindBar").then((module) => module.FindBar));
export const longList = part(() => import("../components/LongList").then((module) => module.LongList));
export const callDetails = part(() => import("../components/CallDetails"));
export const limitCard = part(() => import("../components/LimitCard").then((module) => module.LimitCard));
export const askedBar = part(() => import("../components/AskedBar").then((module) => module.AskedBar));
export const approvalCard = part(() => import("../components/ApprovalCard").then((module) => module.ApprovalCard));
export const signIn = part(() => import("../components/SignIn").then((module) => module.SignIn));
export const erasureScreen = part(() => import("../account/ErasureScreen").then((module) => module.ErasureScreen));
export const editors = part(() => import("../components/Editors"));
export const versionButtons = part(() => import("../components/VersionButtons").then((module) => module.VersionButtons));
export const queueView = part(() => import("../queue/QueueView").then((module) => module.QueueView));
export const timelineView = part(() => import("../components/TimelineView").then((module) => module.TimelineView));
/** With the sections that features add: they appear together. */
export const settingsDialog = part(async () => {
  const [{ Settings }] = await Promise.all([import("../components/Settings"), ...features().map(({ setting }) => setting?.load())]);
  return Settings;
});
