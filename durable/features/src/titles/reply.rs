//! The title in a model's reply. A reply in any other form, such as a refusal, gives none. Pure.

use wire::title::{TITLE_CHARS, is_unseen};

/// The marks between which the model writes the title.
pub const OPEN: &str = "<title>";
pub const CLOSE: &str = "</title>";

/// The title of a reply as one line of plain text; none where the reply is no title, or the title is blank or too long.
pub fn title(reply: &str) -> Option<String> {
    let marked = reply.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    let title = plain(marked);
    let is_markup = ["<", ">", "](", "://"].iter().any(|mark| title.contains(mark));
    let fits = title.chars().nth(TITLE_CHARS).is_none();
    (fits && !is_markup && title.chars().any(char::is_alphanumeric)).then_some(title)
}

/// The text without control characters, quotes around it and marks of Markdown, and with single spaces.
fn plain(text: &str) -> String {
    let spaced: String = text.chars().map(|c| if c.is_control() || is_unseen(c) { ' ' } else { c }).collect();
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let line = words.join(" ").replace("**", "").replace("__", "").replace("~~", "").replace('`', "");
    let mut rest = line.as_str();
    loop {
        let shorter = unquoted(without_mark(rest.trim())).trim();
        if shorter.len() == rest.len() {
            return shorter.to_owned();
        }
        rest = shorter;
    }
}

/// The text without the mark of a heading, a list or a quote before it, emphasis around it, and a full stop behind it.
fn without_mark(text: &str) -> &str {
    let marks = text.trim_start_matches('#');
    let text = if marks.len() < text.len() && marks.starts_with(' ') { marks } else { text };
    let text = ["- ", "* ", "+ ", "> "].iter().find_map(|mark| text.strip_prefix(mark)).unwrap_or(text);
    let text = ['*', '_'].iter().find_map(|mark| around(text, (*mark, *mark))).unwrap_or(text);
    match text.strip_suffix('.') {
        Some(sentence) if !sentence.ends_with('.') => sentence,
        _ => text,
    }
}

fn unquoted(text: &str) -> &str {
    const QUOTES: [(char, char); 8] =
        [('"', '"'), ('\'', '\''), ('“', '”'), ('„', '“'), ('‘', '’'), ('«', '»'), ('»', '«'), ('「', '」')];
    QUOTES.iter().find_map(|pair| around(text, *pair)).unwrap_or(text)
}

/// The text between two marks at its ends.
fn around(text: &str, (open, close): (char, char)) -> Option<&str> {
    text.strip_prefix(open)?.strip_suffix(close)
}
