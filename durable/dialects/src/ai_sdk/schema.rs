//! The body for the API's description. The service reads it member by member (`request.rs`).

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use wire::protocol::{BrowserContext, ChatContext, ModeProfile};

#[cfg(feature = "openapi")]
use super::MAX_CHAT_ID;
#[cfg(feature = "openapi")]
use wire::protocol::MAX_INSTRUCTIONS_BYTES;

/// The body of `POST /api/ai-sdk/chat`, as `DefaultChatTransport` sends it. The members after `messageId` are options of
/// the service, for the transport's own `body`.
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[allow(dead_code, reason = "the schema alone is used")]
pub struct ChatBody {
    /// The client's own id of the chat: any text.
    #[cfg_attr(feature = "openapi", schemars(length(min = 1, max = MAX_CHAT_ID)))]
    id: String,
    /// The chat. The newest message counts, and the service has the ones before it.
    #[cfg_attr(feature = "openapi", schemars(length(min = 1)))]
    messages: Vec<UiMessage>,
    #[cfg_attr(feature = "openapi", schemars(default))]
    trigger: Trigger,
    /// The message to answer anew, or to replace.
    #[cfg_attr(feature = "openapi", schemars(rename = "messageId"))]
    message_id: Option<String>,
    /// Instructions of the client for the turn. At most 20,000 bytes of UTF-8, those of the system's messages included.
    #[cfg_attr(feature = "openapi", schemars(length(max = MAX_INSTRUCTIONS_BYTES)))]
    system: Option<String>,
    /// A role or the id of a model; `espalier` is the default.
    model: Option<String>,
    /// Tools that the client carries out. A name has letters, digits and other signs of ASCII.
    tools: Option<Tools>,
    chat_context: Option<ChatContext>,
    mode_profile: Option<ModeProfile>,
    browser_context: Option<BrowserContext>,
    memory_enabled: Option<bool>,
    #[cfg_attr(feature = "openapi", schemars(with = "Option<Vec<uuid::Uuid>>", length(max = 8)))]
    collections: Option<Vec<String>>,
    #[cfg_attr(feature = "openapi", schemars(length(max = wire::protocol::WORKSPACE_NAME.max), regex(pattern = wire::protocol::WORKSPACE_NAME.pattern())))]
    workspace: Option<String>,
    agents: Option<bool>,
    /// The user's time zone, a name of the IANA time zone database.
    #[cfg_attr(feature = "openapi", schemars(length(max = 64)))]
    time_zone: Option<String>,
    /// A JSON Schema of type object: the answer is then JSON that satisfies it, as text.
    response_schema: Option<Map<String, Value>>,
}

/// A list of tools, or a map from names to the rest of each.
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", schemars(untagged))]
#[allow(dead_code, reason = "the schema alone is used")]
enum Tools {
    List(#[cfg_attr(feature = "openapi", schemars(length(max = 128)))] Vec<UiTool>),
    Map(BTreeMap<String, Map<String, Value>>),
}

/// A tool that the client carries out.
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[allow(dead_code, reason = "the schema alone is used")]
struct UiTool {
    #[cfg_attr(feature = "openapi", schemars(length(max = 64), regex(pattern = r"^ui_[a-z0-9_]+$")))]
    name: String,
    /// The name where there is none.
    #[cfg_attr(feature = "openapi", schemars(length(max = 2000)))]
    description: Option<String>,
    /// A JSON Schema of any draft, or of OpenAPI 3.0. It is of type object, and so is one without a type, null or none.
    input_schema: Option<Map<String, Value>>,
}

/// The client's reason for its request.
#[derive(Default)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema, serde::Serialize))]
#[cfg_attr(feature = "openapi", serde(rename_all = "kebab-case"))]
#[allow(dead_code, reason = "the schema alone is used")]
enum Trigger {
    #[default]
    SubmitMessage,
    RegenerateMessage,
}

/// A message of the chat.
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[allow(dead_code, reason = "the schema alone is used")]
struct UiMessage {
    id: String,
    role: Author,
    parts: Vec<Map<String, Value>>,
}

#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", schemars(rename_all = "lowercase"))]
#[allow(dead_code, reason = "the schema alone is used")]
enum Author {
    System,
    User,
    Assistant,
}
