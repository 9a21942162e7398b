// A search of the web that the service carries out: its card with the pages side by side, and an agent of code that searches
// in a discussion. The fake LLM's server is the web.

import { assert, assertEqual, byId, cards, check, env, fakeLlm, openAll, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const SIZES = { wide: { width: 1280, height: 860 }, phone: { width: 360, height: 740 } };
/** The cards of a search, each with its depth. The address of the second page does not exist. */
const SEARCH = ["websearch 0 done", "web_search 1 done", "digest_page 1 done", "fetch_page 2 done", "digest_page 1 error", "fetch_page 2 error", "digest_page 1 done", "fetch_page 2 done"];

const inside = (page, name) => page.locator(`[data-tool-name="${name}"]`);
const outline = async (page) => (await cards(page)).map(({ name, depth, status }) => `${name} ${depth} ${status}`);

// A-006 A-025 A-109, and the page's part of issue 20.
export async function websearch(browser) {
  for (const [size, viewport] of Object.entries(SIZES)) {
    await searching(browser, { viewport, reducedMotion: "reduce" }, size);
    await discussing(browser, { viewport, reducedMotion: "reduce" }, size);
  }
}

async function withAgents(browser, options) {
  const visitor = await visit(browser, env("ESPALIER_URL"), options);
  await byId(visitor.page, "add").click();
  await byId(visitor.page, "agents-switch").click();
  await byId(visitor.page, "agents-on").waitFor();
  return visitor;
}

async function fits(page, view) {
  const [drawn, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert(drawn <= width, `${view}: ${drawn} of ${width} pixels`);
  const beyond = await byId(page, "tool-card-toggle").evaluateAll((heads) => heads.filter((head) => head.scrollWidth > head.clientWidth).map((head) => head.innerText));
  assertEqual(beyond, [], `${view}: heads that are wider than their cards`);
}

async function searching(browser, options, how) {
  const llm = fakeLlm();
  // The replies go by their place: the level of a page has made one call before it speaks, the one that answers two.
  const held = { name: llm.barrier("hold"), after: 1 };
  await llm.script("pages", [{ text: "never" }, { text: ["They keep ", "**126 days**."], barrier: held }, { text: "126 days, says [1]." }]);
  const call = { name: "websearch", arguments: { query: `site ${llm.barrier("site")}`, question: llm.says("How long do pears keep?", "pages") } };
  await llm.script("", [{ text: "I search.", calls: [call] }, { text: "Four months." }]);
  const { page, context, notes } = await withAgents(browser, options);

  await check(`a search shows its pages side by side while they are read, ${how}`, async () => {
    await send(page, llm.says("How long do pears keep?"));
    await page.locator('[data-testid="side-by-side"][data-calls="3"]').filter({ hasText: "3 in parallel" }).waitFor();
    await openAll(page);
    await inside(page, "digest_page").filter({ hasText: "They keep" }).nth(1).waitFor();
    await byId(page, "status-chip").filter({ hasText: "Searching the web" }).waitFor();
    await shot(page, `websearch-running-${how}`);
    await llm.release("hold");
    await settled(page);
  });

  let live = "";
  await check(`its card has each page, the one that did not come, and the answer, ${how}`, async () => {
    await openAll(page);
    assertEqual(await outline(page), SEARCH, "the cards");
    const [first, missing] = [inside(page, "digest_page").first(), inside(page, "digest_page").nth(1)];
    assertEqual(await first.locator("strong").first().innerText(), "126 days", "Markdown in what a reader says");
    const title = await first.locator(".tool-name").first().innerText();
    assert(/^127\.0\.0\.1:\d+\/site\/page.*…$/.test(title) && title.length <= 48, `the title of a page: ${title}`);
    await missing.filter({ hasText: "answered with status 404" }).waitFor();
    await inside(page, "websearch").filter({ hasText: "126 days, says [1]." }).waitFor();
    await byId(page, "message-assistant").filter({ hasText: "Four months." }).waitFor();
    await fits(page, "the search");
    live = await inside(page, "websearch").innerText();
    await shot(page, `websearch-${how}`);
  });
  await clean(page, `a search of the web, ${how}`);

  await check(`a reload shows the same search, ${how}`, async () => {
    await page.reload();
    await settled(page);
    await openAll(page);
    assertEqual(await outline(page), SEARCH, "the cards");
    assertEqual(await inside(page, "websearch").innerText(), live, "the words of the card");
  });
  await quiet(`a search of the web, ${how}`, notes);
  await context.close();
}

async function discussing(browser, options, how) {
  const llm = fakeLlm();
  const prompt = llm.says(`site ${llm.barrier("site")}`, "talk");
  await llm.script("talk", [{ text: "I doubt it." }, { text: "It says 126 days." }, { text: "**126 days** [1]." }]);
  const task = (name, more) => ({ name: "task", arguments: { name, ...more } });
  await llm.script("", [
    { calls: [task("scout", { template: "websearch" }), task("critic", { instructions: "Doubt." })] },
    { calls: [{ name: "discuss", arguments: { prompt, speakers: ["scout", "critic"] } }] },
    { text: "They disagree." },
  ]);
  const { page, context, notes } = await withAgents(browser, options);
  const speech = (name) => page.locator(`[data-testid="discussion"] [data-speaker="${name}"]`);

  await check(`an agent of code speaks in a discussion with its search, ${how}`, async () => {
    await send(page, llm.says("Discuss pears"));
    await settled(page);
    await speech("scout").filter({ hasText: "<sources>" }).waitFor();
    assertEqual(await speech("scout").locator("strong").innerText(), "126 days", "Markdown in what it says");
    await speech("critic").filter({ hasText: "I doubt it." }).waitFor();
    await inside(page, "websearch").waitFor();
    await fits(page, "the discussion");
    await shot(page, `websearch-speaker-${how}`);
    const words = await byId(page, "discussion").last().innerText();
    await page.reload();
    await settled(page);
    await speech("critic").waitFor();
    assertEqual(await byId(page, "discussion").last().innerText(), words, "the discussion after a reload");
  });
  await clean(page, `a discussion with an agent of code, ${how}`);

  await check(`the panel tells that code answers for it, ${how}`, async () => {
    await byId(page, "agents-toggle").click();
    await byId(page.locator('[data-testid="agent"][data-agent="scout"]'), "agent-open").click();
    await byId(page, "agents").filter({ hasText: "answers other agents with websearch" }).waitFor();
    await byId(page, "agent-round").filter({ hasText: "<sources>" }).waitFor();
    await fits(page, "the agent");
    await shot(page, `websearch-agent-${how}`);
  });
  await quiet(`an agent of code, ${how}`, notes);
  await context.close();
}
