use engine::profiles::{Chain, Price};
use wire::model::{ModelChoice, ServiceTier, Usage};
use wire::time::{Day, date};

use super::*;

/// The makers that have hosts which the service knows.
const HOSTS: [&str; 3] = ["anthropic", "gemini", "openai"];

fn day_of(text: &str) -> Day {
    (20_000..40_000).find(|day| date(*day).as_deref() == Some(text)).unwrap()
}

fn price_on(provider: &str, model: &str, day: Day) -> Option<Price> {
    offer(ModelChoice::new(provider, model), day).price
}

fn price_of(provider: &str, model: &str) -> Option<Price> {
    price_on(provider, model, DATE)
}

// N-172
#[test]
fn prices_are_known_or_null() {
    let price = price_of("openai", "gpt-6-luna").unwrap();
    assert_eq!(price_of("openai-responses", "gpt-6-luna"), Some(price.clone()));
    assert_eq!(price_of("openai", "gpt-6-luna-2026-10-01"), Some(price), "a name with a date");
    assert!(price_of("anthropic", "claude-haiku-5-5-20261001").is_some());
    for unknown in ["gpt-99", "gpt-6-luna-1", "gpt-6-luna-2026-10-0x", "gpt-6", "*", "", "-", "--20260101"] {
        assert_eq!(price_of("openai", unknown), None, "{unknown}");
    }
    assert_eq!(price_of("other", "gpt-6-luna"), None);
    assert_eq!(price_of("demo", "demo"), Some(Price::flat(0.0, 0.0, 0.0)));
}

/// Dollars per million tokens, up to a threshold and above it: input, cached input, cache writes, output.
type Listed = ((f64, f64, f64, f64), Option<(u64, (f64, f64, f64, f64))>);

// Issue 43: the prices that the makers' pages had on 2026-11-27: https://developers.openai.com/api/docs/pricing,
// https://platform.claude.com/docs/en/about-claude/pricing, https://ai.google.dev/gemini-api/docs/pricing. A new catalogue
// may have other ones; then compare this table with the pages first.
#[test]
fn prices_are_those_of_the_makers_pages() {
    let long = |(input, cached, write, output): (f64, f64, f64, f64)| {
        Some((272_000, (2.0 * input, 2.0 * cached, 2.0 * write, 1.5 * output)))
    };
    let openai = |rates| (rates, long(rates));
    let table: [(&str, &str, Listed); 10] = [
        ("openai", "gpt-6-astra", openai((10.0, 1.0, 12.5, 50.0))),
        ("openai", "gpt-6.1-sol", openai((2.0, 0.1, 2.5, 10.0))),
        ("openai", "gpt-6.1-terra", openai((1.0, 0.05, 1.25, 5.0))),
        ("openai", "gpt-6-sol", openai((2.0, 0.2, 2.5, 10.0))),
        ("openai", "gpt-6-luna", openai((0.1, 0.01, 0.125, 0.5))),
        ("anthropic", "claude-fable-5-1", ((10.0, 0.25, 12.5, 50.0), None)),
        ("anthropic", "claude-opus-5-5", ((4.0, 0.2, 5.0, 20.0), None)),
        ("anthropic", "claude-sonnet-5-5", ((2.0, 0.1, 2.5, 10.0), None)),
        (
            "anthropic",
            "claude-haiku-5-5",
            ((0.1, 0.01, 0.125, 0.5), Some((100_000, (0.5, 0.05, 0.625, 2.5)))),
        ),
        ("gemini", "gemini-3.1-pro-preview", ((2.0, 0.2, 2.0, 12.0), Some((200_000, (4.0, 0.4, 4.0, 18.0))))),
    ];
    for (provider, model, (base, above)) in table {
        let price = price_of(provider, model).unwrap();
        let thresholds: Vec<u64> = price.tiers.iter().map(|tier| tier.above_tokens).collect();
        assert_eq!(thresholds, above.iter().map(|(tokens, _)| *tokens).collect::<Vec<_>>(), "{model}");
        let sides = [(1, base)].into_iter().chain(above.map(|(tokens, rates)| (tokens + 1, rates)));
        for (prompt_tokens, listed) in sides {
            let rates = price.rates_of(prompt_tokens);
            let write = rates.cache_write.unwrap_or(rates.input);
            let ours = [rates.input, rates.cached, write, rates.output];
            let theirs = [listed.0, listed.1, listed.2, listed.3];
            let near = ours.iter().zip(theirs).all(|(ours, theirs)| (ours - theirs).abs() < 1e-9);
            assert!(near, "{model} at {prompt_tokens}: {ours:?}, not {theirs:?}");
        }
    }
    // Anthropic takes twice the input price for an hour in its cache; OpenAI half of all prices for Flex.
    let opus = price_of("anthropic", "claude-opus-5-5").unwrap();
    assert_eq!(opus.rates.cache_write_1h, Some(8.0));
    let sol = price_of("openai", "gpt-6.1-sol").unwrap();
    let usage = |service_tier| Usage { input_tokens: 1_000, service_tier, ..Usage::default() };
    let costs = [ServiceTier::Flex, ServiceTier::Standard, ServiceTier::Priority]
        .map(|tier| (sol.cost_usd(usage(tier)) * 1e6).round() as u64);
    assert_eq!(costs, [1_000, 2_000, 4_000]);
}

// Issue 43
#[test]
fn a_price_begins_on_its_day() {
    let input = |text| price_on("gemini", "gemini-3.8-flash", day_of(text)).unwrap().rates.input;
    assert_eq!((input("2026-11-01"), input("2026-12-31"), input("2027-01-01")), (0.75, 0.75, 1.5));
}

// Issue 43: by https://developers.openai.com/api/docs/deprecations and https://ai.google.dev/gemini-api/docs/deprecations.
#[test]
fn ends_and_successors_are_those_of_the_makers() {
    for (provider, model, ends) in [
        ("openai", "gpt-5", "2026-12-11"),
        ("openai-responses", "gpt-5-mini", "2026-12-11"),
        ("openai", "gpt-5-nano-2025-08-07", "2026-12-11"),
        ("openai", "gpt-4.1", "2027-01-14"),
        ("openai", "gpt-4o-mini", "2027-01-14"),
        ("gemini", "gemini-2.5-flash", "2026-12-01"),
        ("gemini", "gemini-2.5-pro", "2026-12-01"),
    ] {
        let row = row(provider, model).unwrap();
        assert_eq!(row.ends.and_then(date).as_deref(), Some(ends), "{model}");
        let successor = super::row(provider, row.successor.unwrap()).unwrap();
        assert!(successor.ends.is_none_or(|end| end > row.ends.unwrap()), "{model}");
    }
    assert_eq!(row("openai", "gpt-6-luna").unwrap().ends, None);
}

// Issue 43
#[test]
fn each_row_makes_sense() {
    assert_eq!(SOURCES.len(), 2);
    let ids: Vec<(&str, &str)> = rows().map(|row| (row.provider, row.model)).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "sorted, and each model once");
    for row in rows() {
        let name = format!("{}:{}", row.provider, row.model);
        assert!(row.ends.is_none_or(|ends| ends + 90 > DATE), "{name} ended long ago");
        assert_eq!(row.prices.is_empty(), row.model == "*", "{name}");
        assert!(row.prices.is_sorted_by_key(|dated| dated.from), "{name}");
        for dated in row.prices {
            let Rates { input, cached, output, .. } = dated.rates;
            assert!(cached <= input && input <= output, "{name}");
            let thresholds = || dated.tiers.iter().map(|tier| tier.above_tokens);
            assert!(thresholds().is_sorted_by(|one, next| one < next), "{name}");
            assert!(thresholds().all(|tokens| (10_000..1_000_000).contains(&tokens)), "{name}");
            assert!(dated.tiers.iter().all(|tier| tier.rates.input > input), "{name}");
        }
        let Capabilities { context_tokens, output_tokens, tools, .. } = row.capabilities;
        assert!(tools && (row.provider == "demo" || context_tokens.zip(output_tokens).is_some()), "{name}");
    }
}

// Issue 43: a maker's newest family has rows, which live on.
#[test]
fn each_maker_with_a_known_host_has_a_newest_family() {
    for maker in HOSTS {
        let family = newest(maker).unwrap();
        assert!(family.capabilities.reasoning && family.capabilities.vision, "{maker}");
        let lives = |row: &&Row| row.provider == maker && row.model != "*" && row.ends.is_none();
        assert!(rows().filter(lives).count() >= 3, "{maker}");
    }
    assert!(newest("openai-responses").is_some() && newest("mistral").is_none() && newest("demo").is_none());
}

// Issue 43
#[test]
fn abilities_are_those_of_the_model_or_of_the_newest_family_or_the_default() {
    let at = |provider, model, on_makers_host| {
        known(provider, model, on_makers_host).map(|row| row.capabilities).unwrap_or_default()
    };
    let of = |provider, model| at(provider, model, false);
    let luna = of("openai", "gpt-6-luna");
    assert!(luna.reasoning && luna.structured_output && luna.vision && luna.tools);
    assert_eq!((luna.context_tokens, luna.output_tokens), (Some(922_000), Some(128_000)));
    assert_eq!(of("openai-responses", "gpt-6-luna"), luna);
    assert!(!of("openai", "gpt-4o-mini").reasoning && of("openai", "gpt-4o-mini").vision);
    assert!(of("anthropic", "claude-haiku-5-5").structured_output);
    // A server of somebody else may call any model so.
    for (provider, model) in [("groq", "gpt-6-luna"), ("openai", "gpt-9"), ("openai", "demo"), ("box", "m")] {
        assert_eq!(of(provider, model), Capabilities::default(), "{provider}:{model}");
    }
    let of_newest = at("anthropic", "claude-opus-9", true);
    assert!(of_newest.reasoning && of_newest.structured_output && of_newest.vision);
    assert_eq!(of_newest, newest("anthropic").unwrap().capabilities);
    assert_eq!(at("box", "m", true), Capabilities::default());
}

// Issue 43
#[test]
fn the_forms_of_a_model_are_known() {
    let forms = |provider, model| &row(provider, model).unwrap().forms;
    assert!(forms("openai", "gpt-6-luna").efforts.contains(&"none"));
    assert!(!forms("openai", "gpt-6-astra").efforts.contains(&"none"), "it takes tools over Responses alone");
    let opus = forms("anthropic", "claude-opus-5-5");
    assert!(opus.always_reasons && !opus.sampling && !opus.forced_tools);
    assert_eq!(forms("openai", "gpt-6-luna").sampling_effort, Some("none"));
    assert_eq!(forms("openai-chat", "gpt-5.4").default_effort, Some("none"));
    assert_eq!(forms("openai", "gpt-4.1").sampling_effort, None);
    assert!(forms("gemini", "gemini-2.5-flash-lite").thinking_budgets);
    assert!(!forms("gemini", "gemini-3.8-flash").thinking_budgets);
    let adapts = |model| row("anthropic", model).unwrap().capabilities.adaptive_thinking;
    let models = ["claude-opus-4-5", "claude-haiku-4-5", "claude-sonnet-4-6", "claude-haiku-5-5"];
    assert_eq!(models.map(adapts), [Some(false), Some(false), Some(true), Some(true)]);
    assert_eq!(newest("anthropic").unwrap().capabilities.adaptive_thinking, Some(true));
    let reads_pdfs = |provider, model| row(provider, model).unwrap().capabilities.reads_pdfs();
    assert!(reads_pdfs("openai", "gpt-6-luna") && !reads_pdfs("mistral", "mistral-large-4"));
    let haiku = forms("anthropic", "claude-haiku-4-5");
    assert!(haiku.efforts.is_empty() && !haiku.always_reasons && haiku.sampling && haiku.forced_tools);
}

// Anthropic charges 1.25 times the input price for writes to its cache, OpenAI since GPT-5.6.
#[test]
fn cache_writes_have_a_price() {
    for row in rows().filter(|row| row.provider == "anthropic" && row.model != "*") {
        for dated in row.prices {
            assert_eq!(dated.rates.cache_write, Some(dated.rates.input * 1.25), "{}", row.model);
        }
    }
    let price = price_of("anthropic", "claude-opus-5-5").unwrap();
    let usage = Usage {
        input_tokens: 100_000,
        cached_tokens: 20_000,
        cache_write_tokens: 40_000,
        output_tokens: 10_000,
        ..Usage::default()
    };
    assert!((price.cost_usd(usage) - (0.04 * 4.0 + 0.02 * 0.2 + 0.04 * 5.0 + 0.01 * 20.0)).abs() < 1e-9);
    // Other providers charge cache writes as input.
    let mut other = price.clone();
    other.rates.cache_write = None;
    assert!((other.cost_usd(usage) - (0.08 * 4.0 + 0.02 * 0.2 + 0.01 * 20.0)).abs() < 1e-9);
    let choice = Rc::new(ModelChoice::new("p", "a"));
    let chain = Chain::of(PricedModel { choice, price: Some(price), most_tokens: None });
    assert_eq!(chain.dearest(), Some(Price::flat(5.0, 0.2, 20.0)));
}

// Issue 43: the table has the families of which something is known; for all others a byte is at most a token.
#[test]
fn families_have_the_most_tokens_that_are_known_of_them() {
    let of = |provider: &str, model: &str| {
        let most = offer(ModelChoice::new(provider, model), DATE).most_tokens?;
        Some((most.per_kilobyte, most.per_image))
    };
    assert_eq!(of("openai", "gpt-4o-mini-2024-07-18"), Some((750, 48_169)));
    assert_eq!(of("openai-responses", "gpt-5-mini"), Some((750, 4_096)));
    assert_eq!(of("openai", "gpt-5.6-codex"), Some((750, 16_384)));
    assert_eq!(of("anthropic", "claude-sonnet-5-5"), Some((1_000, 4_784)));
    assert_eq!(of("gemini", "gemini-3.8-flash"), Some((1_000, 4_096)));
    for (provider, model) in [("openai", "gpt-6-luna"), ("openai", "o10"), ("box", "gpt-5")] {
        assert_eq!(of(provider, model), None, "{provider}:{model}");
    }
}
