use std::rc::Rc;

use super::*;
use wire::model::{ModelOptions, ModelRequest};

mod catalogue;
mod wires;

/// Variables with their values.
type Vars<'a> = &'a [(&'a str, &'a str)];

fn read(vars: Vars<'_>) -> Result<Configuration, Vec<String>> {
    let lookup =
        |name: &str| vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
    Configuration::from_env(lookup, crate::catalogue::DATE)
}

/// The ids of the primary role.
fn primary(configuration: &Configuration) -> String {
    configuration.roles.primary.to_string()
}

/// The address, the authorization and the gateway's authorization that a request to this provider would have.
fn sent(configuration: &Configuration, provider: &str) -> (String, Option<String>, Option<String>) {
    let Provider { api, headers } = &configuration.providers[provider];
    let request = ModelRequest::new(Rc::clone(&configuration.roles.primary.first.choice), "".into());
    let sent = api.codec().unwrap().encode(&request).unwrap();
    let authorization = sent.headers.into_iter().find(|(name, _)| *name == "authorization");
    let gateway = headers.first().map(|(name, value)| format!("{name}: {}", value.reveal()));
    (sent.url, authorization.map(|(_, value)| value), gateway)
}

#[test]
fn without_configuration_the_demo_answers() {
    let empty = [("LLM_PROVIDER", ""), ("LLM_BASE_URL", ""), ("LLM_MODEL", " "), ("LLM_API_KEY", "")];
    for vars in [&[][..], &empty, &[("LLM_PROVIDER", "demo"), ("LLM_MODEL", "x")]] {
        let configuration = read(vars).unwrap();
        assert_eq!(primary(&configuration), "demo:demo");
        assert!(matches!(configuration.providers["demo"].api, Api::Demo));
        assert_eq!(configuration.roles.iter().count(), 1);
    }
}

#[test]
fn openai_itself() {
    let configuration =
        read(&[("LLM_PROVIDER", "openai"), ("LLM_MODEL", "gpt-x"), ("LLM_API_KEY", "sk-SECRET\n")]).unwrap();
    assert_eq!(primary(&configuration), "openai:gpt-x");
    let (url, authorization, _) = sent(&configuration, "openai");
    assert_eq!(url, "https://api.openai.com/v1/responses");
    assert_eq!(authorization.as_deref(), Some("Bearer sk-SECRET"));
    assert!(!format!("{configuration:?}").contains("SECRET"));
}

#[test]
fn a_server_of_ones_own_needs_neither_key_nor_provider() {
    let configuration =
        read(&[("LLM_BASE_URL", "http://127.0.0.1:11434/v1"), ("LLM_MODEL", "qwen3:8b")]).unwrap();
    assert_eq!(primary(&configuration), "openai:qwen3:8b");
    let expected = ("http://127.0.0.1:11434/v1/chat/completions".into(), None, None);
    assert_eq!(sent(&configuration, "openai"), expected);
}

#[test]
fn several_providers_each_with_its_own_address_and_key() {
    let configuration = read(&[
        ("MODEL_PRIMARY", " openai:gpt-6-luna , my-box:qwen3:8b,"),
        ("MODEL_SUBAGENT", "my-box:qwen3:8b"),
        ("MODELS", "groq:llama"),
        ("OPENAI_API_KEY", "sk-1"),
        ("MY_BOX_BASE_URL", "http://box.test/v1/"),
        ("GROQ_BASE_URL", "https://api.groq.com/openai/v1"),
        ("GROQ_API_KEY", "gsk"),
        ("LLM_PROVIDER", "demo"),
    ])
    .unwrap();
    assert_eq!(primary(&configuration), "openai:gpt-6-luna, my-box:qwen3:8b");
    let chain = |named| configuration.chain(named).map(|chain| chain.to_string());
    assert_eq!(chain(None), Some("openai:gpt-6-luna, my-box:qwen3:8b".into()));
    assert_eq!(chain(Some("primary")), chain(None));
    assert_eq!(chain(Some("subagent")), Some("my-box:qwen3:8b".into()));
    assert_eq!(chain(Some("groq:llama")), Some("groq:llama".into()));
    assert_eq!(chain(Some("openai:gpt-6-luna")), Some("openai:gpt-6-luna".into()));
    for unknown in ["speed", "gpt-6-luna", "openai:gpt-6-sol", "openai:", "", "demo:demo", "PRIMARY"] {
        assert_eq!(chain(Some(unknown)), None, "{unknown}");
    }
    assert_eq!(
        sent(&configuration, "openai"),
        ("https://api.openai.com/v1/responses".into(), Some("Bearer sk-1".into()), None)
    );
    assert_eq!(sent(&configuration, "my-box"), ("http://box.test/v1/chat/completions".into(), None, None));
    assert_eq!(
        sent(&configuration, "groq"),
        ("https://api.groq.com/openai/v1/chat/completions".into(), Some("Bearer gsk".into()), None)
    );
    let ids: Vec<String> = configuration.offered().into_iter().map(|offered| offered.id).collect();
    assert_eq!(ids, ["openai:gpt-6-luna", "my-box:qwen3:8b", "groq:llama"]);
}

#[test]
fn the_simple_variables_belong_to_the_provider_that_they_name() {
    let configuration = read(&[
        ("LLM_BASE_URL", "http://a.test"),
        ("LLM_API_KEY", "a"),
        ("OPENAI_API_KEY", "b"),
        ("MODEL_PRIMARY", "openai:x,box:y"),
        ("BOX_BASE_URL", "http://b.test"),
        ("BOX_API_KEY", "c"),
    ])
    .unwrap();
    assert_eq!(
        sent(&configuration, "openai"),
        ("http://a.test/chat/completions".into(), Some("Bearer a".into()), None)
    );
    assert_eq!(
        sent(&configuration, "box"),
        ("http://b.test/chat/completions".into(), Some("Bearer c".into()), None)
    );
    let own = read(&[("LLM_PROVIDER", "openai"), ("LLM_MODEL", "m"), ("OPENAI_API_KEY", "b")]).unwrap();
    assert_eq!(sent(&own, "openai").1.as_deref(), Some("Bearer b"), "its own key where LLM_API_KEY is empty");
}

#[test]
fn known_providers_have_their_apis() {
    let configuration = read(&[
        (
            "MODEL_PRIMARY",
            "anthropic:claude-opus-5-5, openai-responses:gpt-6-sol, openai:gpt-6-sol, openai-chat:gpt-6-sol",
        ),
        ("MODEL_SPEED", "gemini:gemini-3.8-flash"),
        ("ANTHROPIC_API_KEY", "ant"),
        ("GEMINI_API_KEY", "goog"),
        ("OPENAI_API_KEY", "sk"),
    ])
    .unwrap();
    let url = |provider| sent(&configuration, provider).0;
    assert_eq!(url("anthropic"), "https://api.anthropic.com/v1/messages");
    assert_eq!(url("openai-responses"), "https://api.openai.com/v1/responses");
    assert_eq!(sent(&configuration, "openai-responses").1.as_deref(), Some("Bearer sk"));
    // The first model of the chain has no wire of its own, as those of open turns that older code began.
    assert_eq!(url("openai"), "https://api.openai.com/v1/chat/completions");
    assert_eq!(url("openai-chat"), "https://api.openai.com/v1/chat/completions");
    assert_eq!(sent(&configuration, "openai-chat").1.as_deref(), Some("Bearer sk"));
    let path = "models/claude-opus-5-5:streamGenerateContent?alt=sse";
    assert_eq!(url("gemini"), format!("https://generativelanguage.googleapis.com/v1beta/{path}"));
    let price = |place| configuration.roles.primary.at(place).price.clone();
    assert!(price(0).is_some() && price(1).is_some() && price(1) == price(2) && price(1) == price(3));

    let gateway = read(&[
        ("MODEL_PRIMARY", "anthropic:claude-opus-5-5"),
        ("AI_GATEWAY_URL", "https://gateway.ai.cloudflare.com/v1/a/b"),
    ]);
    let expected = "https://gateway.ai.cloudflare.com/v1/a/b/anthropic/v1/messages";
    assert_eq!(sent(&gateway.unwrap(), "anthropic").0, expected);
    let simple = read(&[("LLM_PROVIDER", "anthropic"), ("LLM_MODEL", "claude"), ("LLM_API_KEY", "k")]);
    assert_eq!(sent(&simple.unwrap(), "anthropic").0, "https://api.anthropic.com/v1/messages");
    let expected = "/google-ai-studio/v1beta/models/gemini-3.1-pro-preview:streamGenerateContent?alt=sse";
    let gateway = read(&[
        ("MODEL_PRIMARY", "gemini:gemini-3.1-pro-preview"),
        ("AI_GATEWAY_URL", "https://gateway.ai.cloudflare.com/v1/a/b"),
    ]);
    let base = "https://gateway.ai.cloudflare.com/v1/a/b";
    assert_eq!(sent(&gateway.unwrap(), "gemini").0, format!("{base}{expected}"));
    let missing =
        read(&[("MODEL_PRIMARY", "anthropic:claude"), ("ANTHROPIC_BASE_URL", "https://x/v1/messages")]);
    assert!(missing.unwrap_err()[0].contains("must end before /messages"));
}

#[test]
fn an_ai_gateway_replaces_the_addresses_of_known_providers() {
    let gateway = "https://gateway.ai.cloudflare.com/v1/account/name";
    let vars = [
        ("MODEL_PRIMARY", "openai:m,groq:l,box:b"),
        ("AI_GATEWAY_URL", "https://gateway.ai.cloudflare.com/v1/account/name/"),
        ("AI_GATEWAY_TOKEN", "SECRET"),
        ("GROQ_BASE_URL", "https://gateway.ai.cloudflare.com/v1/account/name/groq"),
        ("BOX_BASE_URL", "https://box.test"),
    ];
    let configuration = read(&vars).unwrap();
    let token = Some("cf-aig-authorization: Bearer SECRET".to_string());
    let through = |path: &str| (format!("{gateway}{path}"), None, token.clone());
    assert_eq!(sent(&configuration, "openai"), through("/openai/responses"), "the gateway may have the key");
    // The first model of the chain is called over Responses, which no other provider speaks.
    assert_eq!(sent(&configuration, "groq"), through("/groq/chat/completions"));
    assert_eq!(sent(&configuration, "box").2, None, "the gateway's token goes to the gateway alone");
    assert!(!format!("{configuration:?}").contains("SECRET"));
}

#[test]
fn capabilities_come_from_the_table_and_can_be_overridden() {
    let vars = |capabilities: &'static str| {
        [
            ("MODEL_PRIMARY", "openai:gpt-6-luna,box:m"),
            ("MODEL_SPEED", "box:m"),
            ("OPENAI_API_KEY", "k"),
            ("BOX_BASE_URL", "http://box.test"),
            ("CAPABILITIES", capabilities),
        ]
    };
    let configuration = read(&vars(r#"{"box:m": {"vision": true, "parallel_tool_calls": false}}"#)).unwrap();
    let of = |index: usize| configuration.roles.primary.at(index).choice.capabilities;
    assert_eq!(of(0), crate::catalogue::row("openai", "gpt-6-luna").unwrap().capabilities);
    assert!(of(0).reasoning);
    let expected = Capabilities { vision: true, parallel_tool_calls: false, ..Capabilities::default() };
    assert_eq!(of(1), expected);
    assert_eq!(configuration.roles.more[&Role::Speed].first.choice.capabilities, expected);

    for (json, word) in [
        ("{", "JSON"),
        ("[]", "JSON"),
        (r#"{"box:m": {"vison": true}}"#, "expected one of `tools`"),
        (r#"{"box:m": {"vision": 1}}"#, "boolean"),
        (r#"{"box:m": true}"#, "JSON"),
        (r#"{"box:n": {"vision": true}}"#, "entry 1"),
        (r#"{"box:m": {"tools": false}}"#, "stand in"),
    ] {
        let problems = read(&vars(json)).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(word), "{json}: {problems:?}");
    }
}

#[test]
fn options_are_those_of_the_model_or_of_its_provider_or_of_all() {
    let vars = |options: &'static str| {
        [
            ("MODEL_PRIMARY", "own:claude, box:m"),
            ("MODEL_SUBAGENT", "own:claude-small"),
            ("OWN_BASE_URL", "http://own.test"),
            ("BOX_BASE_URL", "http://box.test"),
            ("MODEL_OPTIONS", options),
        ]
    };
    let configuration = read(&vars(
        r#"{"own:claude": {"reasoning_effort": "1024", "max_output_tokens": 16},
            "own:*": {"reasoning_effort": "low"}, "*": {"max_output_tokens": 1000000, "temperature": 1}}"#,
    ))
    .unwrap();
    let options = |temperature, effort: Option<&str>, max_output_tokens| ModelOptions {
        temperature,
        reasoning_effort: effort.map(str::to_owned),
        max_output_tokens,
        service_tier: None,
    };
    let of = |role, place| configuration.roles.of(role).unwrap().at(place).choice.options.clone();
    assert_eq!(of(Role::Primary, 0), options(Some(1.0), Some("1024"), Some(16)));
    assert_eq!(of(Role::Primary, 1), options(Some(1.0), None, Some(1_000_000)));
    assert_eq!(of(Role::Subagent, 0), options(Some(1.0), Some("low"), Some(1_000_000)));
    assert_eq!(read(&vars("{}")).unwrap().roles.primary.first.choice.options, ModelOptions::default());

    for (json, word) in [
        ("high", "JSON"),
        (r#"{"*": {"effort": "high"}}"#, "expected one of `temperature`"),
        (r#"{"*": {"reasoning_effort": ""}}"#, "reasoning_effort must be"),
        (r#"{"*": {"reasoning_effort": "very much"}}"#, "reasoning_effort must be"),
        (r#"{"*": {"temperature": 2.1}}"#, "temperature must be 0 to 2"),
        (r#"{"*": {"temperature": -0.1}}"#, "temperature must be 0 to 2"),
        (r#"{"*": {"temperature": "hot"}}"#, "JSON"),
        (r#"{"box:m": {"max_output_tokens": 15}}"#, "max_output_tokens must be 16"),
        (r#"{"box:m": {"max_output_tokens": 1000001}}"#, "max_output_tokens must be 16"),
        (r#"{"box": {"temperature": 1}}"#, "entry 1"),
        (r#"{"*": {}, "openai:*": {"temperature": 1}}"#, "entry 2"),
    ] {
        let problems = read(&vars(json)).unwrap_err();
        assert!(matches!(&problems[..], [problem] if problem.starts_with("MODEL_OPTIONS")), "{problems:?}");
        assert!(problems[0].contains(word), "{json}: {problems:?}");
    }
}

#[test]
fn waits_are_bounded() {
    let demo = |first_byte, idle| read(&[("LLM_FIRST_BYTE_MS", first_byte), ("LLM_IDLE_MS", idle)]);
    assert_eq!(demo("", "").unwrap().patience, Patience { first_byte_ms: 60_000, idle_ms: 60_000 });
    assert_eq!(demo("100", "180000").unwrap().patience, Patience { first_byte_ms: 100, idle_ms: 180_000 });
    for (first_byte, idle, wrong) in
        [("99", "", "LLM_FIRST_BYTE_MS"), ("", "180001", "LLM_IDLE_MS"), ("1m", "", "LLM_FIRST_BYTE_MS")]
    {
        let problems = demo(first_byte, idle).unwrap_err();
        assert!(matches!(&problems[..], [problem] if problem.starts_with(wrong)), "{problems:?}");
    }
    let work = |ms| read(&[("DEMO_WORK_MS", ms)]);
    assert_eq!(["", "0", "10000"].map(|ms| work(ms).unwrap().demo_work_ms), [0, 0, 10_000]);
    assert!(work("10001").unwrap_err()[0].starts_with("DEMO_WORK_MS"));
}

#[test]
fn chains_and_the_whole_are_bounded() {
    let list = |count: usize| (0..count).map(|n| format!("demo:m{n}")).collect::<Vec<_>>().join(",");
    assert!(read(&[("MODEL_PRIMARY", &list(MAX_CHAIN))]).is_ok());
    assert!(read(&[("MODEL_PRIMARY", &list(MAX_CHAIN + 1))]).unwrap_err()[0].contains("more than 8"));
    assert!(read(&[("MODEL_PRIMARY", "demo:m0"), ("MODELS", &list(MAX_MODELS))]).is_ok());
    let many = read(&[("MODEL_PRIMARY", "demo:m0"), ("MODELS", &list(MAX_MODELS + 1))]).unwrap_err();
    assert!(many[0].contains("at most 64"), "{many:?}");
}

#[test]
fn all_problems_are_listed_without_secrets() {
    let openai = ("LLM_PROVIDER", "openai");
    let model = ("LLM_MODEL", "m");
    let url = |url| ("LLM_BASE_URL", url);
    let primary = |list| ("MODEL_PRIMARY", list);
    let table: [(Vars<'_>, &[&str]); 23] = [
        (&[("LLM_PROVIDER", "antropic")], &["LLM_MODEL", "LLM_BASE_URL"]),
        (&[("LLM_PROVIDER", "Open AI"), model, url("http://x")], &["LLM_PROVIDER"]),
        (&[openai], &["LLM_MODEL", "LLM_API_KEY"]),
        (&[openai, model], &["LLM_API_KEY"]),
        (&[("LLM_API_KEY", "SECRET")], &["LLM_MODEL"]),
        (&[openai, model, ("LLM_API_KEY", "SEC RET")], &["LLM_API_KEY"]),
        (&[openai, model, url("localhost:1/SECRET")], &["LLM_BASE_URL"]),
        (&[openai, model, url("https:///SECRET")], &["LLM_BASE_URL"]),
        (&[openai, model, url("https://me:SECRET@x/v1")], &["LLM_BASE_URL"]),
        (&[openai, model, url("https://x/v1#SECRET")], &["LLM_BASE_URL"]),
        (&[openai, model, url("https://x/v1/chat/completions/")], &["LLM_BASE_URL"]),
        (&[openai, url("ftp://x"), ("LLM_API_KEY", "ü")], &["LLM_MODEL", "LLM_BASE_URL", "LLM_API_KEY"]),
        (&[primary("gpt-SECRET")], &["MODEL_PRIMARY"]),
        (&[primary("SECRET:x")], &["MODEL_PRIMARY"]),
        (&[primary("openai:SEC RET")], &["MODEL_PRIMARY"]),
        (&[primary(" , ")], &["MODEL_PRIMARY"]),
        (&[primary("demo:a,demo:a")], &["MODEL_PRIMARY"]),
        (&[primary("openai:m")], &["OPENAI_API_KEY"]),
        (&[primary("groq:l"), ("GROQ_API_KEY", "SECRET")], &["GROQ_BASE_URL"]),
        (&[("OPENAI_API_KEY", "SECRET")], &["MODEL_PRIMARY"]),
        (&[("MODEL_SPEED", "demo:a")], &["MODEL_PRIMARY"]),
        (
            &[primary("openai:a"), ("MODEL_SPEED", "box:b"), ("AI_GATEWAY_URL", "SECRET")],
            &["BOX_BASE_URL", "AI_GATEWAY_URL"],
        ),
        (
            &[primary("demo:a"), ("MODEL_SPEED", "x"), ("MODELS", "y"), ("LLM_IDLE_MS", "0")],
            &["MODEL_SPEED", "MODELS", "LLM_IDLE_MS"],
        ),
    ];
    for (vars, expected) in table {
        let problems = read(vars).unwrap_err();
        let mut named: Vec<&str> =
            problems.iter().filter_map(|problem| problem.split([' ', ':']).next()).collect();
        let mut expected = expected.to_vec();
        named.sort_unstable();
        expected.sort_unstable();
        assert_eq!(named, expected, "{vars:?}: {problems:?}");
        assert!(!problems.concat().contains("SEC"), "{problems:?}");
    }
}

// Issue 42, M3: the models of the operator's hooks are the operator's alone: no request names them or their role.
#[test]
fn the_guard_has_models_that_no_request_names() {
    let own = ("OWN_BASE_URL", "http://own.test/v1");
    let plain = read(&[("MODEL_PRIMARY", "own:first"), ("MODEL_SPEED", "own:fast"), own]).unwrap();
    assert_eq!(plain.guards().to_string(), "own:first");
    let vars = [("MODEL_PRIMARY", "own:first"), ("MODEL_GUARD", "own:strict, strict:er"), own];
    let guarded = read(&[&vars[..], &[("STRICT_BASE_URL", "http://strict.test/v1")]].concat()).unwrap();
    assert_eq!(guarded.guards().to_string(), "own:strict, strict:er");
    assert!(guarded.providers.contains_key("strict"));
    for named in ["guard", "own:strict", "strict:er"] {
        assert!(guarded.chain(Some(named)).is_none(), "{named}");
    }
    assert_eq!(guarded.offered().len(), 1);
    assert_eq!(guarded.roles.iter().count(), 1);
}

// Issue 42, M3
#[test]
fn a_wrong_guard_is_a_problem() {
    let problem = |guard: &str, more: Vars<'_>| {
        let vars =
            [("MODEL_PRIMARY", "own:first"), ("OWN_BASE_URL", "http://own.test/v1"), ("MODEL_GUARD", guard)];
        read(&[&vars[..], more].concat()).unwrap_err().join(" ")
    };
    assert!(problem("strict", &[]).contains("MODEL_GUARD: an item is not PROVIDER:MODEL"));
    assert!(problem("none:strict", &[]).contains("NONE_BASE_URL"));
    let mute = ("CAPABILITIES", r#"{"own:strict": {"tools": false}}"#);
    assert!(problem("own:strict", &[mute]).contains("MODEL_GUARD: its models need tools"));
    assert!(read(&[("MODEL_GUARD", "own:strict")]).unwrap_err().join(" ").contains("MODEL_GUARD is set"));
}
