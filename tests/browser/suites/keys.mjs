// The keyboard alone, and the theme.

import { alive, assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, visit } from "../harness.mjs";

const focused = (page) => page.evaluate(() => document.activeElement?.dataset.testid ?? document.activeElement?.tagName);

// Long: one visit, whose checks follow each other.
export async function keys(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "I shall go on and on", hang: true }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  await check("keys lead to the search, to a new chat and back to the message", async () => {
    await page.keyboard.press("Control+k");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "search");
    await page.keyboard.press("Control+Shift+O");
    await byId(page, "new-chat").focus();
    await page.keyboard.press("/");
    assertEqual(await focused(page), "composer", "the focus");
    assertEqual(await byId(page, "composer").inputValue(), "", "the key itself is not written");
  });

  await check("Escape stops the answer", async () => {
    await send(page, llm.says("Never stop"));
    await byId(page, "message-assistant").filter({ hasText: "on and on" }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    await settled(page);
  });

  // Issue 53, fault 8
  await check("Escape in the search box leads to the message, and leaves the answer alone", async () => {
    await send(page, llm.says("Never stop"));
    await byId(page, "message-assistant").last().filter({ hasText: "on and on" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "search");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.activeElement?.id === "composer");
    assertEqual([await byId(page, "stop").isEnabled(), await page.locator('[data-code="cancelled"]').count()], [true, 1], "the answer goes on");
    await page.keyboard.press("Escape");
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').nth(1).waitFor();
    await settled(page);
  });

  await check("Escape stops the answer from anywhere, but closes a menu first", async () => {
    await send(page, llm.says("Never stop"));
    await byId(page, "message-assistant").last().filter({ hasText: "on and on" }).waitFor();
    await byId(page, "thread-menu").first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem").first().waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("menuitem").first().waitFor({ state: "detached" });
    assertEqual(await byId(page, "stop").isEnabled(), true, "the answer goes on");
    await byId(page, "new-chat").focus();
    await page.keyboard.press("Escape");
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').nth(2).waitFor();
    await settled(page);
  });

  await check("after an act the focus is where the work goes on", async () => {
    const focus = (id) => page.waitForFunction((id) => document.activeElement?.dataset.testid === id, id);
    await send(page, llm.says("Never stop"));
    await byId(page, "message-assistant").last().filter({ hasText: "on and on" }).waitFor();
    await byId(page, "stop").focus();
    await page.keyboard.press("Enter");
    await focus("composer");
    await settled(page);
    await byId(page, "file-input").setInputFiles([{ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Pears.") }]);
    await byId(page, "attached").getByRole("button").focus();
    await page.keyboard.press("Enter");
    await focus("composer");
    await byId(page, "edit").last().focus();
    await page.keyboard.press("Enter");
    await focus("edit-box");
    await page.keyboard.press("Escape");
    await focus("edit");
    await byId(page, "composer").focus();
    await page.keyboard.press("ArrowUp");
    await focus("edit-box");
    await page.keyboard.press("Escape");
    await focus("composer");
    await llm.script("brief", [{ text: "Briefly." }]);
    await send(page, llm.says("Briefly", "brief"));
    await settled(page);
    await byId(page, "again").last().focus();
    await page.keyboard.press("Enter");
    await focus("composer");
    await settled(page);
    await rename(page, "Fruit");
    await focus("thread-menu");
    await byId(page, "new-chat").click();
    await send(page, llm.says("Another", "brief"));
    await settled(page);
    // The chat beside the deleted one, and a new chat after the open one.
    await remove(page, "Fruit");
    assertEqual(await page.evaluate(() => document.activeElement.closest('[data-testid="thread-item"]')?.textContent.includes("Another")), true, "the next chat");
    await remove(page, "Another");
    await focus("composer");
  });

  await check("the live region belongs to the open chat", async () => {
    await byId(page, "undo").click();
    await byId(page, "message-assistant").filter({ hasText: "Briefly." }).waitFor();
    await send(page, llm.says("Once more", "brief"));
    await byId(page, "announcer").filter({ hasText: "The answer is complete." }).waitFor({ state: "attached" });
    await byId(page, "new-chat").click();
    assertEqual(await byId(page, "announcer").textContent(), "", "the announcement");
    await send(page, llm.says("One more chat", "brief"));
    await settled(page);
  });

  await check("arrow keys move in the menu of a chat, and the focus comes back", async () => {
    await byId(page, "thread-menu").first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Rename" }).waitFor();
    assertEqual(await focused(page), "thread-pin", "the focus");
    await page.keyboard.press("ArrowDown");
    assertEqual(await focused(page), "thread-rename", "the focus");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    assertEqual(await focused(page), "thread-delete", "the focus");
    await page.keyboard.press("Escape");
    assertEqual(await page.getByRole("menuitem").count(), 0, "entries");
    assertEqual(await focused(page), "thread-menu", "the focus");
  });
  await quiet("the keyboard", notes);
  await context.close();
}

async function menu(page, title) {
  await byId(byId(page, "thread-item").filter({ hasText: title }), "thread-menu").focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem").first().waitFor();
}

async function rename(page, title) {
  await menu(page, "Never stop");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await byId(page, "thread-name").fill(title);
  await page.keyboard.press("Enter");
  await byId(page, "thread-item").filter({ hasText: title }).waitFor();
}

async function remove(page, title) {
  await menu(page, title);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await byId(page, "thread-item").filter({ hasText: title }).waitFor({ state: "detached" });
  await page.waitForFunction(() => document.activeElement !== document.body);
}

/** A finger needs 44 pixels (WCAG 2.2, 2.5.5). */
const TARGET_PX = 44;

export async function touch(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ calls: [llm.subtask("Look", "a")] }, { text: "Here:\n\n```\ncode\n```" }]);
  await llm.script("a", [{ text: "Seen." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"), { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  const small = () =>
    page.evaluate((least) => {
      // A finger meets the label of a switch or choice.
      const all = [...document.querySelectorAll("button, a[href], select, summary, textarea, input:not([type=file]), label:has(input)")];
      return all
        .filter((each) => each.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !each.closest("[inert], .prose") && !each.matches("label input"))
        .map((each) => [each.dataset.testid ?? each.className, each.getBoundingClientRect()])
        .filter(([, { width, height }]) => width > 1 && (width < least - 0.5 || height < least - 0.5))
        .map(([name, { width, height }]) => `${name} ${Math.round(width)}×${Math.round(height)}`);
    }, TARGET_PX);
  await check("on a touch screen each control has room for a finger", async () => {
    assertEqual(await page.evaluate(() => matchMedia("(pointer: coarse)").matches), true, "a touch screen");
    assertEqual(await small(), [], "the first screen");
    await byId(page, "composer").fill(llm.says("Look"));
    await byId(page, "file-input").setInputFiles([{ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("Pears.") }]);
    await byId(page, "attached").waitFor();
    assertEqual(await small(), [], "the composer with a file");
    // Issue 53, fault 1: Enter begins a second line, and the button sends.
    await byId(page, "composer").press("End");
    await page.keyboard.press("Enter");
    await page.keyboard.type("A second line");
    await byId(page, "send").click();
    await byId(page, "message-user").filter({ hasText: "A second line" }).waitFor();
    await settled(page);
    await byId(page, "expand-all").click();
    await byId(page, "timeline-toggle").click();
    await byId(page, "lane").first().waitFor();
    assertEqual(await small(), [], "an answer");
    await page.locator(".menu-button").click();
    await byId(page, "thread-menu").first().click();
    assertEqual(await small(), [], "the list of chats");
    await page.keyboard.press("Escape");
    await byId(page, "settings").click();
    await byId(page, "settings-dialog").waitFor();
    assertEqual(await small(), [], "the settings");
  });
  await quiet("a touch screen", notes);
  await context.close();
}

export async function themes(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_DEMO_URL"), { colorScheme: "light" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const choose = async (theme) => {
    await byId(page, "settings").click();
    await page.locator(`input[value="${theme}"]`).check({ force: true });
    await page.keyboard.press("Escape");
    await byId(page, "settings-dialog").waitFor({ state: "detached" });
  };
  await check("the theme follows the system, unless the person chose one, also after a reload", async () => {
    const light = await paper();
    await choose("dark");
    const dark = await paper();
    assert(dark !== light, dark);
    await page.reload();
    await alive(page);
    assertEqual(await paper(), dark, "after a reload");
    await choose("system");
    assertEqual(await paper(), light, "the system's");
    await page.emulateMedia({ colorScheme: "dark" });
    assertEqual(await paper(), dark, "the system's in the dark");
    await choose("light");
    assertEqual(await paper(), light, "light in the dark");
  });

  await check("the page has no animations for a person who prefers less motion", async () => {
    await page.emulateMedia({ reducedMotion: "reduce" });
    await send(page, "Research apples, pears and figs, then compare them");
    await settled(page);
    const moving = await page.evaluate(() => document.getAnimations().length);
    assertEqual(moving, 0, "animations");
  });
  await quiet("the themes", notes);
  await context.close();
}

/** Where the deployment offers more than one model. */
export async function models(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: "I am another." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const chosen = async () => {
    await byId(page, "settings").click();
    const value = await byId(page, "model-choice").inputValue();
    await page.keyboard.press("Escape");
    return value;
  };
  await check("a model that the deployment offers can be chosen, and the choice stays", async () => {
    await byId(page, "settings").click();
    await byId(page, "model-choice").selectOption("secondary");
    await page.keyboard.press("Escape");
    await send(page, llm.says("Who are you?"));
    await byId(page, "message-assistant").filter({ hasText: "I am another." }).waitFor();
    await settled(page);
    assertEqual(notes.chats.map((body) => body.model), ["secondary"], "the requests' models");
    await page.reload();
    await settled(page);
    assertEqual(await chosen(), "secondary", "the choice after a reload");
  });

  await check("the composer has the same choice", async () => {
    await byId(page, "choose-model").filter({ hasText: "secondary" }).click();
    await byId(page, "model-primary").waitFor();
    assertEqual(await page.getByRole("menuitemradio", { checked: true }).allInnerTexts().then((all) => all.map((text) => text.split(" ")[0])), ["secondary"], "the mark");
    await byId(page, "model-primary").click();
    await page.waitForFunction(() => document.activeElement?.id === "composer");
    await send(page, llm.says("Who are you?"));
    await settled(page);
    assertEqual(notes.chats.at(-1).model, undefined, "the request's model");
    await byId(page, "choose-model").click();
    await byId(page, "model-secondary").click();
  });

  await check("a model that is no longer offered is dropped from the choice, with the service's words", async () => {
    await page.route("**/api/chat", (route) => {
      const body = { ...JSON.parse(route.request().postData()), model: "gone:1" };
      return route.continue({ postData: JSON.stringify(body) });
    });
    await send(page, "And now?");
    await byId(page, "banner").waitFor();
    assertEqual(await byId(page, "composer").inputValue(), "And now?", "the words are kept");
    assertEqual(await chosen(), "", "the choice");
  });
  await context.close();

  const demo = await visit(browser, env("ESPALIER_DEMO_URL"));
  await check("a deployment with one model shows no choice", async () => {
    await byId(demo.page, "settings").click();
    await byId(demo.page, "settings-dialog").waitFor();
    assertEqual([await byId(demo.page, "model-choice").count(), await byId(demo.page, "choose-model").count()], [0, 0], "choices of models");
  });
  await demo.context.close();
}
