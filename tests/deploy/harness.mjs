// Runs `scripts/deploy`, and the scripts of the API keys, in a copy of their folder, against the wrangler that `fake/` plays.
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

export const EMPTY = { accounts: [{ id: "a1", name: "Ada" }], databases: [], buckets: [], indexes: {}, secrets: null };

export const FULL = {
  ...EMPTY,
  databases: ["another", "espalier"],
  buckets: ["another", "espalier-workspace"],
  secrets: ["SESSION_SECRET"],
};

/** The lookups that each run begins with. */
export const LOOKUPS = ["whoami --json", "d1 list --json", "r2 bucket list", "secret list --env production"];
/** The steps that each run repeats. */
export const SHIP = ["d1 migrations apply DB --remote --env production", "deploy --env production"];

/**
 * A checkout with this account. `toml` edits the configuration, `variables` join [env.production.vars]. `deploy` runs
 * that script once more, in the same place; `run` any script.
 */
export function checkout(test, account, { toml = (text) => text, variables = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), "deploy-"));
  test.after(() => rmSync(folder, { recursive: true }));
  for (const file of ["package.json", "scripts/deploy", "scripts/deployment-needs.mjs", "scripts/keys", "scripts/make-key"]) {
    mkdirSync(join(folder, "scripts"), { recursive: true });
    cpSync(join(ROOT, file), join(folder, file));
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const lines = Object.entries(variables).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  const production = /\[env\.production\.vars\]\n/;
  let config = toml(readFileSync(join(ROOT, "wrangler.toml"), "utf8"));
  for (const name of Object.keys(variables)) {
    config = config.replace(new RegExp(`(\\[env\\.production\\.vars\\]\\n(?:.*\\n)*?)${name} = .*\\n`), "$1");
  }
  writeFileSync(join(folder, "wrangler.toml"), config.replace(production, `$&${lines.join("\n")}\n`));
  const at = { folder, account: (next) => writeFileSync(join(folder, "account.json"), JSON.stringify(next)) };
  at.account(account);
  at.read = () => JSON.parse(readFileSync(join(folder, "account.json"), "utf8"));
  at.run = (script, env = {}, answers) => run(folder, script, env, answers);
  at.deploy = (env, answers) => at.run("scripts/deploy", env, answers);
  at.build = () => {
    for (const file of ["build/index.js", "web/dist/index.html"]) {
      mkdirSync(join(folder, file, ".."), { recursive: true });
      writeFileSync(join(folder, file), "");
    }
  };
  return at;
}

/** Runs a script, in a terminal if there are answers to type. Returns its status, output and calls of wrangler. */
function run(folder, file, env, answers) {
  const log = join(folder, "calls.jsonl");
  rmSync(log, { force: true });
  const path = [join(ROOT, "tests/deploy/fake"), process.env.PATH].join(delimiter);
  const script = join(folder, file);
  const command = answers
    ? ["python3", join(ROOT, "tests/deploy/terminal.py"), ...answers, "--", script]
    : [script];
  const clean = { PATH: path, HOME: folder, FAKE_WRANGLER: folder, ...env };
  return new Promise((resolve) => {
    const child = execFile(command[0], command.slice(1), { env: clean }, (error, stdout, stderr) => {
      const text = existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : [];
      const records = text.map((line) => JSON.parse(line));
      const calls = records.map(({ command }) => command);
      const input = records.map(({ input }) => input).filter(Boolean);
      resolve({ status: error ? error.code : 0, out: stdout, err: stderr, calls, input });
    });
    child.stdin.end();
  });
}

/** The commands that a dry run printed. */
export const shown = (out) =>
  [...out.matchAll(/^ {4}wrangler (.*?)(?: {3}\(.*)?$/gm)].map(([, command]) => command);
