// The projects as they are read: the newest answer counts, and what is on screen stays until it has come.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
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

it("shows what was asked for last, not what came last", async () => {
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

it("says why one cannot be read, and reads again after a turn only what is looked at", async () => {
  const { projects, hide, desk } = await shown();
  answer = () => Response.json({ code: "project_not_found", detail: "There is none." }, { status: 404 });
  await projects.open("gone");
  expect([desk().problem, desk().project]).toEqual(["There is none.", null]);
  const before = asked.length;
  projects.touched();
  expect(asked.length).toBe(before + 1);
  hide();
  projects.touched();
  expect(asked.length).toBe(before + 1);
});
