//! The most tokens that a model's provider counts for a part of a request. Money is reserved by these bounds.

use engine::profiles::MostTokens;

/// A family of models by the beginning of its names.
struct Family {
    provider: &'static str,
    prefix: &'static str,
    most: MostTokens,
}

/// The families of which more is known than that a token of a tokenizer over bytes has at least one byte. The longest
/// prefix wins.
///
/// - Text of OpenAI: `o200k_base`, to which OpenAI's tiktoken maps these names, and all that begin with `gpt-5`
///   (`tiktoken/model.py` of 0.14.0). Measured on
///   2026-11-28 with js-tiktoken 1.0.21, in tokens of 1000 bytes: English prose 234, Rust 242, declarations of tools 256,
///   a lock file of npm 395, numbers in CSV 507, hexadecimal digits 571, UUIDs 644, base64 680, Amharic 694, Chinese 262.
///   Only characters that no language uses have more. Which tokenizer GPT-6 has is not published.
/// - Text of Claude: Anthropic publishes no tokenizer since Claude 2, whose own gives up to 1000 (Tibetan, Amharic), and
///   Claude since 4.7 makes some 30 % more tokens of the same text
///   (<https://platform.claude.com/docs/en/about-claude/models/migration-guide>). So one token a byte, the default, is
///   what is known. Gemini's digits are tokens of their own, so the same holds for it.
/// - Images of OpenAI: at most 1536 patches, times 2.46 for the dearest model, or 8 tiles of 140 to 170 tokens and a base;
///   GPT-4o mini has tiles of 5667 and a base of 2833 (<https://developers.openai.com/api/docs/guides/images-vision>).
/// - Images of Claude: 4784 tokens since Opus 4.7, 1568 before (<https://platform.claude.com/docs/en/build-with-claude/vision>).
/// - Images of Gemini: 2240 at its highest resolution (<https://ai.google.dev/gemini-api/docs/media-resolution>); before
///   version 3 tiles of 258, of which a large image has some.
const FAMILIES: &[Family] = &[
    family("openai", "gpt-4o-mini", 750, 48_169),
    family("openai", "gpt-4o", 750, 4_096),
    family("openai", "gpt-4.1", 750, 4_096),
    family("openai", "gpt-5", 750, 4_096),
    // No source was found for the cost of an image since GPT-5.1.
    family("openai", "gpt-5.", 750, MostTokens::UNKNOWN.per_image),
    family("openai", "o1", 750, 4_096),
    family("openai", "o3", 750, 4_096),
    family("openai", "o4-mini", 750, 4_096),
    family("anthropic", "claude-", 1_000, 4_784),
    family("gemini", "gemini-", 1_000, 4_096),
];

const fn family(provider: &'static str, prefix: &'static str, per_kilobyte: u32, per_image: u32) -> Family {
    Family { provider, prefix, most: MostTokens { per_kilobyte, per_image } }
}

/// The bounds for a model of this maker; none where only the default is known.
pub(super) fn most_tokens(maker: &str, model: &str) -> Option<MostTokens> {
    let named = |family: &&Family| {
        let rest = model.strip_prefix(family.prefix);
        // `gpt-5-mini` is of the family `gpt-5`, and `gpt-5.6` of `gpt-5.`.
        let ends = rest.is_some_and(|rest| {
            family.prefix.ends_with(['-', '.']) || rest.is_empty() || rest.starts_with('-')
        });
        family.provider == maker && ends
    };
    let families = FAMILIES.iter().filter(named);
    families.max_by_key(|family| family.prefix.len()).map(|family| family.most)
}
