// All data of a person in the settings: its download, which goes on after a failure, and its end. Issue 23, 3 and 4.

import { readFile } from "node:fs/promises";
import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

// Long: one visit, whose checks follow each other.
export async function account(browser) {
  const llm = fakeLlm();
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const open = async (name) => {
    await byId(page, "settings").click();
    await page.getByRole("button", { name }).click();
  };
  await llm.script("", [{ text: "Roses." }]);
  await send(page, llm.says("What grows here?"));
  await settled(page);
  const chat = notes.chats.at(-1).thread_id;

  await check("a failure is shown, and the download can be cancelled or go on", async () => {
    await open("Download your data");
    await page.route("**/api/me/export*", (route) => route.fulfill({ status: 500, contentType: "application/problem+json", body: '{"code":"internal","detail":"The disk is full."}' }));
    await byId(page, "export").click();
    await byId(page, "account").getByRole("alert").waitFor();
    assertEqual(await byId(page, "export").textContent(), "Try again", "the button after a failure");
    await clean(page, "the download that failed");
    await byId(page, "export-cancel").click();
    assertEqual(await byId(page, "export").textContent(), "Download everything", "the button after a cancel");
    await page.unroute("**/api/me/export*");
  });

  await check("everything comes as one file, page after page, and goes on where it broke off", async () => {
    let asked = 0;
    const cursors = [];
    await page.route("**/api/me/export*", (route) => {
      asked += 1;
      cursors.push(new URL(route.request().url()).searchParams.get("cursor"));
      if (asked === 1) return route.fulfill({ body: '{"kind":"export","format":1}\n{"kind":"page","next_cursor":"second"}\n' });
      if (asked === 2) return route.fulfill({ status: 500, contentType: "application/problem+json", body: '{"code":"internal"}' });
      return route.fulfill({ body: '{"kind":"memory","content":"Roses"}\n{"kind":"end","complete":true}\n' });
    });
    await byId(page, "export").click();
    await byId(page, "account").getByRole("alert").waitFor();
    const [download] = await Promise.all([page.waitForEvent("download"), byId(page, "export").click()]);
    assertEqual(await readFile(await download.path(), "utf8"), '{"kind":"export","format":1}\n{"kind":"memory","content":"Roses"}\n', "the file");
    assertEqual(cursors, ["", "second", "second"], "the cursors");
    await page.unroute("**/api/me/export*");
  });

  await check("the service's own export has the chat", async () => {
    const [download] = await Promise.all([page.waitForEvent("download"), byId(page, "export").click()]);
    const lines = (await readFile(await download.path(), "utf8")).trimEnd().split("\n").map((line) => JSON.parse(line));
    assertEqual(lines[0].kind, "export", "the first line");
    const messages = lines.filter(({ kind, thread_id }) => kind === "message" && thread_id === chat);
    assertEqual(messages.map(({ role }) => role), ["user", "assistant"], "the messages of the chat");
    assert(lines.every(({ kind }) => kind !== "page" && kind !== "end"), "no line of a page");
    await byId(page, "account").getByRole("status").filter({ hasText: `${lines.length} entries` }).waitFor();
    await shot(page, "export");
    await page.keyboard.press("Escape");
  });

  await check("all data is deleted after a question, with its progress, and the page begins anew", async () => {
    // The service's second sweep begins after a minute and a half: the page is told the end at once.
    let end = false;
    await page.route("**/api/me/erasure*", async (route) => {
      const response = await route.fetch();
      const progress = await response.json();
      await route.fulfill({ response, json: end ? { ...progress, ended_at: 1 } : progress });
      end = true;
    });
    await open("Delete your data");
    await byId(page, "erase").click();
    await clean(page, "the question before all data is deleted");
    await byId(page, "confirm").click();
    // Issue 53, fault 9: the whole screen has the progress, and nothing else of the person.
    const erasure = byId(page, "erasure");
    await erasure.getByRole("heading", { name: "Your data is being deleted" }).waitFor();
    assertEqual(await page.evaluate(() => document.activeElement.tagName), "H1", "the focus");
    assertEqual(await page.locator("dialog, .sidebar, .composer").count(), 0, "what else is on screen");
    await clean(page, "the progress of the deletion");
    await erasure.getByRole("heading", { name: "All your data is deleted" }).waitFor();
    await shot(page, "erased");
    await page.unroute("**/api/me/erasure*");
    // The prerendered page is there before its session.
    const begun = page.waitForResponse((response) => new URL(response.url()).pathname === "/api/threads" && response.ok());
    await Promise.all([begun, page.waitForEvent("load"), byId(page, "anew").click()]);
    await byId(page, "composer").waitFor();
    assertEqual(await byId(page, "thread-item").count(), 0, "chats in the list");
    assertEqual(await page.evaluate((id) => fetch(`/api/threads/${id}`).then(({ status }) => status), chat), 404, "the chat");
  });
  // The download that failed, and the requests after the end of the session, are meant here.
  const meant = /status of (401|404|500)/;
  await quiet("all data of a person", { ...notes, complaints: notes.complaints.filter((text) => !meant.test(text)) });
  await context.close();
}
