// The workflows of the user: listed, opened, written as JSON and deleted.

import { Refusal, wordsFor } from "../../api/http";
import { Store } from "../../state/store";
import { WORKFLOW_ID, type WorkflowDetail, type WorkflowSummary } from "../../wire.generated";
import { deleteWorkflow, listWorkflows, putWorkflow, readWorkflow } from "./api";
import { words } from "./panel/en";
import { placeOf, readJson, type Place } from "./panel/json";

/** A definition that a person writes. */
export interface Draft {
  id: string;
  isNew: boolean;
  text: string;
  /** The text with which it began. */
  begun: string;
  refused: Refused | null;
}

/** Why a draft was not saved: at its id, at a place of its text, or as a whole. */
export interface Refused {
  words: string;
  at: "id" | Place | null;
}

interface Desk {
  phase: "unread" | "loading" | "ready" | "failed";
  list: readonly WorkflowSummary[];
  max: number;
  problem: string | null;
  /** The workflow that the person opened; null shows all. */
  openId: string | null;
  /** Null until it has come. */
  open: WorkflowDetail | null;
  draft: Draft | null;
  /** What the service said when it saved a version, as long as its workflow is open. */
  saved: WorkflowDetail | null;
}

const EMPTY: Desk = { phase: "unread", list: [], max: Infinity, problem: null, openId: null, open: null, draft: null, saved: null };

/** The service's limits (docs/workflows.md). */
export const MAX_BYTES = 64 << 10;

export class Workflows {
  readonly desk = new Store<Desk>(EMPTY);
  /** Numbers the readings: an answer to an earlier one is dropped. */
  #reading = 0;

  /** The panel opens. A draft that was not saved is still there. */
  show(): void {
    if (this.desk.get().draft === null) this.desk.set({ openId: null, open: null, saved: null, problem: null });
    void this.load();
  }

  /** Reads the list, and the workflow that is open. The old ones stay until the new ones have come. */
  async load(): Promise<void> {
    this.#reading += 1;
    const mine = this.#reading;
    const { openId } = this.desk.get();
    this.desk.set(({ phase }) => ({ phase: phase === "ready" ? phase : "loading" }));
    try {
      const [{ workflows: list, max }, open] = await Promise.all([listWorkflows(), openId === null ? null : readWorkflow(openId)]);
      if (mine === this.#reading) this.desk.set({ phase: "ready", list, max, open, problem: null });
    } catch (error) {
      if (mine === this.#reading) this.desk.set(({ phase }) => ({ phase: phase === "ready" ? phase : "failed", problem: wordsFor(error) }));
    }
  }

  /** Opens a workflow. Null goes back to the list. */
  async open(id: string | null): Promise<void> {
    this.desk.set({ openId: id, open: null, saved: null, problem: null });
    await this.load();
  }

  /** Begins a new workflow, or another version of the one that is open. */
  write(): void {
    const { open } = this.desk.get();
    const text = JSON.stringify(open?.definition ?? words.example, null, 2);
    this.desk.set({ draft: { id: open?.workflow_id ?? words.newId, isNew: open === null, text, begun: text, refused: null }, saved: null });
  }

  /** Changes the draft. What was refused in it may be mended. */
  change(part: Partial<Pick<Draft, "id" | "text">>): void {
    this.desk.set(({ draft }) => ({ draft: draft && { ...draft, ...part, refused: null } }));
  }

  discard(): void {
    this.desk.set({ draft: null });
  }

  /** Saves the draft. True if the service has it. */
  async save(): Promise<boolean> {
    const { draft } = this.desk.get();
    if (draft === null) return false;
    const checked = this.#checked(draft);
    if ("refused" in checked) return this.#refuse(draft, checked.refused);
    try {
      const open = await putWorkflow(draft.id, checked.value);
      this.#reading += 1;
      // The text that a person wrote meanwhile stays, as a draft of the next version.
      const next = { id: open.workflow_id, isNew: false, refused: null };
      this.desk.set(({ draft: now }) => ({
        draft: now === draft ? null : now?.begun === draft.begun ? { ...now, ...next } : now,
        openId: open.workflow_id,
        open,
        saved: open,
        problem: null,
      }));
    } catch (error) {
      return this.#refuse(draft, refusedBy(error, checked.places));
    }
    await this.load();
    return true;
  }

  /** Deletes the workflow that is open. True if it is gone, also if it was gone before. */
  async remove(): Promise<boolean> {
    const { openId } = this.desk.get();
    if (openId === null) return false;
    try {
      await deleteWorkflow(openId);
    } catch (error) {
      if (!(error instanceof Refusal && error.status === 404)) {
        this.desk.set({ problem: wordsFor(error) });
        return false;
      }
    }
    await this.open(null);
    return true;
  }

  #checked({ id, isNew, text }: Draft): { refused: Refused } | { value: unknown; places: ReadonlyMap<string, Place> } {
    if (!WORKFLOW_ID.pattern.test(id)) return { refused: { at: "id", words: words.idRule } };
    const isTaken = this.desk.get().list.some((each) => !each.built_in && each.workflow_id === id);
    if (isNew && isTaken) return { refused: { at: "id", words: words.idTaken(id) } };
    const read = readJson(text);
    if ("mistake" in read) return { refused: { at: read.at, words: words.mistakes[read.mistake] } };
    const { value, places } = read;
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return { refused: { at: placeOf(places, ""), words: words.notObject } };
    }
    const bytes = new TextEncoder().encode(JSON.stringify(value)).length;
    return bytes > MAX_BYTES ? { refused: { at: null, words: words.tooLarge(MAX_BYTES) } } : read;
  }

  #refuse(draft: Draft, refused: Refused): false {
    // A draft that was changed meanwhile is no longer the refused one.
    this.desk.set(({ draft: now }) => (now === draft ? { draft: { ...draft, refused } } : {}));
    return false;
  }
}

function refusedBy(error: unknown, places: ReadonlyMap<string, Place>): Refused {
  const why = wordsFor(error);
  const field = error instanceof Refusal ? error.field : null;
  if (field === null || field === "") return { at: null, words: why };
  // The id stands in the address of the request.
  if (field === "workflow") return { at: "id", words: why };
  return { at: placeOf(places, field), words: words.member(field, why) };
}

export const workflows = new Workflows();
