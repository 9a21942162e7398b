// Share links: a person shares a chat, others read it without a sign-in, and the link can be revoked. Issue 23, 7.

import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 360, height: 740 }, colorScheme: "dark" };

/** Visits a public page as somebody without a session. */
async function guest(browser, link, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url())));
  const answer = await page.goto(link);
  return { page, context, complaints, asked, answer };
}

export async function shares(browser) {
  for (const [width, options] of [["desk", DESK], ["phone", PHONE]]) await shared(browser, width, options);
  await hidden(browser);
}

// Long: one visit, whose checks follow each other.
async function shared(browser, width, options) {
  const llm = fakeLlm();
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"), options);
  const link = () => byId(page, "share-link").inputValue();
  let plain, whole;

  await check(`a chat is shared by a link (${width})`, async () => {
    await byId(page, "share-open").click();
    await page.getByText("Send a message first.").waitFor();
    await page.keyboard.press("Escape");
    await llm.script("", [
      { calls: [{ name: "calculate", arguments: { expression: "6*7" } }] },
      { text: "It is **42**. <b>raw</b> ![pixel](https://evil.example/a.png)\n\n```js\nconst a = 42;\n```" },
    ]);
    await send(page, llm.says("What is it?"));
    await settled(page);
    await byId(page, "share-open").click();
    const title = await page.locator("[data-thread-id][data-current] a").innerText();
    assert((await byId(page, "share-title").innerText()).includes(title), title);
    await byId(page, "share-create").click();
    await byId(page, "share-link").waitFor();
    plain = await link();
    assert(/\/shared\/[A-Za-z0-9_-]{22}$/.test(plain), plain);
    await clean(page, `the panel of share links, ${width}`);
    await shot(page, `shares-${width}`);
    assertEqual(await byId(page, "share").count(), 1, "links");
    await byId(page, "share-tools").check();
    await byId(page, "share-days").selectOption("7");
    await byId(page, "share-create").click();
    await byId(page, "share").nth(1).waitFor();
    await page.waitForFunction((before) => document.querySelector("[data-testid=share-link]").value !== before, plain);
    whole = await link();
    const about = await byId(page, "share").first().innerText();
    assert(about.includes("tool calls") && about.includes("until"), about);
  });

  await check(`somebody without a session reads it, drawn as an answer is (${width})`, async () => {
    const { page: read, context: theirs, complaints, asked, answer } = await guest(browser, plain, options);
    assertEqual(answer.status(), 200, "the status");
    assertEqual(answer.headers()["x-robots-tag"], "noindex, nofollow, noarchive", "the header");
    await byId(read, "shared-assistant").waitFor();
    assertEqual(await read.locator("strong").innerText(), "42", "Markdown");
    const words = await byId(read, "shared-assistant").innerText();
    assert(words.includes("<b>raw</b>") && words.includes("const a = 42;"), words);
    assertEqual(await read.locator("[data-testid=shared] img").count(), 0, "images");
    assertEqual(await byId(read, "shared-call").count(), 0, "calls");
    assert((await byId(read, "shared-user").innerText()).includes("What is it?"), "the question");
    const wide = await read.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert(wide <= 0, `${wide} px beside the window`);
    await clean(read, `the public page, ${width}`);
    await shot(read, `shared-${width}`);
    assertEqual(complaints, [], "the console");
    const [origin] = new Set(asked.map((url) => url.origin));
    assertEqual(asked.filter((url) => url.origin !== origin).map(String), [], "requests to others");
    assertEqual(asked.filter(({ pathname }) => pathname.startsWith("/api/")).length, 1, "requests to the API");
    assertEqual((await theirs.cookies()).length, 0, "cookies");
    await theirs.close();
  });

  await check(`a snapshot stays as it is, and shows tools where they were chosen (${width})`, async () => {
    await page.keyboard.press("Escape");
    await llm.script("later", [{ text: "A secret." }]);
    await send(page, llm.says("More", "later"));
    await settled(page);
    const { page: read, context: theirs } = await guest(browser, whole, options);
    await byId(read, "shared-call").locator("summary").click();
    assert((await byId(read, "shared-call").innerText()).includes("6*7"), "the arguments");
    assert(!(await byId(read, "shared").innerText()).includes("secret"), "a later answer");
    await theirs.close();
  });

  await check(`a revoked link opens nothing (${width})`, async () => {
    // In a wide window the panel has stayed open beside the chat.
    if (!(await byId(page, "shares").isVisible())) await byId(page, "share-open").click();
    await byId(page, "share").nth(1).waitFor();
    for (const left of [1, 0]) {
      await byId(page, "share-revoke").first().click();
      await byId(page, "confirm").click();
      await page.waitForFunction((left) => document.querySelectorAll("[data-testid=share]").length === left, left);
    }
    for (const each of [plain, whole]) {
      const { page: read, context: theirs, answer } = await guest(browser, each, options);
      assertEqual(answer.status(), 404, "the status");
      assertEqual((await read.innerText("body")).trim(), "There is no such page, or it is no longer shared.", "the text");
      await theirs.close();
    }
  });
  await quiet(`share links, ${width}`, notes);
  await context.close();
}

/** Where the operator has switched share links off, the page has no button. */
async function hidden(browser) {
  await check("a deployment without share links has no button for them", async () => {
    const { page, context } = await visit(browser, env("ESPALIER_URL"), DESK);
    await byId(page, "share-open").waitFor();
    await page.route("**/api/health", async (route) => {
      const health = await (await route.fetch()).json();
      await route.fulfill({ json: { ...health, shares: false } });
    });
    await page.reload();
    await byId(page, "share-open").waitFor({ state: "detached" });
    await byId(page, "files-toggle").waitFor();
    await context.close();
  });
}
