// Takes the pictures in docs/images, of the demo model and of a scripted turn.

import { mkdirSync } from "node:fs";
import { byId, env, fakeLlm, send, settled, visit } from "../harness.mjs";
import { choose, makesPlan, planned } from "./plans.mjs";

const FOLDER = "docs/images";

export async function pictures(browser) {
  mkdirSync(FOLDER, { recursive: true });
  const take = (page, name) => page.screenshot({ path: `${FOLDER}/${name}.png` });

  for (const colorScheme of ["light", "dark"]) {
    const { page, context } = await visit(browser, env("ESPALIER_DEMO_URL"), { colorScheme });
    if (colorScheme === "light") await take(page, "first-screen");
    await send(page, "What is 17 * 23?");
    await settled(page);
    await byId(page, "new-chat").click();
    await send(page, "Research apples, pears and figs, then compare them");
    await settled(page);
    await take(page, colorScheme === "light" ? "page" : "page-dark");
    await context.close();
  }

  const running = await turn(browser, { viewport: { width: 1280, height: 860 } });
  await byId(running.page, "timeline-toggle").click();
  await byId(running.page, "lane").first().waitFor();
  await take(running.page, "timeline");
  await running.finish();

  await take(await withFiles(browser), "files");

  const plan = await withPlan(browser);
  await take(plan.page, "plan");
  await plan.finish();

  const phone = await turn(browser, { viewport: { width: 390, height: 844 }, colorScheme: "dark", deviceScaleFactor: 2 });
  await take(phone.page, "phone");
  await phone.finish();
}

/** A turn with parallel subtasks, held while two of them write. */
async function turn(browser, options) {
  const llm = fakeLlm();
  const hold = { name: llm.barrier("hold"), after: 2 };
  await llm.script("", [
    { calls: [llm.subtask("Which pears keep longest", "pears"), llm.subtask("What frost does to figs", "figs"), llm.subtask("Apples for a north wall", "apples")] },
    { text: "Plant a **Conference** pear on the east wall." },
  ]);
  await llm.script("pears", [{ calls: [{ name: "calculate", arguments: { expression: "18 * 7" } }, { name: "current_time", arguments: {} }] }, { text: ["Conference keeps **126 days** ", "in a cool cellar, ", "until March."], barrier: hold }]);
  await llm.script("figs", [{ text: "Below −10 °C the young wood dies; the roots live on." }]);
  await llm.script("apples", [{ text: ["Few like the shade: ", "*Boskoop*, *Bramley* ", "and *Edward VII*."], barrier: hold }]);
  const { page, context } = await visit(browser, env("ESPALIER_URL"), options);
  const question = "Which fruit shall I train along my walls?";
  // The message also has the script's marker, which the picture does not show.
  await page.route("**/api/chat", (route) => {
    const body = JSON.parse(route.request().postData());
    return route.continue({ postData: JSON.stringify({ ...body, content: llm.says(question) }) });
  });
  await send(page, question);
  await byId(page, "message-assistant").filter({ hasText: "126 days" }).filter({ hasText: "Bramley" }).waitFor();
  return {
    page,
    finish: async () => {
      await llm.release("hold");
      await settled(page);
      await context.close();
    },
  };
}

/** A plan, held in the middle of a step. */
async function withPlan(browser) {
  const llm = fakeLlm();
  await llm.script("", [{ calls: [makesPlan(llm, "auto_execute")] }, { text: "Tied." }]);
  const steps = [
    ["measure", "Measure the east wall"],
    ["choose", "Choose a variety that keeps"],
    ["wires", "Work out how much wire four tiers need", ["measure"]],
    ["plant", "Write down what to plant, and when", ["choose", "wires"]],
  ];
  await llm.script("plan", [planned(llm, steps)]);
  const calculate = (expression) => ({ name: "calculate", arguments: { expression } });
  await llm.script("measure", [{ calls: [calculate("8.4 * 2.4")] }, { text: "8.4 m wide and 2.4 m high; the mortar is sound." }]);
  await llm.script("choose", [{ text: "Conference: it keeps until March, and bears on an east wall." }]);
  await llm.script("wires", [{ calls: [calculate("4 * 8.4"), calculate("33.6 * 1.1")] }, { text: ["37 m, ", "with what is lost."], barrier: { name: llm.barrier("hold"), after: 1 } }]);
  await llm.script("plant", [{ text: "In November." }]);
  const { page, context } = await visit(browser, env("ESPALIER_URL"), { viewport: { width: 1280, height: 860 } });
  const question = "Plan a pear for my east wall, and begin";
  await page.route("**/api/chat", (route) => {
    const body = JSON.parse(route.request().postData());
    return route.continue({ postData: JSON.stringify({ ...body, content: llm.says(question) }) });
  });
  await choose(page, "general");
  await send(page, question);
  await page.locator('[data-testid="plan-step"][data-state="active"]').filter({ hasText: "33.6 * 1.1" }).waitFor();
  // The objective has the script's marker.
  await page.locator(".plan-objective, .tool-gist").evaluateAll((all) => {
    for (const each of all) each.textContent = each.textContent.split(" [[")[0];
  });
  return {
    page,
    finish: async () => {
      await llm.release("hold");
      await context.close();
    },
  };
}

/** A chat with its files beside it. */
async function withFiles(browser) {
  const llm = fakeLlm();
  const write = (path, content) => ({ name: "write_file", arguments: { path, content } });
  await llm.script("", [
    {
      calls: [
        write("plan/east-wall.md", "# East wall\n\nConference, four tiers.\n".repeat(40)),
        write("plan/north-wall.md", "# North wall\n\nMorello cherry as a fan.\n".repeat(25)),
      ],
    },
    { text: "Two plans are in your files:\n\n- **East wall**: a *Conference* pear in four tiers, 45 cm apart\n- **North wall**: a *Morello* cherry, trained as a fan\n\nTell me how high your walls are, and I adjust the tiers." },
  ]);
  const { page } = await visit(browser, env("ESPALIER_URL"), { viewport: { width: 1280, height: 860 } });
  await page.route("**/api/chat", (route) => {
    const body = JSON.parse(route.request().postData());
    return route.continue({ postData: JSON.stringify({ ...body, content: llm.says("Write me a plan for each wall") }) });
  });
  await page.route("**/api/threads?*", async (route) => {
    const answer = await route.fetch();
    const list = await answer.json();
    for (const thread of list.threads) thread.title = thread.title.split(" [[")[0];
    return route.fulfill({ response: answer, json: list });
  });
  await byId(page, "files-toggle").click();
  await byId(page, "files").waitFor();
  await send(page, "Write me a plan for each wall");
  await settled(page);
  const file = (name, bytes) => ({ name, mimeType: "text/plain", buffer: Buffer.alloc(bytes, "x") });
  await byId(page, "upload-input").setInputFiles([file("frost-2025.csv", 48_200), file("measures.txt", 812)]);
  await byId(page, "file").nth(3).waitFor();
  return page;
}
