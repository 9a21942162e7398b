//! Text and queries for D1's full-text index (FTS5), in any language. Pure.
//! This module makes the words of questions and of indexed texts in the same way. FTS5 sees only letters and digits, so
//! a question cannot contain its syntax. It matches whole words, because the cost of a prefix search has no bound. Each
//! expression names its scope, so a search finds only the scope's rows.

use std::collections::BTreeMap;

/// The most words of a question that a search uses. A longer question keeps its longest words, which distinguish best.
const MAX_WORDS: usize = 16;
/// The most characters of a question that a search reads.
const MAX_QUESTION_CHARS: usize = 4_000;
/// The most characters of a word that the index keeps.
const MAX_WORD_CHARS: usize = 40;
/// How often a word of one text counts. More repetitions would only slow each search down.
const MAX_REPEATS: u32 = 4;
/// The length of a word's beginning that the index also has, to find its other forms.
const STEM_CHARS: usize = 4;
/// The suffix that marks a beginning. FTS5's tokenizer `ascii` treats each non-ASCII character as a letter.
const STEM: char = '·';
/// The weight of another form of a word; the word itself has 1.
const STEM_WEIGHT: f64 = 0.4;

/// Whether a character counts as a word, in scripts without spaces.
fn stands_alone(c: char) -> bool {
    matches!(c,
        // Thai, Lao, Burmese, Khmer.
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        // Kana, Bopomofo and the ideographs of Chinese, Japanese and Korean; Hangul has spaces.
        | '\u{3040}'..='\u{312f}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9d}' | '\u{20000}'..='\u{3134f}')
}

/// Removes the accent of a Latin letter, because people leave accents out in questions.
fn plain(c: char) -> char {
    match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'ď' | 'đ' => 'd',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' => 'i',
        'ĺ' | 'ļ' | 'ľ' | 'ł' => 'l',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' => 'o',
        'ŕ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => 's',
        'ţ' | 'ť' | 'ț' => 't',
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}

/// The words of a text, in their order.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut open = String::new();
    for c in text.chars() {
        match c {
            c if stands_alone(c) && c.is_alphanumeric() => {
                words.push(std::mem::take(&mut open));
                words.push(c.to_string());
            }
            c if c.is_alphanumeric() => {
                open.extend(c.to_lowercase().map(plain).filter(|c| c.is_alphanumeric()))
            }
            // A combining accent.
            '\u{0300}'..='\u{036f}' => {}
            _ => words.push(std::mem::take(&mut open)),
        }
    }
    words.push(open);
    words.retain(|word| !word.is_empty());
    for word in &mut words {
        if let Some((at, _)) = word.char_indices().nth(MAX_WORD_CHARS) {
            word.truncate(at);
        }
    }
    words
}

/// The beginning of a word, which finds its other forms. Numbers and short words have none.
fn stem(word: &str) -> Option<String> {
    let stem: String = word.chars().take(STEM_CHARS).collect();
    let is_word = stem.chars().count() == STEM_CHARS && !stem.chars().all(char::is_numeric);
    is_word.then(|| format!("{stem}{STEM}"))
}

/// The indexed form of a text: its words and their beginnings.
pub fn indexed(text: &str) -> String {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    let mut indexed = String::new();
    for word in words(text) {
        for term in [stem(&word), Some(word)].into_iter().flatten() {
            let count = counts.entry(term.clone()).or_default();
            *count += 1;
            if *count <= MAX_REPEATS {
                indexed.push_str(&term);
                indexed.push(' ');
            }
        }
    }
    indexed
}

/// The FTS5 expressions of a question, as a JSON array of expressions with their weights. Each finds rows of these
/// scopes with one of the words. None if the question has no words. Scopes are tokens of ours.
pub fn expressions(scopes: &[String], question: &str) -> Option<String> {
    let start: String = question.chars().take(MAX_QUESTION_CHARS).collect();
    let mut asked: Vec<String> = Vec::new();
    for word in words(&start) {
        if !asked.contains(&word) {
            asked.push(word);
        }
    }
    if asked.is_empty() || scopes.is_empty() {
        return None;
    }
    asked.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    asked.truncate(MAX_WORDS);
    let mut stems: Vec<String> = asked.iter().filter_map(|word| stem(word)).collect();
    stems.dedup();
    let scopes: Vec<String> = scopes.iter().map(|scope| format!("\"{scope}\"")).collect();
    let scopes = scopes.join(" OR ");
    let one = |term: String, weight: f64| {
        serde_json::json!([format!("(scope : ({scopes})) AND (terms : \"{term}\")"), weight])
    };
    let stems = stems.into_iter().map(|stem| one(stem, STEM_WEIGHT)).collect::<Vec<_>>();
    let words = asked.into_iter().map(|word| one(word, 1.0));
    Some(serde_json::Value::from_iter(words.chain(stems)).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn asked(question: &str) -> Vec<(String, f64)> {
        let expressions = expressions(&["s1".to_owned()], question).unwrap_or("[]".to_owned());
        let all: Vec<(String, f64)> = wire::json::from_str(&expressions).unwrap();
        let inner = |one: String| {
            let term = one.strip_prefix("(scope : (\"s1\")) AND (terms : \"").unwrap();
            term.strip_suffix("\")").unwrap().to_owned()
        };
        all.into_iter().map(|(one, weight)| (inner(one), weight)).collect()
    }

    fn terms(question: &str) -> Vec<String> {
        asked(question).into_iter().map(|(term, _)| term).collect()
    }

    #[test]
    fn a_question_becomes_its_words_and_their_beginnings() {
        let expected = [("hunde", 1.0), ("dog", 1.0), ("my", 1.0), ("hund·", 0.4)];
        assert_eq!(asked("My dog, MY Hunde!"), expected.map(|(term, weight)| (term.to_owned(), weight)));
        assert_eq!(terms("2026 Café cafe\u{301}"), ["2026", "cafe", "cafe·"]);
        assert_eq!(terms("我喜欢cats"), ["cats", "我", "喜", "欢", "cats·"]);
        assert!(terms(" ?!… \u{1f600}\u{0}").is_empty());
    }

    #[test]
    fn a_text_is_indexed_by_the_words_of_its_questions() {
        assert_eq!(indexed("Der Hund, die Hunde"), "der hund· hund die hund· hunde ");
        assert_eq!(indexed("我喜欢 Ünsinn 12345"), "我 喜 欢 unsi· unsinn 12345 ");
        assert_eq!(indexed(&"spam ".repeat(1_000)), "spam· spam ".repeat(MAX_REPEATS as usize));
        assert_eq!(indexed("\0 \u{1f600} --"), "");
        let long = indexed(&"x".repeat(100_000));
        assert_eq!(long, format!("xxxx· {} ", "x".repeat(MAX_WORD_CHARS)));
        // A text's own words find it.
        for text in ["Straße nach Kraków", "любит чай", "हिन्दी में", "ชอบกินมะม่วง", "İstanbul ŞIK", "ﬁn ½ x²"]
        {
            let indexed = indexed(text);
            let indexed: Vec<&str> = indexed.split(' ').collect();
            assert!(
                !terms(text).is_empty() && terms(text).iter().all(|term| indexed.contains(&term.as_str())),
                "{text}"
            );
        }
    }

    // N-031 N-032: FTS5 sees a user's question as data.
    #[test]
    fn questions_cannot_contain_syntax_of_the_index() {
        for hostile in [
            "\" OR owner : \"s2",
            "a\" * NEAR(b, 3) AND NOT terms:c",
            "scope:s2 OR terms:*",
            "') ; DROP TABLE memories --",
            "{scope terms} : x ^y + z",
            "\u{0}\"\u{0}·\u{b7}",
        ] {
            for term in
                terms(hostile).into_iter().chain(indexed(hostile).split_whitespace().map(str::to_owned))
            {
                let word = term.strip_suffix(STEM).unwrap_or(&term);
                assert!(!word.is_empty() && word.chars().all(char::is_alphanumeric), "{hostile}: {term}");
            }
        }
    }

    #[test]
    fn a_question_is_bounded() {
        let long = |count: usize| (0..count).map(|n| format!("{n:03}")).collect::<Vec<_>>().join(" ");
        assert_eq!(terms(&long(MAX_WORDS)).len(), MAX_WORDS);
        assert_eq!(terms(&long(MAX_WORDS + 1)).len(), MAX_WORDS);
        assert_eq!(terms(&format!("{} everlasting", long(100)))[0], "everlasting", "the longest tell most");
        let beyond = format!("{}zebra", " ".repeat(MAX_QUESTION_CHARS));
        assert!(terms(&beyond).is_empty(), "words after the limit are not read");
    }

    // N-031 N-032
    #[test]
    fn every_scope_is_named_in_every_expression() {
        let scopes = ["s1".to_owned(), "s2".to_owned()];
        let all: Value = wire::json::from_str(&expressions(&scopes, "one two").unwrap()).unwrap();
        let expected =
            ["one", "two"].map(|word| format!("(scope : (\"s1\" OR \"s2\")) AND (terms : \"{word}\")"));
        assert_eq!(all, serde_json::json!([[expected[0], 1.0], [expected[1], 1.0]]));
        assert_eq!(expressions(&[], "one"), None, "of no scope there is nothing");
    }
}
