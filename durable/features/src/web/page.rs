//! `fetch_page`: a page of the web as text.

use std::rc::Rc;

use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt};
use serde::Deserialize;

use super::client::{Client, Opened, Patience, TooLate};
use super::is_data;
use super::render::render;
use crate::reader::{MediaType, Reader, Window};
use crate::web::{Browser, Decode};
use engine::ports::{Tool, ToolContext, ToolError};
use engine::toolbelt::ToolSpec;
use engine::toolbelt::arguments;

/// The most bytes of a page in one result: below the limit of a result, together with the first lines.
pub const MAX_TOLD_BYTES: usize = 40_000;
/// The most bytes of a body that a call reads.
pub const MAX_BODY_BYTES: usize = 5 << 20;

#[derive(Deserialize)]
struct Arguments {
    url: String,
    #[serde(default)]
    from: usize,
    #[serde(default)]
    render: bool,
}

/// The declaration of the tool, with `render` if there is a browser.
pub fn spec(browser: bool) -> ToolSpec {
    let spec = super::declared("fetch_page");
    if browser { spec } else { spec.without_argument("render") }
}

pub struct FetchPage {
    pub spec: ToolSpec,
    pub client: Client,
    pub browser: Option<Rc<dyn Browser>>,
}

impl Tool for FetchPage {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, json: &str, context: ToolContext) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let (client, browser, arguments) =
            (self.client.clone(), self.browser.clone(), arguments::read(&self.spec, json));
        async move {
            let Arguments { url, from, render: scripts } = arguments?;
            let patience = Patience::new(&context.clock);
            match (scripts, browser) {
                (true, Some(browser)) => render(browser.as_ref(), &client, &url, from, patience).await,
                _ => fetch(&client, &url, from, patience).await,
            }
        }
        .boxed_local()
    }
}

/// Why the reading ended.
enum End {
    Complete,
    Full,
    TooLarge,
    TooLate,
    Broken,
}

async fn fetch(client: &Client, url: &str, from: usize, mut patience: Patience) -> Result<String, ToolError> {
    let Opened { url, mut reply } = client.open(url, &mut patience).await?;
    if !(200..300).contains(&reply.status) {
        return Err(ToolError::new(format!("{url} answered with status {}", reply.status)));
    }
    let media = MediaType::parse(&reply.header("content-type").unwrap_or_default());
    let mut read = 0;
    let mut reading = None;
    let end = loop {
        let bytes = match patience.wait(reply.body.next()).await {
            Ok(Some(Ok(bytes))) if bytes.is_empty() => continue,
            Ok(Some(Ok(bytes))) => bytes,
            Ok(Some(Err(_))) => break End::Broken,
            Ok(None) => break End::Complete,
            Err(TooLate) => break End::TooLate,
        };
        let (reader, decoder) = match &mut reading {
            Some(reading) => reading,
            none => none.insert(begin(client, &media, url.as_str(), &bytes, from)?),
        };
        let rest = bytes.get(..MAX_BODY_BYTES - read).unwrap_or(&bytes);
        read += rest.len();
        reader.feed(&decoder.decode(rest, false));
        if reader.window.is_full {
            break End::Full;
        }
        if rest.len() < bytes.len() {
            break End::TooLarge;
        }
    };
    // Ends the request if the body has not ended.
    drop(reply.body);
    let Some((mut reader, mut decoder)) = reading else {
        return match end {
            End::TooLate => Err(ToolError::new(format!("{url} did not answer in time"))),
            End::Broken => Err(ToolError::new(format!("{url} closed the connection without an answer"))),
            End::Complete | End::Full | End::TooLarge => {
                Ok(format!("{url} (status {}): it is empty", reply.status))
            }
        };
    };
    let mut left_out = false;
    if !matches!(end, End::Full) {
        reader.feed(&decoder.decode(&[], true));
        left_out = reader.finish();
    }
    let window = reader.window;
    let what = format!("{url} (status {}, {})", reply.status, media.shown());
    let tail = match end {
        _ if window.is_full => format!("there is more: read on with from {}", window.end()),
        End::TooLarge => format!("the page goes on, but the limit is {MAX_BODY_BYTES} bytes"),
        End::TooLate => "the page goes on, but its server was too slow".to_owned(),
        End::Broken => "the page goes on, but the connection broke".to_owned(),
        End::Complete | End::Full => "this is the end".to_owned(),
    };
    let left_out = if left_out { "; parts above the limit are missing" } else { "" };
    tell(&what, &format!("{tail}{left_out}"), from, &window)
}

type Reading = (Reader, Box<dyn Decode>);

/// Chooses reader and decoder by the first bytes of a body.
fn begin(
    client: &Client,
    media: &MediaType,
    url: &str,
    start: &[u8],
    from: usize,
) -> Result<Reading, ToolError> {
    let kind = media.kind(start).ok_or_else(|| {
        let what = if media.essence.is_empty() { "no text" } else { &media.shown() };
        ToolError::new(format!("{url} is {what}: only text can be read"))
    })?;
    let charset = media.charset(kind, start);
    let decoder = client.charsets.decoder(&charset);
    let decoder = decoder.ok_or_else(|| {
        ToolError::new(format!(
            "{url} is written in the character set {:?}, which is not known here",
            shown(&charset)
        ))
    })?;
    Ok((Reader::new(kind, url, Window::new(from, MAX_TOLD_BYTES)), decoder))
}

impl MediaType {
    fn shown(&self) -> String {
        if self.essence.is_empty() { "of unknown type".to_owned() } else { shown(&self.essence) }
    }
}

/// A server's text, bounded.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}

/// The result for the model.
pub fn tell(what: &str, tail: &str, from: usize, window: &Window) -> Result<String, ToolError> {
    let end = window.end();
    if window.text.is_empty() && from > 0 {
        return Err(ToolError::new(format!("{what} has no more than {end} bytes of text")));
    }
    let begin = end - window.text.len();
    Ok(format!("{what}, bytes {begin} to {end} of its text; {tail}\n{}\n\n{}", is_data("page"), window.text))
}
