//! One `wrangler dev`: configures, starts, awaits and ends it.

use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use espalier_test_support::identity::Identity;
use espalier_test_support::{http, stored};
use tokio::process::{Child, Command};

use crate::{browser, configuration, logs, path_with_tools, variables};

/// The longest start that we wait for. Three servers on two slow cores need about 20 s.
const PATIENCE: Duration = Duration::from_secs(120);

/// Wrangler in the background of a shell that waits for its standard input to end, then kills the whole group.
///
/// We hold that input, a pipe: it ends when this process ends, in whatever way. The shell kills the group, because
/// workerd would outlive a killed wrangler.
pub const KEEPER: &str = r#"("$@" </dev/null; echo "[e2e] wrangler ended with $?") & read -r _; kill -9 0"#;

/// The line of [`KEEPER`] that tells that waiting has no use.
const ENDED: &str = "[e2e] wrangler ended";

/// The common part of all instances.
pub struct World {
    /// The command.
    pub wrangler: Vec<String>,
    /// The root of the repository.
    pub root: PathBuf,
    /// The Worker's file, from there.
    pub worker: String,
    /// The folder for their data.
    pub state: PathBuf,
    /// The fake LLM.
    pub llm: String,
    /// The fake MCP servers, and the real one.
    pub mcp: String,
    pub everything: String,
    /// The real identity provider.
    pub identity_provider: String,
}

/// How to start an instance.
pub struct Launch {
    /// The name of an instance that `main.rs` lists.
    pub name: &'static str,
    /// The environment variable in which the tests find it.
    pub url_variable: &'static str,
    /// Its address.
    pub url: String,
    /// Where it keeps its data.
    pub state: PathBuf,
    vars: Vec<String>,
    /// The Worker, or a script around it.
    script: String,
    /// Variables that must not stand in a command line, as lines of a file.
    secrets: String,
    // Bound until the last moment, so that no two instances get the same ports.
    ports: [TcpListener; 2],
}

/// A running instance.
pub struct Instance {
    /// How it was started.
    pub name: &'static str,
    /// See [`Launch`].
    pub url_variable: &'static str,
    /// See [`Launch`].
    pub url: String,
    /// See [`Launch`].
    pub state: PathBuf,
    /// Whether its configuration is wrong, so that it must report that.
    broken: bool,
    keeper: Child,
}

impl World {
    /// Where an issuer publishes its keys.
    pub fn issuer_url(&self, name: &str) -> String {
        format!("{}/_fake/documents/{name}", self.llm)
    }
}

impl Launch {
    /// The launch of the instance of this name.
    pub fn of(name: &str, world: &World) -> Result<Self, String> {
        let (name, url_variable, vars) = variables::of(name, world)?;
        let secrets = if name == "smoke" { variables::real_key() } else { String::new() };
        let script = if name == "ai" { "tests/workers_ai/worker.mjs" } else { &world.worker }.to_owned();
        let ports = [free_port()?, free_port()?];
        let url = format!("http://127.0.0.1:{}", port(&ports[0])?);
        Ok(Self { name, url_variable, url, state: world.state.join(name), vars, script, secrets, ports })
    }

    /// Starts it; [`Instance::ready`] waits for it.
    pub fn start(self, world: &World) -> Result<Instance, String> {
        let Launch { name, url_variable, url, state, vars, script, secrets, ports } = self;
        let (port, inspector) = (port(&ports[0])?, port(&ports[1])?);
        drop(ports);
        let log = File::create(log_path(name)).map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;

        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).args(&world.wrangler).arg("dev").arg(script);
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
        if let Some(config) = configuration::write(name, world, &state)? {
            keeper.arg("--config").arg(config);
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
                        // The instance reports the mistake. Waiting would not correct it.
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

    /// Ends the instance and every process that it started.
    pub async fn stop(mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait().await;
    }
}

/// Gives each instance a D1 with all migrations and one API key: made once, then copied, because each start of wrangler
/// takes seconds.
pub async fn prepare(launches: &[Launch], world: &World) -> Result<Identity, String> {
    let Some((first, others)) = launches.split_first() else { return Err("no instances".into()) };
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
        // Wrangler would write a trace of each request that no test reads.
        .env("X_LOCAL_OBSERVABILITY", "false")
        // Instances of the same Worker would find each other in the shared registry.
        .env(browser::CACHE, browser::cache(state))
        .env("WRANGLER_REGISTRY_PATH", state.join("registry"))
        .env("WRANGLER_LOG_PATH", state.join("logs"));
}

/// Where an instance's output goes.
pub fn log_path(name: &str) -> PathBuf {
    logs().join(format!("{name}.log"))
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
