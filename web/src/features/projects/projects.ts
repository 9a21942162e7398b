// The projects, the open project, and its open document.

import { Refusal, wordsFor } from "../../api/http";
import { Paged } from "../../state/paged";
import { Store } from "../../state/store";
import { subjects } from "../../state/subject";
import type { DocumentDetail, ProjectDetail, ProjectEntry } from "../../wire.generated";
import { change, listProjects, readDocument, readProject, remove, type Part } from "./api";

interface Desk {
  /** The project that the person opened; null shows all projects. */
  projectId: string | null;
  documentId: string | null;
  /** Null until it has come. */
  project: ProjectDetail | null;
  document: DocumentDetail | null;
  problem: string | null;
}

const EMPTY: Desk = { projectId: null, documentId: null, project: null, document: null, problem: null };

export class Projects {
  readonly all = new Paged<ProjectEntry>(async () => ({ items: (await listProjects()).projects, next_cursor: null }));
  readonly desk = new Store<Desk>(EMPTY);
  /** Numbers the readings: an answer to an earlier one is dropped. */
  #reading = 0;
  #shown = false;

  /** The panel opens. The returned function tells that it is closed. */
  show(): () => void {
    this.#shown = true;
    this.all.forget();
    this.desk.set(EMPTY);
    void this.load();
    return () => (this.#shown = false);
  }

  /** Reads the list, project or document on screen again. The old one stays until the new one has come. */
  async load(): Promise<void> {
    const { projectId, documentId } = this.desk.get();
    if (projectId === null) return this.all.load();
    this.#reading += 1;
    const mine = this.#reading;
    try {
      const read: Partial<Desk> =
        documentId === null ? { project: await readProject(projectId) } : { document: await readDocument(projectId, documentId) };
      if (mine === this.#reading) this.desk.set({ ...read, problem: null });
    } catch (error) {
      if (mine === this.#reading) this.desk.set({ problem: wordsFor(error) });
    }
  }

  /** Opens a project, or a document of the open project. Null closes the innermost. */
  async open(id: string | null): Promise<void> {
    const { projectId, documentId, project } = this.desk.get();
    const back = documentId === null ? EMPTY : { ...EMPTY, projectId, project };
    if (id === null) this.desk.set(back);
    else if (projectId === null) this.desk.set({ ...EMPTY, projectId: id });
    else this.desk.set({ documentId: id, document: null, problem: null });
    this.#reading += 1;
    await this.load();
  }

  /** Changes the open project or a part of it. Null, or the reason why nothing was changed. */
  async change(part: Part, changed: Record<string, string>): Promise<string | null> {
    const { projectId } = this.desk.get();
    if (projectId === null) return null;
    try {
      await change(projectId, part, changed);
    } catch (error) {
      return wordsFor(error);
    }
    await this.#changed(projectId);
    return null;
  }

  /** Deletes the open project or a part of it. True if it is gone, also if it was gone before. */
  async remove(part: Part): Promise<boolean> {
    const { projectId } = this.desk.get();
    if (projectId === null) return false;
    try {
      await remove(projectId, part);
    } catch (error) {
      if (!(error instanceof Refusal && error.status === 404)) {
        this.desk.set({ problem: wordsFor(error) });
        return false;
      }
    }
    // No chat is about a project that is gone.
    if (part === null) subjects.change((subject) => (subject?.entity?.id === projectId ? null : subject));
    if (this.desk.get().projectId !== projectId) return true;
    if (part === null) this.desk.set(EMPTY);
    else if (part.id === this.desk.get().documentId) this.desk.set({ documentId: null, document: null });
    await this.#changed(projectId);
    return true;
  }

  /** Reads anew: a reading that began before a change does not have it. The project behind an open document, too. */
  async #changed(projectId: string): Promise<void> {
    this.#reading += 1;
    await this.load();
    const { projectId: open, documentId } = this.desk.get();
    if (open !== projectId || documentId === null) return;
    const mine = this.#reading;
    const project = await readProject(projectId).catch(() => null);
    if (project && mine === this.#reading) this.desk.set({ project });
  }

  /** A turn has ended, and may have changed the projects. */
  touched(): void {
    if (this.#shown) void this.load();
  }
}

export const projects = new Projects();
