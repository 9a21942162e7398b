//! What is known of the models of the makers that the service speaks to: prices, abilities, ends. `make catalogue` writes
//! the rows, and the build compiles them in.

use std::borrow::Cow;
use std::rc::Rc;

use engine::profiles::{Price, PricedModel, Rates, ServiceTiers, Tier};
use wire::media::{MediaMode, MediaPrice, OutputTokens, SecondRate, TileRates, TokenRates};
use wire::model::{Capabilities, ModelChoice};
use wire::time::Day;

#[cfg(test)]
mod documents;
#[cfg(test)]
mod media_tests;
#[cfg(test)]
mod tests;
mod tokens;

include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// A model, by the name of its provider here and the maker's name of it.
#[derive(Debug)]
pub struct Row {
    pub provider: &'static str,
    /// `*` has what all models of the maker's newest family can, and no price.
    pub model: &'static str,
    /// The day on which the maker turns it off.
    pub ends: Option<Day>,
    /// The model that the maker names instead.
    pub successor: Option<&'static str>,
    pub capabilities: Capabilities,
    pub forms: Forms,
    /// The price of the catalogue's date, and those that begin later, in their order.
    prices: &'static [Dated],
}

/// The forms of a request that a model takes.
#[derive(Debug)]
pub struct Forms {
    /// The words of `reasoning_effort` that it takes; empty where they are not known.
    pub efforts: &'static [&'static str],
    /// Whether its reasoning cannot be turned off.
    pub always_reasons: bool,
    /// Whether it takes `temperature` and its like.
    pub sampling: bool,
    /// The only effort with which it takes them; none where any will do.
    pub sampling_effort: Option<&'static str>,
    /// Its effort where a request names none, if that is known.
    pub default_effort: Option<&'static str>,
    /// Whether its effort is a number of tokens.
    pub thinking_budgets: bool,
    /// Whether a request may force it to call a tool.
    pub forced_tools: bool,
}

/// A price with its first day.
#[derive(Debug)]
struct Dated {
    from: Day,
    rates: Rates,
    tiers: &'static [Tier],
    service_tiers: ServiceTiers,
}

/// A model that makes pictures, speech, transcripts or videos.
#[derive(Debug)]
pub struct MediaRow {
    pub provider: &'static str,
    pub model: &'static str,
    /// The day on which the maker turns it off.
    pub ends: Option<Day>,
    /// The model that the maker names instead.
    pub successor: Option<&'static str>,
    pub modes: &'static [MediaMode],
    /// The most files that one call makes, which is at most our limit.
    pub most_variations: u8,
    /// None where it is unknown, or not known before the call.
    pub price: Option<MediaPrice>,
}

impl Row {
    /// The price on this day.
    fn price(&self, today: Day) -> Option<Price> {
        let dated = self.prices.iter().rfind(|dated| dated.from <= today)?;
        let Dated { rates, tiers, service_tiers, .. } = *dated;
        Some(Price { rates, tiers: tiers.to_vec(), service_tiers })
    }
}

/// The tokens of thought for the words of an effort (<https://ai.google.dev/gemini-api/docs/openai>, "Thinking").
const BUDGETS: [(&str, &str); 5] =
    [("none", "0"), ("minimal", "1024"), ("low", "1024"), ("medium", "8192"), ("high", "24576")];

impl Forms {
    /// Whether a request with this effort may set `temperature` and its like.
    pub fn takes_sampling(&self, effort: Option<&str>) -> bool {
        let effort = effort.or(self.default_effort);
        self.sampling && self.sampling_effort.is_none_or(|only| effort == Some(only))
    }

    /// An effort in the form that the model takes.
    pub fn effort(&self, effort: String) -> String {
        let budget = BUDGETS.iter().find(|(word, _)| self.thinking_budgets && *word == effort);
        budget.map_or(effort, |(_, tokens)| (*tokens).to_owned())
    }
}

/// All rows.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter()
}

/// The row of a model. A name that ends in a date has the row of the name without, unless it has its own.
pub fn row(provider: &str, model: &str) -> Option<&'static Row> {
    let named = |name: &str| {
        ROWS.iter().find(|row| row.provider == maker(provider) && row.model == name && name != "*")
    };
    named(model).or_else(|| named(without_date(model)?))
}

/// The row of a model that makes media, as [`row`] finds it.
pub fn media(provider: &str, model: &str) -> Option<&'static MediaRow> {
    let named =
        |name: &str| MEDIA_ROWS.iter().find(|row| row.provider == maker(provider) && row.model == name);
    named(model).or_else(|| named(without_date(model)?))
}

/// The row for a model that no row names, of a maker's newest family. It holds on the maker's own host alone: a server
/// of somebody else may give any model any name.
pub fn newest(provider: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.provider == maker(provider) && row.model == "*")
}

/// A model with its price on this day, none if it is unknown, and the bounds of its tokens.
pub fn offer(choice: ModelChoice, today: Day) -> PricedModel {
    let price = row(&choice.provider, &choice.model).and_then(|row| row.price(today));
    let most_tokens = tokens::most_tokens(maker(&choice.provider), &choice.model);
    PricedModel { price, most_tokens, choice: Rc::new(choice) }
}

/// The row of a model, or that of the newest family; none for an unknown one.
pub fn known(provider: &str, model: &str, on_makers_host: bool) -> Option<&'static Row> {
    row(provider, model).or_else(|| newest(provider).filter(|_| on_makers_host))
}

/// The maker of a provider's models. OpenAI has three provider names: each API has one of its own.
fn maker(provider: &str) -> &str {
    if matches!(provider, "openai-chat" | "openai-responses") { "openai" } else { provider }
}

/// The name before a date: `gpt-6-sol` of `gpt-6-sol-2026-10-01`, `claude-opus-5` of `claude-opus-5-20260401`.
fn without_date(model: &str) -> Option<&str> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (name, last) = model.rsplit_once('-')?;
    if last.len() == 8 && is_digits(last) {
        return Some(name);
    }
    let (name, month) = name.rsplit_once('-')?;
    let (name, year) = name.rsplit_once('-')?;
    let parts = [(year, 4), (month, 2), (last, 2)];
    parts.into_iter().all(|(part, length)| part.len() == length && is_digits(part)).then_some(name)
}
