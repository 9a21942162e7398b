//! What a model call used, as its provider counted it.

use serde::{Deserialize, Serialize};

/// Tokens of one call, as the provider counted them. Where it counted none, an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Usage {
    /// All input tokens, the cached ones included.
    pub input_tokens: u64,
    pub cached_tokens: u64,
    /// Input tokens that the provider wrote to its cache, if it charges for that.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, ts(as = "Option<u64>", optional))]
    pub cache_write_tokens: u64,
    /// Those of them that the provider keeps for an hour.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, ts(as = "Option<u64>", optional))]
    pub cache_write_1h_tokens: u64,
    pub output_tokens: u64,
    #[serde(default, skip_serializing_if = "ServiceTier::is_standard")]
    #[cfg_attr(test, ts(as = "Option<ServiceTier>", optional))]
    pub service_tier: ServiceTier,
    /// How many members of the provider's usage this version does not know. Each may be something that costs money.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(test, ts(as = "Option<u64>", optional))]
    pub unknown_members: u64,
    /// The service estimated a part of these numbers, because the provider did not count it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(test, ts(as = "Option<bool>", optional))]
    pub estimated: bool,
}

fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

impl Usage {
    /// The sum. It saturates, because a provider may report any number.
    pub fn and(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cached_tokens: self.cached_tokens.saturating_add(other.cached_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
            cache_write_1h_tokens: self.cache_write_1h_tokens.saturating_add(other.cache_write_1h_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            unknown_members: self.unknown_members.saturating_add(other.unknown_members),
            service_tier: self.service_tier,
            estimated: self.estimated || other.estimated,
        }
    }
}

/// The class of service in which a provider served a request, where that changes the price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ServiceTier {
    /// Slower and cheaper.
    Flex,
    /// Faster and dearer.
    Priority,
    /// The usual one; also a tier that only a newer version knows.
    #[default]
    #[serde(other)]
    Standard,
}

impl ServiceTier {
    /// The tier by a provider's word. OpenAI calls one of them by two names.
    pub fn of(word: &str) -> Self {
        match word {
            "flex" => ServiceTier::Flex,
            "priority" | "fast" => ServiceTier::Priority,
            _ => ServiceTier::Standard,
        }
    }

    fn is_standard(&self) -> bool {
        *self == ServiceTier::Standard
    }
}
