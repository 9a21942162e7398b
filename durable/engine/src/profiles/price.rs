//! What tokens cost. A provider prices a whole request by the length of its prompt, and by the service tier that it
//! was served in.

use serde::{Deserialize, Serialize};

use wire::model::{ServiceTier, Usage};

/// The error of floating-point arithmetic over one request, in millionths of a US dollar.
const ROUNDING_MICROUSD: f64 = 1e-6;

/// The price of a model, in US dollars per million tokens. Entry 0 of a turn freezes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Price {
    #[serde(flatten)]
    pub rates: Rates,
    /// Dearer rates of long prompts, the shortest prompt first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    #[serde(default, skip_serializing_if = "ServiceTiers::is_empty")]
    pub service_tiers: ServiceTiers,
}

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Rates {
    pub input: f64,
    /// Of input tokens that came from the provider's cache.
    pub cached: f64,
    /// Of input tokens that the provider wrote to its cache; the price of input where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<f64>,
    /// Of input tokens that the provider keeps in its cache for an hour; as other cache writes where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<f64>,
    pub output: f64,
}

/// The rates of each token of a request whose prompt is longer than a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Tier {
    /// In tokens, the cached ones included.
    pub above_tokens: u64,
    #[serde(flatten)]
    pub rates: Rates,
}

/// The factors by which service tiers multiply all rates; 1 where none is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct ServiceTiers {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flex: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<f64>,
}

impl Price {
    /// A price without tiers, and without a price of cache writes.
    pub fn flat(input: f64, cached: f64, output: f64) -> Self {
        Price { rates: Rates { input, cached, output, ..Rates::default() }, ..Price::default() }
    }

    /// The cost of this usage, in US dollars.
    pub fn cost_usd(&self, usage: Usage) -> f64 {
        self.rates_of(usage.input_tokens).cost_usd(usage) * self.factor(usage.service_tier)
    }

    /// The factor of a service tier.
    pub fn factor(&self, tier: ServiceTier) -> f64 {
        let factor = match tier {
            ServiceTier::Standard => None,
            ServiceTier::Flex => self.service_tiers.flex,
            ServiceTier::Priority => self.service_tiers.priority,
        };
        factor.unwrap_or(1.0)
    }

    /// The price of everything times this factor.
    pub fn times(&self, factor: f64) -> Price {
        let tier = |tier: &Tier| Tier { rates: tier.rates.times(factor), ..*tier };
        let tiers = self.tiers.iter().map(tier).collect();
        Price { rates: self.rates.times(factor), tiers, service_tiers: self.service_tiers }
    }

    /// The lengths of prompts, in tokens, beyond which input costs more than in a short prompt.
    pub fn thresholds(&self) -> impl Iterator<Item = u64> {
        let dearer = self.tiers.iter().filter(|tier| tier.rates.input > self.rates.input);
        dearer.map(|tier| tier.above_tokens)
    }

    /// The highest rates of a request with a prompt of at most this length, whichever of its input comes from a cache or
    /// is written to one. `factor`: that of its service tier.
    fn most(&self, prompt_tokens: u64, factor: f64) -> Rates {
        let reached = self.tiers.iter().filter(|tier| prompt_tokens > tier.above_tokens);
        let all = std::iter::once(&self.rates).chain(reached.map(|tier| &tier.rates));
        let most = all.fold(Rates::default(), |most, rates| most.or_dearer(rates.with_cache_writes()));
        let (input, output) = (most.input.max(most.cached) * factor, most.output * factor);
        Rates { input, cached: input, output, ..Rates::default() }
    }

    /// The most that a request of at most these tokens costs, in millionths of a US dollar.
    pub(super) fn most_microusd(&self, factor: f64, input_tokens: u64, output_tokens: u64) -> u64 {
        let Rates { input, output, .. } = self.most(input_tokens, factor);
        // A rate is dollars per million tokens, so it is millionths of a dollar per token.
        let most = input_tokens as f64 * input + output_tokens as f64 * output;
        (most - ROUNDING_MICROUSD).ceil() as u64
    }

    /// The most output of a request of this prompt that costs at most this much.
    pub(super) fn output_within(&self, factor: f64, microusd: u64, input_tokens: u64) -> u64 {
        let Rates { input, output, .. } = self.most(input_tokens, factor);
        let left = (microusd as f64 - input_tokens as f64 * input).max(0.0);
        if output > 0.0 { (left / output) as u64 } else { u64::MAX }
    }

    /// The rates of a request with a prompt of this length.
    pub fn rates_of(&self, prompt_tokens: u64) -> &Rates {
        let tier = self.tiers.iter().rfind(|tier| prompt_tokens > tier.above_tokens);
        tier.map_or(&self.rates, |tier| &tier.rates)
    }
}

impl Rates {
    fn cost_usd(&self, usage: Usage) -> f64 {
        let Usage { input_tokens, cached_tokens, cache_write_tokens, cache_write_1h_tokens, .. } = usage;
        let fresh = input_tokens.saturating_sub(cached_tokens).saturating_sub(cache_write_tokens);
        let each = [
            (fresh, self.input),
            (cached_tokens, self.cached),
            (cache_write_tokens.saturating_sub(cache_write_1h_tokens), self.of_cache_write()),
            (cache_write_1h_tokens, self.cache_write_1h.unwrap_or_else(|| self.of_cache_write())),
            (usage.output_tokens, self.output),
        ];
        each.into_iter().map(|(tokens, rate)| tokens as f64 * rate).sum::<f64>() / 1_000_000.0
    }

    fn times(self, factor: f64) -> Self {
        let Rates { input, cached, cache_write, cache_write_1h, output } = self;
        let [cache_write, cache_write_1h] = [cache_write, cache_write_1h].map(|rate| Some(rate? * factor));
        Rates {
            input: input * factor,
            cached: cached * factor,
            cache_write,
            cache_write_1h,
            output: output * factor,
        }
    }

    fn of_cache_write(&self) -> f64 {
        self.cache_write.unwrap_or(self.input)
    }

    /// The rates of a request all of whose input may be written to a cache. No codec asks for an hour.
    fn with_cache_writes(self) -> Self {
        let input = self.input.max(self.of_cache_write());
        Rates { input, cached: self.cached, output: self.output, ..Rates::default() }
    }

    fn or_dearer(self, other: Rates) -> Self {
        Rates {
            input: self.input.max(other.input),
            cached: self.cached.max(other.cached),
            output: self.output.max(other.output),
            ..Rates::default()
        }
    }
}

impl ServiceTiers {
    fn is_empty(&self) -> bool {
        *self == ServiceTiers::default()
    }
}

/// The highest of these prices for each length of a prompt and each kind of token, assuming that all input may be
/// written to a cache, in the standard service tier. None where there is no price.
pub fn dearest<'a>(prices: impl Iterator<Item = &'a Price> + Clone) -> Option<Price> {
    let most = |prompt_tokens| {
        let rates = prices.clone().map(|price| price.rates_of(prompt_tokens).with_cache_writes());
        rates.reduce(Rates::or_dearer)
    };
    let mut thresholds: Vec<u64> =
        prices.clone().flat_map(|price| &price.tiers).map(|tier| tier.above_tokens).collect();
    thresholds.sort_unstable();
    thresholds.dedup();
    let tier =
        |above_tokens: u64| most(above_tokens.saturating_add(1)).map(|rates| Tier { above_tokens, rates });
    let tiers = thresholds.into_iter().filter_map(tier).collect();
    Some(Price { rates: most(0)?, tiers, service_tiers: ServiceTiers::default() })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates() -> impl Strategy<Value = Rates> {
        let write = || prop::option::of(0.0..10.0);
        (0.0..10.0, 0.0..10.0, write(), write(), 0.0..10.0).prop_map(
            |(input, cached, cache_write, cache_write_1h, output)| Rates {
                input,
                cached,
                cache_write,
                cache_write_1h,
                output,
            },
        )
    }

    fn prices() -> impl Strategy<Value = Price> {
        let factor = || prop::option::of(0.1..3.0);
        let tiers = prop::collection::btree_map(1..1_000_u64, rates(), 0..4);
        (rates(), tiers, factor(), factor()).prop_map(|(rates, tiers, flex, priority)| Price {
            rates,
            tiers: tiers.into_iter().map(|(above_tokens, rates)| Tier { above_tokens, rates }).collect(),
            service_tiers: ServiceTiers { flex, priority },
        })
    }

    fn usages() -> impl Strategy<Value = Usage> {
        let tier =
            prop::sample::select(vec![ServiceTier::Standard, ServiceTier::Flex, ServiceTier::Priority]);
        (0..300_u64, 0..300_u64, 0..300_u64, 0..300_u64, 0..300_u64, tier).prop_map(
            |(fresh, cached_tokens, five_minutes, hour, output_tokens, service_tier)| Usage {
                input_tokens: fresh + cached_tokens + five_minutes + hour,
                cached_tokens,
                cache_write_tokens: five_minutes + hour,
                cache_write_1h_tokens: hour,
                output_tokens,
                service_tier,
                unknown_members: 0,
                estimated: false,
            },
        )
    }

    fn is_near(one: f64, other: f64) -> bool {
        (one - other).abs() <= 1e-12 + 1e-9 * other.abs()
    }

    proptest! {
        // Issue 43: one tier prices the whole request, by the tokens of its prompt alone.
        #[test]
        fn a_request_costs_the_rates_of_its_tier(price in prices(), usage in usages()) {
            let passed = price.tiers.iter().filter(|tier| usage.input_tokens > tier.above_tokens);
            let rates = passed.map(|tier| tier.rates).next_back().unwrap_or(price.rates);
            let service_tiers = price.service_tiers;
            let alone = Price { rates, tiers: Vec::new(), service_tiers };
            prop_assert!(is_near(price.cost_usd(usage), alone.cost_usd(usage)));
            let standard = Usage { service_tier: ServiceTier::Standard, ..usage };
            let flex = Usage { service_tier: ServiceTier::Flex, ..usage };
            let factor = service_tiers.flex.unwrap_or(1.0);
            prop_assert!(is_near(price.cost_usd(flex), price.cost_usd(standard) * factor));
            let more = Usage { output_tokens: usage.output_tokens + 1, ..usage };
            prop_assert!(price.cost_usd(more) >= price.cost_usd(usage));
        }

        // Issue 43: a chain reserves at least what any of its models takes, for each length of a prompt. A cache that
        // keeps for an hour is left out: no codec asks for it.
        #[test]
        fn no_model_of_a_chain_costs_more_than_the_dearest(
            all in prop::collection::vec(prices(), 1..4),
            usage in usages(),
        ) {
            let usage =
                Usage { cache_write_1h_tokens: 0, service_tier: ServiceTier::Standard, ..usage };
            // None of it written, and with and without tokens from the cache.
            let unwritten = Usage { cache_write_tokens: 0, ..usage };
            let most = dearest(all.iter()).unwrap();
            for price in &all {
                for cached_tokens in [0, usage.cached_tokens] {
                    let (used, held) = (Usage { cached_tokens, ..usage }, Usage { cached_tokens, ..unwritten });
                    prop_assert!(price.cost_usd(used) <= most.cost_usd(held) + 1e-12);
                }
            }
        }

        // Prices outlive the code in entry 0 of a journal.
        #[test]
        fn a_price_survives_json(price in prices()) {
            let json = serde_json::to_string(&price).unwrap();
            prop_assert_eq!(wire::json::from_str::<Price>(&json).unwrap(), price);
        }
    }

    // Issue 43
    #[test]
    fn a_threshold_belongs_to_the_cheaper_side() {
        let haiku: Price = wire::json::from_str(
            r#"{"input": 0.1, "cached": 0.01, "cache_write": 0.125, "output": 0.5, "tiers": [
                {"above_tokens": 100000, "input": 0.5, "cached": 0.05, "cache_write": 0.625, "output": 2.5}]}"#,
        )
        .unwrap();
        let cost = |input_tokens| haiku.cost_usd(Usage { input_tokens, ..Usage::default() });
        assert!(is_near(cost(100_000), 0.01));
        assert!(is_near(cost(100_001), 0.050_000_5));
        let all = Usage {
            input_tokens: 200_000,
            cached_tokens: 100_000,
            cache_write_tokens: 40_000,
            output_tokens: 10_000,
            ..Usage::default()
        };
        assert!(is_near(haiku.cost_usd(all), 0.06 * 0.5 + 0.1 * 0.05 + 0.04 * 0.625 + 0.01 * 2.5));
    }

    // The journal of a turn that an older version began lacks the count and the price of cache writes, and all tiers.
    // A newer version may know more service tiers.
    #[test]
    fn usage_and_prices_of_other_versions_are_read() {
        let usage: Usage =
            wire::json::from_str(r#"{"input_tokens":3,"cached_tokens":2,"output_tokens":1}"#).unwrap();
        assert_eq!(usage, Usage { input_tokens: 3, cached_tokens: 2, output_tokens: 1, ..Usage::default() });
        let newer = r#"{"input_tokens":3,"cached_tokens":2,"output_tokens":1,"service_tier":"scale"}"#;
        assert_eq!(wire::json::from_str::<Usage>(newer).unwrap(), usage);
        let price: Price = wire::json::from_str(r#"{"input":3,"cached":2,"output":1}"#).unwrap();
        assert_eq!(price, Price::flat(3.0, 2.0, 1.0));
        assert_eq!(serde_json::to_string(&price).unwrap(), r#"{"input":3.0,"cached":2.0,"output":1.0}"#);
        // Those of a journal that an older version wrote: the turn costs what it cost then.
        let price: Price =
            wire::json::from_str(r#"{"input":3.0,"cached":0.3,"cache_write":3.75,"output":15.0}"#).unwrap();
        let older = r#"{"input_tokens":10,"cached_tokens":4,"cache_write_tokens":1,"output_tokens":2}"#;
        let usage: Usage = wire::json::from_str(older).unwrap();
        assert!(is_near(price.cost_usd(usage) * 1e6, 5.0 * 3.0 + 4.0 * 0.3 + 3.75 + 2.0 * 15.0));
        let newer = r#"{"input":3,"cached":2,"output":1,"service_tiers":{"scale":2},"batch":1}"#;
        assert_eq!(wire::json::from_str::<Price>(newer).unwrap(), Price::flat(3.0, 2.0, 1.0));
    }
}
