//! Documents and examples name only models that live (issue 43). `make test` compares them with the catalogue's own date,
//! `make nightly` with today (ESPALIER_TODAY).

use std::fs;
use std::path::{Path, PathBuf};

use wire::time::{Day, date};

use super::{DATE, row};

/// A model that a document names lives so many days more.
const DAYS: u64 = 90;

fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let single = [
        "README.md",
        ".dev.vars.example",
        "wrangler.toml",
        "durable/providers/src/config.rs",
        "durable/providers/src/config/overrides.rs",
        "tests/deploy/deploy.test.mjs",
        "tests/support/src/bin/e2e/variables.rs",
    ];
    let mut all: Vec<PathBuf> = single.iter().map(|name| root.join(name)).collect();
    let mut folders = vec![root.join("docs"), root.join("examples")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true if entry.ends_with("node_modules") || entry.ends_with("images") => {}
                true => folders.push(entry),
                false => all.push(entry),
            }
        }
    }
    all
}

/// The names of makers' models in a text, each with its maker.
fn names(text: &str) -> Vec<(&'static str, &str)> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || ['-', '.', '_'].contains(&c);
    let words = text.split(|c: char| !is_of_name(c)).map(|word| word.trim_end_matches(['.', '-']));
    let named = words.filter(|word| word.contains(|c: char| c.is_ascii_digit()));
    let makers = [("gpt-", "openai"), ("claude-", "anthropic"), ("gemini-", "gemini")];
    let of = |word: &str| makers.iter().find(|(beginning, _)| word.starts_with(beginning));
    named.filter_map(|word| of(word).map(|(_, maker)| (*maker, word))).collect()
}

/// Why a document must not name a model; none where it may.
fn problem(maker: &str, model: &str, today: Day) -> Option<String> {
    let Some(row) = row(maker, model) else { return Some(format!("{model} is unknown")) };
    let ends = row.ends.filter(|ends| *ends <= today + DAYS)?;
    Some(format!("{model} ends on {}, name {}", date(ends)?, row.successor.unwrap_or("another one")))
}

#[test]
fn documents_name_only_models_that_live() {
    let today = std::env::var("ESPALIER_TODAY").ok();
    let today = today.map_or(DATE, |text| {
        (DATE..DATE + 10_000)
            .find(|day| date(*day).as_deref() == Some(&text))
            .expect("a day after the catalogue's")
    });
    let mut found = 0;
    let mut problems = Vec::new();
    for path in documents() {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (maker, model) in names(&text) {
            found += 1;
            problems.extend(problem(maker, model, today).map(|why| format!("{}: {why}", path.display())));
        }
    }
    assert!(found >= 5, "only {found} names: are these the documents?");
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn a_name_is_found_and_judged() {
    let text = "`anthropic:claude-opus-5-5`, \"openai:gpt-5-mini\". gpt-6.1-sol. GPT-6 claude-code gpt-0613-x, gemini-9-z:";
    let found = names(text);
    let expected = [
        ("anthropic", "claude-opus-5-5"),
        ("openai", "gpt-5-mini"),
        ("openai", "gpt-6.1-sol"),
        ("openai", "gpt-0613-x"),
        ("gemini", "gemini-9-z"),
    ];
    assert_eq!(found, expected);
    let ends = row("openai", "gpt-5-mini").unwrap().ends.unwrap();
    let on = |today| problem("openai", "gpt-5-mini", today);
    assert_eq!(on(ends - 91), None);
    assert_eq!(on(ends - 90).as_deref(), Some("gpt-5-mini ends on 2026-12-11, name gpt-5.6-terra"));
    assert_eq!(problem("gemini", "gemini-9-z", DATE).as_deref(), Some("gemini-9-z is unknown"));
    assert_eq!(problem("openai", "gpt-6.1-sol", DATE), None);
}
