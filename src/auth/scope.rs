//! What a credential may do.

/// One thing that a route asks of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Lists, details, messages, streams.
    Read,
    /// Chat, and whatever else changes the user's own threads.
    Write,
    /// The API keys of the tenant. Nobody has it who was not given it.
    Admin,
}

/// What a route asks of a request before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing, and no rate limit: monitors ask often.
    Unlimited,
    /// Nothing.
    Open,
    /// No credential, but an origin that may use a cookie (`origin`): the answer sets or ends a session.
    KnownOrigin,
    /// A credential with this scope. A credential that the browser sent by itself also needs a known origin, unless the route
    /// only reads: other sites cannot read the answer (CORS).
    Needs(Scope),
}

impl Access {
    /// Whether an ambient credential (`Authority::Ambient`) needs a known origin here.
    pub fn needs_known_origin(self) -> bool {
        match self {
            Access::Unlimited | Access::Open | Access::Needs(Scope::Read) => false,
            Access::KnownOrigin | Access::Needs(Scope::Write | Scope::Admin) => true,
        }
    }
}

const ALL: [Scope; 3] = [Scope::Read, Scope::Write, Scope::Admin];

impl Scope {
    /// The word for it, in `api_keys.scopes` and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "admin",
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

/// A set of scopes. None implies another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes(u8);

impl Scopes {
    /// What everybody has over their own threads who did not come with a narrower key.
    pub const USER: Scopes = Scopes(Scope::Read.bit() | Scope::Write.bit());

    /// Reads a list of words with spaces between them. A word that means nothing here grants nothing.
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
        let table: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("read", &["read"]),
            ("  write   read ", &["read", "write"]),
            ("admin", &["admin"]),
            ("read read", &["read"]),
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
