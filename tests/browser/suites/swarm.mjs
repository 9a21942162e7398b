// A swarm, whose events differ from those of a plan, leads to the same checklist, live and stored.

import { assertEqual, byId, cards, check, env, fakeLlm, openAll, quiet, send, settled, visit } from "../harness.mjs";
import { checklist, choose, planned } from "./plans.mjs";

// S-035 S-036 S-037 S-038 S-039 S-040 S-041 S-042 S-056
export async function swarm(browser) {
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const step = (number) => byId(page, "plan").last().locator('[data-testid="plan-step"]').nth(number - 1);
  const held = (llm) => ({ name: llm.barrier("hold"), after: 1 });

  const llm = fakeLlm();
  // The planner gets the message itself. The root runs after the plan.
  await llm.script("", [planned(llm, [["look", "Look into <b>the handbook</b>"], ["reckon", "Reckon the days"], ["ask", "Ask the neighbours"]]), { text: "Conference, until March." }]);
  await llm.script("look", [{ text: "It keeps 18 weeks." }]);
  await llm.script("reckon", [{ calls: [{ name: "calculate", arguments: { expression: "18 * 7" } }] }, { text: ["126 ", "days."], barrier: held(llm) }]);
  await llm.script("ask", [{ status: { code: 400 } }]);

  await check("a swarm's plan is a numbered list, with the running step marked and its calls below it", async () => {
    await choose(page, "swarm");
    await send(page, llm.says("Which pears keep?"));
    await step(2).getByTestId("step-activity").filter({ hasText: /^> calculate: 18 \* 7$/ }).waitFor();
    assertEqual(await checklist(page), ["[x] 1. Look into <b>the handbook</b>", "[>] 2. Reckon the days", "[ ] 3. Ask the neighbours"], "the checklist");
    assertEqual([await step(1).locator(".spinner").count(), await step(2).locator(".spinner").count()], [0, 1], "spinners");
    assertEqual([notes.chats.at(-1).mode_profile, "chat_context" in notes.chats.at(-1)], ["swarm", false], "the sent mode");
    await page.locator('[data-testid="status-chip"][data-state="plan"]').filter({ hasText: "step 2 of 3" }).waitFor();
  });

  await check("a swarm's result is shown once, and is the same after a reload", async () => {
    await llm.release("hold");
    await settled(page);
    const list = await checklist(page);
    assertEqual(list, ["[x] 1. Look into <b>the handbook</b>", "[x] 2. Reckon the days", "[!] 3. Ask the neighbours"], "the checklist");
    assertEqual(await byId(page, "message-assistant").getByText("Conference, until March.").count(), 1, "how often the result is told");
    const [progress, words] = [await byId(page, "plan-progress").innerText(), await byId(page, "step-result").allInnerTexts()];
    await openAll(page);
    const live = await cards(page);
    const shape = live.map(({ name, depth }) => `${depth} ${name}`);
    assertEqual(shape, ["0 agent_create_plan", "1 plan_step", "1 plan_step", "2 calculate", "1 plan_step"], "the cards");
    await page.reload();
    await settled(page);
    assertEqual(await checklist(page), list, "the checklist after the reload");
    assertEqual([await byId(page, "plan-progress").innerText(), await byId(page, "step-result").allInnerTexts()], [progress, words], "the results after the reload");
    await openAll(page);
    assertEqual(await cards(page), live, "the cards after the reload");
  });

  const endless = fakeLlm();
  await endless.script("", [planned(endless, [["dig", "Dig"], ["plant", "Plant"]])]);
  await endless.script("dig", [{ text: "I dig and dig", hang: true }]);
  await check("a running swarm can be stopped, and then no step runs", async () => {
    await send(page, endless.says("Plant a fig"));
    await byId(page, "plan-stop").click();
    await endless.aborted("dig");
    await page.locator('[data-testid="turn-error"][data-code="cancelled"]').waitFor();
    await settled(page);
    assertEqual(await checklist(page), ["[!] 1. Dig", "[-] 2. Plant"], "the checklist");
    await page.reload();
    await settled(page);
    assertEqual(await checklist(page), ["[!] 1. Dig", "[-] 2. Plant"], "the checklist after the reload");
  });
  await quiet("a swarm", notes);
  await context.close();
}
