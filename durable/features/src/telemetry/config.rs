//! The variables of OpenTelemetry, by the names of its specification:
//! <https://opentelemetry.io/docs/specs/otel/protocol/exporter/>.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use url::Url;
use wire::redact::Secret;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const SERVICE: &str = "OTEL_SERVICE_NAME";
/// As instrumentations of model calls have it: whether spans have the content of calls.
const CONTENT: &str = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT";
/// The most headers.
const MAX_HEADERS: usize = 16;

/// Where the spans go, and what they have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    url: String,
    headers: Vec<(String, Secret)>,
    pub(super) service: String,
    /// Whether spans have the beginnings of arguments and results.
    pub(super) has_content: bool,
}

impl Config {
    /// Reads the variables. None: no collector is named. An empty variable counts as absent.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let read =
            |name: &str| var(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let Some(endpoint) = read(ENDPOINT) else { return Ok(None) };
        let has_content = match read(CONTENT).as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(_) => return Err(format!("the variable {CONTENT} must be true or false")),
        };
        Ok(Some(Config {
            url: traces(&endpoint)
                .ok_or_else(|| format!("the variable {ENDPOINT} must be an http(s) URL"))?,
            headers: headers(&read(HEADERS).unwrap_or_default()).ok_or_else(|| {
                format!("the variable {HEADERS} must be `name=value,…`, at most {MAX_HEADERS}")
            })?,
            service: read(SERVICE).unwrap_or_else(|| "espalier".to_owned()),
            has_content,
        }))
    }

    /// The address that takes spans.
    pub(super) fn url(&self) -> String {
        self.url.clone()
    }

    /// The headers with which the collector knows the sender.
    pub(super) fn headers(&self) -> Vec<(String, String)> {
        self.headers.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())).collect()
    }
}

/// The address for spans below the endpoint.
fn traces(endpoint: &str) -> Option<String> {
    let mut url = Url::parse(endpoint).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    url.path_segments_mut().ok()?.pop_if_empty().extend(["v1", "traces"]);
    Some(url.into())
}

/// The headers: pairs between commas, whose values are percent-encoded.
fn headers(text: &str) -> Option<Vec<(String, Secret)>> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let header = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (name.trim(), percent_decode_str(value.trim()).decode_utf8().ok()?);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_fine = !name.is_empty() && name.bytes().all(is_name) && value.bytes().all(is_visible);
        is_fine.then(|| (name.to_ascii_lowercase(), Secret::new(Cow::into_owned(value))))
    };
    let headers: Vec<_> = pairs.map(header).collect::<Option<_>>()?;
    (headers.len() <= MAX_HEADERS).then_some(headers)
}

fn is_visible(byte: u8) -> bool {
    matches!(byte, b' '..=b'~')
}
