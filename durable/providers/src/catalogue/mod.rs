//! The prices and abilities of known models, from tables that the build compiles in.

use std::rc::Rc;

use engine::profiles::{Price, PricedModel};
use wire::model::{Capabilities, ModelChoice};

include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// A model with its price by the table.
pub fn offer(choice: ModelChoice) -> PricedModel {
    PricedModel { price: price_of(&choice.provider, &choice.model), choice: Rc::new(choice) }
}

/// The price of a model from `prices.toml`; none if it is unknown.
pub fn price_of(provider: &str, model: &str) -> Option<Price> {
    let row = PRICES.iter().find(|(by, name, _)| *by == vendor(provider) && *name == model);
    row.map(|(_, _, price)| *price)
}

/// The abilities of a model from `capabilities.toml`, or the default for an unknown model.
pub fn capabilities_of(provider: &str, model: &str) -> Capabilities {
    let fits = |name: &str| match name.strip_suffix('*') {
        Some(beginning) => model.starts_with(beginning),
        None => model == name,
    };
    let row = CAPABILITIES.iter().find(|(by, name, _)| *by == vendor(provider) && fits(name));
    row.map(|(_, _, capabilities)| *capabilities).unwrap_or_default()
}

/// The maker of a provider's models. OpenAI has two provider names, one for each API.
fn vendor(provider: &str) -> &str {
    if provider == "openai-responses" { "openai" } else { provider }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::profiles::Chain;
    use wire::model::Usage;

    // N-172
    #[test]
    fn prices_are_known_or_null() {
        let price = price_of("openai", "gpt-4.1-mini").unwrap();
        let usage = Usage {
            input_tokens: 1_000_000,
            cached_tokens: 500_000,
            cache_write_tokens: 0,
            output_tokens: 1_000_000,
        };
        assert!((price.cost_usd(usage) - (0.2 + 0.05 + 1.6)).abs() < 1e-9);
        assert_eq!(price_of("openai-responses", "gpt-4.1-mini"), Some(price));
        assert_eq!(price_of("openai", "gpt-9"), None);
        assert_eq!(price_of("other", "gpt-4.1"), None);
    }

    // Anthropic charges 1.25 times the input price for writes to its cache.
    #[test]
    fn cache_writes_have_a_price() {
        let anthropic: Vec<_> = PRICES.iter().filter(|(by, _, _)| *by == "anthropic").collect();
        assert!(!anthropic.is_empty());
        for (_, model, price) in anthropic {
            assert_eq!(price.cache_write, Some(price.input * 1.25), "{model}");
        }
        let price = price_of("anthropic", "claude-sonnet-4-5").unwrap();
        let usage = Usage {
            input_tokens: 1_000_000,
            cached_tokens: 200_000,
            cache_write_tokens: 400_000,
            output_tokens: 100_000,
        };
        assert!((price.cost_usd(usage) - (0.4 * 3.0 + 0.2 * 0.3 + 0.4 * 3.75 + 1.5)).abs() < 1e-9);
        // Other providers charge cache writes as input.
        let other = Price { cache_write: None, ..price };
        assert!((other.cost_usd(usage) - (0.8 * 3.0 + 0.2 * 0.3 + 1.5)).abs() < 1e-9);
        let choice = Rc::new(ModelChoice::new("p", "a"));
        let chain = Chain::of(PricedModel { choice, price: Some(price) });
        assert_eq!(chain.dearest(), Some(Price { input: 3.75, cache_write: None, ..price }));
    }

    #[test]
    fn capabilities_are_those_of_the_family_or_the_default() {
        let of = capabilities_of;
        assert!(of("openai", "gpt-5-mini").reasoning && of("openai-responses", "gpt-5").reasoning);
        assert!(!of("openai", "gpt-4o-mini").reasoning && of("openai", "gpt-4o-mini").vision);
        assert!(of("anthropic", "claude-3-7-sonnet-latest").reasoning);
        assert!(!of("anthropic", "claude-3-5-haiku-latest").reasoning);
        assert!(of("anthropic", "claude-sonnet-4-5").reasoning);
        assert_eq!(of("groq", "gpt-5-mini"), Capabilities::default());
        assert_eq!(of("openai", "demo"), Capabilities::default());
    }
}
