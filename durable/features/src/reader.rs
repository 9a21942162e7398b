//! Converts the body of a page: HTML becomes Markdown, other text stays unchanged. It works in one pass and in bounded
//! memory. Pure.

use mdream::MarkdownStreamProcessor;
use mdream::types::{CleanConfig, FilterConfig, FrontmatterConfig, HtmlToMarkdownOptions, PluginConfig};
use wire::pace::Pace;
use wire::protocol::ApiError;

/// The largest node of a page: a paragraph, a tag, a block of code. The converter leaves out the rest of a larger one.
const MAX_PIECE_BYTES: usize = 1 << 20;
/// How many bytes of a page may declare its character set:
/// <https://html.spec.whatwg.org/#determining-the-character-encoding>.
const DECLARED_WITHIN: usize = 1_024;

/// Elements that the converter leaves out.
const NOISE: [&str; 12] = [
    "nav",
    "footer",
    "aside",
    "form",
    "button",
    "select",
    "textarea",
    "dialog",
    "svg",
    "[hidden]",
    "[aria-hidden=true]",
    "[role=navigation]",
];

/// The format of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageFormat {
    Html,
    Text,
}

/// A media type, and the character set that it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaType {
    /// In lower case; empty if the header is missing.
    pub essence: String,
    pub charset: Option<String>,
}

impl MediaType {
    /// Reads a `content-type`.
    pub fn parse(header: &str) -> Self {
        let mut parts = header.split(';');
        let essence = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
        let charset = parts.filter_map(|part| part.split_once('=')).find_map(|(name, value)| {
            let value = value.trim().trim_matches('"').to_ascii_lowercase();
            (name.trim().eq_ignore_ascii_case("charset") && !value.is_empty()).then_some(value)
        });
        MediaType { essence, charset }
    }

    /// The format of a body of this type; none if it is not text. `start` is the beginning of the body.
    pub fn kind(&self, start: &[u8]) -> Option<PageFormat> {
        match self.essence.as_str() {
            "text/html" | "application/xhtml+xml" => Some(PageFormat::Html),
            "" if start.contains(&0) => None,
            "" if start.trim_ascii_start().starts_with(b"<") => Some(PageFormat::Html),
            ""
            | "application/json"
            | "application/xml"
            | "application/javascript"
            | "application/yaml"
            | "application/x-ndjson"
            | "application/x-yaml"
            | "application/toml" => Some(PageFormat::Text),
            other if other.starts_with("text/") || other.ends_with("+json") || other.ends_with("+xml") => {
                Some(PageFormat::Text)
            }
            _ => None,
        }
    }

    /// The character set: by the byte order mark, then by the header, then by the page itself.
    pub fn charset(&self, kind: PageFormat, start: &[u8]) -> String {
        let mark = match start {
            [0xef, 0xbb, 0xbf, ..] => Some("utf-8"),
            [0xff, 0xfe, ..] => Some("utf-16le"),
            [0xfe, 0xff, ..] => Some("utf-16be"),
            _ => None,
        };
        let declared = || if kind == PageFormat::Html { declared(start) } else { None };
        let named = mark.map(str::to_owned).or_else(|| self.charset.clone()).or_else(declared);
        named.unwrap_or_else(|| "utf-8".to_owned())
    }
}

/// The character set of a page's `<meta>`.
fn declared(start: &[u8]) -> Option<String> {
    let head = start.get(..DECLARED_WITHIN).unwrap_or(start).to_ascii_lowercase();
    let head = String::from_utf8_lossy(&head);
    let (_, value) = head.split_once("charset=")?;
    let value = value.trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.:".contains(c)).unwrap_or(value.len());
    value.get(..end).filter(|name| !name.is_empty()).map(str::to_owned)
}

/// A window onto a text of unknown length.
#[derive(Debug)]
pub struct Window {
    from: usize,
    room: usize,
    /// The bytes so far, before the window and in it.
    seen: usize,
    pub text: String,
    /// The text continues after the window.
    pub is_full: bool,
}

impl Window {
    /// A window of `room` bytes that starts at `from`.
    pub fn new(from: usize, room: usize) -> Self {
        Window { from, room, seen: 0, text: String::new(), is_full: false }
    }

    /// The end of the window, in bytes of the text.
    pub fn end(&self) -> usize {
        self.seen
    }

    /// Adds the next text.
    pub fn push(&mut self, text: &str) {
        let skipped = text.floor_char_boundary(self.from.saturating_sub(self.seen));
        let (_, rest) = text.split_at(skipped);
        let (kept, behind) = rest.split_at(rest.floor_char_boundary(self.room - self.text.len()));
        self.is_full |= !behind.is_empty();
        self.seen += skipped + kept.len();
        self.text.push_str(kept);
        // A full window stops counting.
        self.room = if self.is_full { self.text.len() } else { self.room };
    }
}

/// Reads a body piece by piece into a window.
pub struct Reader {
    markdown: Option<MarkdownStreamProcessor>,
    pub window: Window,
}

impl Reader {
    /// `url` is the base of relative links.
    pub fn new(kind: PageFormat, url: &str, window: Window) -> Self {
        let options = || HtmlToMarkdownOptions { origin: Some(url.to_owned()), ..options(true) };
        let markdown = (kind == PageFormat::Html).then(|| MarkdownStreamProcessor::new(options()));
        Reader { markdown, window }
    }

    /// Adds the next piece of the body.
    pub fn feed(&mut self, text: &str) {
        match &mut self.markdown {
            Some(markdown) => self.window.push(&markdown.process_chunk(text)),
            None => self.window.push(text),
        }
    }

    /// Ends the body. Returns whether the converter left out parts.
    pub fn finish(&mut self) -> bool {
        let Some(markdown) = &mut self.markdown else { return false };
        self.window.push(&markdown.finish());
        markdown.truncated()
    }
}

fn options(with_title: bool) -> HtmlToMarkdownOptions {
    let clean = CleanConfig {
        empty_links: true,
        redundant_links: true,
        self_link_headings: true,
        empty_images: true,
        empty_link_text: true,
        ..CleanConfig::default()
    };
    let plugins = PluginConfig {
        filter: Some(FilterConfig::exclude(&NOISE)),
        frontmatter: with_title.then(FrontmatterConfig::default),
        ..PluginConfig::default()
    };
    HtmlToMarkdownOptions {
        clean: Some(clean),
        plugins: Some(plugins),
        max_node_bytes: MAX_PIECE_BYTES,
        ..HtmlToMarkdownOptions::default()
    }
}

/// The bytes that are converted without a pause, and the units of work of a byte: markup of short tags takes 30 ns a byte.
const CONVERTED: usize = 32 << 10;
const BYTE_CONVERTED: usize = 20;

/// Converts an HTML document to Markdown, without the metadata of its head. Others may run meanwhile.
pub async fn markdown(html: &str, pace: &Pace<'_>) -> Result<String, ApiError> {
    let (mut converter, mut markdown) = (MarkdownStreamProcessor::new(options(false)), String::new());
    let mut rest = html;
    while !rest.is_empty() {
        let mut end = rest.len().min(CONVERTED);
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at(end);
        pace.before(piece.len() * BYTE_CONVERTED).await?;
        markdown.push_str(&converter.process_chunk(piece));
        rest = after;
    }
    markdown.push_str(&converter.finish());
    Ok(markdown)
}

/// A snippet of HTML as one line of text.
pub fn one_line(html: &str) -> String {
    let text = mdream::html_to_markdown(html, HtmlToMarkdownOptions::default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use wire::pace::{Pace, STRETCH, at_once, no_pause};

    use super::*;

    // Issue 42, M5: a document of 1 MiB is converted in stretches, to the same text as in one go.
    #[test]
    fn others_run_while_a_document_is_converted() {
        let page = "<nav>x</nav><h1>Größe</h1><p>Hello <b>you</b> &amp; <a href=\"https://a.example\">me</a></p>\
            <table><tr><th>a</th></tr><tr><td>漢字</td></tr></table><ul><li>one<li>two</ul><pre><code>x  y</code></pre>\n";
        for html in [page, "<a>", "<div>", "<a href='x'>y</a>", "x", "&lt;", "<ul><li>x"] {
            let html = html.repeat((1 << 20) / html.len());
            let pauses = Cell::new(0);
            let pause = || {
                pauses.set(pauses.get() + 1);
                no_pause()
            };
            let converted = at_once(markdown(&html, &Pace::new(&pause))).unwrap().unwrap();
            assert!(converted == mdream::html_to_markdown(&html, options(false)), "{:?}", html.get(..20));
            assert!(pauses.get() > html.len() * BYTE_CONVERTED / STRETCH / 2, "{} pauses", pauses.get());
        }
    }
}
