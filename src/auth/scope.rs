//! The scopes of a credential, and the access that a route demands.

/// A right that a route demands of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Reads lists, details, messages, streams.
    Read,
    /// Chats, and changes all that is the user's own.
    Write,
    /// Manages the API keys of the tenant, and reads its audit log. Only a key that was minted with this scope has it.
    Admin,
    /// Erases all data of its user (`Access::Erases`). Only a key that was minted with this scope has it.
    Erase,
}

/// The access that a route demands of a request before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody may ask, without a rate limit: monitors ask often.
    Unlimited,
    /// Anybody may ask.
    Open,
    /// Anybody may ask from an origin that may use a cookie (`origin`): the answer sets or ends a session.
    KnownOrigin,
    /// A credential with this scope may ask. An ambient one (`Authority::Ambient`) also needs a known origin, unless the
    /// route only reads (`Row::needs_known_origin`).
    Needs(Scope),
    /// A credential with this scope may ask, from a known origin or from no page, whatever the credential: a server of MCP
    /// refuses a page that was made to ask it.
    NeedsAtOrigin(Scope),
    /// A credential that may erase its user's account may ask (`Verified::may_erase`), from a known origin where it is
    /// ambient.
    Erases,
}

impl Access {
    /// Whether an ambient credential needs a known origin here.
    pub fn needs_known_origin(self) -> bool {
        match self {
            Access::Unlimited | Access::Open | Access::Needs(Scope::Read) => false,
            Access::KnownOrigin | Access::Needs(_) | Access::NeedsAtOrigin(_) | Access::Erases => true,
        }
    }
}

const ALL: [Scope; 4] = [Scope::Read, Scope::Write, Scope::Admin, Scope::Erase];

impl Scope {
    /// The word for it, in `api_keys.scopes` and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
            Scope::Erase => "erase",
        }
    }

    /// The scope of this name.
    pub fn of_word(word: &str) -> Option<Self> {
        ALL.into_iter().find(|scope| scope.as_str() == word)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of scopes. Each scope stands for itself: `admin` alone cannot read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// The scopes of visitors, of tokens, and of keys that name no scopes.
    pub const USER: Scopes = Scopes(Scope::Read.bit() | Scope::Write.bit());

    /// Reads a list of words with spaces between them. An unknown word grants nothing.
    pub fn parse(words: &str) -> Self {
        words.split_ascii_whitespace().filter_map(Scope::of_word).collect()
    }

    /// Whether this is granted.
    pub const fn has(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// The words, in a fixed order.
    pub fn words(self) -> Vec<&'static str> {
        ALL.into_iter().filter(|scope| self.has(*scope)).map(Scope::as_str).collect()
    }

    /// The same, as the wire's types have them.
    pub fn to_strings(self) -> Vec<String> {
        self.words().into_iter().map(str::to_owned).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<T: IntoIterator<Item = Scope>>(scopes: T) -> Self {
        Scopes(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Scope, Scopes};

    #[test]
    fn scopes_are_words() {
        let table: [(&str, &[&str]); 9] = [
            ("", &[]),
            ("read", &["read"]),
            ("  write   read ", &["read", "write"]),
            ("admin", &["admin"]),
            ("read read", &["read"]),
            ("erase admin", &["admin", "erase"]),
            ("Read WRITE", &[]),
            ("read,write", &[]),
            ("everything admin*", &[]),
        ];
        for (text, words) in table {
            assert_eq!(Scopes::parse(text).words(), words, "{text:?}");
        }
        assert_eq!(Scopes::USER.words(), ["read", "write"]);
        assert!(!Scopes::parse("admin").has(Scope::Read), "none implies another");
    }
}
