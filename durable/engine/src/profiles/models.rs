//! Models as a deployment offers them: what they can do, what they cost, in which order they are asked.

use std::fmt;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use wire::model::{ModelChoice, Usage};

/// What a model is asked for. Operators give each role its models; one without any is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Answers where nothing else is said. The one role that every deployment has.
    Primary,
    Secondary,
    /// Carries out subtasks.
    Subagent,
    Speed,
    Balanced,
    Quality,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 6] =
        [Role::Primary, Role::Secondary, Role::Subagent, Role::Speed, Role::Balanced, Role::Quality];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Role::Primary => "primary",
            Role::Secondary => "secondary",
            Role::Subagent => "subagent",
            Role::Speed => "speed",
            Role::Balanced => "balanced",
            Role::Quality => "quality",
        }
    }

    /// The role of this name.
    pub fn of(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// A model with what it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Offer {
    pub choice: Rc<ModelChoice>,
    /// None where that is not known.
    pub price: Option<Price>,
}

/// Models in the order in which they are asked: the next one where the one before cannot answer. Never empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Chain {
    pub first: Offer,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<Offer>,
}

impl Chain {
    /// A chain of one model.
    pub fn of(first: Offer) -> Self {
        Chain { first, then: Vec::new() }
    }

    /// The same, with calls in the text of those models that cannot make them otherwise.
    pub fn calling_in_text(mut self) -> Self {
        for offer in std::iter::once(&mut self.first).chain(&mut self.then) {
            Rc::make_mut(&mut offer.choice).text_calls = true;
        }
        self
    }

    /// All its models, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Offer> {
        std::iter::once(&self.first).chain(&self.then)
    }

    /// The model at this place. A place that is not there is the first one's: the journal of a turn was written for
    /// this very chain.
    pub fn at(&self, place: usize) -> &Offer {
        self.iter().nth(place).unwrap_or(&self.first)
    }

    /// The most that any of its models takes for each kind of token, where all input may be written to a cache. None where
    /// no price is known.
    pub fn dearest(&self) -> Option<Price> {
        let prices = self.iter().filter_map(|offer| offer.price);
        let dear = prices.map(|price| Price { input: price.input.max(price.of_cache_write()), ..price });
        let dear = dear.map(|price| Price { cache_write: None, ..price });
        dear.reduce(|one, other| Price {
            input: one.input.max(other.input),
            cached: one.cached.max(other.cached),
            cache_write: None,
            output: one.output.max(other.output),
        })
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<String> = self.iter().map(|offer| offer.choice.id()).collect();
        f.write_str(&ids.join(", "))
    }
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Price {
    pub input: f64,
    /// Of input tokens that came from the provider's cache.
    pub cached: f64,
    /// Of input tokens that the provider wrote to its cache; the price of input where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    pub output: f64,
}

impl Price {
    /// What so many tokens cost, in US dollars.
    pub fn cost_usd(&self, usage: Usage) -> f64 {
        let Usage { input_tokens, cached_tokens, cache_write_tokens, output_tokens } = usage;
        let fresh = input_tokens.saturating_sub(cached_tokens).saturating_sub(cache_write_tokens);
        let each = [
            (fresh, self.input),
            (cached_tokens, self.cached),
            (cache_write_tokens, self.of_cache_write()),
            (output_tokens, self.output),
        ];
        each.into_iter().map(|(tokens, price)| tokens as f64 * price).sum::<f64>() / 1_000_000.0
    }

    fn of_cache_write(&self) -> f64 {
        self.cache_write.unwrap_or(self.input)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::model::Capabilities;

    fn offer(model: &str, price: Option<Price>) -> Offer {
        let capabilities = Capabilities::default();
        let choice = ModelChoice { capabilities, ..ModelChoice::new("p", model) };
        Offer { choice: Rc::new(choice), price }
    }

    // A turn that an older version began has neither the count nor the price in its journal.
    #[test]
    fn what_older_versions_wrote_is_read() {
        let usage: Usage =
            serde_json::from_str(r#"{"input_tokens":3,"cached_tokens":2,"output_tokens":1}"#).unwrap();
        assert_eq!(
            usage,
            Usage { input_tokens: 3, cached_tokens: 2, cache_write_tokens: 0, output_tokens: 1 }
        );
        let price: Price = serde_json::from_str(r#"{"input":3,"cached":2,"output":1}"#).unwrap();
        assert_eq!(price, Price { input: 3.0, cached: 2.0, cache_write: None, output: 1.0 });
    }

    #[test]
    fn a_chain_costs_at_most_the_dearest_of_each_kind() {
        let price = |input, cached, output| Some(Price { input, cached, cache_write: None, output });
        let chain = Chain {
            first: offer("a", price(1.0, 0.5, 8.0)),
            then: vec![offer("b", None), offer("c", price(3.0, 0.1, 2.0))],
        };
        assert_eq!(chain.dearest(), price(3.0, 0.5, 8.0));
        assert_eq!(Chain::of(offer("b", None)).dearest(), None);
        assert_eq!(chain.to_string(), "p:a, p:b, p:c");
        assert_eq!((&*chain.at(2).choice.model, &*chain.at(3).choice.model), ("c", "a"));
    }
}
