//! The APIs of other services: the AI SDK, OpenAI and the Model Context Protocol.

use super::words::*;
use crate::body::MAX_CHAT_BYTES;
use dialects::ai_sdk::ChatBody;
use dialects::mcp::MessageBody;
use dialects::openai::{CompletionBody, ResponseBody};

#[cfg(test)]
use crate::openapi::event_number;
#[cfg(target_arch = "wasm32")]
use crate::routes::{ai_sdk, foreign, mcp, openai};
#[cfg(test)]
use wire::protocol::Cancelled;
#[cfg(target_arch = "wasm32")]
use wire::protocol::OpenAiApi;

routes! {
    /// Answers a chat of the AI SDK with its UI message stream: the newest message of the user, or calls that wait for an
    /// answer. Of the chat in the body only the end counts, because the thread has the rest. The turn is one of
    /// `POST /api/chat`, in the client's own form. See docs/clients.md.
    Post "/api/ai-sdk/chat" => AiSdkChat, Needs(Write), json_of::<ChatBody>(MAX_CHAT_BYTES), Turns,
        |r| ai_sdk::answer(r.call, r.caller.owner()?, take(r.body)),
        |row| row
            .takes(json!({
                "id": "a-chat",
                "messages": [
                    { "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "What is 17 * 23?" }] },
                ],
            }))
            .streams_in_a_dialect()
            .refuses_turns()
            .refuses(&[E::NotWaiting]);
    /// Streams the running turn of a chat of the AI SDK from its start. The events have the client's own form. See
    /// docs/clients.md.
    Get "/api/ai-sdk/chat/{}/stream" => AiSdkStream(chat), Needs(Read), Nothing, Reads,
        |r| foreign::ask(r.call, ai_sdk::ask(r.caller.owner()?, chat, ai_sdk::replay())?),
        |row| row
            .in_thread()
            .streams_in_a_dialect()
            .gives_nothing("No turn runs.")
            .refuses(&[E::TooManyStreams, E::TurnOnHold]);
    /// Stops the running turn of a chat of the AI SDK, and waits for its end. The client's own stop only closes its
    /// connection. See docs/clients.md.
    Delete "/api/ai-sdk/chat/{}/stream" => AiSdkCancel(chat), Needs(Write), Nothing, EndsOnce,
        |r| foreign::ask(r.call, ai_sdk::ask(r.caller.owner()?, chat, ThreadCommand::Cancel)?),
        |row| row.in_thread().gives::<Cancelled>(200);
    /// Lists the models that a request of OpenAI's clients may name. Errors have OpenAI's form. See docs/clients.md.
    Get "/v1/models" => OpenAiModels, Needs(Read), Nothing, Reads,
        |r| ready(openai::models(r.call)),
        |row| row.gives::<Map<String, Value>>(200);
    /// Answers a chat of OpenAI's Chat Completions: the newest message of the user, or calls that wait for an answer. A new
    /// thread imports the conversation before it. The turn is one of `POST /api/chat`, in the client's own form. Errors
    /// have OpenAI's form. See docs/clients.md.
    Post "/v1/chat/completions" => ChatCompletion, Needs(Write), json_of::<CompletionBody>(MAX_CHAT_BYTES), Turns,
        |r| openai::answer(r.call, r.caller.owner()?, take(r.body), OpenAiApi::ChatCompletions),
        |row| row
            .takes(json!({
                "model": "espalier", "messages": [{ "role": "user", "content": "What is 17 * 23?" }], "stream": true,
            }))
            .answers_of_openai();
    /// Creates a response of OpenAI's Responses: the part of a turn up to its end, or up to a call that waits. The turn is
    /// one of `POST /api/chat`, in the client's own form. Errors have OpenAI's form. See docs/clients.md.
    Post "/v1/responses" => CreateResponse, Needs(Write), json_of::<ResponseBody>(MAX_CHAT_BYTES), Turns,
        |r| openai::answer(r.call, r.caller.owner()?, take(r.body), OpenAiApi::Responses),
        |row| row.takes(json!({ "model": "espalier", "input": "What is 17 * 23?" })).answers_of_openai();
    /// Returns a response as it is now, or streams its events. Errors have OpenAI's form. See docs/clients.md.
    Get "/v1/responses/{}" => Response(response), Needs(Read), Nothing, Reads,
        |r| foreign::ask(r.call, openai::response(r.call, r.caller.owner()?, response, false)?),
        |row| row
            .in_thread()
            .query(is_stream())
            .query(Parameter::new("starting_after", "The number of the last event that the client has.", event_number()))
            .answers_in_a_dialect()
            .refuses(&[E::MessageNotFound, E::TooManyStreams, E::TurnOnHold]);
    /// Stops the turn of a response, waits for its end, and returns the response. Errors have OpenAI's form. See
    /// docs/clients.md.
    Post "/v1/responses/{}/cancel" => CancelResponse(response), Needs(Write), Nothing, EndsOnce,
        |r| foreign::ask(r.call, openai::response(r.call, r.caller.owner()?, response, true)?),
        |row| row
            .in_thread()
            .gives::<Map<String, Value>>(200)
            .refuses(&[E::MessageNotFound, E::TooManyStreams, E::TurnOnHold]);
    /// Takes a message of the Model Context Protocol: a request, whose response is JSON or a stream of events, or a
    /// notification. Revision 2026-07-28 repeats parts of the body in headers. A tool needs the scope of its own route. The
    /// service is an MCP server here. See docs/clients.md.
    Post "/mcp" => Mcp, NeedsAtOrigin(Read), json::<MessageBody>(), OtherRoutes,
        |r| mcp::answer(r.call, r.caller, take(r.body)),
        |row| row
            .takes(json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }))
            .answers(200, "The response, or its events as they come.", Some(Content::ForeignJson))
            .answers(202, "A notification was taken.", None)
            .refuses(&[E::RouteNotFound]);
    /// Tells clients of MCP which issuers give tokens for this service (RFC 9728). The tokens come as
    /// `Authorization: Bearer`. The answer is 404 where the service trusts no such issuer.
    Get "/.well-known/oauth-protected-resource" => ProtectedResource, Open, Nothing, Reads,
        |r| ready(mcp::protected_resource(r.call)),
        |row| row.gives::<Map<String, Value>>(200).refuses(&[E::RouteNotFound]);
    /// The same, at the address that belongs to `/mcp`.
    Get "/.well-known/oauth-protected-resource/mcp" => ProtectedMcp, Open, Nothing, Reads,
        |r| ready(mcp::protected_resource(r.call)),
        |row| row.gives::<Map<String, Value>>(200).refuses(&[E::RouteNotFound]);
}

#[cfg(test)]
impl Contract {
    /// A turn for OpenAI's clients.
    fn answers_of_openai(self) -> Self {
        self.answers_in_a_dialect().refuses_turns().refuses(&[
            E::NotWaiting,
            E::MessageNotFound,
            E::IdempotencyKeyReused,
        ])
    }
}

#[cfg(test)]
fn is_stream() -> Parameter {
    let schema = json!({ "type": "string", "enum": ["true", "false", ""] });
    Parameter::new("stream", "`true`: the events.", schema)
}
