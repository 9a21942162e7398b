//! Share links: a read-only snapshot of a conversation, for everybody who has the link.

use serde::{Deserialize, Serialize};

use super::request::read;
use super::{ApiError, DataUrl, Role};

/// The most share links of a user: a list shows all of them at once.
pub const MAX_SHARES: u32 = 100;
/// The most bytes of all snapshots of a user: 500 users with so many fill the 10 GB of a database
/// (<https://developers.cloudflare.com/d1/platform/limits/>).
pub const MAX_SHARED_BYTES: usize = 20_000_000;
/// The longest snapshot, as JSON: D1 takes 2,000,000 bytes for a row, and the other columns are short
/// (<https://developers.cloudflare.com/d1/platform/limits/>).
pub const MAX_SNAPSHOT_BYTES: usize = 1_900_000;
/// The longest time of a link that ends by itself, in days.
pub const MAX_SHARE_DAYS: u32 = 365;

/// The body of `POST /api/threads/{id}/shares`. The snapshot has no more than is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(test, ts(optional_fields))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct NewShare {
    /// The message with which the snapshot ends, of any version. Absent: the end of the conversation as it is now.
    #[serde(default)]
    pub message_id: Option<String>,
    /// Whether the snapshot has the answers' tool calls, with their arguments and results.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub tools: bool,
    /// Whether it has the models' reasoning.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub reasoning: bool,
    /// Whether it has the images and files of the user's messages.
    #[serde(default)]
    #[cfg_attr(test, ts(optional, as = "Option<bool>"))]
    pub files: bool,
    /// After how many days the link ends by itself. Absent: it ends when it is revoked.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schemars(range(min = 1, max = MAX_SHARE_DAYS)))]
    pub expires_in_days: Option<u32>,
}

impl NewShare {
    /// Reads and checks a body.
    pub fn parse(body: &[u8]) -> Result<NewShare, ApiError> {
        let share: NewShare = read(body)?;
        match share.expires_in_days {
            Some(days) if !(1..=MAX_SHARE_DAYS).contains(&days) => {
                Err(ApiError::field("expires_in_days", format!("expected 1 to {MAX_SHARE_DAYS}")))
            }
            _ => Ok(share),
        }
    }
}

/// The parts of a conversation that a snapshot has beside its texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shown {
    pub tools: bool,
    pub reasoning: bool,
    pub files: bool,
}

/// A snapshot, as a thread's object makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub title: String,
    pub messages: u32,
    /// The answer to everybody who has the link: a [`SharedConversation`] as JSON.
    pub content: String,
}

/// A share link, as its owner sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ShareSummary {
    pub id: String,
    pub thread_id: String,
    /// The thread's title at that time.
    pub title: String,
    pub created_at: u64,
    /// Null where it ends when it is revoked.
    pub expires_at: Option<u64>,
    pub tools: bool,
    pub reasoning: bool,
    pub files: bool,
    /// How many messages the snapshot has.
    pub messages: u32,
    pub bytes: u64,
}

/// The user's share links, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ShareList {
    pub shares: Vec<ShareSummary>,
}

/// A new share link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct CreatedShare {
    #[serde(flatten)]
    pub share: ShareSummary,
    /// 128 random bits. Only this answer has them.
    pub token: String,
    /// The path of the public page.
    pub path: String,
}

/// A conversation, as everybody who has the link reads it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SharedConversation {
    pub title: String,
    /// The time of the snapshot, in milliseconds since 1970.
    pub shared_at: u64,
    pub messages: Vec<SharedMessage>,
}

/// A message of a shared conversation. It has no id.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct SharedMessage {
    pub role: Role,
    pub created_at: u64,
    pub parts: Vec<SharedPart>,
}

/// A part of a shared message, in the order of appearance.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum SharedPart {
    Text {
        text: String,
    },
    /// Where the owner chose `reasoning`.
    Reasoning {
        text: String,
    },
    /// A call of the answer itself, where the owner chose `tools`. Calls within it are not shared.
    Call {
        name: String,
        /// Its arguments and its result, each at most 4 000 characters.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, ts(optional))]
        arguments: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(test, ts(optional))]
        result: Option<String>,
        is_error: bool,
    },
    /// Where the owner chose `files`.
    Image {
        data: DataUrl,
    },
    /// The same.
    File {
        name: String,
        data: DataUrl,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 23, 7: at the limit, and just beyond it.
    #[test]
    fn nothing_is_chosen_by_default_and_a_link_has_a_longest_time() {
        assert_eq!(NewShare::parse(b"{}"), Ok(NewShare::default()));
        let all = br#"{"message_id":"m","tools":true,"reasoning":true,"files":true,"expires_in_days":365}"#;
        let chosen = NewShare {
            message_id: Some("m".to_owned()),
            tools: true,
            reasoning: true,
            files: true,
            expires_in_days: Some(MAX_SHARE_DAYS),
        };
        assert_eq!(NewShare::parse(all), Ok(chosen));
        for (body, field) in [
            (&br#"{"expires_in_days":0}"#[..], "expires_in_days"),
            (br#"{"expires_in_days":366}"#, "expires_in_days"),
            (br#"{"tools":"yes"}"#, "tools"),
            (br#"{"message_id":7}"#, "message_id"),
        ] {
            assert_eq!(NewShare::parse(body).unwrap_err().field.as_deref(), Some(field));
        }
    }
}
