// The page in a real browser, from the first question to the deleted chat.
//
//   e2e -- node tests/browser/page.mjs [SUITE…] [--update-screenshots]
//
// N-003 N-014 N-117 N-121 N-128 N-132 N-133 N-134 N-206 N-220 N-222

import { finish, launch, report } from "./harness.mjs";
import { access } from "./suites/access.mjs";
import { account } from "./suites/account.mjs";
import { agents, critics } from "./suites/agents.mjs";
import { approvals } from "./suites/approvals.mjs";
import { bookmarks } from "./suites/bookmarks.mjs";
import { budget } from "./suites/budget.mjs";
import { editing } from "./suites/editing.mjs";
import { early, errors } from "./suites/errors.mjs";
import { examples } from "./suites/examples.mjs";
import { collections } from "./suites/collections.mjs";
import { files } from "./suites/files.mjs";
import { demo, grown, narrow } from "./suites/first.mjs";
import { find } from "./suites/find.mjs";
import { forms } from "./suites/forms.mjs";
import { hooks } from "./suites/hooks.mjs";
import { instructions } from "./suites/instructions.mjs";
import { keys, models, themes, touch } from "./suites/keys.mjs";
import { limits } from "./suites/limits.mjs";
import { lines } from "./suites/lines.mjs";
import { math } from "./suites/math.mjs";
import { media } from "./suites/media.mjs";
import { memory } from "./suites/memory.mjs";
import { pictures } from "./suites/pictures.mjs";
import { print } from "./suites/print.mjs";
import { plans } from "./suites/plans.mjs";
import { projects } from "./suites/projects.mjs";
import { notified, queue, sending } from "./suites/queue.mjs";
import { reload } from "./suites/reload.mjs";
import { rtl } from "./suites/rtl.mjs";
import { safety } from "./suites/safety.mjs";
import { scale } from "./suites/scale.mjs";
import { providers } from "./suites/providers.mjs";
import { shares } from "./suites/shares.mjs";
import { signIn } from "./suites/sign_in.mjs";
import { swarm } from "./suites/swarm.mjs";
import { states, tabs } from "./suites/tabs.mjs";
import { chats, finding } from "./suites/threads.mjs";
import { folding, tree } from "./suites/tree.mjs";
import { nesting, stopping, streaming } from "./suites/turns.mjs";
import { versions } from "./suites/versions.mjs";
import { websearch } from "./suites/websearch.mjs";
import { workflowViews } from "./suites/workflow_views.mjs";
import { workflows } from "./suites/workflows.mjs";

// The longest first, so that no lane ends long after the others.
const SUITES = {
  safety, access, workflow_views: workflowViews, critics, agents, websearch, workflows, plans, budget, approvals, forms, limits, demo, streaming, nesting, stopping, tree, folding, editing, versions, errors, early, math, rtl, media, files, memory, instructions, account, shares, bookmarks,
  collections, projects, hooks, queue, sending, notified, reload, swarm, chats, finding, print, find, tabs, states, lines, examples, keys, touch, themes, models, narrow, grown, sign_in: signIn, providers, scale,
};

/** Suites that measure how fast the page is: they run alone. */
const MEASURING = ["scale"];
/** Suites at once. They mostly wait for the page; each lane has a browser, because a browser has one clipboard. */
const LANES = 3;

async function lane(queue) {
  const browser = await launch();
  try {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const [name, suite] = next;
      await report(name, () => suite(browser));
    }
  } finally {
    await browser.close();
  }
}

const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const wanted = Object.entries(SUITES).filter(([name]) => named.length === 0 || named.includes(name));
const together = wanted.filter(([name]) => !MEASURING.includes(name));
const lanes = Math.min(LANES, together.length);
await Promise.all(Array.from({ length: lanes }, () => lane(together)));
await lane(wanted.filter(([name]) => MEASURING.includes(name)));
if (process.argv.includes("--update-screenshots")) await lane([["pictures", pictures]]);
finish();
