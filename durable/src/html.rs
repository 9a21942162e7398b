//! HTML as text with Markdown's headings, for documents: what a reader sees of it. Pure.
//!
//! No parser: nothing of it is ever shown as HTML again, so a page that is read in another way than a browser does is
//! worth less as a document, and that is all.

/// Elements whose content no reader sees.
const UNSEEN: [&str; 7] = ["script", "style", "head", "template", "noscript", "svg", "iframe"];
/// Elements that begin a new paragraph.
const BLOCKS: [&str; 24] = [
    "p",
    "div",
    "section",
    "article",
    "header",
    "footer",
    "main",
    "aside",
    "nav",
    "ul",
    "ol",
    "dl",
    "table",
    "tr",
    "blockquote",
    "pre",
    "figure",
    "figcaption",
    "form",
    "fieldset",
    "details",
    "summary",
    "hr",
    "body",
];

/// The text of a document.
pub fn text(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some((before, from)) = rest.split_once('<') {
        push_text(&mut text, before);
        rest = match tag(from) {
            Some((name, is_end, after)) => {
                push_mark(&mut text, &name, is_end);
                match !is_end && UNSEEN.contains(&name.as_str()) {
                    true => after_end(after, &name),
                    false => after,
                }
            }
            None => {
                text.push('<');
                from
            }
        };
    }
    push_text(&mut text, rest);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut paragraphs = lines.join("\n");
    while paragraphs.contains("\n\n\n") {
        paragraphs = paragraphs.replace("\n\n\n", "\n\n");
    }
    paragraphs.trim().to_owned()
}

/// The name of a tag, whether it is an end, and what comes after it; comments have no name. None where a `<` is a text's.
fn tag(from: &str) -> Option<(String, bool, &str)> {
    if let Some(comment) = from.strip_prefix("!--") {
        return Some((String::new(), false, comment.split_once("-->").map_or("", |(_, after)| after)));
    }
    let (is_end, named) = from.strip_prefix('/').map_or((false, from), |named| (true, named));
    let name: String = named.chars().take_while(char::is_ascii_alphanumeric).collect();
    if name.is_empty() && !named.starts_with(['!', '?']) {
        return None;
    }
    let mut quote = None;
    for (at, c) in named.char_indices() {
        match (quote, c) {
            (None, '>') => {
                return Some((name.to_ascii_lowercase(), is_end, named.get(at + 1..).unwrap_or_default()));
            }
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
    }
    // A quote that is never closed: the tag ends where the first mark does.
    let after = named.split_once('>').map_or("", |(_, after)| after);
    Some((name.to_ascii_lowercase(), is_end, after))
}

/// What comes after the end of an element.
fn after_end<'a>(html: &'a str, name: &str) -> &'a str {
    let ends = |at: usize| {
        let after = html.get(at + 2..).unwrap_or_default();
        let is_it = after.get(..name.len()).is_some_and(|named| named.eq_ignore_ascii_case(name));
        is_it.then(|| after.split_once('>').map_or("", |(_, after)| after))
    };
    html.match_indices("</").find_map(|(at, _)| ends(at)).unwrap_or_default()
}

fn push_mark(text: &mut String, name: &str, is_end: bool) {
    let level = name
        .strip_prefix('h')
        .and_then(|level| level.parse::<usize>().ok())
        .filter(|level| (1..=6).contains(level));
    match (name, level) {
        (_, Some(_)) if is_end => text.push_str("\n\n"),
        (_, Some(level)) => {
            text.push_str("\n\n");
            text.push_str(&"#".repeat(level));
            text.push(' ');
        }
        ("li" | "dt" | "dd", _) if !is_end => text.push_str("\n- "),
        ("br", _) => text.push('\n'),
        ("td" | "th", _) if is_end => text.push_str(" | "),
        _ if BLOCKS.contains(&name) => text.push_str("\n\n"),
        _ => {}
    }
}

/// Adds text with its white space as a browser shows it.
fn push_text(text: &mut String, html: &str) {
    for (at, word) in html.split(|c: char| c.is_ascii_whitespace()).enumerate() {
        if at > 0 && !text.ends_with([' ', '\n']) {
            text.push(' ');
        }
        push_word(text, word);
    }
}

/// Adds a word with its references resolved.
fn push_word(text: &mut String, word: &str) {
    let mut rest = word;
    while let Some((before, from)) = rest.split_once('&') {
        text.push_str(before);
        let named = from.split_once(';').filter(|(name, _)| name.len() <= 10);
        rest = match named.and_then(|(name, after)| Some((reference(name)?, after))) {
            Some((c, after)) => {
                text.push(c);
                after
            }
            None => {
                text.push('&');
                from
            }
        };
    }
    text.push_str(rest);
}

fn reference(name: &str) -> Option<char> {
    let number = |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
    match name.strip_prefix('#') {
        Some(digits) => match digits.strip_prefix(['x', 'X']) {
            Some(digits) => number(digits, 16),
            None => number(digits, 10),
        },
        None => Some(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            "nbsp" => ' ',
            "ndash" => '–',
            "mdash" => '—',
            "hellip" => '…',
            "copy" => '©',
            "euro" => '€',
            "auml" => 'ä',
            "ouml" => 'ö',
            "uuml" => 'ü',
            "Auml" => 'Ä',
            "Ouml" => 'Ö',
            "Uuml" => 'Ü',
            "szlig" => 'ß',
            "eacute" => 'é',
            "egrave" => 'è',
            _ => return None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::text;

    // N-031
    #[test]
    fn what_a_reader_sees() {
        let html = "<!doctype html><html><head><title>T</title><style>p{}</style></head><body class=\"a>b\">\n\
            <h1>Guide &amp; more</h1><p>One\n   <b>two</b>.</p><!-- <p>not this</p> --><ul><li>a</li><LI>b</li></ul>\n\
            <script>if (a < b) { alert('</p>') }</SCRIPT><h2 id='x'>Next</h2>1 &lt; 2 &#233;&#x1F600;&bogus; &nbsp;<br>end\
            <table><tr><td>x</td><td>y</td></tr></table></body></html>";
        let expected =
            "# Guide & more\n\nOne two.\n\n- a\n- b\n\n## Next\n\n1 < 2 é\u{1f600}&bogus;  \nend\n\nx | y |";
        let lines = |text: &str| text.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
        assert_eq!(lines(&text(html)), lines(expected));
    }

    #[test]
    fn what_is_broken_is_read_as_far_as_it_goes() {
        for (html, read) in [
            ("a < b > c", "a < b > c"),
            ("<p>a<", "a<"),
            ("<p", ""),
            ("a<!-- b", "a"),
            ("<script>a", ""),
            ("a<b title=\"x>y", "ay"),
            ("&", "&"),
            ("&#x110000;&#0;", "&#x110000;\u{0}"),
            ("<></>x", "<></>x"),
        ] {
            assert_eq!(text(html), read, "{html}");
        }
    }

    proptest! {
        #[test]
        fn it_always_ends(html in "(<|>|/|!--|--|\"|'|&|;|#|script|p|a| |\n|ä|\u{1f600}){0,200}") {
            prop_assert!(text(&html).len() <= html.len() * 4 + 8);
        }
    }
}
