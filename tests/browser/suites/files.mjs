// The workspace of a chat: the agent's files appear, a person adds files, and replacing a file needs a question.

import { readFile } from "node:fs/promises";
import { alive, assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const text = (name, content) => ({ name, mimeType: "text/plain", buffer: Buffer.from(content) });

const DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

// Long: one visit, whose checks follow each other.
export async function files(browser) {
  const llm = fakeLlm();
  const write = (path, content) => ({ name: "write_file", arguments: { path, content } });
  const held = { name: llm.barrier("hold"), after: 1 };
  await llm.script("", [{ calls: [write("notes/plan.md", "# Pears"), write("<b>bold</b>.txt", "x")] }, { text: ["Written, ", "and done."], barrier: held }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const rows = byId(page, "file");
  const row = (path) => page.locator(`[data-testid="file"][data-path="${path}"]`);
  const saved = async (path) => {
    const [download] = await Promise.all([page.waitForEvent("download"), byId(row(path), "file-download").click()]);
    return [download.suggestedFilename(), await readFile(await download.path(), "utf8")];
  };

  await check("a new chat shows that it has no files yet", async () => {
    await byId(page, "files-toggle").click();
    await byId(page, "files").filter({ hasText: "after the first message" }).waitFor();
    await byId(page, "files-toggle").click();
    await byId(page, "files").waitFor({ state: "detached" });
  });

  await check("a person who writes while the panel opens keeps the focus", async () => {
    const held = Promise.withResolvers();
    await page.reload();
    await alive(page);
    await page.route("**/assets/FilesPanel-*.js", (route) => held.promise.then(() => route.continue()));
    await byId(page, "files-toggle").click();
    await byId(page, "composer").focus();
    await page.keyboard.type("Half a ");
    held.resolve();
    await byId(page, "files").waitFor();
    await page.keyboard.type("sentence");
    assertEqual(await byId(page, "composer").inputValue(), "Half a sentence", "the written text");
    await byId(page, "composer").fill("");
  });

  await check("the agent's files are listed while its turn still runs", async () => {
    await send(page, llm.says("Write it down"));
    await byId(page, "message-assistant").filter({ hasText: "Written," }).waitFor();
    await row("notes/plan.md").filter({ hasText: "7 B" }).waitFor();
    assertEqual(await rows.count(), 2, "the files");
    await llm.release("hold");
    await settled(page);
    assertEqual(await saved("notes/plan.md"), ["plan.md", "# Pears"], "the saved file");
  });

  await check("files are added by the button and by dropping them", async () => {
    await byId(page, "upload-input").setInputFiles([text("a b.txt", "one"), text("ä#&.csv", "two")]);
    await row("a b.txt").waitFor();
    await row("ä#&.csv").waitFor();
    const dropped = await page.evaluateHandle(() => {
      const data = new DataTransfer();
      data.items.add(new File(["three"], "dropped.md"));
      return data;
    });
    await byId(page, "upload-zone").dispatchEvent("drop", { dataTransfer: dropped });
    await row("dropped.md").waitFor();
    await byId(page, "files-sum").filter({ hasText: "5 files" }).waitFor();
    assertEqual(await saved("ä#&.csv"), ["ä#&.csv", "two"], "the saved file");
    await shot(page, "files");
  });

  await check("Markdown, text and images can be read beside the chat", async () => {
    const preview = byId(page, "preview");
    const open = (path) => byId(row(path), "file-open").click();
    await open("notes/plan.md");
    await preview.getByRole("heading", { name: "Pears" }).waitFor();
    await page.getByRole("heading", { name: "notes/plan.md" }).waitFor();
    await clean(page, "a file that is open");
    await byId(page, "files-back").click();
    await open("ä#&.csv");
    await preview.locator("pre", { hasText: "two" }).waitFor();
    await byId(page, "files-back").click();
    await byId(page, "upload-input").setInputFiles([{ name: "dot.png", mimeType: "image/png", buffer: Buffer.from(DOT, "base64") }]);
    await open("dot.png");
    assertEqual(await preview.locator("img").evaluate((image) => image.decode().then(() => image.naturalWidth)), 1, "the picture's width");
    await byId(page, "files-back").click();
    await byId(row("dot.png"), "file-delete").click();
    await byId(page, "confirm").click();
    await row("dot.png").waitFor({ state: "detached" });
    await page.waitForFunction(() => document.activeElement?.closest('[data-testid="files"]'));
  });

  await check("an upload replaces a file only after a question", async () => {
    const asked = page.locator('[data-testid="upload-row"][data-state="there"]');
    await byId(page, "upload-input").setInputFiles([text("a b.txt", "changed")]);
    await asked.getByRole("button", { name: "Keep it" }).click();
    await asked.waitFor({ state: "detached" });
    assertEqual((await saved("a b.txt"))[1], "one", "the kept file");
    await byId(page, "upload-input").setInputFiles([text("a b.txt", "changed")]);
    await byId(asked, "upload-replace").click();
    await row("a b.txt").filter({ hasText: "7 B" }).waitFor();
    assertEqual((await saved("a b.txt"))[1], "changed", "the new file");
  });

  await check("a deletion asks first, and works with the keyboard alone", async () => {
    const button = byId(row("dropped.md"), "file-delete");
    const before = notes.deletions;
    await button.focus();
    await page.keyboard.down("Enter");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "confirm");
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    assertEqual(notes.deletions, before, "the deletions by a key that is held down");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "file-delete");
    assert(await byId(page, "files").isVisible(), "the first Escape answers the question, no more");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    await row("dropped.md").waitFor({ state: "detached" });
    assertEqual(notes.deletions, before + 1, "the deletions in the service");
  });

  await check("an earlier version can be read and restored, and a deleted file comes back", async () => {
    const versions = byId(page, "file-version");
    const preview = byId(page, "preview");
    await byId(row("a b.txt"), "file-open").click();
    await preview.filter({ hasText: "changed" }).waitFor();
    await versions.filter({ hasText: "added by you" }).waitFor();
    assertEqual(await versions.count(), 1, "the earlier versions");
    await byId(versions, "version-open").click();
    await preview.filter({ hasText: "one" }).waitFor();
    await byId(page, "version-note").filter({ hasText: "An earlier version" }).waitFor();
    await clean(page, "an earlier version");
    await shot(page, "file-versions");
    await byId(page, "version-present").click();
    await preview.filter({ hasText: "changed" }).waitFor();
    await byId(versions, "version-restore").click();
    await byId(page, "confirm").click();
    await preview.filter({ hasText: "one" }).waitFor();
    await versions.nth(1).waitFor();
    await byId(page, "files-back").click();
    assertEqual((await saved("a b.txt"))[1], "one", "the restored file");
    await byId(page, "files-deleted").locator("summary").click();
    const gone = page.locator('[data-testid="file-version"][data-path="dropped.md"]');
    await gone.waitFor();
    await clean(page, "the list of deleted files");
    await byId(gone, "version-restore").click();
    await byId(page, "confirm").click();
    await page.getByRole("heading", { name: "dropped.md" }).waitFor();
    await byId(page, "files-back").click();
    assertEqual(await saved("dropped.md"), ["dropped.md", "three"], "the file that came back");
  });

  await check("a refused file shows the next step", async () => {
    const refused = page.locator('[data-testid="upload-row"][data-state="refused"]');
    await byId(page, "upload-input").setInputFiles([text("large.bin", "x".repeat(1_048_577))]);
    await refused.filter({ hasText: "can have 1 MiB" }).waitFor();
    await refused.getByRole("button", { name: "Dismiss" }).click();
    await refused.waitFor({ state: "detached" });
  });

  await check("another chat has files of its own", async () => {
    await byId(page, "new-chat").click();
    await byId(page, "files").filter({ hasText: "after the first message" }).waitFor();
    assertEqual(await rows.count(), 0, "the files");
    await byId(page, "thread-item").first().getByRole("link").click();
    await row("a b.txt").waitFor();
  });

  await check("on a phone the panel lies over the chat, and the focus comes back to its button", async () => {
    await page.setViewportSize({ width: 360, height: 740 });
    await page.locator("dialog:modal").waitFor();
    const drawn = await page.evaluate(() => document.documentElement.scrollWidth);
    assert(drawn <= 360, `the page is ${drawn} pixels wide`);
    await page.keyboard.press("Escape");
    await byId(page, "files").waitFor({ state: "detached" });
    await byId(page, "files-toggle").click();
    await row("a b.txt").waitFor();
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "files-toggle");
  });
  await quiet("the files", notes);
  await context.close();
  await refusals(browser);
}

/** The service's refusals of files. */
async function refusals(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "Hello." }]);
  const { page, context } = await visit(browser, env("ESPALIER_URL"));
  await check("a part of the page that cannot be loaded is reported, and a second try loads it", async () => {
    await page.route("**/assets/FilesPanel-*.js", (route) => route.abort());
    await byId(page, "files-toggle").click();
    await byId(page, "banner").filter({ hasText: "could not be loaded" }).waitFor();
    await page.unrouteAll();
    await byId(page, "files-toggle").click();
    await byId(page, "files").waitFor();
    await page.keyboard.press("Escape");
    await byId(page, "files").waitFor({ state: "detached" });
    await byId(page, "banner").getByRole("button").click();
  });

  await check("a full workspace, a changed file and a lost connection are reported, each with a next step", async () => {
    await send(page, llm.says("Hello"));
    await settled(page);
    await byId(page, "files-toggle").click();
    await byId(page, "files-sum").filter({ hasText: "no files yet" }).waitFor();
    const answers = {
      "full.txt": [507, "workspace_full", "Delete files, then send it again"],
      "late.txt": [412, "precondition_failed", "already exists"],
      "lost.txt": [0, "", "Check your connection"],
    };
    await page.route("**/files/*.txt", (route) => {
      const [status, code] = answers[new URL(route.request().url()).pathname.split("/").at(-1)];
      return status === 0
        ? route.abort()
        : route.fulfill({ status, contentType: "application/problem+json", body: JSON.stringify({ status, code, detail: "No." }) });
    });
    await byId(page, "upload-input").setInputFiles(Object.keys(answers).map((name) => text(name, "x")));
    for (const [name, [, , words]] of Object.entries(answers)) {
      await byId(page, "upload-row").filter({ hasText: name }).filter({ hasText: words }).waitFor();
    }
    await byId(page, "files-sum").filter({ hasText: "no files yet" }).waitFor();
  });
  await context.close();
}
