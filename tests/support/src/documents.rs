//! The models that README.md, docs/operations.md and .dev.vars.example show: a first turn with tools works with each
//! (issue 43). A reader copies them.

use std::collections::BTreeSet;
use std::path::Path;

const DOCUMENTS: [&str; 3] = ["README.md", "docs/operations.md", ".dev.vars.example"];

/// The providers with an address of their own.
pub const MAKERS: [&str; 6] =
    ["openai", "openai-chat", "openai-responses", "anthropic", "gemini", "workers-ai"];

/// The other providers that the documents show, each a server of Chat Completions, and [`OWN`].
pub const SERVERS: [&str; 3] = ["groq", "my-box", OWN];

/// The name here of a server that a document configures by `LLM_BASE_URL`.
const OWN: &str = "own";

/// All of them as `PROVIDER:MODEL`.
pub fn models() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |name: &str| std::fs::read_to_string(root.join(name)).expect("a document");
    DOCUMENTS.iter().flat_map(|name| models_in(&read(name))).collect()
}

/// The models in a text: each `PROVIDER:MODEL`, and the pairs of `…_PROVIDER=` and `…_MODEL=`.
fn models_in(text: &str) -> Vec<String> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || ['-', '.', '_', ':', '@', '/'].contains(&c);
    let words = text.split(|c: char| !is_of_name(c)).map(|word| word.trim_end_matches(['.', ':', '-', '/']));
    let named =
        words.filter(|word| word.split_once(':').is_some_and(|(provider, model)| is_one(provider, model)));
    named.map(str::to_owned).chain(pairs(text)).collect()
}

fn is_one(provider: &str, model: &str) -> bool {
    let is_placeholder = !model.contains(|c: char| c.is_ascii_lowercase());
    !is_placeholder && (MAKERS.contains(&provider) || SERVERS.contains(&provider))
}

fn pairs(text: &str) -> Vec<String> {
    let (mut provider, mut has_address, mut found) = ("", false, Vec::new());
    for word in text.split_whitespace() {
        let Some((name, value)) = word.split_once('=') else { continue };
        match name.split_once('_').map_or("", |(_, rest)| rest) {
            "PROVIDER" => (provider, has_address) = (value, false),
            "BASE_URL" => has_address = !value.starts_with("https://api.openai.com"),
            "MODEL" if !provider.is_empty() && value.contains(|c: char| c.is_ascii_lowercase()) => {
                found.push(format!("{}:{value}", if has_address { OWN } else { provider }));
                (provider, has_address) = ("", false);
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_of_a_text_are_found() {
        let text = "`openai:gpt-6.1-sol, groq:llama-3.3-70b`. openai:MODEL anthropic:* | my-box:qwen3:8b: a:b\n\
                    workers-ai:@cf/meta/llama-3.3, https://x.test:80/v1\n\
                    # LLM_PROVIDER=openai\n# LLM_MODEL=gpt-6-luna\nLLM_PROVIDER=openai\n\
                    LLM_BASE_URL=http://localhost/v1\nLLM_MODEL=qwen3\n# LLM_MODEL=\n\
                    make X_PROVIDER=gemini X_BASE_URL=https://api.openai.com/v1 X_MODEL=g";
        let expected = [
            "openai:gpt-6.1-sol",
            "groq:llama-3.3-70b",
            "my-box:qwen3:8b",
            "workers-ai:@cf/meta/llama-3.3",
            "openai:gpt-6-luna",
            "own:qwen3",
            "gemini:g",
        ];
        assert_eq!(models_in(text), expected);
    }

    #[test]
    fn each_list_of_the_documents_is_found_whole() {
        let (all, root) = (models(), Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
        let mut lists = 0;
        for name in DOCUMENTS {
            let text = std::fs::read_to_string(root.join(name)).unwrap();
            for line in text.lines().filter(|line| line.trim_start_matches("# ").starts_with("MODEL_")) {
                let Some((_, list)) = line.split_once('=') else { continue };
                for model in list.trim().trim_matches('"').split(',').map(str::trim) {
                    lists += 1;
                    assert!(model.starts_with('{') || all.contains(model), "{name}: {model} in {all:?}");
                }
            }
        }
        assert!(lists >= 3, "{lists}");
        for provider in ["openai", "anthropic", "groq", "workers-ai", OWN] {
            assert!(
                all.iter().any(|model| model.starts_with(&format!("{provider}:"))),
                "{provider}: {all:?}"
            );
        }
    }
}
