//! The guard decides which addresses the web tools may request: public hosts on the ports of the web, and hosts that
//! the operator names. Pure.
//! The guard parses an address by the WHATWG rules, as the platform's `fetch` does, which unifies all notations of a
//! number. It refuses an ambiguous address instead of repairing it. `client.rs` resolves names, and the guard judges
//! the results.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, ParseError, Url};

/// The longest address in bytes, before and after parsing.
pub const MAX_URL_BYTES: usize = 2_048;
/// The most hosts that the operator may name.
const MAX_ALLOWED: usize = 32;

/// The last labels of names with a private meaning in each network.
pub(super) const PRIVATE_ENDS: [&str; 13] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "lan",
    "home",
    "corp",
    "private",
    "arpa",
    "onion",
    "test",
    "invalid",
];
/// Public names with private addresses: a cloud's metadata, and services that resolve a name to the address in it. A
/// resolver would show the same, but the operator may switch it off.
pub(super) const PRIVATE_NAMES: [&str; 8] =
    ["metadata.goog", "nip.io", "sslip.io", "xip.io", "localtest.me", "lvh.me", "vcap.me", "lacolhost.com"];

/// Why the guard refuses an address, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

/// An address that passed the guard. The client still resolves its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub url: Url,
    /// The name whose addresses must be public; none for a host that the operator named.
    pub resolve: Option<String>,
}

/// The operator's exceptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guard {
    /// Host and port.
    allowed: Vec<(String, u16)>,
}

impl Guard {
    /// Reads `HOST:PORT, …`: private hosts that the tools may request.
    pub fn allowing(list: &str) -> Result<Self, String> {
        let entries = list.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let allowed: Option<Vec<_>> = entries.map(host_and_port).collect();
        let allowed = allowed.filter(|allowed| allowed.len() <= MAX_ALLOWED);
        let allowed = allowed.ok_or_else(|| {
            format!("FETCH_ALLOW must be at most {MAX_ALLOWED} pairs HOST:PORT with commas between them.")
        })?;
        Ok(Guard { allowed })
    }

    /// Checks an address from a model.
    pub fn check(&self, text: &str) -> Result<Target, Refused> {
        let text = text.trim_matches(' ');
        let refused = |why: &str| Err(refusal(text, why));
        if let Some(why) = misleading(text) {
            return refused(why);
        }
        match Url::parse(text) {
            Ok(url) => self.judge(text, url),
            Err(ParseError::RelativeUrlWithoutBase) => {
                refused("it is not whole: write it like https://example.com/page")
            }
            Err(error) => refused(&error.to_string()),
        }
    }

    /// Checks the target of a redirect.
    pub fn follow(&self, from: &Url, location: &str) -> Result<Target, Refused> {
        let refused = |why: &str| Err(refusal(location, why));
        if let Some(why) = misleading(location) {
            return refused(why);
        }
        let Ok(url) = from.join(location) else { return refused("it is no address") };
        if from.scheme() == "https" && url.scheme() == "http" {
            return refused("it leads from https to http");
        }
        self.judge(location, url)
    }

    fn judge(&self, text: &str, mut url: Url) -> Result<Target, Refused> {
        let refused = |why: &str| Err(refusal(text, why));
        if !["http", "https"].contains(&url.scheme()) {
            return refused("only http and https are fetched");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return refused("it contains credentials");
        }
        url.set_fragment(None);
        if url.as_str().len() > MAX_URL_BYTES {
            return refused(&format!("it is longer than {MAX_URL_BYTES} bytes"));
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return refused("it has no host");
        };
        if self.allowed.iter().any(|(name, known)| *name == host.to_string() && *known == port) {
            return Ok(Target { url, resolve: None });
        }
        let Host::Domain(name) = host else { return refused("its host is a number; only names are fetched") };
        if let Some(why) = private_name(name) {
            return refused(why);
        }
        if ![80, 443].contains(&port) {
            return refused("only the ports 80 and 443 are fetched");
        }
        let resolve = Some(name.to_owned());
        Ok(Target { url, resolve })
    }
}

/// Finds characters that the parser would drop or replace, and hosts with escapes or other letters, which have a second
/// spelling.
fn misleading(text: &str) -> Option<&'static str> {
    match text {
        "" => Some("it is empty"),
        _ if text.len() > MAX_URL_BYTES => Some("it is too long"),
        _ if text.chars().any(char::is_control) => Some("it has a control character"),
        _ if text.contains('\\') => Some("it has a backslash"),
        _ if !authority(text).is_ascii() || authority(text).contains('%') => {
            Some("its host is no name of the web; other letters than a to z are written as xn--…")
        }
        _ => None,
    }
}

/// The authority of an address as written.
fn authority(text: &str) -> &str {
    let is_scheme = |scheme: &str| scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let after = match text.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) {
        Some((_, after)) => after,
        None if text.starts_with("//") => text,
        None => "",
    };
    // The parser accepts any number of slashes.
    after.trim_start_matches('/').split(['/', '?', '#']).next().unwrap_or_default()
}

/// Why a name is not public.
fn private_name(name: &str) -> Option<&'static str> {
    let known = |bytes: &[u8]| bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(byte));
    let labels: Vec<&str> = name.split('.').collect();
    let ends =
        |end: &&str| name.strip_suffix(*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    match labels.as_slice() {
        _ if labels.iter().any(|label| label.is_empty() || !known(label.as_bytes())) => {
            Some("its host is no name of the web")
        }
        [] | [_] => Some("its host is a name of a private network"),
        _ if PRIVATE_ENDS.iter().any(ends) => Some("its host is a name of a private network"),
        _ if PRIVATE_NAMES.iter().any(ends) => Some("its host is known to lead into private networks"),
        _ => None,
    }
}

fn refusal(text: &str, why: &str) -> Refused {
    let shown: String = text.chars().take(200).collect();
    Refused(format!("the address {shown:?} is refused: {why}"))
}

fn host_and_port(entry: &str) -> Option<(String, u16)> {
    // This scheme has no default port, so the parser keeps the port.
    let url = Url::parse(&format!("x://{entry}")).ok()?;
    let port = url.port()?;
    // Only the rules of http read a host as `fetch` does.
    let host = Url::parse(&format!("http://{entry}")).ok()?.host()?.to_string();
    let plain =
        url.username().is_empty() && url.password().is_none() && !entry.contains(['/', '?', '#', '\\', '@']);
    plain.then_some((host, port))
}

/// Whether an address belongs to the public internet, by the special-purpose registries of the IANA:
/// <https://www.iana.org/assignments/iana-ipv4-special-registry/>,
/// <https://www.iana.org/assignments/iana-ipv6-special-registry/>.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        [0 | 10 | 127, ..] | [169, 254, ..] | [192, 168, ..] | [198, 18 | 19, ..] => true,
        [100, second, ..] => (64..128).contains(&second),
        [172, second, ..] => (16..32).contains(&second),
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 51, 100, _] | [203, 0, 113, _] => true,
        // Multicast, reserved, broadcast.
        [first, ..] => first >= 224,
    };
    !special
}

/// Only global unicast, without its tunnels and examples.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x2001, second, ..] => second > 0x01ff && second != 0x0db8,
        [0x2002, ..] => false,
        [0x3fff, second, ..] => second > 0x0fff,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}
