// Agents that stay: a discussion as a conversation, the panel, and talking to one agent.

import { readFile } from "node:fs/promises";
import { assert, assertEqual, byId, check, env, exported, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";
import { clean, LOOKS } from "./access.mjs";

const row = (page, name) => page.locator(`[data-testid="agent"][data-agent="${name}"]`);
const speech = (page, name) => page.locator(`[data-testid="discussion"] [data-speaker="${name}"]`).last();
const discussions = (page) => byId(page, "discussion").allInnerTexts();

/** A turn in which two agents introduce themselves, and then discuss until `hold` is released. */
async function meeting(llm) {
  const task = (name) => ({ name: "task", arguments: { name, instructions: `You are <b>${name}</b>.`, prompt: llm.says("Introduce yourself.", name) } });
  const listener = { name: "task", arguments: { name: "scribe", instructions: "You write down." } };
  await llm.script("", [
    { text: "I ask three in.", calls: [task("sweet"), task("sour"), listener] },
    { calls: [{ name: "discuss", arguments: { prompt: "What of apples?", speakers: ["sweet", "sour"], listeners: ["scribe"] } }] },
    { text: "They disagree." },
  ]);
  await llm.script("sweet", [{ text: "I am sweet." }, { text: ["Like ", "**honey**."], barrier: { name: llm.barrier("hold"), after: 1 } }]);
  await llm.script("sour", [{ text: "I am sour." }, { status: { code: 400 } }]);
  await llm.script("alone", [{ text: "Only to you." }]);
  await llm.script("main", [{ text: "Nobody told me." }]);
}

async function switchOn(page) {
  await byId(page, "add").click();
  await byId(page, "agents-switch").filter({ hasText: "can discuss with each other" }).click();
  await byId(page, "agents-on").waitFor();
}

// A-047 A-048 A-092 A-095 A-096 A-108, and the page's part of issue 20.
// Long: one visit, whose checks follow each other.
export async function agents(browser) {
  const llm = fakeLlm();
  await meeting(llm);
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));

  await check("agents are switched on where modes are chosen, by the keyboard as well", async () => {
    await byId(page, "add").focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "attach");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "agents-switch");
    await page.keyboard.press("Enter");
    await byId(page, "agents-on").waitFor();
    await page.waitForFunction(() => document.activeElement?.dataset.testid === "composer");
    await byId(page, "add").click();
    assertEqual(await byId(page, "agents-switch").getAttribute("aria-checked"), "true", "the entry in the menu");
    await byId(page, "agents-switch").click();
    await byId(page, "agents-on").waitFor({ state: "detached" });
    await switchOn(page);
  });

  await check("a discussion is a conversation with names while it is held", async () => {
    await byId(page, "agents-toggle").click();
    await byId(page, "agents").filter({ hasText: "Send a first message" }).waitFor();
    await send(page, llm.says("Discuss apples"));
    await page.locator('[data-speaker="sweet"][data-state="speaking"]').filter({ hasText: "Like" }).waitFor();
    assertEqual([notes.chats.at(-1).agents, "agent" in notes.chats.at(-1)], [true, false], "the sent members");
    await row(page, "sweet").filter({ hasText: "Speaking" }).waitFor();
    await row(page, "sour").filter({ hasText: "Silent" }).waitFor();
    await row(page, "scribe").filter({ hasText: "Just made" }).waitFor();
    await shot(page, "agents-running");
    await llm.release("hold");
    await settled(page);
    await speech(page, "sweet").filter({ hasText: "Like honey." }).waitFor();
    assertEqual(await speech(page, "sweet").locator("strong").innerText(), "honey", "Markdown in a speech");
  });

  await check("a speaker that failed says so, listeners are named, and a reload shows the same", async () => {
    await speech(page, "sour").filter({ hasText: /Could not answer: / }).waitFor();
    await byId(page, "listeners").filter({ hasText: "Listening: scribe" }).waitFor();
    const live = await discussions(page);
    assertEqual(live.length, 3, "the discussions");
    await page.reload();
    await settled(page);
    await byId(page, "discussion").nth(2).waitFor();
    assertEqual(await discussions(page), live, "the discussions after the reload");
    await byId(page, "agents-on").waitFor();
  });

  await check("the panel lists the agents, and shows what one remembers as text", async () => {
    await byId(page, "agents-toggle").click();
    await row(page, "sweet").filter({ hasText: "Heard 1 text since it last spoke" }).waitFor();
    await byId(row(page, "sour"), "agent-open").click();
    const rounds = byId(page, "agent-round");
    await rounds.nth(1).filter({ hasText: "What of apples?" }).filter({ hasText: '<speaker name="sweet"> Like **honey**. </speaker>' }).waitFor();
    await rounds.first().filter({ hasText: "Introduce yourself." }).filter({ hasText: "I am sour." }).waitFor();
    await page.getByRole("button", { name: "Instructions" }).last().click();
    await byId(page, "agents").filter({ hasText: "You are <b>sour</b>." }).waitFor();
    await byId(page, "agents-back").click();
    await row(page, "sour").waitFor();
  });

  await check("a person talks to one agent, sees whom, and finds the way back", async () => {
    await byId(row(page, "sweet"), "agent-talk").click();
    await byId(page, "talking-to").filter({ hasText: "You talk to sweet. The main agent does not hear it." }).waitFor();
    await send(page, llm.says("A secret?", "alone"));
    await settled(page);
    assertEqual([notes.chats.at(-1).agent, "agents" in notes.chats.at(-1)], ["sweet", false], "the sent members");
    const answer = byId(page, "message-assistant").last();
    await answer.filter({ hasText: "Only to you." }).waitFor();
    assertEqual(await byId(answer, "answered-by").innerText(), "sweet answers", "who answers");
    await page.reload();
    await settled(page);
    assertEqual(await byId(answer, "answered-by").innerText(), "sweet answers", "who answers, after the reload");
    await byId(page, "talking-to").waitFor();
    await byId(page, "talk-to-main").click();
    await send(page, llm.says("What did I ask?", "main"));
    await settled(page);
    assertEqual([notes.chats.at(-1).agents, "agent" in notes.chats.at(-1)], [true, false], "the sent members");
    assertEqual([await byId(page, "answered-by").count(), await byId(answer, "answered-by").count()], [1, 0], "answers of agents");
  });

  await check("words of the composer open the panel and choose an agent, and are never sent", async () => {
    const sent = notes.chats.length;
    await send(page, "/list");
    await row(page, "sweet").waitFor();
    await send(page, "/talkwith sour");
    await byId(page, "talking-to").filter({ hasText: "sour" }).waitFor();
    await send(page, "/talkwith nobody");
    await page.getByRole("alert").filter({ hasText: "There is no agent nobody" }).waitFor();
    await send(page, "/talkwith main");
    await byId(page, "talking-to").waitFor({ state: "detached" });
    const [download] = await Promise.all([page.waitForEvent("download"), send(page, "/dump sour")]);
    assertEqual(download.suggestedFilename(), "sour.agent.json", "the file");
    assertEqual([notes.chats.length, await byId(page, "composer").inputValue()], [sent, ""], "messages, and the draft");
  });

  await check("an agent is saved as a file, and restored under a free name", async () => {
    await byId(row(page, "sweet"), "agent-open").click();
    const [download] = await Promise.all([page.waitForEvent("download"), byId(page, "agent-save").click()]);
    const file = { name: download.suggestedFilename(), mimeType: "application/json", buffer: await readFile(await download.path()) };
    assertEqual(JSON.parse(file.buffer.toString()).rounds.length, 3, "the rounds in the file");
    await byId(page, "agents-back").click();
    await byId(page, "agent-restore-input").setInputFiles(file);
    await page.getByRole("alert").filter({ hasText: "“sweet” is taken here" }).waitFor();
    assertEqual(await byId(page, "agent-name").inputValue(), "sweet-2", "the suggested name");
    await byId(page, "agent-name").fill("honey");
    await byId(page, "agent-restore-now").click();
    await row(page, "honey").waitFor();
    await byId(page, "agent-restore-input").setInputFiles({ ...file, name: "notes.txt", buffer: Buffer.from("pears") });
    await page.getByRole("alert").filter({ hasText: "“notes.txt” is not a saved agent." }).waitFor();
  });

  await check("an agent ends after a question, also for a reload, and Escape closes the panel", async () => {
    await byId(row(page, "honey"), "agent-talk").click();
    await byId(row(page, "honey"), "agent-open").click();
    await byId(page, "agent-end").click();
    await page.getByRole("group", { name: "End it, with the agents that it made?" }).waitFor();
    await page.keyboard.press("Enter");
    await row(page, "honey").waitFor({ state: "detached" });
    await row(page, "sweet").waitFor();
    assertEqual(await byId(page, "talking-to").count(), 0, "nobody talks to it any more");
    await page.reload();
    await settled(page);
    await byId(page, "agents-toggle").click();
    await row(page, "sweet").waitFor();
    assertEqual(await byId(page, "agent").count(), 3, "the agents after a reload");
    await byId(page, "agents-on-switch").focus();
    await page.keyboard.press("Escape");
    await byId(page, "agents").waitFor({ state: "detached" });
  });
  //
  await check("an exported chat has its agents, which can be restored", async () => {
    const { agents } = await exported(page);
    assertEqual(agents.length, 3, "the agents");
    const sweet = agents.find(({ name }) => name === "sweet");
    assertEqual([sweet.instructions, sweet.rounds.length > 1], ["You are <b>sweet</b>.", true], "an agent");
  });
  await quiet("the agents", notes);
  await context.close();
}

/** The demo's discussion, and the rules of WCAG on every view of agents, in both colour schemes and on a phone. */
export async function critics(browser) {
  for (const { how, options } of LOOKS) await discussing(browser, options, how);
}

async function discussing(browser, options, how) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_DEMO_URL"), options);
  const fits = async (view) => {
    const [drawn, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert(drawn <= width, `${view}: ${drawn} of ${width} pixels`);
  };
  await check(`two critics discuss apples without a key, ${how}`, async () => {
    await page.getByRole("button", { name: "Have two critics discuss apples" }).click();
    await settled(page);
    assertEqual(notes.chats.at(-1).agents, true, "the sent member");
    const speakers = await byId(page, "speech").evaluateAll((all) => all.map(({ dataset }) => `${dataset.speaker} ${dataset.state}`));
    assertEqual(speakers, ["gourmet said", "gardener said", "gourmet said", "gardener said"], "the speeches");
    const live = await discussions(page);
    await page.reload();
    await settled(page);
    assertEqual(await discussions(page), live, "the discussions after a reload");
    await fits("the discussion");
  });
  await clean(page, `a discussion, ${how}`);
  await byId(page, "add").click();
  await clean(page, `the menu of modes with agents, ${how}`);
  await page.keyboard.press("Escape");
  await byId(page, "agents-toggle").click();
  await row(page, "gourmet").waitFor();
  await clean(page, `the list of agents, ${how}`);
  await shot(page, `agents-panel-${how.replace(", ", "-")}`);
  await check(`the instructions of the main agent, ${how}`, async () => {
    await byId(page, "main-prompt").getByRole("button", { name: "Instructions" }).click();
    await byId(page, "main-prompt").getByText("You are Espalier").waitFor();
    await fits("the instructions of the main agent");
  });
  await clean(page, `the instructions of the main agent, ${how}`);
  await byId(page, "main-prompt").getByRole("button", { name: "Instructions" }).click();
  const dump = { name: "gourmet", instructions: "You are a copy." };
  await byId(page, "agent-restore-input").setInputFiles({ name: "a.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(dump)) });
  await byId(page, "agent-name").waitFor();
  await clean(page, `a copy that needs a name, ${how}`);
  await formOfAHook(page, how, fits);
  await byId(row(page, "gourmet"), "agent-open").click();
  await byId(page, "agent-round").nth(1).waitFor();
  await byId(page, "agent-end").click();
  await clean(page, `an agent with a question, ${how}`);
  await fits("an agent");
  await page.keyboard.press("Escape");
  await byId(page, "agent-talk").click();
  await page.keyboard.press("Escape");
  await check(`an agent of the demo answers alone, ${how}`, async () => {
    await send(page, "Do you still like it?");
    await settled(page);
    await byId(page, "message-assistant").last().filter({ hasText: "gourmet answers" }).filter({ hasText: "You ask me alone" }).waitFor();
    await fits("the answer of an agent");
  });
  await clean(page, `talking to an agent, ${how}`);
  await quiet(`agents, ${how}`, notes);
  await context.close();
}

/** The form of a hook: empty, refused, from right to left, and the hook that it makes. */
async function formOfAHook(page, how, fits) {
  await byId(page, "hook-add").click();
  await byId(page, "hook-save").click();
  await byId(page, "hooks").getByRole("alert").waitFor();
  await clean(page, `the form of a hook, ${how}`);
  await fits("the form of a hook");
  await shot(page, `hook-form-${how.replace(", ", "-")}`);
  await byId(page, "hook-name").fill("house");
  await byId(page, "hook-instructions").fill("كن لطيفا.");
  await check(`the form of a hook from right to left, ${how}`, async () => {
    const direction = await byId(page, "hook-instructions").evaluate((box) => getComputedStyle(box).direction);
    assertEqual(direction, "rtl", "the direction of Arabic instructions");
    await page.evaluate(() => (document.documentElement.dir = "rtl"));
    await fits("the form of a hook from right to left");
    await shot(page, `hook-form-rtl-${how.replace(", ", "-")}`);
  });
  await clean(page, `the form of a hook from right to left, ${how}`);
  await page.evaluate(() => document.documentElement.removeAttribute("dir"));
  await byId(page, "hook-save").click();
  await byId(page, "hook").filter({ hasText: "house" }).waitFor();
  await clean(page, `the list of hooks, ${how}`);
  await byId(page, "hook-delete").click();
  await byId(page, "confirm").click();
  // The list becomes shorter, and the panel may scroll: a click must not fall into that.
  await byId(page, "hook").filter({ hasText: "house" }).waitFor({ state: "detached" });
}
