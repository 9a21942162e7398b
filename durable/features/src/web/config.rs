//! The variables of the web's tools. Pure.

use url::Url;

use super::guard::Guard;
use super::search::{Brave, Google, Searxng, Service, brave, google};
use wire::redact::Secret;

/// The default resolver.
const RESOLVER: &str = "https://cloudflare-dns.com/dns-query";
/// The value that switches the resolver off.
const OFF: &str = "off";

/// The configuration of the web tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub(super) guard: Guard,
    pub(super) resolver: Option<String>,
    pub(super) search: Option<Service>,
}

impl Config {
    /// Reads the variables. An empty variable counts as absent. The error lists all problems.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Self, Vec<String>> {
        let read =
            |name: &str| var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let url = |name: &str| read(name).map_or(Ok(None), |value| checked(name, value).map(Some));
        let resolver = match read("FETCH_RESOLVER") {
            None => Ok(Some(RESOLVER.to_owned())),
            Some(off) if off == OFF => Ok(None),
            Some(value) => checked("FETCH_RESOLVER", value).map(Some),
        };
        let guard = Guard::allowing(&read("FETCH_ALLOW").unwrap_or_default());
        let search = url("SEARCH_URL").and_then(|place| service(&read, place));
        match (resolver, guard, search) {
            (Ok(resolver), Ok(guard), Ok(search)) => Ok(Config { guard, resolver, search }),
            (resolver, guard, search) => {
                Err([resolver.err(), guard.err(), search.err()].into_iter().flatten().collect())
            }
        }
    }

    /// The configuration without the private hosts of `FETCH_ALLOW`.
    pub fn public_alone(self) -> Self {
        Config { guard: Guard::default(), ..self }
    }
}

/// The search service that `SEARCH` names. `place` replaces its own address.
fn service(read: &dyn Fn(&str) -> Option<String>, place: Option<String>) -> Result<Option<Service>, String> {
    let Some(name) = read("SEARCH") else { return Ok(None) };
    let needed = |name: &str| read(name).ok_or_else(|| missing(name)).and_then(|value| graphic(name, value));
    let service = match name.as_str() {
        "brave" => {
            let key = Secret::new(needed("BRAVE_API_KEY")?);
            Service::Brave(Brave { url: place.unwrap_or_else(|| brave::URL.to_owned()), key })
        }
        "google" => {
            let key = Secret::new(needed("GOOGLE_API_KEY")?);
            let cx = needed("GOOGLE_CX")?;
            Service::Google(Google { url: place.unwrap_or_else(|| google::URL.to_owned()), key, cx })
        }
        "searxng" => {
            let url = read("SEARXNG_URL").ok_or_else(|| missing("SEARXNG_URL"))?;
            Service::Searxng(Searxng { url: checked("SEARXNG_URL", url)? })
        }
        _ => return Err("SEARCH must be brave, google or searxng.".to_owned()),
    };
    Ok(Some(service))
}

fn missing(name: &str) -> String {
    format!("{name} is missing.")
}

fn graphic(name: &str, value: String) -> Result<String, String> {
    match value.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(value),
        false => Err(format!("{name} contains characters that no HTTP header can carry.")),
    }
}

/// Checks an address of the operator. The error does not repeat it, because it may contain credentials.
fn checked(name: &str, value: String) -> Result<String, String> {
    let url = Url::parse(&value).ok().filter(|url| ["http", "https"].contains(&url.scheme()));
    let plain =
        url.filter(|url| url.username().is_empty() && url.password().is_none() && url.fragment().is_none());
    match plain {
        Some(_) => Ok(value),
        None => Err(format!(
            "{name} must be an address such as https://example.com/path, without credentials or #."
        )),
    }
}
