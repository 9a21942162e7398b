use std::rc::Rc;

use super::*;
use crate::model::ModelRequest;
use crate::providers::Codec;

/// Variables with their values.
type Vars<'a> = &'a [(&'a str, &'a str)];

fn read(vars: Vars<'_>) -> Result<Configuration, Vec<String>> {
    Configuration::from_env(|name| {
        vars.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
    })
}

/// The address and the authorization that a request would have.
fn sent(configuration: &Configuration) -> (String, Option<String>) {
    let Provider::OpenAiChat(codec) = &configuration.provider else {
        panic!("not openai: {configuration:?}")
    };
    let model = Rc::new(configuration.choice.clone());
    let request = ModelRequest {
        model,
        system: "".into(),
        messages: vec![],
        tools: Rc::new([]),
        max_output_tokens: None,
    };
    let sent = codec.encode(&request).unwrap();
    let authorization = sent.headers.into_iter().find(|(name, _)| *name == "authorization");
    (sent.url, authorization.map(|(_, value)| value))
}

#[test]
fn nothing_configured_is_the_demo() {
    let empty = [("LLM_PROVIDER", ""), ("LLM_BASE_URL", ""), ("LLM_MODEL", " "), ("LLM_API_KEY", "")];
    for vars in [&[][..], &empty, &[("LLM_PROVIDER", "demo"), ("LLM_MODEL", "x")]] {
        let configuration = read(vars).unwrap();
        assert!(matches!(configuration.provider, Provider::Demo));
        assert_eq!((&*configuration.choice.provider, &*configuration.choice.model), ("demo", "demo"));
    }
}

#[test]
fn openai_itself() {
    let configuration =
        read(&[("LLM_PROVIDER", "openai"), ("LLM_MODEL", "gpt-x"), ("LLM_API_KEY", "sk-SECRET\n")]).unwrap();
    assert_eq!((&*configuration.choice.provider, &*configuration.choice.model), ("openai", "gpt-x"));
    let (url, authorization) = sent(&configuration);
    assert_eq!(url, "https://api.openai.com/v1/chat/completions");
    assert_eq!(authorization.as_deref(), Some("Bearer sk-SECRET"));
    assert!(!format!("{configuration:?}").contains("SECRET"));
}

#[test]
fn a_server_of_ones_own_may_need_no_key_and_no_provider_named() {
    let configuration =
        read(&[("LLM_BASE_URL", "http://127.0.0.1:11434/v1"), ("LLM_MODEL", "smol")]).unwrap();
    assert_eq!(sent(&configuration), ("http://127.0.0.1:11434/v1/chat/completions".into(), None));
}

#[test]
fn what_is_wrong_is_said_at_once_and_without_secrets() {
    let openai = ("LLM_PROVIDER", "openai");
    let model = ("LLM_MODEL", "m");
    let url = |url| ("LLM_BASE_URL", url);
    let table: [(Vars<'_>, &[&str]); 11] = [
        (&[("LLM_PROVIDER", "antropic")], &["LLM_PROVIDER"]),
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
    ];
    for (vars, expected) in table {
        let problems = read(vars).unwrap_err();
        let named: Vec<&str> = problems.iter().filter_map(|problem| problem.split(' ').next()).collect();
        assert_eq!(named, expected);
        assert!(!problems.concat().contains("SEC"), "{problems:?}");
    }
}
