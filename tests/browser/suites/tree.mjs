// The tree of a turn: calls side by side, their durations and their usage, live and after a reload.

import { assert, assertEqual, byId, cards, check, env, fakeLlm, openAll, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

// Long: one visit, whose checks follow each other.
export async function tree(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ calls: [llm.subtask("Look north", "n"), llm.subtask("Look south", "s")] }, { text: "Seen." }]);
  const held = { name: llm.barrier("hold"), after: 1 };
  await llm.script("n", [{ calls: [{ name: "calculate", arguments: { expression: "1+1" } }] }, { text: ["Ice, ", "much of it."], barrier: held }]);
  await llm.script("s", [{ text: ["Sand, ", "and palms."], barrier: held }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const work = byId(page, "work");

  await check("subtasks that run at the same time stand side by side, with their text and their seconds", async () => {
    await send(page, llm.says("Look around"));
    const group = page.locator('[data-testid="side-by-side"][data-calls="2"]');
    await group.filter({ hasText: "2 in parallel" }).waitFor();
    await group.filter({ hasText: "Ice," }).filter({ hasText: "Sand," }).waitFor();
    const elapsed = page.locator('[data-status="running"] > .tool-head [data-testid="elapsed"]');
    await elapsed.first().filter({ hasText: /^[1-9]\d* s$/ }).waitFor();
    await byId(page, "work").filter({ hasText: /Working \d+ s · 1 tool · 2 subtasks/ }).waitFor();
  });

  await check("a running turn has its lanes in the timeline", async () => {
    await byId(page, "timeline-toggle").click();
    await byId(page, "lane").nth(2).waitFor();
    assertEqual(await lanes(page), ["Look north running", "calculate done", "Look south running"], "the lanes");
    await shot(page, "timeline-running");
    await llm.release("hold");
    await settled(page);
    assertEqual(await lanes(page), ["Look north done", "calculate done", "Look south done"], "the lanes");
  });

  let live = {};
  await check("each subtask shows its usage, and its share of the turn", async () => {
    await byId(page, "expand-all").click();
    const shares = await byId(page, "share").allInnerTexts();
    assertEqual(shares.length, 2, "the shares");
    for (const share of shares) assert(/^[12] model calls? · [\d,]+ tokens?, \d+% of this answer$/.test(share), share);
    live = { cards: await cards(page), lanes: await lanes(page), bars: await bars(page), shares, words: await work.innerText() };
    assert(live.cards.every((card) => card.open), "a card is closed");
    await shot(page, "timeline");
  });

  let modelLanes = [];
  await check("model calls have lanes beside the tools, and a click opens their figures", async () => {
    modelLanes = await byId(page, "model-lane").allInnerTexts();
    // Two of the root, two of the subtask that calculates, one of the other.
    assertEqual(modelLanes.length, 5, "the model calls");
    for (const lane of modelLanes) assert(/first word after [\d.]+ m?s, [\d.K]+ tokens in, [\d.K]+ out/.test(lane), lane);
    const lane = byId(page, "model-lane").first();
    await lane.click();
    const details = byId(page, "model-call-details");
    for (const words of ["First word after", "Tokens in", "Tokens out", "Cost", "asked for tools"]) await details.filter({ hasText: words }).waitFor();
    assertEqual(await lane.getAttribute("aria-expanded"), "true", "the lane is open");
    await shot(page, "timeline-model-call");
    await lane.click();
    assertEqual(await details.count(), 0, "the figures after a second click");
  });

  await check("below the timeline stand the models with their calls and tokens", async () => {
    const [row, ...others] = await byId(page, "model-row").allInnerTexts();
    assertEqual(others, [], "other models");
    assert(/^\S+\s+\d+\s+[\d.K]+\s+[\d.K]+\s+\S+$/.test(row), row);
  });

  await check("a lane opens its card with arguments and result, and the enclosing cards", async () => {
    await byId(page, "collapse-all").click();
    assertEqual((await cards(page)).map((card) => card.open), [false, false], "all are closed");
    await byId(page, "lane").nth(1).click();
    await page.waitForFunction(() => document.activeElement?.closest("[data-tool-name]")?.dataset.toolName === "calculate");
    const card = page.locator('[data-tool-name="calculate"] .tool-body');
    await card.filter({ hasText: "Arguments" }).filter({ hasText: "Result" }).waitFor();
  });

  await check("after a reload tree, timeline, shares and durations are the same", async () => {
    await page.reload();
    await settled(page);
    await byId(page, "timeline-toggle").click();
    await byId(page, "lane").nth(2).waitFor();
    await byId(page, "expand-all").click();
    await openAll(page);
    const shares = await byId(page, "share").allInnerTexts();
    const stored = { cards: await cards(page), lanes: await lanes(page), bars: await bars(page), shares, words: await work.innerText() };
    assertEqual(stored, live, "the stored tree");
    assertEqual(await byId(page, "model-lane").allInnerTexts(), modelLanes, "the stored model calls");
  });

  // Issue 53, fault 16
  await check("on a phone the figures of the timeline stay in sight", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    const figures = page.locator(".timeline .lane-figures, .timeline .models-used :is(th, td)");
    assert((await figures.count()) >= 18, "too few figures");
    const cut = await figures.evaluateAll((all) => {
      const right = document.querySelector(".timeline").getBoundingClientRect().right;
      return all.filter((each) => each.scrollWidth > each.clientWidth || each.getBoundingClientRect().right > right).map((each) => each.textContent);
    });
    assertEqual(cut, [], "figures that are cut off");
    await clean(page, "the timeline on a phone");
  });
  await quiet("the tree", notes);
  await context.close();
}

function lanes(page) {
  return byId(page, "lane").evaluateAll((all) =>
    all.map((lane) => `${lane.querySelector(".lane-name").textContent} ${lane.dataset.status}`),
  );
}

function bars(page) {
  return byId(page, "lane").evaluateAll((all) =>
    all.map((lane) => {
      const { left, width } = lane.querySelector(".lane-bar").style;
      return [left, width];
    }),
  );
}

/** Issue 53: the work of an answer is one line, and a line for each part that runs. */
export async function folding(browser) {
  const llm = fakeLlm();
  const held = { name: llm.barrier("fold"), after: 1 };
  await llm.script("", [{ calls: [llm.subtask("Look north", "n"), llm.subtask("Look south", "s")] }, { text: "Seen." }]);
  await llm.script("n", [{ calls: [{ name: "calculate", arguments: { expression: "1+1" } }] }, { text: ["Ice, ", "much of it."], barrier: held }]);
  await llm.script("s", [{ text: ["Sand, ", "and palms."], barrier: held }]);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"), { folds: true });
  const line = byId(page, "work-toggle");

  await check("while subtasks run, each has a line with its newest words", async () => {
    await send(page, llm.says("Look around"));
    const lines = byId(page, "newest").getByRole("listitem");
    await lines.filter({ hasText: "Look north" }).filter({ hasText: "Ice," }).waitFor();
    await lines.filter({ hasText: "Look south" }).filter({ hasText: "Sand," }).waitFor();
    assertEqual(await cards(page), [], "cards");
    await clean(page, "folded work that runs");
    await llm.release("fold");
    await settled(page);
  });

  await check("one line stands for the work of an answer, and shows its cards on demand, also after a reload", async () => {
    assert(/^Worked [\d.]+ m?s · 1 tool · 2 subtasks$/.test(await line.innerText()), await line.innerText());
    assertEqual([await cards(page), await byId(page, "newest").count()], [[], 0], "cards and lines");
    const high = await byId(page, "message-assistant").evaluate((answer) => answer.getBoundingClientRect().height);
    assert(high < 160, `${high} pixels`);
    await clean(page, "folded work");
    await line.focus();
    await page.keyboard.press("Enter");
    await byId(page, "tool-card").nth(1).waitFor();
    assertEqual(await line.getAttribute("aria-expanded"), "true", "the line");
    await page.reload();
    await settled(page);
    await byId(page, "tool-card").nth(1).waitFor();
    await line.click();
    assertEqual(await cards(page), [], "cards after they were folded");
    await page.reload();
    await settled(page);
    assertEqual(await cards(page), [], "cards after a reload");
  });

  await check("a setting shows the cards of all answers", async () => {
    await byId(page, "new-chat").click();
    await byId(page, "settings").click();
    await byId(page, "shows-work").check({ force: true });
    await page.keyboard.press("Escape");
    await llm.script("more", [{ calls: [{ name: "calculate", arguments: { expression: "2+2" } }] }, { text: "Four." }]);
    await send(page, llm.says("Count", "more"));
    await settled(page);
    assertEqual((await cards(page)).map(({ name }) => name), ["calculate"], "cards");
  });
  await quiet("folded work", notes);
  await context.close();
}
