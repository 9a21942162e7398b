//! Issue 43: over which API a model is called, and the options that it is called with.

use super::*;

/// The models that `openai`, `openai-chat` and `openai-responses` have with these variables: the path of a request to each.
fn paths(more: Vars<'_>) -> [String; 3] {
    let vars =
        [&[("MODEL_PRIMARY", "openai:m, openai-chat:m, openai-responses:m"), ("OPENAI_API_KEY", "k")], more];
    let configuration = read(&vars.concat()).unwrap();
    let path = |place| {
        let choice = &configuration.roles.primary.at(place).choice;
        let codec = configuration.providers[&choice.provider].api.codec().unwrap();
        let sent = codec.encode(&ModelRequest::new(Rc::clone(choice), "".into())).unwrap();
        sent.url.split_once("//").and_then(|(_, rest)| rest.split_once('/')).unwrap().1.to_owned()
    };
    [0, 1, 2].map(path)
}

#[test]
fn openai_speaks_responses_at_openai_and_azure_and_chat_completions_elsewhere() {
    let gateway = "https://gateway.ai.cloudflare.com/v1/account/name";
    for (url, base) in [
        ("https://api.openai.com/v1", "v1"),
        ("https://eu.api.openai.com/v1/", "v1"),
        ("https://API.openai.com:443/v1", "v1"),
        ("https://mine.openai.azure.com/openai/v1", "openai/v1"),
        ("https://mine.openai.azure.com/openai/v1/?api-version=preview", "openai/v1"),
        ("https://mine.services.ai.azure.com/openai/v1", "openai/v1"),
        ("https://mine.cognitiveservices.azure.com/openai/v1", "openai/v1"),
        (&format!("{gateway}/openai"), "v1/account/name/openai"),
    ] {
        let [plain, chat, responses] = paths(&[("OPENAI_BASE_URL", url)]);
        assert!(plain == responses && plain.starts_with(&format!("{base}/responses")), "{url}: {plain}");
        assert!(chat.starts_with(&format!("{base}/chat/completions")), "{url}: {chat}");
    }
    for url in [
        "http://127.0.0.1:11434/v1",
        "https://openrouter.ai/api/v1",
        "https://api.openai.com.evil.test/v1",
        "https://notapi.openai.com/v1",
        "https://openai.azure.com.evil.test/openai/v1",
        "https://mine.openai.azure.com/openai/deployments/gpt",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://gateway.ai.cloudflare.com/v1/account/name/groq",
    ] {
        let [plain, chat, responses] = paths(&[("OPENAI_BASE_URL", url)]);
        assert!(plain == chat && plain.ends_with("/chat/completions"), "{url}: {plain}");
        assert!(responses.ends_with("/responses"), "{url}: {responses}");
    }
    let expected = ["v1/responses", "v1/chat/completions", "v1/responses"];
    assert_eq!(paths(&[]), expected);
    // A gateway's path to OpenAI is OpenAI's, at whatever host the gateway is.
    let own = [("AI_GATEWAY_URL", "http://gateway.test")];
    assert_eq!(paths(&own), ["openai/responses", "openai/chat/completions", "openai/responses"]);
    let simple = [("LLM_PROVIDER", "openai"), ("LLM_BASE_URL", "http://box.test/v1"), ("LLM_API_KEY", "k")];
    assert_eq!(paths(&simple), ["v1/chat/completions", "v1/chat/completions", "v1/responses"]);
}

#[test]
fn the_wire_stands_in_the_choice_of_openai_alone() {
    let wire = |provider: &str, more: Vars<'_>| {
        let model = format!("{provider}:m");
        let vars = [&[("MODEL_PRIMARY", &*model), ("OPENAI_API_KEY", "k"), ("GEMINI_API_KEY", "k")], more];
        read(&vars.concat()).unwrap().roles.primary.first.choice.wire.clone()
    };
    assert_eq!(wire("openai", &[]).as_deref(), Some("responses"));
    assert_eq!(wire("openai", &[("OPENAI_BASE_URL", "http://box.test")]), None);
    for provider in ["openai-chat", "openai-responses", "gemini", "demo"] {
        assert_eq!(wire(provider, &[]), None, "{provider}");
    }
    let azure = [("BOX_BASE_URL", "https://mine.openai.azure.com/openai/v1")];
    assert_eq!(wire("box", &azure), None, "a name of the operator's own speaks Chat Completions");
}

#[test]
fn a_cache_key_is_sent_to_openai_alone() {
    let key = |model: &str, url: &str| {
        let variable = format!("{}_BASE_URL", model.split([':', '-']).next().unwrap().to_uppercase());
        let vars = [("MODEL_PRIMARY", model), (&variable, url), ("OPENAI_API_KEY", "k")];
        let configuration = read(&vars).unwrap();
        let choice = &configuration.roles.primary.first.choice;
        let codec = configuration.providers[&choice.provider].api.codec().unwrap();
        let request = ModelRequest {
            cache_key: Some(crate::cache_key("thread")),
            ..ModelRequest::new(Rc::clone(choice), "s".into())
        };
        let body: serde_json::Value = serde_json::from_slice(&codec.encode(&request).unwrap().body).unwrap();
        body.get("prompt_cache_key").and_then(|key| key.as_str().map(str::to_owned))
    };
    let digest = key("openai:gpt-6-luna", "https://api.openai.com/v1").unwrap();
    assert_eq!((digest.len(), &*digest), (32, &*crate::cache_key("thread")));
    assert!(digest != *crate::cache_key("other") && !digest.contains("thread"));
    for model in ["openai-chat:gpt-6-luna", "openai-responses:gpt-6-luna"] {
        assert_eq!(key(model, "https://eu.api.openai.com/v1"), Some(digest.clone()), "{model}");
        assert_eq!(key(model, "http://box.test/v1"), None, "{model}");
    }
    assert_eq!(key("mistral:mistral-large-4", "https://api.mistral.ai/v1"), None);
}

#[test]
fn a_model_is_called_with_the_options_that_it_takes() {
    let of = |model: &str, options: &str| {
        let keys = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"), ("GEMINI_API_KEY", "k")];
        let vars = [&[("MODEL_PRIMARY", model), ("MODEL_OPTIONS", options)], &keys[..]].concat();
        let configuration = read(&vars).unwrap();
        let options = configuration.roles.primary.first.choice.options.clone();
        let is_without = configuration.without_temperature.contains(model);
        (options.temperature, options.reasoning_effort, is_without)
    };
    let temperature = r#"{"*": {"temperature": 0.5}}"#;
    let effort = |effort: &str| format!(r#"{{"*": {{"temperature": 0.5, "reasoning_effort": "{effort}"}}}}"#);
    let word = |word: &str| Some(word.to_owned());
    for refusing in [
        "openai:gpt-6-luna",
        "openai-chat:gpt-6.1-sol",
        "openai:gpt-9",
        "anthropic:claude-opus-5-5",
        "anthropic:claude-opus-4-7",
        "gemini:gemini-3.8-flash",
    ] {
        assert_eq!(of(refusing, temperature), (None, None, true), "{refusing}");
    }
    for taking in
        ["openai:gpt-4.1", "openai:gpt-5.4", "anthropic:claude-haiku-4-5", "gemini:gemini-3.5-flash"]
    {
        assert_eq!(of(taking, temperature), (Some(0.5), None, false), "{taking}");
    }
    assert_eq!(of("openai:gpt-6-luna", &effort("none")), (Some(0.5), word("none"), false));
    assert_eq!(of("openai:gpt-5.4", &effort("low")), (None, word("low"), true), "its default is none");
    // Models before Gemini 3 take a number of tokens.
    assert_eq!(of("gemini:gemini-2.5-flash-lite", &effort("low")), (Some(0.5), word("1024"), false));
    assert_eq!(of("gemini:gemini-2.5-flash-lite", &effort("512")), (Some(0.5), word("512"), false));
    assert_eq!(of("gemini:gemini-3.8-flash", &effort("low")), (None, word("low"), true));
}

#[test]
fn a_service_tier_is_one_that_the_provider_knows() {
    let with = |model: &str, tier: &str| {
        let options = format!(r#"{{"{model}": {{"service_tier": "{tier}"}}}}"#);
        let keys = [("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"), ("GEMINI_API_KEY", "k")];
        let box_at = [("BOX_BASE_URL", "http://box.test/v1")];
        let vars = [&[("MODEL_PRIMARY", model), ("MODEL_OPTIONS", &options)], &keys[..], &box_at].concat();
        read(&vars).map(|configuration| configuration.roles.primary.first)
    };
    for (model, known) in [
        ("openai:gpt-6-luna", &["auto", "default", "flex", "priority", "fast"][..]),
        ("openai-chat:gpt-6-luna", &["flex"]),
        ("anthropic:claude-opus-5-5", &["auto", "standard_only"]),
        ("gemini:gemini-3.8-flash", &["standard", "flex", "priority"]),
        ("box:m", &["flex"]),
    ] {
        for tier in known {
            let offer = with(model, tier).unwrap();
            assert_eq!(offer.choice.options.service_tier.as_deref(), Some(*tier), "{model}");
        }
        let problems = with(model, "sEcret").unwrap_err();
        let provider = model.split(':').next().unwrap();
        let expected = format!("MODEL_OPTIONS: {provider} does not know that service_tier. It knows ");
        assert!(matches!(&problems[..], [one] if one.starts_with(&expected)), "{problems:?}");
        assert!(problems[0].contains(known[0]) && !problems[0].contains("sEcret"), "{problems:?}");
    }
    for model in ["demo:demo", "workers-ai:@cf/zai-org/glm-5.2"] {
        assert!(with(model, "flex").unwrap_err()[0].ends_with("It knows none."), "{model}");
    }
    assert!(with("anthropic:claude-opus-5-5", "flex").is_err());
}

#[test]
fn the_price_of_a_dearer_service_tier_is_known_or_no_price_is() {
    let highest = |model: &str, tier: &str, prices: &str| {
        let options = format!(r#"{{"*": {{"service_tier": "{tier}"}}}}"#);
        let vars = [
            ("MODEL_PRIMARY", model),
            ("MODEL_OPTIONS", &options),
            ("PRICES", prices),
            ("OPENAI_API_KEY", "k"),
            ("GEMINI_API_KEY", "k"),
        ];
        read(&vars).unwrap().roles.primary.dearest().map(|price| price.rates.output)
    };
    assert_eq!(highest("openai:gpt-6-luna", "default", ""), Some(0.5));
    assert_eq!(highest("openai:gpt-6-luna", "priority", ""), Some(1.0));
    assert_eq!(highest("openai:gpt-6-luna", "flex", ""), Some(0.5), "it may be served in the standard tier");
    assert_eq!(highest("gemini:gemini-3.8-flash", "flex", ""), Some(3.75));
    assert_eq!(highest("gemini:gemini-3.8-flash", "priority", ""), None);
    let own =
        r#"{"gemini:gemini-3.8-flash": {"input": 1, "output": 4, "service_tiers": {"priority": 1.75}}}"#;
    assert_eq!(highest("gemini:gemini-3.8-flash", "priority", own), Some(7.0));
}
