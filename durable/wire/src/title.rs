//! The title of a thread that nobody has named: the first words of its first message, on one line. The page has the same
//! function (`web/src/turn/title.ts`), and the tests of both read `title_cases.json`. Pure.

/// The most characters of such a title, so that it fits into a list.
pub const TITLE_CHARS: usize = 80;

/// The head of a text file within a message, and the line below it. The page puts text files there, behind all words
/// (`web/src/turn/attachments.ts`).
const ATTACHED: &str = "Attached file: ";
const FENCE: &str = "`````";

/// The first line of a message that has words, without marks of Markdown. A message without words has the name of its first
/// file. Empty where there is nothing to read.
pub fn title_of(message: &str) -> String {
    let words = words_of(message);
    if !words.is_empty() {
        return words;
    }
    let (before, attached) = parted(message, false);
    first_chars(attached.or_else(|| before.lines().find_map(label)).map(one_line).unwrap_or_default())
}

/// The same without the names of files.
pub fn words_of(message: &str) -> String {
    first_line(message, false)
}

/// A title as a list shows it. Earlier versions took the beginning of the message as it was, with its line breaks; a title
/// that a person gave has none, and stays.
pub fn shown_title(title: &str) -> String {
    if title.contains('\n') {
        first_line(title, is_cut(title))
    } else {
        title.chars().filter(|c| !is_unseen(*c)).collect()
    }
}

/// The same without the names of files.
pub fn title_without_files(title: &str) -> String {
    let is_file =
        label(title).is_some() || title.starts_with(ATTACHED) || is_cut(title) && title.starts_with('[');
    if is_file && !title.contains('\n') { String::new() } else { shown_title(title) }
}

/// The words of a message before its text files.
pub fn without_attached(text: &str) -> &str {
    parted(text, false).0
}

/// Whether a title of an earlier version may be the beginning of a longer message.
fn is_cut(title: &str) -> bool {
    title.chars().nth(TITLE_CHARS - 1).is_some()
}

/// The first line that has words. Where a text was cut, its last line may be the beginning of a label.
fn first_line(text: &str, is_cut: bool) -> String {
    let (words, _) = parted(text, is_cut);
    let last = text.lines().next_back().filter(|line| is_cut && line.starts_with('['));
    let lines = words.lines().filter(|line| label(line).is_none() && Some(*line) != last);
    first_chars(lines.map(plain).find(|line| has_words(line)).unwrap_or_default())
}

/// The words of a message before its text files, and the name of the first of these. A text that was cut may have lost the
/// fence below that name.
fn parted(text: &str, is_cut: bool) -> (&str, Option<&str>) {
    let mut at = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let is_file = match lines.peek().map(|below| below.trim_end()) {
            Some(below) => below == FENCE || is_cut && FENCE.starts_with(below),
            None => is_cut,
        };
        if let Some(name) = line.strip_prefix(ATTACHED).filter(|_| is_file) {
            return (text.get(..at).unwrap_or_default().trim_end(), Some(name.trim_end()));
        }
        at += line.len();
    }
    (text, None)
}

/// The name in a line that stands in place of an image or a file: `[NAME, 34 kB]`. A name may have brackets of its own.
pub fn label(line: &str) -> Option<&str> {
    let (name, size) = line.trim().strip_prefix('[')?.strip_suffix(" kB]")?.rsplit_once(", ")?;
    (!size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}

/// Characters that nobody sees, and that may turn the text around them (Unicode, category Cf).
pub fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn has_words(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric)
}

/// A line without a fence, the mark of a heading, a list or a quotation before it, and pairs of marks within it.
fn plain(line: &str) -> String {
    let mut rest = line.trim();
    if rest.starts_with("```") || rest.starts_with("~~~") {
        return String::new();
    }
    loop {
        let marks = rest.trim_start_matches('#');
        let heading = if marks.starts_with(' ') { marks } else { rest };
        let item = ["- ", "* ", "+ ", "> "].iter().find_map(|mark| heading.strip_prefix(mark));
        let shorter = item.unwrap_or(heading).trim_start();
        if shorter.len() == rest.len() {
            break;
        }
        rest = shorter;
    }
    one_line(&["**", "~~", "`"].iter().fold(rest.to_owned(), |text, mark| without_pairs(&text, mark)))
}

/// A text without pairs of this mark. A mark that opens has no space behind it, and one that closes has none before it.
fn without_pairs(text: &str, mark: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(mark) {
        plain.push_str(before);
        let inside =
            behind.split_once(mark).filter(|(inside, _)| !inside.is_empty() && inside.trim() == *inside);
        match inside {
            Some((inside, after)) => {
                plain.push_str(inside);
                rest = after;
            }
            None => {
                plain.push_str(mark);
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// A text without unseen characters, and with single spaces.
fn one_line(text: &str) -> String {
    let seen: String = text.chars().filter(|c| !is_unseen(*c)).collect();
    let words = seen.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn first_chars(title: String) -> String {
    match title.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => title.get(..end).unwrap_or_default().trim_end().to_owned(),
        None => title,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 53, fault 2. The page's function has the same cases (`web/src/turn/title.test.ts`).
    #[test]
    fn a_title_is_the_first_words_of_a_message() {
        let cases: Vec<(String, String)> = serde_json::from_str(include_str!("title_cases.json")).unwrap();
        assert!(cases.len() > 15);
        for (message, title) in cases {
            assert_eq!(title_of(&message), title, "{message:?}");
        }
    }

    #[test]
    fn a_title_has_at_most_eighty_characters() {
        assert_eq!(title_of(&"ü".repeat(TITLE_CHARS)), "ü".repeat(TITLE_CHARS));
        assert_eq!(title_of(&"ü".repeat(TITLE_CHARS + 1)), "ü".repeat(TITLE_CHARS));
    }

    #[test]
    fn a_list_shows_the_name_that_a_person_gave() {
        assert_eq!(shown_title("**My** `code`, # 1"), "**My** `code`, # 1");
        assert_eq!(shown_title("in\u{202e}voice"), "invoice");
        assert_eq!(
            shown_title("What is in these?\n\nAttached file: guide.md\n`````\n# Guide"),
            "What is in these?"
        );
        let padded = |last: &str| format!("{last}{}", "x".repeat(TITLE_CHARS - last.chars().count()));
        assert_eq!(shown_title(&padded("Attached file: a.md\n`````\n")), "");
        assert_eq!(shown_title(&padded("What is in these?\n\nAttached file: ")), "What is in these?");
        assert_eq!(shown_title(&padded("[a.md, 1 kB]\n\n[")), "");
    }
}
