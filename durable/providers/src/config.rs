//! Reads the models of a deployment from its variables. The error lists all problems at once, in words for the
//! operator, and repeats no value that could be a secret.
//! The variables are plain texts and lists: an operator writes them in the same way in `wrangler.toml`, in `.dev.vars`
//! and in the dashboard, and a message can name the wrong variable.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::Serialize;

use engine::profiles::{Chain, PricedModel, Role};
use wire::model::{Capabilities, ModelChoice};
use wire::time::Day;

mod overrides;
mod provider;

use overrides::Overrides;
pub use overrides::unpriced;
pub use provider::{Api, Provider};

#[cfg(test)]
mod tests;

/// The most models of a chain: each may delay a turn by half a minute before the next one.
const MAX_CHAIN: usize = 8;
/// The most models in all, which bounds the memory that each object keeps of them.
const MAX_MODELS: usize = 64;
/// The longest name of a model, in bytes.
const MAX_MODEL_NAME: usize = 200;
/// The bounds of a wait for a provider, in milliseconds. A turn may run for 180 s.
const WAIT_MS: RangeInclusive<u64> = 100..=180_000;
/// The bounds of the demo model's work on a reply: it must not pass for a lost connection.
const DEMO_WORK_MS: RangeInclusive<u64> = 0..=10_000;

/// A deployment's models.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The models of each configured role.
    pub roles: Roles,
    /// The models of the operator's hooks, which no request may name; none: the primary ones.
    pub guard: Option<Chain>,
    /// Further models that a request may name.
    pub others: Vec<PricedModel>,
    /// The providers by name.
    pub providers: BTreeMap<String, Provider>,
    /// The ids of the models whose requests leave out the temperature of `MODEL_OPTIONS`, because they refuse it.
    pub without_temperature: BTreeSet<String>,
    pub patience: Patience,
    /// How long the demo model takes before each reply of a subtask, in milliseconds.
    pub demo_work_ms: u64,
}

/// The models of each role. The primary role always has a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Roles {
    pub primary: Chain,
    pub more: BTreeMap<Role, Chain>,
}

/// How long a provider may be silent, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Until the first byte of its response.
    pub first_byte_ms: u64,
    /// Between two reads of the response.
    pub idle_ms: u64,
}

impl Default for Patience {
    /// Providers send comments or empty deltas while a model thinks, so silence of a minute is a lost connection.
    fn default() -> Self {
        Patience { first_byte_ms: 60_000, idle_ms: 60_000 }
    }
}

/// A model that a request may name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(schemars::JsonSchema))]
pub struct Offered<'a> {
    pub id: String,
    pub provider: &'a str,
    pub model: &'a str,
    pub capabilities: Capabilities,
    /// US dollars per million tokens; null if unknown.
    pub price: Option<&'a engine::profiles::Price>,
}

impl Roles {
    /// The models of a role; none if the deployment configures none.
    pub fn of(&self, role: Role) -> Option<&Chain> {
        if role == Role::Primary { Some(&self.primary) } else { self.more.get(&role) }
    }

    /// The configured roles with their models.
    pub fn iter(&self) -> impl Iterator<Item = (Role, &Chain)> {
        Role::ALL.into_iter().filter_map(|role| Some((role, self.of(role)?)))
    }
}

impl Configuration {
    /// Reads the variables (docs/operations.md lists them), with the prices of today. An empty variable counts as absent.
    /// The error lists all problems.
    pub fn from_env(
        lookup: impl Fn(&str) -> Option<String>,
        today: Day,
    ) -> Result<Configuration, Vec<String>> {
        // A secret piped into wrangler ends with a line break.
        let read =
            |name: &str| lookup(name).map(|value| value.trim().to_string()).filter(|value| !value.is_empty());
        Reader::new(&read, today).configuration()
    }

    /// Checks that the binding `AI` exists if a provider needs it.
    pub fn bound(self, ai: bool) -> Result<Configuration, Vec<String>> {
        let needs_ai = self.providers.values().any(|provider| matches!(provider.api, Api::WorkersAi));
        if needs_ai && !ai {
            return Err(vec![
                "The binding AI is missing, which the provider workers-ai needs: [ai] with binding = \"AI\" in \
                 wrangler.toml."
                    .to_string(),
            ]);
        }
        Ok(self)
    }

    /// The chain for the name in a request: a role or the id of a model; without a name, the primary role. None if this
    /// deployment does not offer the name.
    pub fn chain(&self, named: Option<&str>) -> Option<Chain> {
        let Some(name) = named else { return Some(self.roles.primary.clone()) };
        if let Some(role) = Role::of(name) {
            return self.roles.of(role).cloned();
        }
        self.offers().find(|offer| offer.choice.id() == name).cloned().map(Chain::of)
    }

    /// The models of the operator's hooks.
    pub fn guards(&self) -> &Chain {
        self.guard.as_ref().unwrap_or(&self.roles.primary)
    }

    /// The profile of a request with that name: a role, or `named` for a single model.
    pub fn profile(named: Option<&str>) -> &'static str {
        match named {
            None => Role::Primary.as_str(),
            Some(name) => Role::of(name).map_or("named", Role::as_str),
        }
    }

    /// Every model once.
    pub fn offered(&self) -> Vec<Offered<'_>> {
        let mut seen = BTreeSet::new();
        let new = self.offers().filter(|offer| seen.insert(offer.choice.id()));
        let offered = new.map(|PricedModel { choice, price, .. }| Offered {
            id: choice.id(),
            provider: &choice.provider,
            model: &choice.model,
            capabilities: choice.capabilities,
            price: price.as_ref(),
        });
        offered.collect()
    }

    /// Every model, those of the operator's hooks included; some of them more than once.
    pub fn models(&self) -> impl Iterator<Item = &ModelChoice> {
        let guards = self.guard.iter().flat_map(Chain::iter);
        self.offers().chain(guards).map(|offer| &*offer.choice)
    }

    fn offers(&self) -> impl Iterator<Item = &PricedModel> {
        self.roles.iter().flat_map(|(_, chain)| chain.iter()).chain(&self.others)
    }
}

/// Reads variables and collects the problems.
struct Reader<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
    today: Day,
    /// The provider that `LLM_BASE_URL` and `LLM_API_KEY` belong to.
    simple: Option<String>,
    overrides: Overrides,
    without_temperature: BTreeSet<String>,
    problems: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(read: &'a dyn Fn(&str) -> Option<String>, today: Day) -> Self {
        let any = ["LLM_BASE_URL", "LLM_MODEL", "LLM_API_KEY"].iter().any(|name| read(name).is_some());
        let simple = read("LLM_PROVIDER").or_else(|| any.then(|| "openai".to_string()));
        let mut problems = Vec::new();
        let overrides = Overrides::read(read, &mut problems);
        Reader { read, today, simple, overrides, without_temperature: BTreeSet::new(), problems }
    }

    fn configuration(mut self) -> Result<Configuration, Vec<String>> {
        let primary = self.primary();
        let mut more = BTreeMap::new();
        for role in Role::ALL.into_iter().filter(|role| *role != Role::Primary) {
            if let Some(chain) = self.role(role) {
                more.insert(role, chain);
            }
        }
        let guard = self.role(Role::Guard);
        if guard.as_ref().is_some_and(|guard| !guard.first.choice.capabilities.tools) {
            self.problems
                .push("MODEL_GUARD: its models need tools, because a verdict is a call.".to_string());
        }
        let others = self.list("MODELS");
        let patience = self.patience();
        let demo_work_ms = self.ms("DEMO_WORK_MS", 0, DEMO_WORK_MS);
        let offers: Vec<&PricedModel> =
            primary.iter().chain(more.values()).chain(&guard).flat_map(Chain::iter).chain(&others).collect();
        let ids: BTreeSet<String> = offers.iter().map(|offer| offer.choice.id()).collect();
        if ids.len() > MAX_MODELS {
            self.problems.push(format!("There are {} models; at most {MAX_MODELS} fit.", ids.len()));
        }
        self.problems.extend(self.overrides.unknown(offers.iter().map(|offer| &*offer.choice)));
        let names: BTreeSet<&str> = offers.iter().map(|offer| offer.choice.provider.as_str()).collect();
        let mut providers = BTreeMap::new();
        for name in names {
            match Provider::read(name, self.simple.as_deref() == Some(name), self.read) {
                Ok(provider) => drop(providers.insert(name.to_string(), provider)),
                Err(problems) => self.problems.extend(problems),
            }
        }
        match primary {
            Some(primary) if self.problems.is_empty() => Ok(Configuration {
                roles: Roles { primary, more },
                guard,
                others,
                providers,
                without_temperature: self.without_temperature,
                patience,
                demo_work_ms,
            }),
            _ => {
                // A problem of a shared variable appears for both providers.
                let mut seen = BTreeSet::new();
                self.problems.retain(|problem| seen.insert(problem.clone()));
                Err(self.problems)
            }
        }
    }

    /// The models of `MODEL_PRIMARY`, or the model of the `LLM_*` variables, or the demo if no variable is set.
    fn primary(&mut self) -> Option<Chain> {
        if (self.read)("MODEL_PRIMARY").is_some() {
            return self.role(Role::Primary);
        }
        let provider = match self.simple.clone() {
            Some(provider) => provider,
            None => match self.forgotten() {
                None => "demo".to_string(),
                Some(variable) => {
                    let what = format!("{variable} is set, but no model is named");
                    self.problems.push(format!(
                        "MODEL_PRIMARY is missing: {what}. It lists models such as openai:gpt-6-luna."
                    ));
                    return None;
                }
            },
        };
        if provider == "demo" {
            return Some(Chain::of(self.offer("demo".to_string(), "demo".to_string())));
        }
        let Some(model) = (self.read)("LLM_MODEL") else {
            self.problems
                .push("LLM_MODEL is missing: the name of the model, as the provider spells it.".to_string());
            // Reports the other problems of the provider, too.
            let provider = Provider::read(&provider, true, self.read);
            self.problems.extend(provider.err().into_iter().flatten());
            return None;
        };
        self.name_problem("LLM_PROVIDER", "LLM_MODEL", &provider, &model);
        Some(Chain::of(self.offer(provider, model)))
    }

    /// A variable of a provider without a model.
    fn forgotten(&self) -> Option<&'static str> {
        let named = [
            "MODEL_SECONDARY",
            "MODEL_SUBAGENT",
            "MODEL_SPEED",
            "MODEL_BALANCED",
            "MODEL_QUALITY",
            "MODEL_GUARD",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GEMINI_API_KEY",
        ];
        named.into_iter().find(|name| (self.read)(name).is_some())
    }

    fn role(&mut self, role: Role) -> Option<Chain> {
        let variable = format!("MODEL_{}", role.as_str().to_ascii_uppercase());
        let mut offers = self.list(&variable).into_iter();
        let first = offers.next()?;
        let chain = Chain { first, then: offers.collect() };
        if chain.then.len() >= MAX_CHAIN {
            self.problems.push(format!("{variable} has more than {MAX_CHAIN} models."));
        }
        // A turn freezes its tools together with its chain, so every model of the chain must be able to use them.
        let tools = chain.first.choice.capabilities.tools;
        if chain.then.iter().any(|offer| offer.choice.capabilities.tools != tools) {
            self.problems.push(format!(
                "{variable}: its models cannot stand in for each other, since only some of them have tools."
            ));
        }
        Some(chain)
    }

    /// A comma-separated list of `PROVIDER:MODEL`. Names of models may have colons themselves.
    fn list(&mut self, variable: &str) -> Vec<PricedModel> {
        let Some(text) = (self.read)(variable) else { return Vec::new() };
        let mut offers: Vec<PricedModel> = Vec::new();
        let items = || text.split(',').map(str::trim).filter(|item| !item.is_empty());
        if items().next().is_none() {
            self.problems.push(format!("{variable} names no model, such as openai:gpt-6-luna."));
        }
        for item in items() {
            let Some((provider, model)) = item.split_once(':') else {
                self.problems
                    .push(format!("{variable}: an item is not PROVIDER:MODEL, such as openai:gpt-6-luna."));
                continue;
            };
            if self.name_problem(variable, variable, provider, model) {
                continue;
            }
            let offer = self.offer(provider.to_string(), model.to_string());
            if offers.contains(&offer) {
                self.problems.push(format!("{variable} lists a model twice."));
            } else {
                offers.push(offer);
            }
        }
        offers
    }

    /// Checks the names and reports a problem without repeating the name, because a key may stand in the wrong place.
    fn name_problem(&mut self, by: &str, of: &str, provider: &str, model: &str) -> bool {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let named = provider.len() <= 32
            && provider.starts_with(|first: char| first.is_ascii_lowercase())
            && provider.bytes().all(is_word);
        if !named {
            self.problems.push(format!(
                "{by}: a provider's name has at most 32 lower-case letters, digits and hyphens, such as openai."
            ));
        }
        let model = !model.is_empty()
            && model.len() <= MAX_MODEL_NAME
            && model.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
        if !model {
            self.problems.push(format!(
                "{of}: a model's name has 1 to {MAX_MODEL_NAME} visible ASCII characters without commas."
            ));
        }
        !(named && model)
    }

    fn offer(&mut self, provider: String, model: String) -> PricedModel {
        let is_simple = self.simple.as_ref() == Some(&provider);
        let on_makers_host = provider::is_makers_own(&provider, is_simple, self.read);
        let known = crate::catalogue::known(&provider, &model, on_makers_host);
        let wire = provider::wire_of(&provider, is_simple, self.read);
        let wished = self.overrides.choice(ModelChoice { wire, ..ModelChoice::new(provider, model) }, known);
        self.problems.extend(provider::tier_problem(&wished));
        let (choice, is_without) = overrides::fitting(wished, known);
        if is_without {
            self.without_temperature.insert(choice.id());
        }
        self.overrides.priced(choice, self.today)
    }

    fn patience(&mut self) -> Patience {
        let default = Patience::default();
        Patience {
            first_byte_ms: self.ms("LLM_FIRST_BYTE_MS", default.first_byte_ms, WAIT_MS),
            idle_ms: self.ms("LLM_IDLE_MS", default.idle_ms, WAIT_MS),
        }
    }

    fn ms(&mut self, variable: &str, default: u64, bounds: RangeInclusive<u64>) -> u64 {
        let Some(text) = (self.read)(variable) else { return default };
        match text.parse() {
            Ok(ms) if bounds.contains(&ms) => ms,
            _ => {
                let (least, most) = (bounds.start(), bounds.end());
                self.problems
                    .push(format!("{variable} must be a number of milliseconds, {least} to {most}."));
                default
            }
        }
    }
}
