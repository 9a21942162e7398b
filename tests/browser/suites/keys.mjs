// The keyboard alone, and the theme.

import { alive, assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, visit } from "../harness.mjs";

const focused = (page) => page.evaluate(() => document.activeElement?.dataset.testid ?? document.activeElement?.tagName);

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

  await check("arrow keys move in the menu of a chat, and the focus comes back", async () => {
    await byId(page, "thread-menu").first().focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Rename" }).waitFor();
    assertEqual(await focused(page), "thread-rename", "the focus");
    await page.keyboard.press("ArrowUp");
    assertEqual(await focused(page), "thread-delete", "the focus");
    await page.keyboard.press("Escape");
    assertEqual(await page.getByRole("menuitem").count(), 0, "entries");
    assertEqual(await focused(page), "thread-menu", "the focus");
  });
  await quiet("the keyboard", notes);
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
    assertEqual(await byId(demo.page, "model-choice").count(), 0, "choices of models");
  });
  await demo.context.close();
}
