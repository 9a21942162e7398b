// Lighthouse's scores for the first screen, on a desktop and on a phone: each must be at least 95.
//
//   e2e -- node tests/browser/lighthouse.mjs
//
// npx fetches Lighthouse, which is large and only needed here. target/e2e keeps the reports.

import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { env } from "./harness.mjs";

const LIGHTHOUSE = "lighthouse@13.5.0";
const CATEGORIES = ["performance", "accessibility", "best-practices"];
const LEAST = 95;
const FOLDER = "target/e2e";

mkdirSync(FOLDER, { recursive: true });
const { CHROMIUM_BIN } = process.env;
for (const [device, preset] of Object.entries({ desk: ["--preset=desktop"], phone: [] })) {
  const report = `${FOLDER}/lighthouse-${device}`;
  const { status } = spawnSync(
    "npx",
    [
      "--yes", LIGHTHOUSE, env("ESPALIER_DEMO_URL"), ...preset, "--quiet", `--only-categories=${CATEGORIES}`,
      "--output=json", "--output=html", `--output-path=${report}`, "--chrome-flags=--headless=new --no-sandbox --disable-gpu",
    ],
    { stdio: "inherit", env: { ...process.env, ...(CHROMIUM_BIN ? { CHROME_PATH: CHROMIUM_BIN } : {}) } },
  );
  if (status !== 0) throw new Error(`Lighthouse ended with ${status}`);
  const { categories, audits } = JSON.parse(readFileSync(`${report}.report.json`, "utf8"));
  const marks = CATEGORIES.map((category) => [category, Math.round(100 * (categories[category].score ?? 0))]);
  console.log(`${device}: ${marks.map((mark) => mark.join(" ")).join(", ")}`);
  for (const [category, mark] of marks) {
    if (mark >= LEAST) continue;
    process.exitCode = 1;
    const bad = categories[category].auditRefs.map(({ id }) => audits[id]).filter(({ score }) => score !== null && score < 0.9);
    for (const { title, displayValue } of bad) console.log(`  ${category}: ${title}${displayValue ? ` (${displayValue})` : ""}`);
  }
}
