// Texts of people and models stay text: the page runs and loads nothing from them.

import { readFileSync } from "node:fs";
import { alive, assertEqual, byId, check, env, fakeLlm, knowledge, pressAll, quiet, send, settled, storedChat, storedPlan, storedTurn, visit } from "../harness.mjs";

const CORPUS = JSON.parse(readFileSync(new URL("xss.json", import.meta.url), "utf8"));

/** Collections of one chat (docs/wire-protocol.md). */
const MOST_CHOSEN = 8;

// Long: one visit, whose checks follow each other.
export async function safety(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const dialogs = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });

  await check(`${CORPUS.length} attempts to inject a script stay text in every place of a stored chat`, async () => {
    const messages = CORPUS.flatMap((text, index) =>
      storedTurn(text, text, {
        ...(index % 2 ? { finish_reason: "error", stop: { code: text, message: text } } : {}),
        execution_tree: {
          version: 1,
          nodes: [
            { id: text, parent_id: null, name: "run_subtask", title: text, args_preview: JSON.stringify({ instructions: text }), result_preview: text, duration_ms: 1, started_ms: 0 },
            { id: `${text}3`, parent_id: null, name: "search_collection", args_preview: text, result_preview: passage(text, text), duration_ms: 1, started_ms: 0 },
            { id: `${text}2`, parent_id: text, name: text, args_preview: text, result_preview: text, is_error: true, duration_ms: 1, started_ms: 0 },
          ],
        },
      }),
    );
    for (let at = 0; at < messages.length; at += 40) {
      const title = CORPUS[at / 2];
      await storedChat(page, env("ESPALIER_URL"), messages.slice(at, at + 40), { title, snippet: title });
      await settled(page);
      await pressAll(byId(page, "expand-all"));
      await pressAll(byId(page, "timeline-toggle"));
      await byId(page, "timeline").nth((await byId(page, "timeline-toggle").count()) - 1).waitFor();
      await pressAll(page.locator("summary"));
      await pressAll(page.locator(".disclosure-toggle"));
      assertEqual(await harm(page), [], `in messages from ${at} on`);
    }
  });

  await check("they stay text in every place of a plan, finished or waiting", async () => {
    const turns = CORPUS.flatMap((text, index) => {
      const { nodes, plans } = storedPlan(text, index % 2 ? { status: "pending_review", review: { verdict: "rejected", notes: text } } : {});
      return storedTurn("A plan", "So.", { execution_tree: { version: 1, nodes, plans } });
    });
    for (let at = 0; at < turns.length; at += 40) {
      const some = turns.slice(at, at + 40);
      await storedChat(page, env("ESPALIER_URL"), some);
      await byId(page, "plan").nth(some.length / 2 - 1).waitFor();
      await pressAll(byId(page, "expand-all"));
      await pressAll(byId(page, "plan-step-toggle"));
      await pressAll(page.locator(".disclosure-toggle"));
      assertEqual(await harm(page), [], `in plans from ${at} on`);
    }
  });

  await check("they stay text in a stream, from the person, the model and the tools", async () => {
    await page.unrouteAll();
    const llm = fakeLlm();
    const [first, second] = [CORPUS.slice(0, 35), CORPUS.slice(35)];
    const pieces = CORPUS.join("\n\n").match(/[^]{1,23}/g);
    await llm.script("", [
      { calls: [...first.slice(0, 4).map((title) => llm.subtask(title, "a")), { name: "calculate", arguments: { expression: second[0], [second[1]]: second[2] } }] },
      { text: pieces },
    ]);
    await llm.script("a", [{ text: second.join("\n\n") }]);
    await page.goto(env("ESPALIER_URL"));
    await alive(page);
    await byId(page, "composer").fill(llm.says(CORPUS.slice(0, 20).join("\n\n")));
    await byId(page, "send").click();
    await settled(page);
    await byId(page, "expand-all").click();
    assertEqual(await harm(page), [], "the streamed text");
  });

  await check("they stay text in files, memories, collections, documents, projects and usage", async () => {
    await page.unrouteAll();
    await knowledge(page, CORPUS);
    await storedChat(page, env("ESPALIER_URL"), storedTurn("Hello", "Hello."));
    await settled(page);
    const last = async (id) => byId(page, id).nth(CORPUS.length - 1).waitFor();

    await byId(page, "files-toggle").click();
    await last("file");
    await byId(page, "upload-input").setInputFiles([file("<img src=x onerror=window.__xss=1>.html", 1_048_577)]);
    await byId(page, "upload-row").waitFor();
    await pressAll(byId(page, "file-delete"));
    assertEqual(await harm(page), [], "the files");

    await byId(page, "add").click();

    await byId(page, "choose-collections").click();
    await last("collection");
    // At most as many as a chat may have at a time, until each has been chosen.
    const uses = await byId(page, "collection-use").all();
    for (const [at, use] of uses.entries()) {
      if (at >= MOST_CHOSEN) await uses[at - MOST_CHOSEN].uncheck();
      await use.check();
    }
    await byId(page, "chosen").nth(MOST_CHOSEN - 1).waitFor();
    assertEqual(await harm(page), [], "the collections");
    await byId(page, "collection-open").first().click();
    await last("document");
    await byId(page, "add-documents-input").setInputFiles([file("<img src=x onerror=window.__xss=1>.html", 0)]);
    await byId(page, "documents-refused").waitFor();
    await pressAll(byId(page, "document-delete"));
    assertEqual(await harm(page), [], "the documents");

    await byId(page, "settings").click();
    await page.getByRole("button", { name: "Your memories" }).click();
    await last("memory");
    await page.getByRole("button", { name: "Your usage" }).click();
    await byId(page, "usage").locator("tbody tr").nth(CORPUS.length - 1).waitFor();
    assertEqual(await harm(page), [], "the memories and the usage");
    await page.keyboard.press("Escape");

    await byId(page, "projects-open").click();
    await last("project");
    assertEqual(await harm(page), [], "the projects");
    await byId(page, "project").nth(1).click();
    await last("project-task");
    await byId(page, "project-use").click();
    await byId(page, "subject").waitFor();
    assertEqual(await harm(page), [], "a project");
    await byId(page, "project-document").first().click();
    await byId(page, "project-page").waitFor();
    assertEqual(await harm(page), [], "a document of a project");
    await page.keyboard.press("Escape");
    await page.unrouteAll();
    await page.goto(env("ESPALIER_URL"));
    await alive(page);
  });

  await check("an image in an answer is a link, and the page does not load it", async () => {
    const llm = fakeLlm();
    await llm.script("", [{ text: "![a cat](https://images.test/cat.png)" }]);
    await send(page, llm.says("Show me a cat"));
    await settled(page);
    const link = byId(page, "message-assistant").last().getByRole("link", { name: "a cat" });
    assertEqual(await link.getAttribute("rel"), "noopener noreferrer nofollow", "its relation");
    assertEqual(await page.locator(".answer img").count(), 0, "images");
  });
  assertEqual(dialogs, [], "dialogs");
  await quiet("terrible texts", notes);
  await context.close();
}

/** A passage in the result of a search of collections. */
export function passage(document, text) {
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
  const name = escaped(document);
  return `<passage document="${name}" part="1" under="${name}" id="d">\n${escaped(text)}\n</passage>`;
}

function file(name, bytes = 1) {
  return { name, mimeType: "text/plain", buffer: Buffer.alloc(bytes) };
}

/** The traces of a script that ran. */
export function harm(page) {
  return page.evaluate(() => {
    const found = [];
    if (globalThis.__xss !== undefined) found.push("a script ran");
    const own = new Set(["/theme.js"]);
    for (const script of document.scripts) {
      const path = script.src && new URL(script.src).pathname;
      if (!own.has(path) && !path.startsWith("/assets/")) found.push(`a script: ${script.outerHTML.slice(0, 80)}`);
    }
    const forbidden = "iframe, object, embed, img, video, audio, form[action], base, meta[http-equiv], body style, body link, marquee, body svg script";
    for (const element of document.querySelectorAll(forbidden)) found.push(element.outerHTML.slice(0, 80));
    // A formula is drawn element by element; the page makes no other MathML.
    for (const element of document.querySelectorAll("math")) if (!element.closest(".formula")) found.push(element.outerHTML.slice(0, 80));
    for (const element of document.querySelectorAll(".formula *")) {
      for (const name of ["href", "src", "id"]) if (element.hasAttribute(name)) found.push(`${name} in a formula`);
    }
    for (const element of document.querySelectorAll("body *")) {
      for (const { name } of element.attributes) if (name.startsWith("on")) found.push(`${name} on ${element.tagName}`);
    }
    for (const link of document.querySelectorAll("a[href]")) {
      if (!["http:", "https:", "mailto:"].includes(link.protocol) && link.getAttribute("href") !== "") {
        found.push(`a link to ${link.getAttribute("href")}`);
      }
    }
    return found;
  });
}
