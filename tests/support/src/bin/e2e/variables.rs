//! The variables of each instance, by which it differs from the others.

use espalier_test_support::{canary, documents, identity};

use crate::instance::World;

/// The quotas of the users of `closed` (`tests/e2e/quotas.rs`).
const QUOTAS: &str = r#"{"user":{"concurrent_turns":2,"tokens_per_day":100000,"stored_bytes_per_day":2500000},"tenant":{"tokens_per_day":1000000},"threads_per_user":5}"#;

/// The quotas of the visitors of `visitors` (`tests/e2e/visitors.rs`, `tests/e2e/titles.rs`).
const VISITORS_QUOTAS: &str = r#"{"user":{"turns_per_minute":20,"tokens_per_day":1000000},"address":{"concurrent_turns":2},"anonymous":{"concurrent_turns":4}}"#;

/// The embeddings of the visitors of `ai` (`tests/e2e/embeddings.rs`).
const EMBEDDING_QUOTAS: &str = r#"{"user":{"embeddings_per_day":250}}"#;

/// The operator's hooks of `mcp` (`tests/e2e/hooks.rs`). They watch calls that no other test of that instance makes.
const HOUSE: &str = r#"[{"name":"house","on":"action","match":["memory_list"],"instructions":"Block each look at secrets."}]"#;
const HOOKS: &str = r#"[{"name":"guard","on":"action","match":["memory_write"],"instructions":"Block each write of a secret."},{"name":"reader","on":"result","match":["memory_list"],"instructions":"Say what is missing."},{"name":"loops","builtin":"loop_guard","match":["memory_read"]},{"name":"once","builtin":"spawn_limit","match":["mcp__everything__get-env"],"options":{"most":1}}]"#;

/// The origin that `closed` allows.
const FRIEND: &str = "https://friend.example";

/// The instance of this name: its name, the environment variable with its address, and its variables.
// Long: an arm for each instance.
pub fn of(name: &str, world: &World) -> Result<(&'static str, &'static str, Vec<String>), String> {
    let anonymous = "AUTH_ANONYMOUS:true".to_owned();
    let session = format!("SESSION_SECRET:{}", canary::SESSION_SECRET);
    let idp = |name: &str| format!("{}/_fake/idp/{name}", world.llm);
    let client_secret = format!("OIDC_CLIENT_SECRET:{}", canary::OIDC_CLIENT_SECRET);
    Ok(match name {
        "main" | "fixtures" => {
            let name = if name == "main" { "main" } else { "fixtures" };
            let steps = format!("WORKFLOW_SECRET:{}", canary::WORKFLOW_SECRET);
            // The page of an example comes from there (`tests/browser/suites/examples.mjs`).
            let pages = format!("ALLOWED_ORIGINS:{}", world.llm);
            let fixtures = (name == "fixtures").then(|| "FIXTURES:on".to_owned());
            let own = [anonymous, session, steps, pages].into_iter().chain(fixtures);
            (name, "ESPALIER_URL", own.chain(provider(world)).collect())
        }
        "closed" => {
            let issuers = identity::issuers(|name| world.issuer_url(name), &idp("fake"));
            let providers = identity::providers(&idp("fake"), &world.identity_provider, &idp("liar"));
            let vars = vec![
                session,
                format!("JWT:{issuers}"),
                format!("OIDC:{providers}"),
                client_secret,
                format!("ALLOWED_ORIGINS:{FRIEND}"),
                format!("QUOTAS:{QUOTAS}"),
                // Records have its words for an admin alone (`tests/e2e/hooks.rs`).
                format!("HOOKS:{HOUSE}"),
            ];
            ("closed", "ESPALIER_CLOSED_URL", [vars, provider(world)].concat())
        }
        "visitors" => {
            // In the middle of a rotation: the new secret signs, and the old one still verifies.
            let secrets = format!("SESSION_SECRET:{},{}", canary::NEW_SESSION_SECRET, canary::SESSION_SECRET);
            let providers = serde_json::json!([identity::provider("fake", "Fake ID", &idp("fake"))]);
            let providers = vec![format!("OIDC:{providers}"), client_secret];
            // The collector refuses the first export (`tests/e2e/telemetry.rs`).
            let collector = format!("OTEL_EXPORTER_OTLP_ENDPOINT:{}/_fake/hooks/otlp?refuse=1", world.llm);
            let quotas = format!("QUOTAS:{VISITORS_QUOTAS}");
            let own =
                [anonymous, secrets, quotas, "RECORD_TURNS:0".to_owned(), "TITLES:on".to_owned(), collector];
            ("visitors", "ESPALIER_VISITORS_URL", [provider(world), own.to_vec(), providers].concat())
        }
        "demo" => ("demo", "ESPALIER_DEMO_URL", vec![anonymous, session, "TITLES:on".to_owned()]),
        "ai" => {
            let model =
                ["LLM_PROVIDER:workers-ai", "LLM_MODEL:@cf/fake/7b", "EMBEDDING_MODEL:@cf/fake/embeds"];
            let model = [
                model.map(str::to_owned).to_vec(),
                vec![
                    "SHARES:off".to_owned(),
                    "CLIENT_TOOLS:editor".to_owned(),
                    "CLIENT_INSTRUCTIONS:off".to_owned(),
                ],
            ]
            .concat();
            let binding =
                vec![format!("FAKE_AI_URL:{}/ai/run", world.llm), format!("QUOTAS:{EMBEDDING_QUOTAS}")];
            ("ai", "ESPALIER_AI_URL", [vec![anonymous, session], model, binding, makers(world)].concat())
        }
        "mcp" => {
            let secrets = [
                format!("FAKE_MCP_TOKEN:{}", canary::MCP_BEARER),
                format!("FAKE_MCP_CLIENT:{}", canary::MCP_CLIENT_SECRET),
            ];
            // Only those with a key of that tenant calculate (`tests/e2e/mcp.rs`).
            let users = r#"TOOL_USERS:{"safe":["key/e2e"]}"#.to_owned();
            let vars = [
                vec![anonymous, session, users, format!("MCP_SERVERS:{}", mcp_servers(world))],
                vec![format!("HOOKS:{HOOKS}"), "AGENT_HOOKS:on".to_owned(), "CLIENT_TOOLS:all".to_owned()],
                // A model that no request may name (`tests/e2e/hooks.rs`).
                vec!["MODEL_GUARD:openai:fake-guard".to_owned()],
                provider(world),
            ];
            ("mcp", "ESPALIER_MCP_URL", [vars.concat(), secrets.to_vec()].concat())
        }
        "money" => {
            // The models that a request alone may name have no price (`tests/e2e/money.rs`).
            let price = r#"{"input":1,"output":4}"#;
            let prices = ["openai:fake-1", "openai:fake-2", "other:fake-3"]
                .map(|model| format!(r#""{model}":{price}"#));
            let own = [
                anonymous,
                session,
                format!("PRICES:{{{}}}", prices.join(",")),
                r#"LIMITS:{"wall_clock_ms":60000,"turn_cost_microusd":60000}"#.to_owned(),
            ];
            let others = provider(world).into_iter().filter(|var| !var.starts_with("LIMITS:"));
            ("money", "ESPALIER_MONEY_URL", own.into_iter().chain(others).collect())
        }
        "broken" => {
            let wrong = [
                "MODEL_PRIMARY:openai:gpt-6-luna, groq:llama",
                r#"MODEL_OPTIONS:{"openai:*":{"temperature":3}}"#,
                r#"LIMITS:{"on_limit":"sometimes"}"#,
                r#"MCP_SERVERS:{"my__docs":{"url":"https://docs.example/mcp"}}"#,
                "FETCH_ALLOW:localhost",
                "SEARCH:brave",
                "SUMMARIES:perhaps",
                r#"RETENTION:{"anonymous":29}"#,
                "TITLES:perhaps",
                "SHARES:perhaps",
                r#"HOOKS:[{"name":"guard","builtin":"none"}]"#,
                "MODEL_GUARD:strict",
            ];
            let vars = [vec![anonymous, session], wrong.map(str::to_owned).to_vec()];
            ("broken", "ESPALIER_BROKEN_URL", vars.concat())
        }
        "smoke" => ("smoke", "ESPALIER_URL", [vec![anonymous, session], real_model()].concat()),
        other => return Err(format!("there is no instance {other}")),
    })
}

/// The models that the documents show, each maker behind a gateway that is the fake LLM: so `openai` speaks there what it
/// speaks at OpenAI (`tests/e2e/model_lines.rs`).
fn makers(world: &World) -> Vec<String> {
    let shown: Vec<String> = documents::models().into_iter().collect();
    // The other names of OpenAI's two APIs.
    let forced = ["openai-chat:gpt-6-luna", "openai-responses:gpt-6-luna", "openai-chat:gpt-5.4"];
    // Models whose requests differ from those of the others.
    let more = ["anthropic:claude-haiku-4-5", "anthropic:claude-opus-5-5", "gemini:gemini-3.8-flash"];
    let mut models = [shown, forced.map(str::to_owned).to_vec(), more.map(str::to_owned).to_vec()].concat();
    models.sort_unstable();
    models.dedup();
    let servers = documents::SERVERS.iter().map(|name| name.to_uppercase().replace('-', "_"));
    let addresses = servers.flat_map(|name| {
        let key = format!("{name}_API_KEY:{}", canary::OTHER_API_KEY);
        [format!("{name}_BASE_URL:{}/v1", world.llm), key]
    });
    let own = [
        format!("MODELS:{}", models.join(",")),
        format!("AI_GATEWAY_URL:{}/gateway", world.llm),
        format!("OPENAI_API_KEY:{}", canary::OPENAI_API_KEY),
        format!("ANTHROPIC_API_KEY:{}", canary::ANTHROPIC_API_KEY),
        format!("GEMINI_API_KEY:{}", canary::GEMINI_API_KEY),
        // Options that some of them refuse.
        [
            r#"MODEL_OPTIONS:{"openai:*":{"temperature":0.5,"service_tier":"flex"},"#,
            r#""openai-chat:*":{"temperature":0.5},"anthropic:*":{"temperature":0.5},"gemini:*":{"temperature":0.5}}"#,
        ]
        .concat(),
    ];
    own.into_iter().chain(addresses).collect()
}

/// The fake LLM under all its names, the web, and limits for tests.
fn provider(world: &World) -> Vec<String> {
    vec![
        "LLM_PROVIDER:openai".to_owned(),
        format!("LLM_BASE_URL:{}/v1", world.llm),
        format!("LLM_API_KEY:{}", canary::LLM_API_KEY),
        "LLM_MODEL:fake-1".to_owned(),
        // The same server by another name, so that a chain can go from one provider to another.
        format!("OTHER_BASE_URL:{}/v1", world.llm),
        format!("OTHER_API_KEY:{}", canary::OTHER_API_KEY),
        "MODEL_SECONDARY:openai:fake-2, other:fake-3".to_owned(),
        // And by its other three wires.
        format!("OPENAI_BASE_URL:{}/v1", world.llm),
        format!("OPENAI_API_KEY:{}", canary::OPENAI_API_KEY),
        format!("ANTHROPIC_BASE_URL:{}", world.llm),
        format!("ANTHROPIC_API_KEY:{}", canary::ANTHROPIC_API_KEY),
        format!("GEMINI_BASE_URL:{}", world.llm),
        format!("GEMINI_API_KEY:{}", canary::GEMINI_API_KEY),
        "MODELS:other:fake-4, openai-responses:fake-5, anthropic:fake-6, gemini:fake-7".to_owned(),
        [
            r#"CAPABILITIES:{"other:fake-3":{"vision":true},"other:fake-4":{"tools":false},"#,
            r#""openai-responses:fake-5":{"reasoning":true}}"#,
        ]
        .concat(),
        // Long enough for every test beside other suites on a slow machine. One context has a time that its tests reach. The
        // turns of two others ask at their limits. In one of them a few long messages fill a request, in the other the time
        // to answer is short.
        [
            r#"LIMITS:{"wall_clock_ms":60000,"project_create":{"wall_clock_ms":10000},"#,
            r#""project_audit":{"on_limit":"ask","tool_calls":4,"history_tokens":24000},"#,
            r#""task":{"on_limit":"ask","llm_calls":8,"approval_wait_ms":1500}}"#,
        ]
        .concat(),
        // Few enough for a test to reach it.
        "EVENT_TURNS:3".to_owned(),
        "RECORD_TURNS:3".to_owned(),
        r#"RETENTION:{"threads":365}"#.to_owned(),
        // The rest of the web: the same server once more.
        format!("FETCH_ALLOW:{}", world.llm.trim_start_matches("http://")),
        format!("FETCH_RESOLVER:{}/dns-query", world.llm),
        "SEARCH:brave".to_owned(),
        format!("SEARCH_URL:{}/search", world.llm),
        format!("BRAVE_API_KEY:{}", canary::BRAVE_API_KEY),
        // A person must allow this tool, which only the tests of approvals have.
        r#"TOOL_POLICY:{"ui_erase":"ask"}"#.to_owned(),
    ]
}

/// The model of the `SMOKE_*` variables; `tools:MODEL` is the same one with tools, where it is configured without.
fn real_model() -> Vec<String> {
    let [base_url, model, tools] = ["SMOKE_BASE_URL", "SMOKE_MODEL", "SMOKE_TOOLS"].map(env);
    let max_tokens = Some(env("SMOKE_MAX_TOKENS")).filter(|most| !most.is_empty()).unwrap_or("2048".into());
    let provider = Some(env("SMOKE_PROVIDER")).filter(|name| !name.is_empty()).unwrap_or("openai".into());
    let mut vars = vec![
        format!("LLM_PROVIDER:{provider}"),
        format!("LLM_BASE_URL:{base_url}"),
        format!("LLM_MODEL:{model}"),
        // A slow machine may need minutes for a turn, and a weak model makes any number of calls.
        r#"LIMITS:{"wall_clock_ms":180000,"llm_calls":8,"iterations":4}"#.to_owned(),
        "LLM_FIRST_BYTE_MS:180000".to_owned(),
        // Some models never come to an end by themselves.
        format!(r#"MODEL_OPTIONS:{{"*":{{"max_output_tokens":{max_tokens}}}}}"#),
    ];
    if tools == "false" {
        vars.push(format!(r#"CAPABILITIES:{{"{provider}:{model}":{{"tools":false}}}}"#));
        vars.extend([format!("TOOLS_BASE_URL:{base_url}"), format!("MODELS:tools:{model}")]);
    }
    vars
}

/// The key of that model, as lines of a file of variables.
pub fn real_key() -> String {
    let key = env("SMOKE_KEY");
    if key.is_empty() { key } else { format!("LLM_API_KEY='{key}'\nTOOLS_API_KEY='{key}'\n") }
}

/// The servers of the instance `mcp`, all but one for visitors as well. The editor alone has the server that is slow
/// to list its tools, so other tests do not wait for it.
fn mcp_servers(world: &World) -> String {
    let (mcp, editor, users) = (&world.mcp, ["editor"], ["*", "anonymous"]);
    let bearer = serde_json::json!({"bearer_secret": "FAKE_MCP_TOKEN"});
    // The variable says of none of them that it only reads.
    let called = [
        "echo",
        "get-tiny-image",
        "get-structured-content",
        "get-resource-reference",
        "get-resource-links",
        "get-annotated-message",
        "trigger-long-running-operation",
    ];
    let mut tools: serde_json::Map<String, serde_json::Value> =
        called.iter().map(|name| ((*name).to_owned(), serde_json::json!({"rule": "on"}))).collect();
    tools.insert("get-sum".to_owned(), serde_json::json!({"parallel_safe": true, "rule": "on"}));
    let client = serde_json::json!({
        "token_url": format!("{mcp}/token"), "client_id": "espalier", "client_secret_secret": "FAKE_MCP_CLIENT",
    });
    serde_json::json!({
        "everything": {"url": world.everything, "users": users, "tools": tools},
        "tools": {"url": format!("{mcp}/tools"), "users": users, "auth": bearer, "timeout_ms": 2_000},
        "oauth": {"url": format!("{mcp}/oauth"), "users": users, "auth": {"client_credentials": client}},
        "modern": {"url": format!("{mcp}/modern"), "users": users},
        // No server listens on the port of the discard protocol.
        "down": {"url": "http://127.0.0.1:9/mcp", "users": users, "contexts": editor},
        "slow": {"url": format!("{mcp}/hang"), "users": users, "contexts": editor},
        "giant": {"url": format!("{mcp}/giant"), "users": users, "contexts": editor},
        "keyed": {"url": format!("{mcp}/tools"), "auth": bearer, "only": ["say"]},
    })
    .to_string()
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}
