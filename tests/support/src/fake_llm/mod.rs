//! A fake LLM that speaks the real streaming wires of OpenAI, Anthropic and Google, and plays the tests' scripts.
//!
//! It refuses the requests that the real servers refuse: unknown members, calls without results, reasoning that they
//! did not sign, and what the models of today refuse (`rules`). Names of other models have no rules.
//!
//! | route | |
//! |---|---|
//! | `POST /v1/chat/completions` | OpenAI's Chat Completions |
//! | `POST /v1/responses` | OpenAI's Responses |
//! | `POST /v1/messages` | Anthropic's Messages |
//! | `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse` | Google's Gemini API |
//! | `POST /gateway/openai/…`, `/gateway/anthropic/…`, `/gateway/google-ai-studio/…` | the same four behind an AI Gateway |
//! | `POST /ai/run` | the requests of the stand-in for Workers AI's binding |
//! | `POST /_fake/scripts` | `{MARKER: Script, …}`: registers scripts |
//! | `POST /_fake/release` | `{"barrier": NAME}`: opens a barrier |
//! | `GET /_fake/requests?marker=PREFIX` | `{"requests": [Record], "peak"}`: the requests, and the most at once |
//! | `DELETE /_fake/requests?marker=PREFIX` | forgets them |
//! | `GET /_fake/wait?marker=PREFIX&count=N[&outcome=aborted]` | the same, answered when N such requests are there |
//! | `POST /_fake/hooks/NAME[?refuse=COUNT]` | takes a message, or refuses the first ones with 503 |
//! | `/_fake/idp/…` | identity providers (`idp`) |
//! | `PUT`, `GET /_fake/documents/NAME[?barrier=NAME]` | any JSON, such as an issuer's keys; a text is a page; waits at the barrier |
//! | `/site/…`, `/dns-query`, `/search`, `/accounts/…` | the web for the tools (`site.rs`) |
//!
//! The marker `[[fake:MARKER]]` in a request's last user message chooses the script; the number of replies after that
//! message chooses the step. So the fake has no sessions, and tests that run at the same time do not meet as long as
//! their markers differ.

mod gemini;
mod handle;
mod history;
mod idp;
mod ledger;
mod messages;
mod reply;
mod responses;
mod rules;
#[cfg(test)]
mod rules_tests;
mod script;
mod server;
mod site;
#[cfg(test)]
mod tests;
mod wire;
#[cfg(test)]
mod wire_tests;
mod workers_ai;

pub use gemini::signature;
pub use handle::{FakeLlm, Requests};
pub use history::{TITLE, check, position, text_of};
pub use ledger::{Outcome, Record};
pub use reply::{Act, Head, body as reply_body, end};
pub use script::{Barrier, Call, Cut, Refusal, Script, Step, Usage, call, calls, deltas, status, text};
pub use server::serve;
pub use wire::seal;
