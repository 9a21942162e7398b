// The projects, the one that is open, and the document of it that is open.

import { listProjects, readDocument, readProject } from "../api/projects";
import { wordsFor } from "../api/http";
import type { DocumentDetail, ProjectDetail, ProjectEntry } from "../wire";
import { Paged } from "./paged";
import { Store } from "./store";

interface Desk {
  /** What was asked for, by id; null shows all projects. */
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
  /** What was asked for before is of no use any more. */
  #reading = 0;
  #shown = false;

  /** Somebody looks at them; returns what ends that. */
  show(): () => void {
    this.#shown = true;
    this.all.forget();
    this.desk.set(EMPTY);
    void this.load();
    return () => (this.#shown = false);
  }

  /** Reads again what is on screen. What is there stays until it has come. */
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

  /** Opens a project, or a document of the one that is open; null closes the innermost. */
  async open(id: string | null): Promise<void> {
    const { projectId, documentId, project } = this.desk.get();
    const back = documentId === null ? EMPTY : { ...EMPTY, projectId, project };
    if (id === null) this.desk.set(back);
    else if (projectId === null) this.desk.set({ ...EMPTY, projectId: id });
    else this.desk.set({ documentId: id, document: null, problem: null });
    this.#reading += 1;
    await this.load();
  }

  /** A turn has ended, and may have changed them. */
  touched(): void {
    if (this.#shown) void this.load();
  }
}

export const projects = new Projects();
