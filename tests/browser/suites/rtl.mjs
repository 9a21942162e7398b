// Texts that are written from right to left: each block has the direction of its own text, the page stays as it is.

import { assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const QUESTION = "ما هي شجرة التعريش؟";
const ANSWER = "# العنوان\n\nشجرة تنمو على جدار.\n\n- أولا\n- second\n\nAnd a paragraph in English.\n\n```\nlet x = 1;\n```\n\n> اقتباس";

const direction = (element) => getComputedStyle(element).direction;

export async function rtl(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ text: ANSWER, calls: [llm.subtask("ابحث في الحديقة", "a")] }, { text: "تم." }]);
  await llm.script("a", [{ text: "وجدتها." }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));

  await check("the composer follows what is typed", async () => {
    const box = byId(page, "composer");
    await box.fill("hello");
    assertEqual(await box.evaluate(direction), "ltr", "English");
    await box.fill(QUESTION);
    assertEqual(await box.evaluate(direction), "rtl", "Arabic");
    await box.fill("");
  });

  await check("each block of an answer, the question, the titles and the cards have the direction of their text", async () => {
    await send(page, llm.says(QUESTION));
    await settled(page);
    const of = async (selector) => page.locator(selector).evaluateAll((all) => all.map((each) => getComputedStyle(each).direction));
    const first = page.locator(".prose", { hasText: "شجرة" }).first();
    assertEqual(await first.locator("> :not(.code-block)").evaluateAll((all) => all.map((each) => `${each.localName} ${getComputedStyle(each).direction}`)),
      ["h3 rtl", "p rtl", "ul rtl", "p ltr", "blockquote rtl"], "the blocks");
    assertEqual(await first.locator(".code-block pre").evaluate(direction), "ltr", "code");
    assertEqual(await of('[data-testid="question-text"]'), ["rtl"], "the question");
    assertEqual(await of('[data-testid="tool-card"] .tool-name'), ["rtl"], "the card");
    assertEqual(await of(".top-title"), ["rtl"], "the title");
    assertEqual((await of(".thread-title"))[0], "rtl", "the title in the list");
    assertEqual(await of(".app"), ["ltr"], "the page");
    await shot(page, "rtl");
  });
  await clean(page, "texts from right to left");
  await quiet("texts from right to left", notes);
  await context.close();
}
