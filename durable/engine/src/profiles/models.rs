//! Models as a deployment offers them: their roles, prices and the order in which the engine asks them.

use std::fmt;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use wire::model::{ModelChoice, Usage};

/// The role of a model. Operators assign models to each role; a role without models is unavailable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Answers by default. Every deployment has this role.
    Primary,
    Secondary,
    /// Carries out subtasks.
    Subagent,
    Speed,
    Balanced,
    Quality,
    /// Judges for the operator's hooks. No request names it.
    Guard,
}

impl Role {
    /// All that a request may name.
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
            Role::Guard => "guard",
        }
    }

    /// The role that a request may name so.
    pub fn of(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

/// A model with its price.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct PricedModel {
    pub choice: Rc<ModelChoice>,
    /// None where the price is unknown.
    pub price: Option<Price>,
}

impl PricedModel {
    /// The cost of a call with this usage, in US dollars; none where the price is unknown. A call that used nothing
    /// costs nothing, even then.
    pub(crate) fn cost_usd(&self, usage: Usage) -> Option<f64> {
        match self.price {
            _ if usage == Usage::default() => Some(0.0),
            price => price.map(|price| price.cost_usd(usage)),
        }
    }
}

/// Models in the order in which the engine asks them: it asks the next one when a model cannot answer. Never
/// empty.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Chain {
    pub first: PricedModel,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub then: Vec<PricedModel>,
}

impl Chain {
    /// A chain of one model.
    pub fn of(first: PricedModel) -> Self {
        Chain { first, then: Vec::new() }
    }

    /// The same chain, where models without native tool calls may write them in their text.
    pub fn calling_in_text(mut self) -> Self {
        for offer in std::iter::once(&mut self.first).chain(&mut self.then) {
            Rc::make_mut(&mut offer.choice).text_calls = true;
        }
        self
    }

    /// All its models, in order.
    pub fn iter(&self) -> impl Iterator<Item = &PricedModel> {
        std::iter::once(&self.first).chain(&self.then)
    }

    /// The model at this place. An unknown place means the first model; it should not occur, since the turn's
    /// journal was written for this very chain.
    pub fn at(&self, place: usize) -> &PricedModel {
        self.iter().nth(place).unwrap_or(&self.first)
    }

    /// The highest price of any of its models for each kind of token, assuming that all input may be written
    /// to a cache. None where no price is known.
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
    /// The cost of this usage, in US dollars.
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

    fn offer(model: &str, price: Option<Price>) -> PricedModel {
        let capabilities = Capabilities::default();
        let choice = ModelChoice { capabilities, ..ModelChoice::new("p", model) };
        PricedModel { choice: Rc::new(choice), price }
    }

    // The journal of a turn that an older version began lacks the count and the price of cache writes.
    #[test]
    fn usage_and_prices_of_older_versions_are_read() {
        let usage: Usage =
            wire::json::from_str(r#"{"input_tokens":3,"cached_tokens":2,"output_tokens":1}"#).unwrap();
        assert_eq!(
            usage,
            Usage { input_tokens: 3, cached_tokens: 2, cache_write_tokens: 0, output_tokens: 1 }
        );
        let price: Price = wire::json::from_str(r#"{"input":3,"cached":2,"output":1}"#).unwrap();
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
