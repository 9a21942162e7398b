// The page in a real browser, from the first question to the deleted chat.
//
//   e2e -- node tests/browser/page.mjs [SUITE…] [--update-screenshots]
//
// N-003 N-014 N-117 N-121 N-128 N-132 N-133 N-134 N-206 N-220 N-222

import { finish, launch } from "./harness.mjs";
import { access } from "./suites/access.mjs";
import { approvals } from "./suites/approvals.mjs";
import { budget } from "./suites/budget.mjs";
import { editing } from "./suites/editing.mjs";
import { collections } from "./suites/collections.mjs";
import { files } from "./suites/files.mjs";
import { demo, narrow } from "./suites/first.mjs";
import { keys, models, themes } from "./suites/keys.mjs";
import { lines } from "./suites/lines.mjs";
import { media } from "./suites/media.mjs";
import { memory } from "./suites/memory.mjs";
import { pictures } from "./suites/pictures.mjs";
import { plans } from "./suites/plans.mjs";
import { projects } from "./suites/projects.mjs";
import { safety } from "./suites/safety.mjs";
import { scale } from "./suites/scale.mjs";
import { signIn } from "./suites/sign_in.mjs";
import { swarm } from "./suites/swarm.mjs";
import { tabs } from "./suites/tabs.mjs";
import { chats, finding } from "./suites/threads.mjs";
import { tree } from "./suites/tree.mjs";
import { nesting, stopping, streaming } from "./suites/turns.mjs";

const SUITES = {
  demo, streaming, nesting, stopping, tree, budget, approvals, editing, media, files, memory, collections, plans, projects, swarm, chats, finding, tabs, lines, keys, themes, models, narrow, access,
  safety, scale, sign_in: signIn,
};

const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const browser = await launch();
try {
  for (const [name, suite] of Object.entries(SUITES)) {
    if (named.length === 0 || named.includes(name)) await suite(browser);
  }
  if (process.argv.includes("--update-screenshots")) await pictures(browser);
} finally {
  await browser.close();
}
finish();
