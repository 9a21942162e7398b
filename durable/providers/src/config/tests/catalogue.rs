//! What a deployment takes from the catalogue, and what its variables replace.

use engine::profiles::{Price, Rates, ServiceTiers, Tier};

use super::*;
use crate::catalogue::{DATE, newest, offer, row};

// Issue 43: every vLLM and every Ollama is called `openai` too.
#[test]
fn an_unknown_model_has_the_newest_abilities_on_its_makers_host_alone() {
    let newest = newest("openai").unwrap().capabilities;
    let abilities = |model: &str, more: Vars<'_>| {
        let vars = [&[("MODEL_PRIMARY", model), ("OPENAI_API_KEY", "k")], more].concat();
        read(&vars).unwrap().roles.primary.first.choice.capabilities
    };
    let at = |url| abilities("openai:gpt-9", &[("OPENAI_BASE_URL", url)]);
    assert_eq!(abilities("openai:gpt-9", &[]), newest);
    assert_eq!(abilities("openai-responses:gpt-9", &[]), newest);
    let gateway = ("AI_GATEWAY_URL", "https://gateway.ai.cloudflare.com/v1/account/name");
    assert_eq!(abilities("openai:gpt-9", &[gateway]), newest);
    assert_eq!(at("https://api.openai.com/v1"), newest);
    assert_eq!(at("https://eu.api.openai.com/v1"), newest);
    for foreign in
        ["http://127.0.0.1:11434/v1", "https://api.openai.com.evil.test/v1", "https://notapi.openai.com/v1"]
    {
        assert_eq!(at(foreign), Capabilities::default(), "{foreign}");
    }
    let simple = [("LLM_PROVIDER", "openai"), ("LLM_BASE_URL", "http://box.test"), gateway];
    assert_eq!(abilities("openai:gpt-9", &simple), Capabilities::default());
    let own = ("BOX_BASE_URL", "https://api.openai.com/v1");
    assert_eq!(abilities("box:gpt-9", &[own]), Capabilities::default(), "a name of the operator's own");
    // A known name has its row wherever it is served.
    let row = row("openai", "gpt-6-luna").unwrap().capabilities;
    assert_eq!(abilities("openai:gpt-6-luna", &[("OPENAI_BASE_URL", "http://box.test")]), row);
}

// N-172
#[test]
fn prices_are_the_deployments_or_those_of_the_table() {
    let vars = |prices: &'static str| {
        [("LLM_MODEL", "gpt-6-luna"), ("LLM_API_KEY", "k"), ("MODELS", "openai:own"), ("PRICES", prices)]
    };
    let price = |json, place: usize| read(&vars(json)).unwrap().offered()[place].price.cloned();
    let luna = ModelChoice::new("openai", "gpt-6-luna");
    let known = offer(luna, DATE).price;
    assert!(known.is_some());
    assert_eq!((price("{}", 0), price("{}", 1)), (known, None));
    let own = r#"{"openai:own": {"input": 0.5, "output": 10000}, "openai:gpt-6-luna": {"input": 1, "cached": 0, "output": 4}}"#;
    assert_eq!(price(own, 0), Some(Price::flat(1.0, 0.0, 4.0)));
    assert_eq!(price(own, 1), Some(Price::flat(0.5, 0.5, 10_000.0)));
    // Issue 43: all that a row of the catalogue has.
    let whole = r#"{"openai:own": {"input": 1, "cached": 0.1, "cache_write": 1.25, "cache_write_1h": 2, "output": 4,
        "tiers": [{"above_tokens": 1000, "input": 2, "output": 6}], "service_tiers": {"flex": 0.5, "priority": 2}}}"#;
    let expected = Price {
        rates: Rates {
            cache_write: Some(1.25),
            cache_write_1h: Some(2.0),
            ..Price::flat(1.0, 0.1, 4.0).rates
        },
        tiers: vec![Tier { above_tokens: 1000, rates: Price::flat(2.0, 2.0, 6.0).rates }],
        service_tiers: ServiceTiers { flex: Some(0.5), priority: Some(2.0) },
    };
    assert_eq!(price(whole, 1), Some(expected));
    let with = |more: &str| {
        let json = format!(r#"{{"openai:own": {{"input": 1, "output": 1, {more}}}}}"#);
        read(&[("LLM_MODEL", "m"), ("LLM_API_KEY", "k"), ("MODELS", "openai:own"), ("PRICES", &json)])
    };
    let tiers = |count: usize| {
        let tier = |n: usize| format!(r#"{{"above_tokens": {n}, "input": 1, "output": 1}}"#);
        format!(r#""tiers": [{}]"#, (1..=count).map(tier).collect::<Vec<_>>().join(","))
    };
    assert!(with(&tiers(8)).is_ok() && with(r#""service_tiers": {"flex": 10}"#).is_ok());
    for (more, word) in [
        (tiers(9), "at most 8"),
        (tiers(2).replace("2", "1"), "higher above_tokens"),
        (tiers(1).replace(r#""input": 1"#, r#""input": 10001"#), "0 to 10000"),
        (tiers(1).replace("output", "out"), "expected one of `above_tokens`"),
        (r#""service_tiers": {"flex": 10.1}"#.to_owned(), "service_tiers are factors"),
        (r#""service_tiers": {"scale": 1}"#.to_owned(), "expected `flex` or `priority`"),
        (r#""cache_write_1h": -1"#.to_owned(), "0 to 10000"),
    ] {
        let problems = with(&more).unwrap_err();
        assert!(matches!(&problems[..], [problem] if problem.starts_with("PRICES")), "{problems:?}");
        assert!(problems[0].contains(word), "{more}: {problems:?}");
    }

    for (json, word) in [
        (r#"{"openai:own": {"input": 1}}"#, "output"),
        (r#"{"openai:own": {"input": 1, "output": 10000.1}}"#, "0 to 10000"),
        (r#"{"openai:own": {"input": -1, "output": 1}}"#, "0 to 10000"),
        (r#"{"openai:other": {"input": 1, "output": 1}}"#, "entry 1"),
    ] {
        let problems = read(&vars(json)).unwrap_err();
        assert!(matches!(&problems[..], [problem] if problem.starts_with("PRICES")), "{problems:?}");
        assert!(problems[0].contains(word), "{json}: {problems:?}");
    }
}
