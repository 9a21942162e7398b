//! The rows of sessions, as their user lists and ends them. A session that an API key opened has a row from the sign-in,
//! and ends with it. A visitor's session has a row from its first turn, so a visit alone stores nothing; the end of it is a
//! row too, because the signed cookie stays as good as it was.

pub mod statements;
#[cfg(target_arch = "wasm32")]
pub mod store;

use std::collections::VecDeque;

use sha2::{Digest, Sha256};
use wire::protocol::{ANONYMOUS, Owner, hex};

/// How often the return of a signed-in user is written down: the list answers "do I still use this?", for which a day is
/// exact enough. A visitor's return is written down when the cookie is renewed.
pub const SEEN_EVERY_MS: u64 = 24 * 3_600_000;
/// The length of an id: 128 bits of the row's digest in hexadecimal. The digest opens nothing, and 100 sessions of a user
/// do not collide.
pub const ID_CHARS: usize = 32;
/// The longest name of a browser and its system; the longest of ours has 17 characters.
pub const MAX_AGENT_CHARS: usize = 40;
/// The visitors whose rows an isolate remembers, 64 bytes each. One that it forgot costs a statement that changes nothing.
const MAX_KEPT: usize = 1_000;

/// The digest, in hexadecimal, under which a visitor's session has its row.
pub fn visitor_hash(user: &str) -> String {
    hex(&Sha256::new().chain_update("espalier visitor\0").chain_update(user).finalize())
}

/// The digest of a visitor's own session; of another user an empty text, which is no session's: their issuer may have
/// given them a visitor's name.
pub fn visit_of(owner: &Owner) -> String {
    if owner.issuer == ANONYMOUS { visitor_hash(&owner.user) } else { String::new() }
}

/// The id of the session with this digest.
pub fn id_of(hash: &str) -> &str {
    hash.get(..ID_CHARS).unwrap_or(hash)
}

/// Whether a text has the form of an id.
pub fn is_id(text: &str) -> bool {
    text.len() == ID_CHARS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The sign of a browser in its header, and its name. The order counts: Edge also calls itself Chrome, and Chrome Safari.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];
/// The same of systems. Android also calls itself Linux, and an iPhone is "like Mac OS X".
const SYSTEMS: [(&str, &str); 7] = [
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// The header `User-Agent` in short form: `Firefox, Windows`; of a program the first word, without what a list of its user
/// need not show. Empty where the header says nothing.
pub fn short_agent(header: &str) -> String {
    let found = |signs: &[(&str, &'static str)]| {
        signs.iter().find(|(sign, _)| header.contains(sign)).map(|(_, name)| *name)
    };
    match (found(&BROWSERS), found(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser}, {system}"),
        (Some(browser), None) => browser.to_owned(),
        (None, Some(system)) => system.to_owned(),
        (None, None) => {
            let word = header.split([' ', '/']).next().unwrap_or_default();
            word.chars().filter(char::is_ascii_graphic).take(MAX_AGENT_CHARS).collect()
        }
    }
}

/// The visitors' sessions that have a row as far as this isolate knows, oldest first: their later turns cost D1 nothing.
#[derive(Debug, Default)]
pub struct Kept(VecDeque<String>);

impl Kept {
    /// Knows none.
    pub const fn new() -> Self {
        Kept(VecDeque::new())
    }

    /// Remembers a session; false if it was known.
    pub fn insert(&mut self, hash: &str) -> bool {
        if self.0.iter().any(|kept| kept == hash) {
            return false;
        }
        if self.0.len() >= MAX_KEPT {
            self.0.pop_front();
        }
        self.0.push_back(hash.to_owned());
        true
    }

    /// Forgets a session whose row could not be written.
    pub fn remove(&mut self, hash: &str) {
        self.0.retain(|kept| kept != hash);
    }
}

#[cfg(test)]
mod tests;
