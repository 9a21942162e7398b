// Signing in with an API key and out again, where the service needs a key, as in production.

import { assert, assertEqual, byId, check, env, fakeLlm, send, settled, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const asked = (page) => byId(page, "sign-in").waitFor();
const chatIs = async (page) => {
  await byId(page, "signed-in").waitFor({ state: "attached" });
  await byId(page, "composer").waitFor();
};

/** Manages keys, as an operator does. */
async function operator(method, path, body) {
  const reply = await fetch(new URL(path, env("ESPALIER_CLOSED_URL")), {
    method,
    headers: { authorization: `Bearer ${env("ESPALIER_ADMIN_KEY")}`, "content-type": "application/json" },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  assert(reply.ok, `${method} ${path}: ${reply.status}`);
  return method === "POST" ? reply.json() : null;
}

const mint = (user) => operator("POST", "/api/keys", { name: "Ada’s laptop", ...(user ? { user } : {}) });

async function enter(page, key) {
  await byId(page, "sign-in-key").fill(key);
  await page.keyboard.press("Enter");
}

/** All data in this browser that a script can read. */
const kept = (page) =>
  page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state]));

// Long: one visit, whose checks follow each other.
export async function signIn(browser) {
  const base = env("ESPALIER_CLOSED_URL");
  for (const options of [{ colorScheme: "light" }, { colorScheme: "dark", viewport: { width: 360, height: 740 } }]) {
    const { page, context } = await visit(browser, base, options, asked);
    await enter(page, "espk_wrong");
    await byId(page, "sign-in-problem").filter({ hasText: /./ }).waitFor();
    await clean(page, `signing in, ${options.colorScheme}`);
    await context.close();
  }

  const { page, context, notes } = await visit(browser, base, {}, asked);
  const field = byId(page, "sign-in-key");
  const focused = () => page.evaluate(() => document.activeElement?.dataset.testid);
  await check("a person without a session is asked for an API key", async () => {
    assertEqual(await page.title(), "Sign in · Espalier", "the title");
    assertEqual(await focused(), "sign-in-key", "the focus");
    const attributes = await field.evaluate(({ type, autocomplete, name, labels }) => [type, autocomplete, name, labels[0].textContent]);
    assertEqual(attributes, ["password", "off", "", "API key"], "the field");
  });

  await check("a wrong key is reported in words, and can be corrected at once", async () => {
    for (const [key, words] of [["", "Enter an API key."], [`espk_nobody_${"0".repeat(64)}`, "not valid"]]) {
      await enter(page, key);
      await byId(page, "sign-in-problem").filter({ hasText: words }).waitFor();
      assertEqual(await focused(), "sign-in-key", "the focus");
      assertEqual(await field.getAttribute("aria-invalid"), "true", "the field");
    }
  });

  const llm = fakeLlm();
  await llm.script("", [{ text: "Here I am." }]);
  const ada = await mint(`ada-${crypto.randomUUID()}`);
  await check("a key opens the page, which shows its name and keeps no key", async () => {
    await enter(page, ada.key);
    await chatIs(page);
    await send(page, llm.says("Hello"));
    await settled(page);
    assert((await byId(page, "signed-in").textContent()).includes("Ada’s laptop"), "the key's name");
    assertEqual((await kept(page)).includes("espk_"), false, "the key is kept");
    assertEqual((await page.content()).includes(ada.key), false, "the key is in the page");
    // The session ends below: no request may be under way then.
    const marks = page.waitForResponse((response) => response.url().includes("/api/bookmarks"));
    await page.reload();
    await chatIs(page);
    await byId(page, "message-assistant").filter({ hasText: "Here I am." }).waitFor();
    await marks;
  });

  await check("after the end of a session the page asks for a key again, and keeps the draft", async () => {
    await operator("DELETE", `/api/keys/${ada.prefix}`);
    await send(page, "Half a thought");
    await asked(page);
    await page.getByText("Your session has ended").waitFor();
    const next = await mint(ada.user_id.split(":")[1]);
    await enter(page, next.key);
    await chatIs(page);
    // The same chat, as it was.
    await byId(page, "message-assistant").filter({ hasText: "Here I am." }).waitFor();
    assertEqual(await byId(page, "composer").inputValue(), "Half a thought", "the draft");
  });

  await check("the settings list where one is signed in, and sign another browser out", async () => {
    const { key } = await mint(ada.user_id.split(":")[1]);
    const body = { method: "POST", body: JSON.stringify({ key }), headers: { "content-type": "application/json", "user-agent": "elsewhere/1" } };
    const opened = await fetch(new URL("/api/session", base), body);
    const elsewhere = { headers: { cookie: opened.headers.get("set-cookie").split(";")[0] } };
    const status = async () => (await fetch(new URL("/api/threads", base), elsewhere)).status;
    assertEqual(await status(), 200, "the other browser, before");
    await byId(page, "settings").click();
    const dialog = byId(page, "settings-dialog");
    await dialog.getByRole("button", { name: "Where you are signed in" }).click();
    const rows = byId(page, "session");
    await rows.nth(1).waitFor();
    assertEqual(await rows.filter({ hasText: "This browser" }).count(), 1, "this browser");
    assertEqual(await byId(page, "session-end").count(), 1, "only the other one can be ended here");
    await clean(page, "the list of sessions");
    await byId(rows.filter({ hasText: "elsewhere" }), "session-end").click();
    await byId(page, "confirm").click();
    await rows.filter({ hasText: "elsewhere" }).waitFor({ state: "detached" });
    assertEqual([await rows.count(), await status()], [1, 401], "the other browser, after");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
  });

  await check("an admin reads the audit log in the settings, and others have no such section", async () => {
    const logs = (where) => where.getByRole("button", { name: "Who did what here" });
    await byId(page, "settings").click();
    await byId(page, "settings-dialog").getByRole("button", { name: "Where you are signed in" }).waitFor();
    assertEqual(await logs(page).count(), 0, "for Ada");
    await page.keyboard.press("Escape");
    await byId(page, "settings-dialog").waitFor({ state: "detached" });
    const { key, prefix } = await operator("POST", "/api/keys", { name: "Admin", scopes: ["read", "write", "admin"] });
    const admins = await visit(browser, base, {}, asked);
    await enter(admins.page, key);
    await chatIs(admins.page);
    await byId(admins.page, "settings").click();
    await logs(admins.page).click();
    const entry = byId(admins.page, "audit-entry").filter({ hasText: prefix }).filter({ hasText: "Made a key" });
    await entry.getByText("read write admin").waitFor();
    await clean(admins.page, "the audit log");
    await admins.context.close();
  });

  await check("signing out clears every tab, and a copy of the cookie opens no session", async () => {
    const other = await context.newPage();
    await other.goto(page.url());
    await byId(other, "message-assistant").filter({ hasText: "Here I am." }).waitFor();
    await page.bringToFront();
    const [cookie] = await context.cookies();
    assertEqual([cookie.httpOnly, cookie.sameSite], [true, "Lax"], "the cookie");
    const copy = { headers: { cookie: `${cookie.name}=${cookie.value}` } };
    assertEqual((await fetch(new URL("/api/threads", base), copy)).status, 200, "the copy, before");
    await byId(page, "sign-out").click();
    for (const tab of [page, other]) {
      await asked(tab);
      await tab.waitForURL(new URL("/", base).href);
      await asked(tab);
      assertEqual(await tab.getByText("Here I am.").count(), 0, "the rest of the chat");
      assertEqual((await kept(tab)).includes("Half a thought"), false, "the rest of the draft");
    }
    assertEqual(await context.cookies(), [], "cookies");
    assertEqual((await fetch(new URL("/api/threads", base), copy)).status, 401, "the copy, after");
    await page.goBack();
    await asked(page);
    await other.close();
  });

  await check("another user gets a page of their own", async () => {
    const bob = await mint();
    await page.goto(base);
    await asked(page);
    await enter(page, bob.key);
    await chatIs(page);
    await byId(page, "composer").fill("Bob's draft");
    await operator("DELETE", `/api/keys/${bob.prefix}`);
    await page.keyboard.press("Enter");
    await asked(page);
    await enter(page, (await mint()).key);
    await chatIs(page);
    assertEqual(await byId(page, "composer").inputValue(), "", "the draft");
  });

  await check("the console has only refusals, and the page sends requests to the service alone", async () => {
    const others = notes.complaints.filter((complaint) => !complaint.includes("status of 401"));
    assertEqual(others, [], "the console");
    assertEqual(notes.foreign, [], "requests to others");
  });
  await context.close();
}
