// `make deploy` against accounts in each state. Every test compares the whole list of wrangler's calls.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { checkout, EMPTY, FULL, LOOKUPS, SHIP, shown } from "./harness.mjs";

const YES = { YES: "1" };
const DATABASE = "d1 create espalier --update-config=false";
const BUCKET = "r2 bucket create espalier-workspace --update-config=false";
const SECRETS = "secret bulk --env production";
/** A provider whose key the operator has. */
const OPENAI = { variables: { LLM_PROVIDER: "openai", LLM_MODEL: "gpt-6-luna" } };
const KEY = "sk-a-real-key";

const made = (run) => JSON.parse(run.input[0]).SESSION_SECRET;

/** No output and no argument has the value. */
function isHidden(value, { out, err, calls }) {
  assert.ok(value.length > 0);
  for (const text of [out, err, ...calls]) assert.ok(!text.includes(value), text);
}

describe("deploy", { concurrency: 3 }, () => {
  test("an empty account gets all of it, and a second run touches nothing that exists", async (t) => {
    const at = checkout(t, EMPTY);
    const first = await at.deploy(YES);
    assert.deepEqual(first.calls, [...LOOKUPS, DATABASE, BUCKET, ...SHIP, SECRETS], first.err);
    assert.equal(first.status, 0);
    assert.match(made(first), /^[0-9a-f]{64}$/);
    isHidden(made(first), first);
    assert.equal(
      first.out,
      `Looking at your Cloudflare account.
Missing in your account:
  the database espalier
  the bucket espalier-workspace
  the secret SESSION_SECRET, which this command makes
Creating the database espalier.
Creating the bucket espalier-workspace.
Applying the migrations.
migrated
Deploying.
Storing the secrets SESSION_SECRET.
Deployed. Closed until somebody has a key: make key REMOTE=1. Then open the page and sign in with it.
`,
    );
    const before = at.read();
    const second = await at.deploy();
    assert.deepEqual([second.status, second.calls], [0, [...LOOKUPS, ...SHIP]]);
    assert.deepEqual(at.read(), before);
  });

  test("a dry run prints the commands of an empty account, and runs none", async (t) => {
    const at = checkout(t, { ...EMPTY, accounts: null }, OPENAI);
    const dry = await at.deploy({ DRY: "1", LLM_API_KEY: KEY });
    assert.deepEqual([dry.status, dry.calls], [0, []]);
    isHidden(KEY, dry);
    assert.match(dry.out, /SESSION_SECRET: 64 random digits, LLM_API_KEY: yours/);
    at.account(EMPTY);
    const real = await at.deploy({ ...YES, LLM_API_KEY: KEY });
    assert.deepEqual(shown(dry.out), real.calls);
  });

  test("a dry run tries the upload of what is built", async (t) => {
    const at = checkout(t, { ...EMPTY, accounts: null });
    at.build();
    const dry = await at.deploy({ DRY: "1" });
    assert.deepEqual([dry.status, dry.calls], [0, ["deploy --dry-run --env production"]]);
    at.account({ ...EMPTY, refuses: { "deploy --dry-run": "too large" } });
    const refused = await at.deploy({ DRY: "1" });
    assert.equal(refused.status, 1);
    assert.match(refused.err, /make deploy: wrangler refuses the build/);
  });

  test("half of it is there: the rest is created", async (t) => {
    const rows = [
      [{ ...FULL, buckets: ["espalier"] }, [BUCKET, ...SHIP]],
      [{ ...FULL, databases: ["espalier-2"] }, [DATABASE, ...SHIP]],
      [{ ...FULL, secrets: [] }, [...SHIP, SECRETS]],
      [{ ...EMPTY, databases: ["espalier"] }, [BUCKET, ...SHIP, SECRETS]],
    ];
    for (const [account, rest] of rows) {
      const run = await checkout(t, account).deploy(YES);
      assert.deepEqual([run.status, run.calls], [0, [...LOOKUPS, ...rest]]);
    }
  });

  test("a database with an id in the configuration is neither looked for nor created", async (t) => {
    const toml = (text) => text.replace(/(\[\[env\.production\.d1_databases\]\]\n)/, '$1database_id = "an-id"\n');
    const run = await checkout(t, { ...FULL, databases: [] }, { toml }).deploy();
    const lookups = LOOKUPS.filter((command) => !command.startsWith("d1"));
    assert.deepEqual([run.status, run.calls], [0, [...lookups, ...SHIP]]);
  });

  test("a bucket that the list left out is there all the same", async (t) => {
    const account = { ...FULL, buckets: [], refuses: { "r2 bucket create": "You own it. [code: 10004]" } };
    const run = await checkout(t, account).deploy(YES);
    assert.deepEqual([run.status, run.calls], [0, [...LOOKUPS, BUCKET, ...SHIP]]);
  });

  test("without a login it stops at once", async (t) => {
    const run = await checkout(t, { ...EMPTY, accounts: null }).deploy(YES);
    assert.deepEqual([run.status, run.calls], [1, ["whoami --json"]]);
    assert.equal(
      run.err,
      "make deploy: not logged in to Cloudflare. Run: node_modules/.bin/wrangler login   (or set " +
        "CLOUDFLARE_API_TOKEN)\nYou can repeat it: what exists stays as it is.\n",
    );
  });

  test("with several accounts it wants to know which", async (t) => {
    const accounts = [{ id: "a1", name: "Ada" }, { id: "b2", name: "Babbage & Co." }];
    const at = checkout(t, { ...FULL, accounts });
    const run = await at.deploy();
    assert.deepEqual([run.status, run.calls], [1, ["whoami --json"]]);
    assert.match(run.err, /accounts\. Set CLOUDFLARE_ACCOUNT_ID .*:\n {4}a1 {2}Ada\n {4}b2 {2}Babbage & Co\.\n/);
    assert.equal((await at.deploy({ CLOUDFLARE_ACCOUNT_ID: "b2" })).status, 0);
  });

  test("each failure stops it with wrangler's words, and a repetition goes on from there", async (t) => {
    const all = [...LOOKUPS, DATABASE, BUCKET, ...SHIP, SECRETS];
    // A repetition looks again, creates what is still missing, and ships again.
    const rows = [
      ["whoami", "could not look for your login", [...LOOKUPS, DATABASE, BUCKET, ...SHIP, SECRETS]],
      ["d1 list", "could not look for databases", [...LOOKUPS, DATABASE, BUCKET, ...SHIP, SECRETS]],
      ["r2 bucket list", "could not look for buckets", [...LOOKUPS, DATABASE, BUCKET, ...SHIP, SECRETS]],
      ["secret list", "could not look for secrets", [...LOOKUPS, DATABASE, BUCKET, ...SHIP, SECRETS]],
      ["d1 create", "failed: creating the database espalier", [...LOOKUPS, DATABASE, BUCKET, ...SHIP, SECRETS]],
      ["r2 bucket create", "failed: creating the bucket", [...LOOKUPS, BUCKET, ...SHIP, SECRETS]],
      ["d1 migrations", "failed: applying the migrations", [...LOOKUPS, ...SHIP, SECRETS]],
      ["deploy", "failed: deploying", [...LOOKUPS, ...SHIP, SECRETS]],
      ["secret bulk", "failed: storing the secrets SESSION_SECRET", [...LOOKUPS, ...SHIP, SECRETS]],
    ];
    for (const [command, says, rest] of rows) {
      const at = checkout(t, { ...EMPTY, refuses: { [command]: "the reason" } });
      const run = await at.deploy(YES);
      const until = all.findIndex((call) => call.startsWith(command)) + 1;
      assert.deepEqual([run.status, run.calls], [1, all.slice(0, until)], command);
      assert.ok(run.err.includes(`make deploy: ${says}`), run.err);
      assert.ok(run.err.includes("the reason"), run.err);
      // The fake repeats its standard input here.
      if (run.input.length) isHidden(made(run), run);
      at.account({ ...at.read(), refuses: {} });
      const again = await at.deploy(YES);
      assert.deepEqual([again.status, again.calls], [0, rest], command);
    }
  });

  test("where nobody can be asked it creates nothing without YES=1", async (t) => {
    const run = await checkout(t, EMPTY).deploy();
    assert.deepEqual([run.status, run.calls], [1, LOOKUPS]);
    assert.match(run.err, /make deploy: nobody to ask here\. To create these, run it again with YES=1\./);
  });

  test("0 and nothing switch DRY and YES off, and another word is refused", async (t) => {
    for (const off of ["0", ""]) {
      const asks = await checkout(t, EMPTY).deploy({ YES: off });
      assert.deepEqual([asks.status, asks.calls], [1, LOOKUPS]);
      assert.match(asks.err, /nobody to ask here/);
      const real = await checkout(t, FULL).deploy({ DRY: off });
      assert.deepEqual([real.status, real.calls], [0, [...LOOKUPS, ...SHIP]]);
    }
    for (const name of ["DRY", "YES"]) {
      const run = await checkout(t, FULL).deploy({ [name]: "true" });
      assert.deepEqual([run.status, run.calls], [1, []]);
      assert.ok(run.err.includes(`make deploy: ${name} is 1 or 0. Nothing was created.`), run.err);
    }
  });

  test("a provider's key comes from the environment", async (t) => {
    const at = checkout(t, { ...FULL, databases: [] }, OPENAI);
    const without = await at.deploy(YES);
    assert.deepEqual([without.status, without.calls], [1, LOOKUPS]);
    assert.match(without.err, /LLM_API_KEY is missing, .* environment: LLM_API_KEY=… make deploy/);
    const empty = await at.deploy({ ...YES, LLM_API_KEY: " " });
    assert.deepEqual([empty.status, empty.calls], [1, LOOKUPS]);
    const run = await at.deploy({ ...YES, LLM_API_KEY: `${KEY}\n` });
    assert.deepEqual([run.status, run.calls], [0, [...LOOKUPS, DATABASE, ...SHIP, SECRETS]]);
    assert.deepEqual(run.input, [JSON.stringify({ LLM_API_KEY: KEY })]);
    isHidden(KEY, run);
    // The stored one stays, whatever the environment says.
    const again = await at.deploy({ ...YES, LLM_API_KEY: "another" });
    assert.deepEqual([again.status, again.calls], [0, [...LOOKUPS, ...SHIP]]);
  });

  test("the provider's own key serves as well, and keeps its name", async (t) => {
    const at = checkout(t, FULL, OPENAI);
    const run = await at.deploy({ ...YES, OPENAI_API_KEY: KEY });
    assert.deepEqual([run.status, run.calls], [0, [...LOOKUPS, ...SHIP, SECRETS]], run.err);
    assert.match(run.out, /the secret LLM_API_KEY or OPENAI_API_KEY, which you have\n/);
    assert.deepEqual(run.input, [JSON.stringify({ OPENAI_API_KEY: KEY })]);
    isHidden(KEY, run);
    const again = await at.deploy(YES);
    assert.deepEqual([again.status, again.calls], [0, [...LOOKUPS, ...SHIP]], again.err);
    // LLM_API_KEY wins, as in the Worker.
    const both = await checkout(t, FULL, OPENAI).deploy({ ...YES, OPENAI_API_KEY: "another", LLM_API_KEY: KEY });
    assert.deepEqual(both.input, [JSON.stringify({ LLM_API_KEY: KEY })]);
    // Another server does not get it.
    const variables = { ...OPENAI.variables, LLM_BASE_URL: "https://models.example/v1" };
    const other = await checkout(t, FULL, { variables }).deploy({ ...YES, OPENAI_API_KEY: KEY });
    assert.deepEqual([other.status, other.calls], [0, [...LOOKUPS, ...SHIP]]);
  });

  test("a key that may be absent stops nothing", async (t) => {
    const variables = { ...OPENAI.variables, LLM_BASE_URL: "https://models.example/v1" };
    // A terminal is not asked either where nothing else is missing: a repetition goes through.
    for (const answers of [undefined, []]) {
      const run = await checkout(t, FULL, { variables }).deploy({}, answers);
      assert.deepEqual([run.status, run.calls], [0, [...LOOKUPS, ...SHIP]], run.out);
      assert.match(run.out, /No LLM_API_KEY\. If the server needs it: LLM_API_KEY=… make deploy\r?\n/);
    }
  });

  test("the secret of an identity provider comes from the environment", async (t) => {
    const OIDC = [{ id: "acme", client_id: "espalier", client_secret_secret: "ACME_CLIENT_SECRET" }];
    const tables = `[[env.production.vars.OIDC]]\n${Object.entries(OIDC[0])
      .map(([name, value]) => `${name} = "${value}"\n`)
      .join("")}`;
    const rows = [{ variables: { OIDC: JSON.stringify(OIDC) } }, { toml: (text) => `${text}\n${tables}` }];
    for (const options of rows) {
      const at = checkout(t, FULL, options);
      const without = await at.deploy(YES);
      assert.deepEqual([without.status, without.calls], [1, LOOKUPS], without.err);
      assert.match(without.err, /ACME_CLIENT_SECRET is missing/);
      const run = await at.deploy({ ...YES, ACME_CLIENT_SECRET: KEY });
      assert.deepEqual([run.status, run.calls], [0, [...LOOKUPS, ...SHIP, SECRETS]]);
      assert.deepEqual(run.input, [JSON.stringify({ ACME_CLIENT_SECRET: KEY })]);
    }
  });

  test("in a terminal it asks once, and for the key without an echo", async (t) => {
    const at = checkout(t, EMPTY, OPENAI);
    const run = await at.deploy({}, ["Create them?=y", `LLM_API_KEY (not shown=${KEY}`]);
    assert.deepEqual([run.status, run.calls], [0, [...LOOKUPS, DATABASE, BUCKET, ...SHIP, SECRETS]], run.out);
    assert.deepEqual(Object.keys(JSON.parse(run.input[0])), ["SESSION_SECRET", "LLM_API_KEY"]);
    assert.equal(JSON.parse(run.input[0]).LLM_API_KEY, KEY);
    isHidden(KEY, run);
    isHidden(made(run), run);
    assert.equal(run.out.match(/\?/g).length, 1);
  });

  test("in a terminal a no, an empty key and Ctrl-C at the key create nothing", async (t) => {
    const rows = [
      [["Create them?=n"], "stopped. Nothing was created."],
      [["Create them?=", "LLM_API_KEY (not shown="], "LLM_API_KEY is empty. Nothing was created."],
      [["Create them?=", "LLM_API_KEY (not shown=\x03"], "stopped. Nothing was created."],
    ];
    for (const [answers, says] of rows) {
      const run = await checkout(t, EMPTY, OPENAI).deploy({}, answers);
      assert.deepEqual([run.status, run.calls], [1, LOOKUPS], run.out);
      assert.ok(run.out.includes(`make deploy: ${says}`), run.out);
    }
  });

  test("an index of vectors has the model's dimensions and a filter by scope", async (t) => {
    const toml = (text) => `${text}\n[[env.production.vectorize]]\nbinding = "VECTORS"\nindex_name = "espalier"\n`;
    const options = { toml, variables: { EMBEDDING_MODEL: "@cf/baai/bge-m3" } };
    const [secrets, ...before] = [LOOKUPS.at(-1), ...LOOKUPS.slice(0, -1), "vectorize list --json"];
    const index = "vectorize create espalier --dimensions=1024 --metric=cosine --update-config=false";
    const filter = "vectorize create-metadata-index espalier --propertyName=scope --type=string";
    const filters = "vectorize list-metadata-index espalier --json";
    const rows = [
      [{}, [...before, secrets, index, filter, ...SHIP]],
      [{ espalier: [] }, [...before, filters, secrets, filter, ...SHIP]],
      [{ espalier: ["scope"] }, [...before, filters, secrets, ...SHIP]],
    ];
    for (const [indexes, calls] of rows) {
      const run = await checkout(t, { ...FULL, indexes }, options).deploy(YES);
      assert.deepEqual([run.status, run.calls], [0, calls], run.err);
    }
    const unknown = { toml, variables: { EMBEDDING_MODEL: "@cf/new/model" } };
    const run = await checkout(t, FULL, unknown).deploy(YES);
    assert.deepEqual([run.status, run.calls], [1, before]);
    assert.match(run.err, /dimensions are those of EMBEDDING_MODEL \(@cf\/new\/model\), which this command does not/);
  });
});
