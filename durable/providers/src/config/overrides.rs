//! A deployment's settings for single models: abilities, options of every call, prices. Each is a JSON variable with
//! the models' ids as keys.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use engine::profiles::{Price, PricedModel, Rates, ServiceTiers, Tier};
use wire::model::{Capabilities, ModelChoice, ModelOptions, ServiceTier};
use wire::redact::json_problem;
use wire::time::Day;

use crate::catalogue::Row;

/// Temperatures that a provider takes; Anthropic takes up to 1.
const TEMPERATURES: std::ops::RangeInclusive<f64> = 0.0..=2.0;
/// The bounds for a limit of a reply, in tokens. OpenAI refuses fewer, and no model writes more.
const OUTPUT_TOKENS: std::ops::RangeInclusive<u64> = 16..=1_000_000;
/// The longest name of an effort, in bytes.
const MAX_EFFORT: usize = 32;
/// The highest price, in US dollars per million tokens. A higher one is probably in the wrong unit.
const MAX_PRICE: f64 = 10_000.0;
/// The most tiers of a price. Providers have up to four.
const MAX_TIERS: usize = 8;
/// The factors of a service tier. OpenAI's are 0.5 to 2.5.
const FACTORS: std::ops::RangeInclusive<f64> = 0.0..=10.0;

/// The models without a price, as a problem where this variable limits money; none where each has one.
pub fn unpriced<'a>(limited_by: &str, offers: impl Iterator<Item = &'a PricedModel>) -> Option<String> {
    let models: BTreeSet<String> =
        offers.filter(|offer| offer.price.is_none()).map(|offer| offer.choice.id()).collect();
    let models = models.into_iter().collect::<Vec<_>>().join(", ");
    (!models.is_empty()).then(|| {
        format!(
            "{limited_by} limits money, but PRICES has no price for these models: {models}. A model that costs nothing \
             has the price 0: {{\"input\": 0, \"output\": 0}}."
        )
    })
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    capabilities: BTreeMap<String, Abilities>,
    options: BTreeMap<String, Wishes>,
    prices: BTreeMap<String, OwnPrice>,
}

/// Single members of [`Capabilities`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Abilities {
    tools: Option<bool>,
    parallel_tool_calls: Option<bool>,
    reasoning: Option<bool>,
    adaptive_thinking: Option<bool>,
    structured_output: Option<bool>,
    vision: Option<bool>,
    pdf: Option<bool>,
    context_tokens: Option<u64>,
    output_tokens: Option<u64>,
}

/// Single members of [`ModelOptions`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wishes {
    temperature: Option<f64>,
    reasoning_effort: Option<String>,
    max_output_tokens: Option<u64>,
    service_tier: Option<String>,
}

/// A [`Price`]. Cached input costs as much as other input by default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnPrice {
    input: f64,
    cached: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    output: f64,
    #[serde(default)]
    tiers: Vec<OwnTier>,
    #[serde(default)]
    service_tiers: OwnServiceTiers,
}

/// A [`Tier`].
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnTier {
    above_tokens: u64,
    input: f64,
    cached: Option<f64>,
    cache_write: Option<f64>,
    cache_write_1h: Option<f64>,
    output: f64,
}

/// [`ServiceTiers`].
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct OwnServiceTiers {
    flex: Option<f64>,
    priority: Option<f64>,
}

impl Overrides {
    /// Reads the variables and adds problems to `problems`.
    pub fn read(read: &dyn Fn(&str) -> Option<String>, problems: &mut Vec<String>) -> Self {
        let capabilities = r#"{"openai:gpt-6-luna": {"vision": false}}"#;
        let options = r#"{"openai:*": {"reasoning_effort": "low"}}"#;
        let prices = r#"{"my-box:qwen3:8b": {"input": 0.1, "output": 0.4}}"#;
        let overrides = Overrides {
            capabilities: table(read, "CAPABILITIES", capabilities, problems),
            options: table(read, "MODEL_OPTIONS", options, problems),
            prices: table(read, "PRICES", prices, problems),
        };
        problems.extend(overrides.options.values().filter_map(Wishes::problem));
        problems.extend(overrides.prices.values().filter_map(OwnPrice::problem));
        overrides
    }

    /// A model with its abilities and all options that the deployment wishes for it.
    pub fn choice(&self, mut choice: ModelChoice, known: Option<&Row>) -> ModelChoice {
        choice.capabilities = known.map(|row| row.capabilities).unwrap_or_default();
        if let Some(abilities) = self.capabilities.get(&choice.id()) {
            choice.capabilities = abilities.over(choice.capabilities);
        }
        // The most specific setting wins.
        for key in keys(&choice) {
            if let Some(wishes) = self.options.get(&key) {
                choice.options = wishes.over(choice.options);
            }
        }
        choice
    }

    /// A model with its price, the deployment's own before the listed one. None where the price of the service tier is
    /// unknown that its requests ask for, and may be higher.
    pub fn priced(&self, choice: ModelChoice, today: Day) -> PricedModel {
        let own = self.prices.get(&choice.id()).map(OwnPrice::price);
        let is_priority = choice.options.asked_tier() == ServiceTier::Priority;
        let listed = crate::catalogue::offer(choice, today);
        let price = own.or(listed.price);
        let price = price.filter(|price| !is_priority || price.service_tiers.priority.is_some());
        PricedModel { price, ..listed }
    }

    /// Reports settings of models that the deployment does not offer.
    pub fn unknown<'a>(&self, models: impl Iterator<Item = &'a ModelChoice>) -> Vec<String> {
        let models: Vec<&ModelChoice> = models.collect();
        let ids: BTreeSet<String> = models.iter().map(|choice| choice.id()).collect();
        let keys: BTreeSet<String> = models.iter().flat_map(|choice| keys(choice)).collect();
        let of = |variable, names: Vec<&String>, known: &BTreeSet<String>| -> Vec<String> {
            let unknown = names.into_iter().zip(1..).filter(|(name, _)| !known.contains(*name));
            let what = "names no model that this deployment offers";
            unknown.map(|(_, nth)| format!("{variable}: entry {nth} in alphabetical order {what}.")).collect()
        };
        [
            of("CAPABILITIES", self.capabilities.keys().collect(), &ids),
            of("MODEL_OPTIONS", self.options.keys().collect(), &keys),
            of("PRICES", self.prices.keys().collect(), &ids),
        ]
        .concat()
    }
}

/// A model with the options that it takes, and whether a temperature was left out that it refuses.
pub(super) fn fitting(mut choice: ModelChoice, known: Option<&Row>) -> (ModelChoice, bool) {
    let Some(forms) = known.map(|row| &row.forms) else { return (choice, false) };
    let ModelOptions { temperature, reasoning_effort, .. } = &mut choice.options;
    let is_refused = temperature.is_some() && !forms.takes_sampling(reasoning_effort.as_deref());
    if is_refused {
        *temperature = None;
    }
    *reasoning_effort = reasoning_effort.take().map(|effort| forms.effort(effort));
    (choice, is_refused)
}

/// The keys that apply to a model, the least specific first.
fn keys(choice: &ModelChoice) -> [String; 3] {
    ["*".to_owned(), format!("{}:*", choice.provider), choice.id()]
}

fn table<T: DeserializeOwned>(
    read: &dyn Fn(&str) -> Option<String>,
    variable: &str,
    such_as: &str,
    problems: &mut Vec<String>,
) -> BTreeMap<String, T> {
    let Some(json) = read(variable) else { return BTreeMap::new() };
    wire::json::from_str(&json).unwrap_or_else(|error| {
        problems.push(format!("{variable} is not JSON such as {such_as}: {}.", json_problem(&error)));
        BTreeMap::new()
    })
}

impl Abilities {
    fn over(&self, known: Capabilities) -> Capabilities {
        Capabilities {
            tools: self.tools.unwrap_or(known.tools),
            parallel_tool_calls: self.parallel_tool_calls.unwrap_or(known.parallel_tool_calls),
            reasoning: self.reasoning.unwrap_or(known.reasoning),
            adaptive_thinking: self.adaptive_thinking.or(known.adaptive_thinking),
            structured_output: self.structured_output.unwrap_or(known.structured_output),
            vision: self.vision.unwrap_or(known.vision),
            // Who says that a model reads pictures, or none, says it of PDFs too.
            pdf: self.pdf.or(known.pdf.filter(|_| self.vision.is_none())),
            context_tokens: self.context_tokens.or(known.context_tokens),
            output_tokens: self.output_tokens.or(known.output_tokens),
        }
    }
}

impl Wishes {
    fn over(&self, known: ModelOptions) -> ModelOptions {
        ModelOptions {
            temperature: self.temperature.or(known.temperature),
            reasoning_effort: self.reasoning_effort.clone().or(known.reasoning_effort),
            max_output_tokens: self.max_output_tokens.or(known.max_output_tokens),
            service_tier: self.service_tier.clone().or(known.service_tier),
        }
    }

    fn problem(&self) -> Option<String> {
        // Gemini before version 3 takes a number of tokens.
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let word = |word: &String| (1..=MAX_EFFORT).contains(&word.len()) && word.bytes().all(is_word);
        let problem = if self.temperature.is_some_and(|value| !TEMPERATURES.contains(&value)) {
            format!("temperature must be {} to {}", TEMPERATURES.start(), TEMPERATURES.end())
        } else if !self.reasoning_effort.as_ref().is_none_or(word) {
            "reasoning_effort must be a word such as low, medium or high".to_owned()
        } else if self.max_output_tokens.is_some_and(|value| !OUTPUT_TOKENS.contains(&value)) {
            format!("max_output_tokens must be {} to {}", OUTPUT_TOKENS.start(), OUTPUT_TOKENS.end())
        } else {
            return None;
        };
        Some(format!("MODEL_OPTIONS: {problem}."))
    }
}

impl OwnPrice {
    fn price(&self) -> Price {
        let OwnPrice { input, cached, cache_write, cache_write_1h, output, .. } = *self;
        let OwnServiceTiers { flex, priority } = self.service_tiers;
        Price {
            rates: Rates { input, cached: cached.unwrap_or(input), cache_write, cache_write_1h, output },
            tiers: self.tiers.iter().map(OwnTier::tier).collect(),
            service_tiers: ServiceTiers { flex, priority },
        }
    }

    fn problem(&self) -> Option<String> {
        let Price { rates, tiers, service_tiers: ServiceTiers { flex, priority } } = self.price();
        let is_sane = |Rates { input, cached, cache_write, cache_write_1h, output }: &Rates| {
            let mut all = [*input, *cached, *output].into_iter().chain(*cache_write).chain(*cache_write_1h);
            all.all(|rate| (0.0..=MAX_PRICE).contains(&rate))
        };
        let ascend =
            tiers.windows(2).all(|pair| matches!(pair, [one, next] if one.above_tokens < next.above_tokens));
        let problem = if !std::iter::once(&rates).chain(tiers.iter().map(|tier| &tier.rates)).all(is_sane) {
            format!("a price is US dollars per million tokens, 0 to {MAX_PRICE}")
        } else if tiers.len() > MAX_TIERS || !ascend {
            format!("tiers are at most {MAX_TIERS}, each with a higher above_tokens than the one before")
        } else if !flex.into_iter().chain(priority).all(|factor| FACTORS.contains(&factor)) {
            format!("service_tiers are factors of the price, {} to {}", FACTORS.start(), FACTORS.end())
        } else {
            return None;
        };
        Some(format!("PRICES: {problem}."))
    }
}

impl OwnTier {
    fn tier(&self) -> Tier {
        let OwnTier { above_tokens, input, cached, cache_write, cache_write_1h, output } = *self;
        let cached = cached.unwrap_or(input);
        Tier { above_tokens, rates: Rates { input, cached, cache_write, cache_write_1h, output } }
    }
}
