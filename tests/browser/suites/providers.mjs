// Signing in at an identity provider, through the pages of a real one (`oidc-provider`), and out again.

import { assert, assertEqual, byId, check, env, fakeLlm, send, settled, visit } from "../harness.mjs";
import { clean } from "./access.mjs";

const asked = (page) => byId(page, "sign-in").waitFor();
const button = (page, name) => page.getByRole("button", { name: `Sign in with ${name}`, exact: true });
const chatIs = async (page) => {
  await byId(page, "signed-in").waitFor({ state: "attached" });
  await byId(page, "composer").waitFor();
};

/** Fills in the provider's page. */
async function signInThere(page, login) {
  await page.locator('input[name="login"]').fill(login);
  await page.locator('input[name="password"]').fill("any");
  await page.locator('button[type="submit"], input[type="submit"]').first().click();
}

// Long: one visit, whose checks follow each other.
export async function providers(browser) {
  const base = env("ESPALIER_CLOSED_URL");
  const { page, context } = await visit(browser, base, {}, asked);
  const complaints = [];
  page.on("console", (message) => {
    // The provider's pages ask for fonts, and for an icon that it lacks.
    const isOurs = message.location().url.startsWith(base);
    if (isOurs && ["error", "warning"].includes(message.type())) complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  const ada = `ada-${crypto.randomUUID()}`;

  await check("the page has a button for each identity provider", async () => {
    assertEqual(await byId(page, "sign-in-at").allTextContents(), ["Fake ID", "Example ID", "Liar ID", "Down ID"].map((name) => `Sign in with ${name}`), "the buttons");
    await page.getByText("Choose how to sign in.").waitFor();
    await byId(page, "sign-in-key").waitFor();
    await clean(page, "the identity providers");
  });

  await check("a provider that cannot be reached is reported in words", async () => {
    await button(page, "Down ID").click();
    await byId(page, "sign-in-at-problem").filter({ hasText: "could not be checked" }).waitFor();
  });

  await check("somebody who cancels at the provider is back, and hears why", async () => {
    await button(page, "Example ID").click();
    await page.getByRole("link", { name: "Cancel" }).click();
    await asked(page);
    await byId(page, "sign-in-at-problem").filter({ hasText: "you cancelled" }).waitFor();
    assertEqual(page.url(), new URL("/", base).href, "the address");
  });

  const llm = fakeLlm();
  await llm.script("", [{ text: "Here I am." }]);
  await check("the provider's page leads into the chat, which names the provider", async () => {
    await button(page, "Example ID").click();
    await signInThere(page, ada);
    await chatIs(page);
    await send(page, llm.says("Hello"));
    await settled(page);
    const signedIn = byId(page, "signed-in");
    assert((await signedIn.textContent()).includes("Example ID"), "the provider");
    assertEqual(await signedIn.locator("[title]").getAttribute("title"), `real:${ada}`, "the user");
    const cookies = await context.cookies(base);
    assertEqual(cookies.filter(({ name }) => name.startsWith("espalier")).map(({ name, httpOnly, sameSite }) => [name, httpOnly, sameSite]), [["espalier_session", true, "Lax"]], "the cookies");
    await clean(page, "signed in at a provider");
  });

  await check("after the end of a session the provider leads back to the same chat and draft", async () => {
    const address = page.url();
    const [cookie] = (await context.cookies(base)).filter(({ name }) => name === "espalier_session");
    await fetch(new URL("/api/session", base), { method: "DELETE", headers: { cookie: `${cookie.name}=${cookie.value}` } });
    await send(page, "Half a thought");
    await asked(page);
    // The provider still knows the person, and asks nothing.
    await button(page, "Example ID").click();
    await chatIs(page);
    assertEqual(page.url(), address, "the address");
    await byId(page, "message-assistant").filter({ hasText: "Here I am." }).waitFor();
    assertEqual(await byId(page, "composer").inputValue(), "Half a thought", "the draft");
  });

  await check("another person who signs in finds nothing of the one before", async () => {
    const [cookie] = (await context.cookies(base)).filter(({ name }) => name === "espalier_session");
    await fetch(new URL("/api/session", base), { method: "DELETE", headers: { cookie: `${cookie.name}=${cookie.value}` } });
    await byId(page, "composer").fill("Another half");
    await page.keyboard.press("Enter");
    await asked(page);
    const there = await context.cookies();
    await context.clearCookies({ name: /^_session/ });
    assert(there.some(({ name }) => name === "_session"), "the provider's own session");
    await button(page, "Example ID").click();
    await signInThere(page, `bob-${crypto.randomUUID()}`);
    await chatIs(page);
    await page.waitForFunction(() => location.pathname + location.search === "/");
    await chatIs(page);
    assertEqual(await byId(page, "composer").inputValue(), "", "the draft");
    assertEqual(await page.getByText("Here I am.").count(), 0, "the chat");
  });

  await check("signing out leads back to the buttons", async () => {
    await byId(page, "sign-out").click();
    await asked(page);
    assertEqual((await context.cookies(base)).filter(({ name }) => name.startsWith("espalier")), [], "the cookies");
    await page.reload();
    await asked(page);
  });

  await check("a visitor has the buttons below the list of chats", async () => {
    const visitors = await browser.newContext({ viewport: { width: 1280, height: 860 } });
    // The main instance has no providers of its own.
    await visitors.route("**/api/session", async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), sign_in: [{ id: "nobody", label: "Example ID" }] } });
    });
    const visitor = await visitors.newPage();
    await visitor.goto(`${env("ESPALIER_URL")}/?sign_in=expired`);
    await visitor.getByText("This sign-in is no longer valid.").waitFor();
    assertEqual(new URL(visitor.url()).search, "", "the address");
    await button(visitor, "Example ID").click();
    await byId(visitor, "sign-in-at-problem").filter({ hasText: "no such identity provider" }).waitFor();
    await clean(visitor, "a visitor who can sign in");
    await visitors.close();
  });

  await check("the console has only refusals of the service", async () => {
    const others = complaints.filter((complaint) => !/status of (401|503)/.test(complaint));
    assertEqual(others, [], "the console");
  });
  await context.close();
}
