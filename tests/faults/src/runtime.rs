//! The runtime that is killed: raw `workerd serve`, which is back within 100 ms, or the whole of `wrangler dev`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use espalier_test_support::http::try_send;
use espalier_test_support::json;
use tokio::process::{Child, Command};
use tokio::time::Instant;

use crate::journeys;
use crate::ledger::Ledger;
use crate::script::{self, HOOKS, POLICY};
use crate::vectors::HEADER;

/// How a runtime starts, the same in each of its lives.
pub struct Launch {
    /// The root of the repository.
    pub root: PathBuf,
    /// Where the build with faults is: `index.js` and `index_bg.wasm`.
    pub build: PathBuf,
    /// The folder for everything that a run leaves behind.
    pub work: PathBuf,
    pub port: u16,
    /// The port at which each request is a visit of the cron trigger. Wrangler has none.
    pub cron: u16,
    /// The port of the world.
    pub world: u16,
    /// Whether it is the whole of `wrangler dev` instead of raw workerd.
    pub wrangler: bool,
}

/// A runtime between two kills.
pub struct Runtime {
    launch: Launch,
    ledger: Arc<Ledger>,
    child: Option<Child>,
    config: PathBuf,
    /// The variables of a journey, from the next life on.
    pub own: Vec<(&'static str, String)>,
}

/// The longest start: wrangler on a busy machine.
const START: Duration = Duration::from_secs(120);
/// More than all threads need: the quotas refuse no turn, and count each of them.
const QUOTAS: &str =
    r#"{"user":{"concurrent_turns":1000,"turns_per_minute":60000},"threads_per_user":10000}"#;
const SECRET: &str = "not-a-secret-but-of-the-length-of-one";
/// Each request is a visit of the cron trigger: workerd has no schedule and no address for that.
const CRON: &str = r#"export default { async fetch(request, env) { const { outcome } = await env.MAIN.scheduled({ cron: "" }); return new Response(outcome); } };"#;
/// As in tests/support: the kill goes to the group, because workerd would outlive a killed wrangler.
const KEEPER: &str = r#""$@" </dev/null & read -r _; kill -9 0"#;

/// The time of a turn: enough for all its faults. It ends a turn that hangs. One context has few calls, one asks for more,
/// and one has short requests.
fn limits() -> String {
    let few = json!({ "tool_calls": script::LIMITED_CALLS });
    let asks = json!({ "tool_calls": script::GROWING_CALLS, "on_limit": "ask" });
    let short = json!({ "history_tokens": script::LONG_HISTORY_TOKENS });
    let limits = json!({
        "wall_clock_ms": 15_000, script::LIMITED_CONTEXT: few, script::GROWING_CONTEXT: asks, script::LONG_CONTEXT: short,
    });
    limits.to_string()
}

impl Runtime {
    /// Prepares its folders, and starts no process.
    pub fn new(launch: Launch, ledger: Arc<Ledger>) -> Result<Self, String> {
        let config = launch.work.join("workerd");
        fs::create_dir_all(config.join("state")).map_err(|error| error.to_string())?;
        for file in ["index.js", "index_bg.wasm"] {
            let from = launch.build.join(file);
            fs::copy(&from, config.join(file)).map_err(|error| format!("{}: {error}", from.display()))?;
        }
        Ok(Runtime { launch, ledger, child: None, config, own: Vec::new() })
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.launch.port)
    }

    /// The address at which each request is a visit of the cron trigger.
    pub fn cron(&self) -> String {
        format!("http://127.0.0.1:{}/", self.launch.cron)
    }

    /// The objects' databases.
    pub fn objects(&self) -> PathBuf {
        match self.launch.wrangler {
            true => self.launch.work.join("wrangler/v3/do/espalier-ThreadObject"),
            false => self.config.join("state/threads"),
        }
    }

    /// The databases of the objects that keep the quotas.
    pub fn quotas(&self) -> PathBuf {
        match self.launch.wrangler {
            true => self.launch.work.join("wrangler/v3/do/espalier-QuotaObject"),
            false => self.config.join("state/quotas"),
        }
    }

    /// Starts the next life and waits for its first answer, whatever the status.
    pub async fn start(&mut self) -> Result<(), String> {
        let began = Instant::now();
        self.spawn()?;
        let url = format!("{}/api/nothing", self.url());
        while try_send("GET", &url, &[], "").await.is_err() {
            if began.elapsed() > START {
                return Err(format!("the runtime does not answer; see {}", self.log().display()));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.ledger.restarted(began.elapsed());
        Ok(())
    }

    fn spawn(&mut self) -> Result<(), String> {
        let life = self.ledger.born();
        let log = fs::OpenOptions::new().create(true).append(true).open(self.log());
        let log = log.map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = match self.launch.wrangler {
            true => self.wrangler(life),
            false => self.workerd(life)?,
        };
        command.stdout(log).stderr(errors).kill_on_drop(true);
        self.child = Some(command.spawn().map_err(|error| format!("the runtime does not start: {error}"))?);
        Ok(())
    }

    /// Kills the runtime by SIGKILL, and waits until it is gone.
    pub async fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        self.ledger.killed();
        if self.launch.wrangler {
            drop(child.stdin.take());
        } else if let Err(error) = child.start_kill() {
            self.ledger.violation(format!("the runtime could not be killed: {error}"));
        }
        let _ = child.wait().await;
    }

    /// Whether it has ended by itself. No run expects that.
    pub fn has_ended(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| child.try_wait().is_ok_and(|status| status.is_some()))
    }

    /// How often a look of the harness at an object's database locked the object out, in all lives. No other process opens
    /// that file.
    pub fn lockouts(&self) -> usize {
        fs::read_to_string(self.log()).map_or(0, |log| log.matches("database is locked").count())
    }

    /// The log of all lives.
    pub fn log(&self) -> PathBuf {
        self.launch.work.join("runtime.log")
    }

    fn vars(&self, life: u32) -> Vec<(&'static str, String)> {
        let world = format!("http://127.0.0.1:{}/life/{life}", self.launch.world);
        let mut vars = vec![
            ("AUTH_ANONYMOUS", "true".to_owned()),
            ("SESSION_SECRET", SECRET.to_owned()),
            ("LLM_PROVIDER", "openai".to_owned()),
            ("LLM_BASE_URL", format!("{world}/v1")),
            ("LLM_API_KEY", "test-key".to_owned()),
            ("LLM_MODEL", "fake-1".to_owned()),
            ("LIMITS", limits()),
            ("QUOTAS", QUOTAS.to_owned()),
            ("TOOL_POLICY", POLICY.to_owned()),
            ("HOOKS", HOOKS.to_owned()),
            // More than a thread of a run has turns: each of them keeps its record.
            ("RECORD_TURNS", "500".to_owned()),
            ("FAULTS_URL", world.clone()),
        ];
        vars.extend(journeys::vars(&world));
        vars.extend(self.own.clone());
        vars
    }

    // Long: the runtime's configuration.
    fn workerd(&self, life: u32) -> Result<Command, String> {
        let text = |(name, value): &(&str, String)| format!("    (name = \"{name}\", text = {value:?}),\n");
        let vars: String = self.vars(life).iter().map(text).collect();
        let Launch { port, cron, world, .. } = self.launch;
        let vectors = HEADER;
        let date = compatibility_date(&self.launch.root)?;
        let config = format!(
            r#"using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .main),
    (name = "internet", network = (allow = ["private"])),
    (name = "d1", external = (address = "127.0.0.1:{world}", http = ())),
    (name = "r2", external = (address = "127.0.0.1:{world}", http = ())),
    (name = "vectors", external = (
      address = "127.0.0.1:{world}",
      http = (injectRequestHeaders = [(name = "{vectors}", value = "1")]),
    )),
    (name = "cron", worker = .cron),
    (name = "disk", disk = (path = "state", writable = true)),
  ],
  sockets = [
    (name = "http", address = "127.0.0.1:{port}", http = (), service = "main"),
    (name = "cron", address = "127.0.0.1:{cron}", http = (), service = "cron"),
  ],
);
const cron :Workerd.Worker = (
  modules = [(name = "cron.js", esModule = {CRON:?})],
  compatibilityDate = "{date}",
  compatibilityFlags = ["service_binding_extra_handlers"],
  bindings = [(name = "MAIN", service = "main")],
);
const main :Workerd.Worker = (
  modules = [
    (name = "index.js", esModule = embed "index.js"),
    (name = "./index_bg.wasm", wasm = embed "index_bg.wasm"),
  ],
  compatibilityDate = "{date}",
  bindings = [
{vars}    (name = "THREADS", durableObjectNamespace = "ThreadObject"),
    (name = "QUOTA", durableObjectNamespace = "QuotaObject"),
    (name = "WORKSPACE", r2Bucket = "r2"),
    (name = "DB", wrapped = (
      moduleName = "cloudflare-internal:d1-api",
      innerBindings = [(name = "fetcher", service = "d1")],
    )),
    (name = "AI", wrapped = (
      moduleName = "cloudflare-internal:ai-api",
      innerBindings = [(name = "fetcher", service = "vectors")],
    )),
    (name = "VECTORS", wrapped = (
      moduleName = "cloudflare-internal:vectorize-api",
      innerBindings = [
        (name = "fetcher", service = "vectors"),
        (name = "indexId", text = "index"),
        (name = "indexVersion", text = "v2"),
        (name = "useNdJson", json = "true"),
      ],
    )),
  ],
  durableObjectNamespaces = [
    (className = "ThreadObject", uniqueKey = "threads", enableSql = true),
    (className = "QuotaObject", uniqueKey = "quotas", enableSql = true),
  ],
  durableObjectStorage = (localDisk = "disk"),
);
"#
        );
        fs::write(self.config.join("config.capnp"), config).map_err(|error| error.to_string())?;
        // The npm package has the binary of this platform in a package beside it, and links it here.
        let mut command = Command::new(self.launch.root.join("node_modules/workerd/bin/workerd"));
        command.args(["serve", "--experimental", "config.capnp"]).current_dir(&self.config);
        command.stdin(Stdio::null());
        Ok(command)
    }

    fn wrangler(&self, life: u32) -> Command {
        let Launch { root, work, port, .. } = &self.launch;
        let tools = root.join("node_modules/.bin");
        let state = work.join("wrangler");
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).arg(tools.join("wrangler")).arg("dev");
        command.arg(self.config.join("index.js")).args(["--ip", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--inspector-port", "0"]);
        command.arg("--persist-to").arg(&state).args(["--show-interactive-dev-session", "false"]);
        command.args(["--env-file", "/dev/null"]);
        for (name, value) in self.vars(life) {
            command.args(["--var", &format!("{name}:{value}")]);
        }
        environment(&mut command, root, &state);
        command.stdin(Stdio::piped()).process_group(0);
        command
    }
}

/// The variables that keep wrangler away from the network and from the developer's files.
fn environment(command: &mut Command, root: &Path, state: &Path) {
    let tools = root.join("node_modules/.bin");
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
    command
        .current_dir(root)
        .env("PATH", path)
        .envs([("CI", "1"), ("NO_COLOR", "1"), ("ESPALIER_SKIP_BUILD", "1")])
        .envs([("WRANGLER_SEND_METRICS", "false"), ("CLOUDFLARE_CF_FETCH_ENABLED", "false")])
        .env("WRANGLER_REGISTRY_PATH", state.join("registry"))
        .env("WRANGLER_LOG_PATH", state.join("logs"));
}

/// An empty local D1 with all migrations, for wrangler.
pub async fn migrate(root: &Path, state: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new(root.join("node_modules/.bin/wrangler"));
    command.args(["d1", "migrations", "apply", "DB", "--local", "--persist-to"]).arg(state);
    environment(&mut command, root, state);
    let output = command.stdin(Stdio::null()).output().await.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("the migrations failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let folder = state.join("v3/d1/miniflare-D1DatabaseObject");
    let files = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let database = |path: &PathBuf| {
        path.extension().is_some_and(|extension| extension == "sqlite") && !path.ends_with("metadata.sqlite")
    };
    files.flatten().map(|file| file.path()).find(database).ok_or_else(|| "no database".to_owned())
}

fn compatibility_date(root: &Path) -> Result<String, String> {
    let toml = fs::read_to_string(root.join("wrangler.toml")).map_err(|error| error.to_string())?;
    let line = toml.lines().find_map(|line| line.strip_prefix("compatibility_date = "));
    line.map(|date| date.trim_matches('"').to_owned()).ok_or_else(|| "no compatibility_date".to_owned())
}
