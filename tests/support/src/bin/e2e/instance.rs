//! One `wrangler dev`: how it is configured, started, awaited and ended.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use espalier_test_support::identity::Identity;
use espalier_test_support::{canary, http, identity, stored};
use tokio::process::{Child, Command};

use crate::{LOGS, browser, path_with_tools};

/// The longest start that we wait for. Three servers on two slow cores need about 20 s.
const PATIENCE: Duration = Duration::from_secs(120);

/// Wrangler in the background of a shell that waits for its standard input to end, then kills the whole group.
///
/// That input is a pipe which we hold: when we go, however we go, it ends. And the group, because workerd would outlive
/// a wrangler that is killed.
pub const KEEPER: &str = r#"("$@" </dev/null; echo "[e2e] wrangler ended with $?") & read -r _; kill -9 0"#;

/// The line of [`KEEPER`] that means that there is no use in waiting.
const ENDED: &str = "[e2e] wrangler ended";

/// What the users of `closed` may cost (`tests/e2e/quotas.rs`).
const QUOTAS: &str = r#"{"user":{"concurrent_turns":2,"tokens_per_day":100000,"stored_bytes_per_day":2500000},"tenant":{"tokens_per_day":1000000},"threads_per_user":5}"#;

/// What the visitors of `visitors` may cost (`tests/e2e/visitors.rs`).
const VISITORS_QUOTAS: &str =
    r#"{"user":{"turns_per_minute":20},"address":{"concurrent_turns":2},"anonymous":{"concurrent_turns":4}}"#;

/// What the visitors of `ai` may have embedded (`tests/e2e/embeddings.rs`).
const EMBEDDING_QUOTAS: &str = r#"{"user":{"embeddings_per_day":250}}"#;

/// The origin that `closed` allows.
const FRIEND: &str = "https://friend.example";

/// What all instances have in common.
pub struct World {
    /// The command.
    pub wrangler: Vec<String>,
    /// The root of the repository.
    pub root: PathBuf,
    /// The folder for their data.
    pub state: PathBuf,
    /// The fake LLM.
    pub llm: String,
    /// The fake MCP servers, and the real one.
    pub mcp: String,
    pub everything: String,
}

/// How to start an instance.
pub struct Plan {
    /// One of those that `main.rs` lists.
    pub name: &'static str,
    /// The environment variable in which the tests find it.
    pub url_variable: &'static str,
    /// Its address.
    pub url: String,
    /// Where it keeps its data.
    pub state: PathBuf,
    vars: Vec<String>,
    /// What runs in place of the Worker itself.
    script: Option<&'static str>,
    /// Variables that must not stand in a command line, as lines of a file.
    secrets: String,
    // Bound until the last moment, so that no two instances are given the same ones.
    ports: [TcpListener; 2],
}

/// An instance that runs.
pub struct Instance {
    /// How it was started.
    pub name: &'static str,
    /// See [`Plan`].
    pub url_variable: &'static str,
    /// See [`Plan`].
    pub url: String,
    /// See [`Plan`].
    pub state: PathBuf,
    /// Whether it is configured wrongly, and has to say so.
    broken: bool,
    keeper: Child,
}

impl World {
    /// Where an issuer publishes its keys.
    pub fn issuer_url(&self, name: &str) -> String {
        format!("{}/_fake/documents/{name}", self.llm)
    }
}

impl Plan {
    /// The plan for the instance of this name.
    pub fn of(name: &str, world: &World) -> Result<Self, String> {
        let anonymous = "AUTH_ANONYMOUS:true".to_owned();
        let session = format!("SESSION_SECRET:{}", canary::SESSION_SECRET);
        let provider = [
            "LLM_PROVIDER:openai".to_owned(),
            format!("LLM_BASE_URL:{}/v1", world.llm),
            format!("LLM_API_KEY:{}", canary::LLM_API_KEY),
            "LLM_MODEL:fake-1".to_owned(),
            // The same server by another name, so that a chain can go from one provider to another.
            format!("OTHER_BASE_URL:{}/v1", world.llm),
            format!("OTHER_API_KEY:{}", canary::OTHER_API_KEY),
            "MODEL_SECONDARY:openai:fake-2, other:fake-3".to_owned(),
            // And by its other two wires.
            format!("OPENAI_BASE_URL:{}/v1", world.llm),
            format!("OPENAI_API_KEY:{}", canary::OPENAI_API_KEY),
            format!("ANTHROPIC_BASE_URL:{}", world.llm),
            format!("ANTHROPIC_API_KEY:{}", canary::ANTHROPIC_API_KEY),
            "MODELS:other:fake-4, openai-responses:fake-5, anthropic:fake-6".to_owned(),
            [
                r#"CAPABILITIES:{"other:fake-3":{"vision":true},"other:fake-4":{"tools":false},"#,
                r#""openai-responses:fake-5":{"reasoning":true}}"#,
            ]
            .concat(),
            // Long enough for every test on a slow machine, short enough for the test that reaches it.
            r#"LIMITS:{"wall_clock_ms":20000}"#.to_owned(),
            // Few enough for a test to reach it.
            "EVENT_TURNS:3".to_owned(),
            // The rest of the web: the same server once more.
            format!("FETCH_ALLOW:{}", world.llm.trim_start_matches("http://")),
            format!("FETCH_RESOLVER:{}/dns-query", world.llm),
            "SEARCH:brave".to_owned(),
            format!("SEARCH_URL:{}/search", world.llm),
            format!("BRAVE_API_KEY:{}", canary::BRAVE_API_KEY),
            // A tool that only the tests of approvals have.
            r#"TOOL_POLICY:{"ui_erase":"ask"}"#.to_owned(),
        ];
        let (name, url_variable, vars) = match name {
            "main" => ("main", "ESPALIER_URL", [vec![anonymous, session], provider.to_vec()].concat()),
            "closed" => {
                let issuers = identity::issuers(&world.issuer_url("rsa"), &world.issuer_url("ec"));
                let vars = vec![
                    session,
                    format!("JWT:{issuers}"),
                    format!("ALLOWED_ORIGINS:{FRIEND}"),
                    format!("QUOTAS:{QUOTAS}"),
                ];
                ("closed", "ESPALIER_CLOSED_URL", [vars, provider.to_vec()].concat())
            }
            "visitors" => {
                // In the middle of a rotation: the new secret signs, the old one is still taken.
                let secrets =
                    format!("SESSION_SECRET:{},{}", canary::NEW_SESSION_SECRET, canary::SESSION_SECRET);
                let vars = vec![anonymous, secrets, format!("QUOTAS:{VISITORS_QUOTAS}")];
                ("visitors", "ESPALIER_VISITORS_URL", [vars, provider.to_vec()].concat())
            }
            "demo" => ("demo", "ESPALIER_DEMO_URL", vec![anonymous, session]),
            "ai" => {
                let model =
                    ["LLM_PROVIDER:workers-ai", "LLM_MODEL:@cf/fake/7b", "EMBEDDING_MODEL:@cf/fake/embeds"];
                let model = model.map(str::to_owned).to_vec();
                let binding =
                    vec![format!("FAKE_AI_URL:{}/ai/run", world.llm), format!("QUOTAS:{EMBEDDING_QUOTAS}")];
                ("ai", "ESPALIER_AI_URL", [vec![anonymous, session], model, binding].concat())
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
                    provider.to_vec(),
                ];
                ("mcp", "ESPALIER_MCP_URL", [vars.concat(), secrets.to_vec()].concat())
            }
            "broken" => {
                let wrong = [
                    "MODEL_PRIMARY:openai:gpt-5-mini, groq:llama",
                    r#"MODEL_OPTIONS:{"openai:*":{"temperature":3}}"#,
                    r#"LIMITS:{"subtasks":"many"}"#,
                    r#"MCP_SERVERS:{"my__docs":{"url":"https://docs.example/mcp"}}"#,
                    "FETCH_ALLOW:localhost",
                    "SEARCH:brave",
                ];
                let vars = [vec![anonymous, session], wrong.map(str::to_owned).to_vec()];
                ("broken", "ESPALIER_BROKEN_URL", vars.concat())
            }
            "smoke" => ("smoke", "ESPALIER_URL", [vec![anonymous, session], real_model()].concat()),
            other => return Err(format!("there is no instance {other}")),
        };
        let secrets = if name == "smoke" { real_key() } else { String::new() };
        let script = (name == "ai").then_some("tests/workers_ai/worker.mjs");
        let ports = [free_port()?, free_port()?];
        let url = format!("http://127.0.0.1:{}", port(&ports[0])?);
        Ok(Self { name, url_variable, url, state: world.state.join(name), vars, script, secrets, ports })
    }

    /// Starts it; [`Instance::ready`] waits for it.
    pub fn start(self, world: &World) -> Result<Instance, String> {
        let Plan { name, url_variable, url, state, vars, script, secrets, ports } = self;
        let (port, inspector) = (port(&ports[0])?, port(&ports[1])?);
        drop(ports);
        let log = File::create(log_path(name)).map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;

        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).args(&world.wrangler).arg("dev").args(script);
        keeper.args(["--ip", "127.0.0.1"]);
        keeper.args(["--port", &port.to_string(), "--inspector-port", &inspector.to_string()]);
        keeper.arg("--persist-to").arg(&state).args(["--show-interactive-dev-session", "false"]);
        // A file of variables, if an empty one, keeps wrangler from reading the developer's own `.dev.vars`.
        let env_file = state.join("secrets.env");
        private_file(&env_file, &secrets).map_err(|error| format!("{}: {error}", env_file.display()))?;
        keeper.arg("--env-file").arg(&env_file);
        for var in &vars {
            keeper.args(["--var", var]);
        }
        if name == "main" {
            keeper.arg("--config").arg(browser::configure(&world.root, &state)?);
        }
        environment(&mut keeper, world, &state);
        keeper.stdin(Stdio::piped()).stdout(log).stderr(errors).process_group(0);
        let keeper = keeper.spawn().map_err(|error| format!("{name}: {error}"))?;
        Ok(Instance { name, url_variable, url, state, broken: name == "broken", keeper })
    }
}

impl Instance {
    /// Returns when it answers.
    pub async fn ready(&self) -> Result<(), String> {
        let url = format!("{}/api/health", self.url);
        let answered = tokio::time::timeout(PATIENCE, async {
            loop {
                if let Ok(reply) = http::try_send("GET", &url, &[], "").await {
                    let status = reply.status;
                    let body = reply.text().await;
                    match status {
                        200 if !self.broken => return Ok(()),
                        503 if self.broken && body.contains("misconfigured") => return Ok(()),
                        // It says itself what is wrong; nobody will mend it while we wait.
                        503 if body.contains("misconfigured") => {
                            return Err(format!("{}: {body}", self.name));
                        }
                        _ => {}
                    }
                }
                if fs::read_to_string(log_path(self.name)).is_ok_and(|log| log.contains(ENDED)) {
                    return Err(format!("{}: wrangler has ended", self.name));
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        answered
            .await
            .unwrap_or_else(|_| Err(format!("{}: no answer from {url} for {PATIENCE:?}", self.name)))
    }

    /// Its process group.
    pub fn group(&self) -> Option<u32> {
        self.keeper.id()
    }

    /// Ends it and everything that it started.
    pub async fn stop(mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait().await;
    }
}

/// Gives each instance a D1 with all migrations and one API key: made once, then copied, because each start of wrangler
/// takes seconds.
pub async fn prepare(plans: &[Plan], world: &World) -> Result<Identity, String> {
    let Some((first, others)) = plans.split_first() else { return Err("no instances".into()) };
    fs::create_dir_all(&first.state).map_err(|error| error.to_string())?;
    let [program, words @ ..] = world.wrangler.as_slice() else { return Err("an empty --wrangler".into()) };
    let mut migrate = Command::new(program);
    migrate
        .args(words)
        .args(["d1", "migrations", "apply", "DB", "--local", "--persist-to"])
        .arg(&first.state);
    environment(&mut migrate, world, &first.state);
    let output = migrate
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        let text = [output.stdout, output.stderr].concat();
        return Err(format!("the migrations failed:\n{}", String::from_utf8_lossy(&text)));
    }
    let identity = Identity::make(&stored::database(&first.state).await).await;
    others
        .iter()
        .try_for_each(|other| copy(&first.state, &other.state))
        .map_err(|error| format!("copying {}: {error}", first.state.display()))?;
    Ok(identity)
}

fn environment(command: &mut Command, world: &World, state: &Path) {
    command
        .current_dir(&world.root)
        .env("PATH", path_with_tools(&world.root))
        .env("CI", "1")
        .env("NO_COLOR", "1")
        .env("ESPALIER_SKIP_BUILD", "1")
        // No calls home: these tests run without a network.
        .env("WRANGLER_SEND_METRICS", "false")
        .env("CLOUDFLARE_CF_FETCH_ENABLED", "false")
        // Instances of the same Worker would find each other in the shared registry.
        .env(browser::CACHE, browser::cache(state))
        .env("WRANGLER_REGISTRY_PATH", state.join("registry"))
        .env("WRANGLER_LOG_PATH", state.join("logs"));
}

/// Where an instance's output goes.
pub fn log_path(name: &str) -> PathBuf {
    Path::new(LOGS).join(format!("{name}.log"))
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
        // A slow machine may need minutes for a turn, and a model without sense any number of calls.
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

fn real_key() -> String {
    let key = env("SMOKE_KEY");
    if key.is_empty() { key } else { format!("LLM_API_KEY='{key}'\nTOOLS_API_KEY='{key}'\n") }
}

/// The servers of the instance `mcp`, all but one for visitors as well. What is slow to say what it offers is the
/// editor's alone, so that other tests do not wait for it.
fn mcp_servers(world: &World) -> String {
    let (mcp, editor, users) = (&world.mcp, ["editor"], ["*", "anonymous"]);
    let bearer = serde_json::json!({"bearer_secret": "FAKE_MCP_TOKEN"});
    // It says of none of them that it only reads.
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
        // Nothing listens on the port of the discard protocol.
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

fn private_file(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    io::Write::write_all(&mut file, text.as_bytes())
}

fn free_port() -> Result<TcpListener, String> {
    TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())
}

fn port(listener: &TcpListener) -> Result<u16, String> {
    listener.local_addr().map(|address| address.port()).map_err(|error| error.to_string())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
