use super::*;
use engine::toolbelt::{PermissionClass, Rule};

fn read(json: &str) -> Result<McpServers, String> {
    let secrets = [("DOCS_TOKEN", "secret-1"), ("WIDE", "two words")];
    McpServers::from_env(|name| match name {
        "MCP_SERVERS" => Some(json.to_owned()),
        name => secrets.iter().find(|(secret, _)| *secret == name).map(|(_, value)| (*value).to_owned()),
    })
}

#[test]
fn no_servers_are_configured_by_default() {
    assert!(McpServers::from_env(|_| None).unwrap().0.is_empty());
    for nothing in ["", "  ", "{}"] {
        assert!(read(nothing).unwrap().0.is_empty());
    }
}

// N-105
#[test]
fn servers_follow_the_operators_configuration() {
    let json = r#"{
        "docs": {"url": "https://docs.test/mcp", "auth": {"bearer_secret": "DOCS_TOKEN"}, "contexts": ["editor"],
                 "timeout_ms": 5000, "only": ["search"],
                 "tools": {"search": {"class": "safe", "idempotent": true, "parallel_safe": true, "rule": "ask"}}},
        "my-box": {"url": "http://127.0.0.1:3001/mcp", "auth": {"client_credentials": {
                 "token_url": "https://id.test/token", "client_id": "me", "client_secret_secret": "DOCS_TOKEN"}}}
    }"#;
    let servers = read(json).unwrap();
    let docs = &servers.0["docs"];
    assert_eq!((docs.timeout_ms, &docs.auth), (5_000, &Auth::Bearer(Secret::new("secret-1"))));
    let words = ToolWords {
        class: Some(PermissionClass::Safe),
        idempotent: true,
        parallel_safe: true,
        rule: Some(Rule::Ask),
    };
    assert_eq!(docs.tools["search"], words);
    assert!(
        matches!(&servers.0["my-box"].auth, Auth::ClientCredentials { client_id, .. } if client_id == "me")
    );
    assert_eq!(servers.allowed(ContextKind::Thread, &ada()).into_iter().collect::<Vec<_>>(), ["my-box"]);
    assert_eq!(servers.allowed(ContextKind::Editor, &ada()).len(), 2);
    assert!(
        servers.allowed(ContextKind::Editor, &visitor()).is_empty(),
        "visitors have none unless that is said"
    );
    assert!(!format!("{servers:?}").contains("secret-1"));
}

// N-105
#[test]
fn a_server_has_the_users_that_the_operator_names() {
    let servers = read(
        r#"{
        "all": {"url": "https://a.test", "users": ["*", "anonymous"]},
        "lab": {"url": "https://b.test", "users": ["key/lab"]},
        "acme": {"url": "https://c.test", "users": ["*/acme"]},
        "nobody": {"url": "https://d.test", "users": []}
    }"#,
    );
    let servers = servers.unwrap();
    let of = |owner: &Owner| servers.allowed(ContextKind::Thread, owner).into_iter().collect::<Vec<_>>();
    assert_eq!(of(&ada()), ["acme", "all"]);
    assert_eq!(of(&Owner { tenant: "lab".to_owned(), ..ada() }), ["all", "lab"]);
    assert_eq!(of(&visitor()), ["all"]);
}

#[test]
fn problems_of_the_configuration_are_named() {
    let server = |rest: &str| format!(r#"{{"docs": {{{rest}}}}}"#);
    let url = r#""url": "https://docs.test/mcp""#;
    let many: Vec<String> = (0..17).map(|at| format!(r#""s{at}": {{{url}}}"#)).collect();
    let table = [
        ("{".to_owned(), "EOF"),
        (server(""), "url"),
        (server(&format!("{url}, \"nonsense\": 1")), "expected one of `url`"),
        (server(&format!("{url}, \"contexts\": [\"admin\"]")), "expected `thread` or `editor`"),
        (server(&format!("{url}, \"timeout_ms\": 99")), "timeout_ms"),
        (server(&format!("{url}, \"timeout_ms\": 180001")), "timeout_ms"),
        (
            server(&format!("{url}, \"auth\": {{\"bearer_secret\": \"NONE\"}}")),
            "bearer_secret must be the name of a secret",
        ),
        (
            server(&format!("{url}, \"auth\": {{\"bearer_secret\": \"WIDE\"}}")),
            "the secret that bearer_secret names contains",
        ),
        (server(&format!("{url}, \"tools\": {{\"t\": {{\"class\": \"all\"}}}}")), "expected one of `safe`"),
        (server(&format!("{url}, \"users\": [\"/acme\"]")), "each of users is ISSUER"),
        (server(&format!("{url}, \"users\": \"key\"")), "expected a sequence"),
        (server(r#""url": "http://docs.test/mcp""#), "https://"),
        (server(r#""url": "http://127.evil.test/mcp""#), "https://"),
        (server(r#""url": "ftp://docs.test""#), "https://"),
        (server(r#""url": "https://""#), "not a URL"),
        (server(r#""url": "https://docs .test""#), "not a URL"),
        (server(r#""url": "https://me:secret-1@docs.test""#), "credentials"),
        (server(r##""url": "https://docs.test/#a""##), "#"),
        (format!(r#"{{"a__b": {{{url}}}}}"#), "a name is"),
        (format!(r#"{{"Docs": {{{url}}}}}"#), "a name is"),
        (format!(r#"{{"": {{{url}}}}}"#), "a name is"),
        (format!(r#"{{"{}": {{{url}}}}}"#, "x".repeat(33)), "a name is"),
        (format!("{{{}}}", many.join(",")), "16 servers"),
    ];
    for (json, part) in table {
        let problem = read(&json).unwrap_err();
        assert!(problem.starts_with("the variable MCP_SERVERS: ") && problem.contains(part), "{problem}");
        assert!(!problem.contains("secret-1") && !problem.contains("two words"), "{problem}");
    }
    assert!(read(&format!("{{{}}}", many[..16].join(","))).is_ok());
    assert!(read(&format!(r#"{{"{}": {{{url}}}}}"#, "x".repeat(32))).is_ok());
}
