//! The pure part of search by meaning: ranks passages from two searches, by words and by meaning, in one list.
//! `store/vectors.rs` has the rest.

use wire::protocol::Passage;

/// The variable with the Workers AI model that embeds documents and questions, such as `@cf/baai/bge-m3`. Empty means
/// none.
pub const MODEL: &str = "EMBEDDING_MODEL";

/// The problem of a deployment that embeds and lacks a binding for it, in words for the operator.
pub fn problem(var: impl Fn(&str) -> Option<String>, can_embed: bool) -> Option<String> {
    let embeds = var(MODEL).is_some_and(|model| !model.is_empty());
    (embeds && !can_embed).then(|| format!("{MODEL} needs the bindings AI and VECTORS."))
}

/// The constant of reciprocal rank fusion (Cormack, Clarke, Büttcher 2009), which ranks two lists without comparing
/// their scores. A larger value weighs the first ranks less.
const RANK_OFFSET: f64 = 60.0;

/// Merges both lists, best first, at most `limit` passages. A passage in both lists appears once, with its better
/// score.
pub fn fused(by_words: Vec<Passage>, by_meaning: Vec<Passage>, limit: usize) -> Vec<Passage> {
    if by_meaning.is_empty() {
        return by_words;
    }
    let mut ranked: Vec<(f64, Passage)> = Vec::with_capacity(by_words.len() + by_meaning.len());
    for list in [by_words, by_meaning] {
        for (rank, passage) in list.into_iter().enumerate() {
            let weight = 1.0 / (RANK_OFFSET + rank as f64);
            let is_same =
                |known: &Passage| known.document_id == passage.document_id && known.chunk == passage.chunk;
            match ranked.iter_mut().find(|(_, known)| is_same(known)) {
                Some((known_weight, known)) => {
                    *known_weight += weight;
                    known.score = known.score.max(passage.score);
                }
                None => ranked.push((weight, passage)),
            }
        }
    }
    // The sort is stable: of two equal passages, the one found by words comes first.
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    ranked.into_iter().map(|(_, passage)| passage).take(limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages(found: &[(&str, u32, f64)]) -> Vec<Passage> {
        let passage = |(document, chunk, score): &(&str, u32, f64)| Passage {
            collection_id: "c".to_owned(),
            document_id: (*document).to_owned(),
            document_name: "d.md".to_owned(),
            chunk: *chunk,
            heading: String::new(),
            text: format!("{document}{chunk}"),
            score: *score,
        };
        found.iter().map(passage).collect()
    }

    fn order(passages: &[Passage]) -> Vec<(&str, f64)> {
        passages.iter().map(|passage| (passage.text.as_str(), passage.score)).collect()
    }

    // N-031
    #[test]
    fn passages_found_twice_come_first_and_once() {
        let words = passages(&[("a", 1, 0.9), ("a", 2, 0.5), ("b", 1, 0.4)]);
        let meaning = passages(&[("c", 1, 0.8), ("a", 2, 0.7), ("b", 1, 0.3)]);
        let both = fused(words.clone(), meaning, 10);
        assert_eq!(order(&both), [("a2", 0.7), ("b1", 0.4), ("a1", 0.9), ("c1", 0.8)]);
        assert_eq!(
            order(&fused(words.clone(), Vec::new(), 10)),
            order(&words),
            "words alone stay as they are"
        );
        assert_eq!(order(&fused(Vec::new(), words.clone(), 10)), order(&words));
    }

    #[test]
    fn there_are_no_more_than_asked_for() {
        let found = |name: &'static str| (1..=4).map(|chunk| (name, chunk, 0.5)).collect::<Vec<_>>();
        let [words, meaning] = ["a", "b"].map(|name| passages(&found(name)));
        assert_eq!(order(&fused(words.clone(), meaning.clone(), 3)), [("a1", 0.5), ("b1", 0.5), ("a2", 0.5)]);
        assert_eq!(fused(words, meaning, 8).len(), 8);
    }
}
