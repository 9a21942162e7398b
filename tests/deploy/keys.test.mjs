// `make key`, `make keys` and `make revoke`: which database they write to.
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { checkout, FULL } from "./harness.mjs";

const LOCAL = "d1 execute DB --local --yes --command ";
const PRODUCTION = "d1 execute DB --remote --env production --yes --command ";

describe("keys", { concurrency: 3 }, () => {
  for (const [script, env] of [
    ["scripts/make-key", {}],
    ["scripts/keys", {}],
    ["scripts/keys", { PREFIX: "0a1b2c" }],
  ]) {
    test(`${script} ${JSON.stringify(env)} goes to production with REMOTE=1 alone`, async (t) => {
      const at = checkout(t, FULL);
      for (const [remote, begin] of [[{}, LOCAL], [{ REMOTE: "" }, LOCAL], [{ REMOTE: "0" }, LOCAL], [{ REMOTE: "1" }, PRODUCTION]]) {
        const run = await at.run(script, { ...env, ...remote });
        assert.deepEqual([run.status, run.calls.length], [0, 1], run.err);
        assert.ok(run.calls[0].startsWith(begin), run.calls[0]);
      }
      const refused = await at.run(script, { ...env, REMOTE: "true" });
      assert.deepEqual([refused.status, refused.calls], [2, []]);
      assert.match(refused.err, /REMOTE is 1, for production, or 0/);
    });
  }
});
