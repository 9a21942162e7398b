//! Divides documents into chunks that a search finds and a model reads. Pure.
//! A chunk has one or more paragraphs of one section, and the headings above them. If a section needs several chunks,
//! each begins with the end of the one before, so that a sentence keeps its context.

use serde_json::json;
use wire::pace::Pace;
use wire::protocol::ApiError;

use super::search;

/// The longest chunk in characters, and how much of it repeats the previous chunk.
pub const MAX_CHUNK_CHARS: usize = 1_500;
const OVERLAP_CHARS: usize = 150;
/// The most chunks that respect the sections of a document.
pub(super) const MAX_SECTIONED: usize = 2_000;
/// The longest path of headings, in characters.
pub(super) const MAX_HEADING_CHARS: usize = 200;

/// A chunk of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The headings above it: `Guide > Install`. Empty if there are none.
    pub heading: String,
    pub text: String,
}

/// The units of work of a line, and of each byte of it, to divide it; and of a byte of a chunk to make its row: the row has
/// each word and its beginning. Measured with 1 MiB of short lines and of short words, which take 40 ms each.
const LINE: usize = 64;
const BYTE_DIVIDED: usize = 4;
const BYTE_IN_ROW: usize = 60;

/// Divides a text into chunks. Reads headings if the text is Markdown. Others may run meanwhile.
pub async fn chunks(text: &str, is_markdown: bool, pace: &Pace<'_>) -> Result<Vec<Chunk>, ApiError> {
    pace.before(text.len() * BYTE_DIVIDED).await?;
    let text = plain(text);
    let chunks = divided_by_lines(&text, is_markdown, pace).await?;
    match is_markdown && chunks.len() > MAX_SECTIONED {
        // A document with thousands of nearly empty sections: ignores the sections, so that each chunk is full.
        true => divided_by_lines(&text, false, pace).await,
        false => Ok(chunks),
    }
}

/// The rows of a document's chunks, as JSON. Others may run meanwhile.
pub async fn rows(chunks: &[Chunk], pace: &Pace<'_>) -> Result<Vec<String>, ApiError> {
    let mut rows = Vec::new();
    for (place, Chunk { heading, text }) in chunks.iter().enumerate() {
        pace.before(text.len() * BYTE_IN_ROW).await?;
        let terms = search::indexed(&format!("{heading}\n{text}"));
        rows.push(json!([place + 1, heading, text, terms]).to_string());
    }
    Ok(rows)
}

async fn divided_by_lines(text: &str, is_markdown: bool, pace: &Pace<'_>) -> Result<Vec<Chunk>, ApiError> {
    let mut pieces = Pieces::default();
    let mut paragraph = String::new();
    let mut in_code = false;
    for line in text.lines() {
        pace.before(LINE + line.len() * BYTE_DIVIDED).await?;
        let fence = is_markdown && line.trim_start().starts_with("```");
        let heading = (is_markdown && !in_code && !fence).then(|| heading(line)).flatten();
        if let Some((level, title)) = heading {
            pieces.paragraph(&std::mem::take(&mut paragraph));
            pieces.section(level, title);
        } else if line.trim().is_empty() && !in_code {
            pieces.paragraph(&std::mem::take(&mut paragraph));
        } else {
            paragraph.push_str(line.trim_end());
            paragraph.push('\n');
        }
        in_code ^= fence;
    }
    pieces.paragraph(&paragraph);
    pieces.close();
    Ok(pieces.done)
}

/// Removes invisible characters: SQLite ends texts at a NUL.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// `## Title` → 2, `Title`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let title = title.strip_prefix(' ')?.trim().trim_end_matches('#').trim_end();
    ((1..=6).contains(&level) && !title.is_empty()).then_some((level, title))
}

#[derive(Default)]
struct Pieces {
    done: Vec<Chunk>,
    /// The headings above, each with its level.
    path: Vec<(usize, String)>,
    open: String,
    open_chars: usize,
    /// How much of the open chunk repeats the previous one.
    repeated: usize,
}

impl Pieces {
    fn section(&mut self, level: usize, title: &str) {
        self.close();
        self.path.retain(|(above, _)| *above < level);
        self.path.push((level, title.to_owned()));
    }

    /// Adds a paragraph, in several chunks if it is too long for one.
    fn paragraph(&mut self, paragraph: &str) {
        let mut rest = paragraph.trim_matches('\n');
        while !rest.is_empty() {
            let room = MAX_CHUNK_CHARS.saturating_sub(self.open_chars + 2);
            // Counts only up to the limit, because a document may be one paragraph.
            let fits = |chars: usize| rest.chars().nth(chars).is_none();
            if fits(room) {
                return self.add(rest);
            }
            // Keeps a paragraph whole if it fits into its own chunk, and does not divide one for a few words.
            let fresh = self.open_chars == self.repeated;
            let fits_alone = fits(MAX_CHUNK_CHARS - OVERLAP_CHARS - 2);
            if !fresh && (fits_alone || room < MAX_CHUNK_CHARS / 3) {
                self.turn_over();
                continue;
            }
            let (head, tail) = divided(rest, room);
            if head.is_empty() {
                // Only white space.
                rest = tail;
                continue;
            }
            self.add(head);
            self.turn_over();
            rest = tail;
        }
    }

    fn add(&mut self, text: &str) {
        if !self.open.is_empty() {
            self.open.push_str("\n\n");
            self.open_chars += 2;
        }
        self.open.push_str(text);
        self.open_chars += text.chars().count();
    }

    /// Closes the open chunk and opens a new one that begins with its end.
    fn turn_over(&mut self) {
        let tail = tail(&self.open).to_owned();
        self.close();
        self.open_chars = tail.chars().count();
        self.repeated = self.open_chars;
        self.open = tail;
    }

    fn close(&mut self) {
        let text = std::mem::take(&mut self.open);
        let is_new = self.open_chars > self.repeated;
        (self.open_chars, self.repeated) = (0, 0);
        if is_new {
            let titles: Vec<&str> = self.path.iter().map(|(_, title)| title.as_str()).collect();
            let heading = titles.join(" > ").chars().take(MAX_HEADING_CHARS).collect();
            self.done.push(Chunk { heading, text });
        }
    }
}

/// Divides a text after at most this many characters, at the end of a paragraph, sentence or word.
pub(super) fn divided(text: &str, chars: usize) -> (&str, &str) {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (head, _) = text.split_at(end);
    // Cuts only in the second half, to avoid many small chunks.
    let least = head.char_indices().nth(chars / 2).map_or(0, |(at, _)| at);
    let after = |mark: &str| head.rfind(mark).map(|at| at + mark.len()).filter(|at| *at > least);
    let sentence = [". ", "! ", "? ", "。", "．", "！", "？"].iter().filter_map(|mark| after(mark)).max();
    let cut = after("\n").or(sentence).or_else(|| after(" ")).unwrap_or(end);
    let (head, tail) = text.split_at(cut);
    (head.trim_end(), tail.trim_start())
}

/// The end of a text, starting at a word.
fn tail(text: &str) -> &str {
    let from = text.char_indices().rev().nth(OVERLAP_CHARS - 1).map_or(0, |(at, _)| at);
    let (_, tail) = text.split_at(from);
    match tail.split_once(char::is_whitespace) {
        Some((_, words)) if from > 0 => words.trim_start(),
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use wire::pace::{STRETCH, at_once, no_pause};

    use super::*;

    fn chunks(text: &str, is_markdown: bool) -> Vec<Chunk> {
        at_once(super::chunks(text, is_markdown, &Pace::new(&no_pause))).unwrap().unwrap()
    }

    // Issue 42, M5: a document of 1 MiB is divided and indexed in stretches.
    #[test]
    fn others_run_while_a_document_is_divided() {
        let mebibyte = 1 << 20;
        for (text, least) in [
            ("# a\nb\n", 2 * mebibyte * (LINE + 10) / 3),
            ("a ", mebibyte * BYTE_IN_ROW),
            ("漢字", mebibyte * BYTE_IN_ROW),
        ] {
            let pauses = std::cell::Cell::new(0);
            let pause = || {
                pauses.set(pauses.get() + 1);
                no_pause()
            };
            let pace = Pace::new(&pause);
            let text = text.repeat(mebibyte / text.len());
            let made = at_once(super::chunks(&text, true, &pace)).unwrap().unwrap();
            let rows = at_once(super::rows(&made, &pace)).unwrap().unwrap();
            assert_eq!(rows.len(), made.len());
            assert!(pauses.get() >= least / STRETCH, "{} pauses of {}", pauses.get(), least / STRETCH);
        }
        let row = at_once(super::rows(&chunks("# A\n\nb c", true), &Pace::new(&no_pause))).unwrap().unwrap();
        assert_eq!(row, [r#"[1,"A","b c","a b c "]"#]);
    }

    fn headed_texts(text: &str) -> Vec<(String, String)> {
        chunks(text, true).into_iter().map(|chunk| (chunk.heading, chunk.text)).collect()
    }

    fn pair(heading: &str, text: &str) -> (String, String) {
        (heading.to_owned(), text.to_owned())
    }

    // N-031
    #[test]
    fn sections_are_pieces_that_know_their_headings() {
        let text = "Before.\n\n# Guide\n\nOne.\n\nTwo\ngoes on.\n## Install ##\n```sh\n# no heading\n\nmake\n```\n\
            ### Deep\nx\n## Run\ny\n#tag\n####### seven\n# \n# Other\r\nz";
        assert_eq!(
            headed_texts(text),
            [
                pair("", "Before."),
                pair("Guide", "One.\n\nTwo\ngoes on."),
                pair("Guide > Install", "```sh\n# no heading\n\nmake\n```"),
                pair("Guide > Install > Deep", "x"),
                pair("Guide > Run", "y\n#tag\n####### seven\n#"),
                pair("Other", "z"),
            ]
        );
        let whole = chunks("# A\n\nb", false);
        assert_eq!(whole, [Chunk { heading: String::new(), text: "# A\n\nb".to_owned() }]);
    }

    #[test]
    fn an_empty_document_has_no_chunks() {
        for nothing in ["", "\n\n \t\n", "# Only a heading", "\0\u{7}\u{1b}", "# A\n## B\n\n"] {
            assert_eq!(headed_texts(nothing), [], "{nothing:?}");
        }
        assert_eq!(headed_texts("a\0b\u{8}c"), [pair("", "abc")]);
    }

    #[test]
    fn a_long_section_is_divided_between_paragraphs_and_repeats_a_little() {
        let paragraph = |letter: &str| format!("{letter}{} end.", " word".repeat(120));
        let text = format!("# H\n\n{}", ["a", "b", "c", "d"].map(paragraph).join("\n\n"));
        let pieces = chunks(&text, true);
        assert_eq!(pieces.len(), 2);
        assert!(pieces[0].text.ends_with("end.") && pieces[0].text.starts_with("a word"));
        assert!(pieces[1].text.starts_with("word word") && pieces[1].text.contains("end.\n\nc word"));
        assert!(pieces.iter().all(|piece| piece.heading == "H"));
    }

    #[test]
    fn the_number_of_pieces_is_bounded() {
        let sections = |count: usize| chunks(&"# a\nb\n\n".repeat(count), true).len();
        assert_eq!((sections(MAX_SECTIONED), sections(MAX_SECTIONED + 1)), (2_000, 11));
        let mebibyte = 1 << 20;
        for text in ["# a\nb\n".to_owned(), "x\n\n".to_owned(), format!("{}\n\nabcde\n\n", "x".repeat(1_344))]
        {
            let pieces = chunks(&text.repeat(mebibyte / text.len()), true).len();
            assert!(pieces <= MAX_SECTIONED, "{pieces}");
        }
    }

    #[test]
    fn a_paragraph_that_is_too_long_is_cut_between_sentences_or_words() {
        let sentences = chunks(&"This is a sentence of some length. ".repeat(100), false);
        assert!(sentences.len() > 2 && sentences.iter().all(|piece| piece.text.ends_with("length.")));
        let unbroken = "漢".repeat(4_000);
        let pieces = chunks(&unbroken, false);
        assert!(pieces.iter().all(|piece| piece.text.chars().count() <= MAX_CHUNK_CHARS));
        assert_eq!(chunks(&"x".repeat(MAX_CHUNK_CHARS - 2), false).len(), 1);
        assert_eq!(chunks(&"x".repeat(MAX_CHUNK_CHARS - 1), false).len(), 2);
    }

    proptest! {
        // For any document: each chunk has text within the limit, the chunks keep all words, and the division ends.
        #[test]
        fn no_piece_is_too_long_and_no_word_is_lost(
            words in prop::collection::vec("[a-zäß漢\u{1f600}#`.\\- ]{0,40}|\n|\n\n|# h\n|```\n", 0..400),
            is_markdown in any::<bool>(),
        ) {
            let text = words.concat();
            let pieces = chunks(&text, is_markdown);
            for piece in &pieces {
                prop_assert!(piece.text.chars().count() <= MAX_CHUNK_CHARS);
                prop_assert!(!piece.text.trim().is_empty());
                prop_assert!(piece.heading.chars().count() <= MAX_HEADING_CHARS);
            }
            let letters = |text: &str| text.chars().filter(|c| "äß漢\u{1f600}".contains(*c)).count();
            let kept: usize = pieces.iter().map(|piece| letters(&piece.text)).sum();
            let in_headings = text.lines().filter_map(heading).map(|(_, title)| letters(title)).sum::<usize>();
            prop_assert!(kept + in_headings >= letters(&text));
        }
    }
}
