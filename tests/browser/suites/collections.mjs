// Collections of documents: created, filled, chosen for a chat, deleted.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";

const file = (name, content, mimeType = "") => ({ name, mimeType, buffer: Buffer.from(content) });

// Long: one visit, whose checks follow each other.
export async function collections(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "From the handbook." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const all = byId(page, "collection");
  const documents = byId(page, "document");
  const create = async (name, about) => {
    await byId(page, "collection-name").fill(name);
    await byId(page, "collection-about").fill(about);
    await byId(page, "collection-create").click();
    await all.filter({ hasText: name }).waitFor();
  };

  await check("a collection is created with its exact name", async () => {
    await byId(page, "collections-open").click();
    await byId(page, "collections").filter({ hasText: "No collections yet." }).waitFor();
    await page.getByRole("button", { name: "New collection" }).click();
    await create("Garden <i>handbook</i>", "How the walls are planted");
    await create("Recipes", "");
    assertEqual(await all.count(), 2, "the collections");
  });

  await check("documents are added, and other files are refused by name", async () => {
    await byId(all.filter({ hasText: "Garden" }), "collection-open").click();
    await byId(page, "add-documents-input").setInputFiles([
      file("pears.md", "# Pears\n\nThe Conference keeps until March."),
      file("frost.html", "<p>Below −10 °C the young wood of figs dies.</p>", "text/html"),
      file("photo.png", "x", "image/png"),
    ]);
    await documents.filter({ hasText: "pears.md" }).waitFor();
    await documents.filter({ hasText: "frost.html" }).waitFor();
    await byId(page, "documents-refused").filter({ hasText: "photo.png" }).waitFor();
    assertEqual(await documents.count(), 2, "the documents");
    await shot(page, "collection");
    await byId(page, "collections-back").click();
    await all.filter({ hasText: "Garden" }).filter({ hasText: "2 documents" }).waitFor();
  });

  let id = "";
  await check("a chat searches its chosen collections, also after a reload, and other chats do not", async () => {
    const garden = all.filter({ hasText: "Garden" });
    id = await garden.getAttribute("data-collection-id");
    await byId(garden, "collection-use").check();
    await byId(page, "chosen").filter({ hasText: "Garden <i>handbook</i>" }).waitFor();
    await send(page, llm.says("Which pears keep?"));
    await settled(page);
    assertEqual(notes.chats.at(-1).collections, [id], "the sent collections");
    await page.reload();
    await settled(page);
    await byId(page, "chosen").waitFor();
    await send(page, llm.says("And figs?"));
    await settled(page);
    assertEqual(notes.chats.at(-1).collections, [id], "the sent collections after the reload");
    await byId(page, "new-chat").click();
    await byId(page, "chosen").waitFor({ state: "detached" });
  });

  await check("the cross removes a collection from the chat", async () => {
    await byId(page, "thread-item").first().getByRole("link").click();
    await byId(page, "chosen").getByRole("button").click();
    await send(page, llm.says("Without it"));
    await settled(page);
    assert(!("collections" in notes.chats.at(-1)), "the sent collections");
  });

  await check("a document and a collection are deleted after a question, also after a reload", async () => {
    await byId(page, "add").click();
    await byId(page, "choose-collections").click();
    await byId(all.filter({ hasText: "Garden" }), "collection-use").check();
    await byId(all.filter({ hasText: "Garden" }), "collection-open").click();
    await byId(documents.filter({ hasText: "frost" }), "document-delete").click();
    await byId(page, "confirm").click();
    await documents.filter({ hasText: "frost" }).waitFor({ state: "detached" });
    await byId(page, "collection-delete").click();
    await page.keyboard.press("Enter");
    await all.filter({ hasText: "Recipes" }).waitFor();
    assertEqual(await all.count(), 1, "the collections");
    assertEqual(await byId(page, "chosen").count(), 0, "the chosen collections");
    await page.reload();
    await settled(page);
    await byId(page, "add").click();
    await byId(page, "choose-collections").click();
    await all.filter({ hasText: "Recipes" }).waitFor();
    assertEqual(await all.count(), 1, "the collections after a reload");
  });
  await quiet("the collections", notes);
  await context.close();
}
