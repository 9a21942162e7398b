//! Models as a deployment offers them: their roles, prices and the order in which the engine asks them.

use std::fmt;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

use super::price::{self, Price};
use wire::model::{ModelChoice, ServiceTier, Usage};

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
    /// Absent where nothing is known, and in a turn of former code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_tokens: Option<MostTokens>,
}

/// The most tokens that a provider counts for a part of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct MostTokens {
    /// Of 1000 bytes of text in UTF-8.
    pub per_kilobyte: u32,
    pub per_image: u32,
}

impl MostTokens {
    /// For a model of which nothing is known. A token of a tokenizer over bytes has at least one of them. Of the image
    /// sizes that are documented, Qwen2.5-VL's is the highest that a server of somebody else may have.
    pub const UNKNOWN: MostTokens = MostTokens { per_kilobyte: 1_000, per_image: 16_384 };
}

impl Default for MostTokens {
    fn default() -> Self {
        MostTokens::UNKNOWN
    }
}

impl PricedModel {
    /// The highest price of a call: a provider serves it in the service tier that it asks for, or in the standard one.
    fn highest(&self) -> Option<Price> {
        let price = self.price.as_ref()?;
        Some(price.times(price.factor(self.choice.options.asked_tier()).max(1.0)))
    }

    /// The highest factor of the service tiers that may serve a request. A provider serves it in the tier that it names, or in
    /// the standard one. A request without a tier, or with `auto`, gets the default of the account, which may be any.
    fn highest_factor(&self, price: &Price) -> f64 {
        let tiers = match self.choice.options.service_tier.as_deref() {
            None | Some("auto") => [price.service_tiers.flex, price.service_tiers.priority],
            Some(named) => [Some(price.factor(ServiceTier::of(named))), None],
        };
        tiers.into_iter().flatten().fold(1.0, f64::max)
    }

    /// The most that a request of at most these tokens costs, in millionths of a US dollar; none where the price is unknown.
    pub fn most_microusd(&self, input_tokens: u64, output_tokens: u64) -> Option<u64> {
        let price = self.price.as_ref()?;
        Some(price.most_microusd(self.highest_factor(price), input_tokens, output_tokens))
    }

    /// The most output of a request of this prompt that costs at most this much; none where the price is unknown.
    pub fn output_within(&self, microusd: u64, input_tokens: u64) -> Option<u64> {
        let price = self.price.as_ref()?;
        Some(price.output_within(self.highest_factor(price), microusd, input_tokens))
    }

    /// The cost of a call with this usage, in US dollars; none where the price is unknown. A call that used nothing
    /// costs nothing, even then.
    pub fn cost_usd(&self, usage: Usage) -> Option<f64> {
        match &self.price {
            _ if usage == Usage::default() => Some(0.0),
            price => price.as_ref().map(|price| price.cost_usd(usage)),
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
    pub fn iter(&self) -> impl Iterator<Item = &PricedModel> + Clone {
        std::iter::once(&self.first).chain(&self.then)
    }

    /// The model at this place. An unknown place means the first model; it should not occur, since the turn's
    /// journal was written for this very chain.
    pub fn at(&self, place: usize) -> &PricedModel {
        self.iter().nth(place).unwrap_or(&self.first)
    }

    /// The highest price of any of its models for each length of a prompt and each kind of token, assuming that all
    /// input may be written to a cache. None where no price is known.
    pub fn dearest(&self) -> Option<Price> {
        let highest: Vec<Price> = self.iter().filter_map(PricedModel::highest).collect();
        price::dearest(highest.iter())
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<String> = self.iter().map(|offer| offer.choice.id()).collect();
        f.write_str(&ids.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::ServiceTiers;
    use wire::model::Capabilities;

    fn offer(model: &str, price: Option<Price>) -> PricedModel {
        let capabilities = Capabilities::default();
        let choice = ModelChoice { capabilities, ..ModelChoice::new("p", model) };
        PricedModel { choice: Rc::new(choice), price, most_tokens: None }
    }

    #[test]
    fn a_chain_costs_at_most_the_dearest_of_each_kind() {
        let price = |input, cached, output| Some(Price::flat(input, cached, output));
        let chain = Chain {
            first: offer("a", price(1.0, 0.5, 8.0)),
            then: vec![offer("b", None), offer("c", price(3.0, 0.1, 2.0))],
        };
        assert_eq!(chain.dearest(), price(3.0, 0.5, 8.0));
        assert_eq!(Chain::of(offer("b", None)).dearest(), None);
        assert_eq!(chain.to_string(), "p:a, p:b, p:c");
        // Issue 43: one that asks for a dearer service tier costs at most that much, and for a cheaper one the standard
        // price, in which the provider may serve it.
        for (tier, most) in [("priority", price(6.0, 1.0, 16.0)), ("flex", price(3.0, 0.5, 8.0))] {
            let mut first = offer("a", price(3.0, 0.5, 8.0));
            Rc::make_mut(&mut first.choice).options.service_tier = Some(tier.to_owned());
            let service_tiers = ServiceTiers { flex: Some(0.5), priority: Some(2.0) };
            first.price.iter_mut().for_each(|price| price.service_tiers = service_tiers);
            assert_eq!(Chain::of(first).dearest(), most, "{tier}");
        }
        assert_eq!((&*chain.at(2).choice.model, &*chain.at(3).choice.model), ("c", "a"));
    }
}
