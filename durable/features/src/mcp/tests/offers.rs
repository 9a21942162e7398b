use serde_json::value::{RawValue, to_raw_value};

use super::*;
use crate::mcp::offer::{MAX_TOOLS, Offers};
use crate::mcp::{Offer, PREFIX, Servers};
use engine::testing::hungry;
use engine::toolbelt::{PermissionClass, Rule, ToolPolicy, ToolRules};

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).unwrap()
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "does", "inputSchema": {"type": "object"}})
}

fn offers(server: &Server, tools: &[Value]) -> Offers {
    let mut offers = Offers::default();
    tools.iter().for_each(|tool| offers.take(server, &raw(tool)));
    offers
}

fn names(offers: &Offers) -> Vec<&str> {
    offers.offers.iter().map(|offer| offer.spec.name.as_str()).collect()
}

#[test]
fn a_tool_is_restricted_by_default() {
    let generous = json!({"readOnlyHint": true, "idempotentHint": true, "destructiveHint": false, "openWorldHint": false});
    let mut trusting = tool("search");
    trusting["annotations"] = generous;
    let mut docs = server("docs");
    for (tool, asks) in [(tool("search"), true), (trusting, false)] {
        let offered = offers(&docs, &[tool]).offers.remove(0);
        let spec = &offered.spec;
        assert_eq!(spec.name, "mcp__docs__search");
        assert_eq!((spec.mcp_server.as_deref(), spec.mcp_tool.as_deref()), (Some("docs"), Some("search")));
        assert_eq!(spec.permission_class, Some(PermissionClass::Network));
        assert!(spec.serial() && !spec.parallel_safe && !spec.idempotent);
        assert_eq!(offered.asks, asks);
        assert_eq!(spec.exclusive_lock.as_deref(), Some("mcp__docs"), "nor beside calls of other subtasks");
        assert_eq!(spec.timeout_ms, Some(120_000));
    }
    let words =
        ToolWords { class: Some(PermissionClass::Safe), idempotent: true, parallel_safe: true, rule: None };
    docs.tools.insert("search".to_owned(), words);
    let spec = offers(&docs, &[tool("search")]).offers.remove(0).spec;
    assert_eq!(spec.permission_class, Some(PermissionClass::Safe));
    assert!(!spec.serial() && spec.parallel_safe && spec.idempotent && spec.exclusive_lock.is_none());
}

#[test]
fn names_fit_the_rules_of_providers() {
    let docs = server("docs");
    let long = "x".repeat(60);
    let listed = [
        tool("a.b"),
        tool("a_b"),
        tool("a b"),
        tool("grüße"),
        tool(&long),
        tool("a.b"),
        tool("A-1"),
        tool(""),
    ];
    let offered = offers(&docs, &listed);
    let names = names(&offered);
    assert_eq!(names[0], "mcp__docs__a_b");
    assert!(names[1].starts_with("mcp__docs__a_b_") && names[2].starts_with("mcp__docs__a_b_"));
    assert_eq!(names[3], "mcp__docs__gr__e");
    assert_eq!((names[4].len(), names[5]), (64, "mcp__docs__A-1"));
    assert_eq!(offered.left_out, ["a.b: it is listed twice"]);
    let fits = |name: &str| {
        name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    assert!(names.iter().all(|name| fits(name)), "{names:?}");
    let unique: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    assert_eq!(names, self::names(&offers(&docs, &listed)), "the same in each turn");
    let longest = "s".repeat(32);
    assert_eq!(
        self::names(&offers(&server(&longest), &[tool(&"t".repeat(25))])),
        [format!("{PREFIX}{longest}__{}", "t".repeat(25))]
    );
    assert_eq!(self::names(&offers(&server(&longest), &[tool(&"t".repeat(26))]))[0].len(), 64);
    let own: Vec<_> = offered.offers.iter().map(|offer| offer.spec.mcp_tool.clone().unwrap()).collect();
    assert_eq!(own[..4], ["a.b", "a_b", "a b", "grüße"], "the server hears its own names");
}

#[test]
fn the_offers_of_a_server_are_bounded() {
    let docs = server("docs");
    let many: Vec<Value> = (0..=MAX_TOOLS).map(|at| tool(&format!("t{at}"))).collect();
    let offered = offers(&docs, &many);
    assert_eq!((offered.offers.len(), offered.left_out.len()), (MAX_TOOLS, 1));

    let with_schema = |name: &str, schema: Value| json!({"name": name, "inputSchema": schema});
    let padded = |length: usize| {
        let frame = json!({"description": "", "type": "object"}).to_string().len();
        json!({"type": "object", "description": "x".repeat(length - frame)})
    };
    let mut old = json!({"type": "object", "properties": {"a": {"$ref": "#/definitions/a"}}, "definitions": {"a": {"type": "string"}}});
    old["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    old["$id"] = json!("https://elsewhere.test/x");
    let offered = offers(
        &docs,
        &[
            with_schema("fits", padded(16 << 10)),
            with_schema("large", padded((16 << 10) + 1)),
            with_schema("old", old),
            with_schema("remote", json!({"type": "object", "$ref": "https://elsewhere.test/x"})),
            with_schema("array", json!({"type": "array"})),
            with_schema("text", json!("no")),
            with_schema("hungry", hungry(40)),
            json!({"name": "bare"}),
            json!({"name": "task", "inputSchema": {"type": "object"}, "execution": {"taskSupport": "required"}}),
            json!({"inputSchema": {"type": "object"}}),
            json!({"name": "talkative", "description": "x".repeat(3_000), "inputSchema": {"type": "object"}}),
        ],
    );
    assert_eq!(
        names(&offered),
        ["fits", "old", "hungry", "bare", "talkative"].map(|name| format!("mcp__docs__{name}"))
    );
    assert_eq!(offered.left_out.len(), 6, "{:?}", offered.left_out);
    assert!(offered.left_out[2].contains("arguments are an object"), "{:?}", offered.left_out);
    assert!(offered.offers[4].spec.description.len() < 2_100);

    let all: Vec<Value> = (0..9).map(|at| with_schema(&format!("t{at}"), padded(16_000))).collect();
    let offered = offers(&docs, &all);
    assert_eq!((offered.offers.len(), offered.left_out.len()), (8, 1), "128 KiB in all");

    let some = Server { only: Some(["t1".to_owned()].into()), ..docs };
    assert_eq!(names(&offers(&some, &many)), ["mcp__docs__t1"]);
}

#[test]
fn resources_and_prompts_are_tools_unless_the_server_has_such() {
    let capabilities = serde_json::from_value(json!({"resources": {}, "prompts": {}})).unwrap();
    let mut offered = offers(&server("docs"), &[tool("read_resource")]);
    offered.take_reading(&server("docs"), &capabilities);
    let given: Vec<_> = offered
        .offers
        .iter()
        .map(|offer| (offer.spec.name.as_str(), offer.spec.mcp_tool.is_some()))
        .collect();
    let expected = [
        ("mcp__docs__read_resource", true),
        ("mcp__docs__list_resources", false),
        ("mcp__docs__list_prompts", false),
        ("mcp__docs__get_prompt", false),
    ];
    assert_eq!(given, expected);
    assert!(
        offered.offers[1].spec.description.contains("the MCP server docs,")
            || offered.offers[1].spec.description.contains("docs")
    );
    let none = serde_json::from_value(json!({"tools": {}})).unwrap();
    let mut offered = Offers::default();
    offered.take_reading(&server("docs"), &none);
    assert!(offered.offers.is_empty());
}

// By the protocol's defaults a tool may destroy something, so a person must allow it unless it is read-only. The
// operator's rules override a server's hints.
#[test]
fn a_tool_asks_unless_it_only_reads_or_the_operator_says_otherwise() {
    let rule = |operator: &str, own: Option<Rule>, annotations: &Value| {
        let mut docs = server("docs");
        docs.tools.insert("drop".to_owned(), ToolWords { rule: own, ..ToolWords::default() });
        let mut listed = tool("drop");
        if !annotations.is_null() {
            listed["annotations"] = annotations.clone();
        }
        let offered: Vec<Offer> = offers(&docs, &[listed]).offers;
        let spec = offered[0].spec.clone();
        let case = Case::new(|_| Says::Down);
        let configured = McpServers([("docs".to_owned(), Rc::new(docs))].into());
        let servers = Servers::new(configured, &case.ports);
        let rules: ToolRules = serde_json::from_str(operator).unwrap();
        let policy = ToolPolicy {
            allowed_mcp_servers: servers.allowed(ContextKind::Thread, &ada()),
            ..ToolPolicy::of(ContextKind::Thread)
        };
        policy.narrowed(servers.rules(rules, &offered), std::collections::BTreeSet::new()).rule(&spec)
    };
    let (silent, reads) = (Value::Null, json!({"readOnlyHint": true}));
    let (writes, kind) = (json!({"readOnlyHint": false}), json!({"destructiveHint": false}));
    let (odd, destroys) =
        (json!({"readOnlyHint": true, "destructiveHint": true}), json!({"destructiveHint": true}));
    for (annotations, expected) in [
        (&silent, Rule::Ask),
        (&reads, Rule::On),
        (&writes, Rule::Ask),
        (&kind, Rule::Ask),
        (&odd, Rule::Ask),
        (&destroys, Rule::Ask),
    ] {
        assert_eq!(rule("{}", None, annotations), expected, "{annotations}");
    }
    for (operator, own, annotations, expected) in [
        ("{}", Some(Rule::On), &silent, Rule::On),
        ("{}", Some(Rule::On), &destroys, Rule::On),
        ("{}", Some(Rule::Ask), &reads, Rule::Ask),
        ("{}", Some(Rule::Off), &reads, Rule::Off),
        // A rule about the class does not count as a rule about the tool.
        (r#"{"network": "on"}"#, None, &silent, Rule::Ask),
        (r#"{"network": "on"}"#, None, &reads, Rule::On),
        (r#"{"network": "off"}"#, None, &silent, Rule::Off),
        (r#"{"network": "ask"}"#, None, &reads, Rule::Ask),
        (r#"{"network": "ask"}"#, Some(Rule::On), &silent, Rule::On),
        (r#"{"mcp__docs__drop": "on"}"#, None, &silent, Rule::On),
        (r#"{"mcp__docs__drop": "off"}"#, Some(Rule::On), &reads, Rule::Off),
    ] {
        assert_eq!(rule(operator, own, annotations), expected, "{operator} {own:?} {annotations}");
    }
}
