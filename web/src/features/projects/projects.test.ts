// Reading projects: the newest answer counts, and the old one stays on screen until it has come.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { compose } from "../../feature";
import { requestPart, subjects, subjectWords } from "../../state/subject";
import { projects as feature } from ".";
import { Projects } from "./projects";

const entry = (id: string) => ({ id, name: `Project ${id}`, description: "", template_id: null, created_at: 0, updated_at: 0 });
const detail = (id: string) => ({ ...entry(id), tasks: [], documents: [{ id: "d", title: "Brief", updated_at: 0 }] });
let asked: string[] = [];
let answer: (path: string) => Response | Promise<Response>;

beforeEach(() => {
  asked = [];
  answer = (path) => {
    if (path.includes("/documents/")) return Response.json({ id: "d", title: "Brief", updated_at: 0, content: "# Walls" });
    return path === "/api/projects" ? Response.json({ projects: [entry("a"), entry("b")] }) : Response.json(detail(path.slice(14)));
  };
  vi.stubGlobal("fetch", async (path: string) => {
    asked.push(path);
    return answer(path);
  });
});

afterEach(() => vi.unstubAllGlobals());

async function shown() {
  const projects = new Projects();
  const hide = projects.show();
  await vi.waitFor(() => expect(projects.all.store.get().phase).toBe("ready"));
  return { projects, hide, desk: () => projects.desk.get() };
}

it("opens a project, a document of it, and goes back step by step", async () => {
  const { projects, desk } = await shown();
  await projects.open("b");
  expect(desk().project?.name).toBe("Project b");
  await projects.open("d");
  expect([desk().document?.content, desk().project?.id]).toEqual(["# Walls", "b"]);
  await projects.open(null);
  expect([desk().documentId, desk().document, desk().projectId]).toEqual([null, null, "b"]);
  await projects.open(null);
  expect(desk().projectId).toBeNull();
  expect(asked).toEqual([
    "/api/projects",
    "/api/projects/b",
    "/api/projects/b/documents/d",
    "/api/projects/b",
    "/api/projects",
  ]);
});

it("shows the project that was opened last, whatever answer comes last", async () => {
  const { projects, desk } = await shown();
  const late: Record<string, (response: Response) => void> = {};
  answer = (path) => new Promise((resolve) => (late[path] = resolve));
  const first = projects.open("a");
  const second = projects.open(null);
  late["/api/projects/a"]!(Response.json(detail("a")));
  late["/api/projects"]!(Response.json({ projects: [entry("b")] }));
  await Promise.all([first, second]);
  expect([desk().project, desk().projectId]).toEqual([null, null]);
});

it("tells why a project cannot be read, and reads again after a turn while the panel is open", async () => {
  const { projects, hide, desk } = await shown();
  answer = () => Response.json({ code: "project_not_found", detail: "There is none." }, { status: 404 });
  await projects.open("gone");
  expect([desk().problem, desk().project]).toEqual(["This project no longer exists.", null]);
  const before = asked.length;
  projects.touched();
  expect(asked.length).toBe(before + 1);
  hide();
  projects.touched();
  expect(asked.length).toBe(before + 1);
});

it("adds its subjects after the general one, and names the project in a message", () => {
  compose([feature]);
  expect(Object.keys(subjectWords())).toEqual(["general", "project", "project_create", "project_audit", "task", "swarm", "auto_route"]);
  subjects.choose("T", { type: "project", entity: { id: "p1", name: "Garden" } });
  expect(requestPart("T")).toEqual({ chat_context: { kind: "thread", context_type: "project", entity_id: "p1" } });
  compose([]);
  expect(requestPart("T")).toEqual({});
});

// Issue 19, item 12.
it("changes a task, shows it as the service has it, and tells why it was refused", async () => {
  const { projects } = await shown();
  await projects.open("b");
  asked = [];
  expect(await projects.change({ kind: "tasks", id: "t" }, { status: "done" })).toBeNull();
  expect(asked).toEqual(["/api/projects/b/tasks/t", "/api/projects/b"]);
  answer = () => Response.json({ code: "project_conflict", detail: "This task waits for: Dig" }, { status: 409 });
  expect(await projects.change(null, { name: "New" })).toBe("This task waits for: Dig");
});

it("goes back from what it deleted, and no chat stays about a project that is gone", async () => {
  const { projects, desk } = await shown();
  subjects.choose("T", { type: "project", entity: { id: "b", name: "Garden" } });
  subjects.choose("U", { type: "project", entity: { id: "a", name: "Other" } });
  await projects.open("b");
  await projects.open("d");
  expect(await projects.remove({ kind: "documents", id: "d" })).toBe(true);
  expect([desk().documentId, desk().projectId, desk().project?.id]).toEqual([null, "b", "b"]);
  answer = (path) => (path === "/api/projects" ? Response.json({ projects: [] }) : Response.json({ code: "internal" }, { status: 500 }));
  expect([await projects.remove(null), desk().projectId]).toEqual([false, "b"]);
  expect(desk().problem).toContain("Something went wrong");
  answer = (path) =>
    path === "/api/projects" ? Response.json({ projects: [] }) : Response.json({ code: "project_not_found" }, { status: 404 });
  expect([await projects.remove(null), desk().projectId]).toEqual([true, null]);
  expect([subjects.of("T"), subjects.of("U")?.entity?.id]).toEqual([undefined, "a"]);
});
