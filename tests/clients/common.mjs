// The common part of the clients: a session, a question, and a report of the frames. Everything here is Node's own
// `fetch`, as a user's program would use it. `tests/e2e/clients.rs` runs them and judges the report.

const env = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: see tests/e2e/clients.rs`);
  return value;
};

export const BASE = env("ESPALIER_URL");

/** The cookie of a new anonymous session. */
export async function openSession() {
  const reply = await fetch(`${BASE}/api/session`, { method: "POST" });
  if (reply.status !== 200) throw new Error(`${reply.status}: ${await reply.text()}`);
  return reply.headers.getSetCookie()[0].split(";", 1)[0];
}

/** The request that starts the turn. */
export function question(cookie) {
  return {
    method: "POST",
    headers: { cookie, "content-type": "application/json" },
    body: JSON.stringify({ content: env("CLIENT_CONTENT") }),
  };
}

/** Lets the model go on. */
export async function release() {
  const body = JSON.stringify({ barrier: env("CLIENT_BARRIER") });
  const reply = await fetch(`${env("ESPALIER_FAKE_LLM_URL")}/_fake/release`, { method: "POST", body });
  if (!reply.ok) throw new Error(await reply.text());
}

/** The last line: the client's cookie, and the frames that it read, each with the fields `id`, `event` and `data`. */
export function report(cookie, frames) {
  const events = frames.map(({ id, event, data }) => {
    const { seq, type, ...members } = JSON.parse(data);
    if (String(seq) !== id || type !== event) throw new Error(`${id} ${event}: ${data}`);
    return { seq, type, ...members };
  });
  console.log(JSON.stringify({ cookie, events }));
}
