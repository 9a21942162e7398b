//! Servers of npm packages that we did not write: an MCP server, `@modelcontextprotocol/server-everything`, and an identity
//! provider, `oidc-provider` (`tests/identity_provider`).

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use espalier_test_support::{canary, http};
use tokio::process::{Child, Command};

use crate::instance::KEEPER;
use crate::{logs, path_with_tools};

const EVERYTHING: [&str; 4] = [
    "--import",
    ON_LOOPBACK,
    "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
    "streamableHttp",
];
const IDENTITY_PROVIDER: [&str; 1] = ["tests/identity_provider/provider.mjs"];

/// Makes the server, which would listen on every interface, listen on this machine alone.
const ON_LOOPBACK: &str = "data:text/javascript,import{Server}from'node:net';const l=Server.prototype.listen;\
    Server.prototype.listen=function(port,...rest){return l.call(this,port,'127.0.0.1',...rest)}";

/// The longest start that we wait for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server. It ends with its standard input.
pub struct Packaged {
    /// Its origin.
    pub url: String,
    _keeper: Child,
}

impl Packaged {
    /// Starts the MCP server.
    pub async fn everything(root: &Path) -> Result<Self, String> {
        Self::start(root, "everything", &EVERYTHING).await
    }

    /// Starts the identity provider.
    pub async fn identity_provider(root: &Path) -> Result<Self, String> {
        Self::start(root, "identity_provider", &IDENTITY_PROVIDER).await
    }

    /// Starts a program of Node's and waits until it answers.
    async fn start(root: &Path, name: &str, words: &[&str]) -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let path = logs().join(format!("{name}.log"));
        let log = File::create(&path).map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper", "node"])
            .args(words)
            .current_dir(root)
            // A tool of the MCP server returns its environment.
            .env_clear()
            .env("PATH", path_with_tools(root))
            .env("PORT", port.to_string())
            .env("CLIENT_SECRET", if name == "everything" { "" } else { canary::OIDC_CLIENT_SECRET })
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("{name}: {error}"))?;
        let url = format!("http://127.0.0.1:{port}");
        let answered = tokio::time::timeout(PATIENCE, async {
            while http::try_send("GET", &url, &[], "").await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        answered.await.map_err(|_| format!("{name}: no answer for {PATIENCE:?}, see {}", path.display()))?;
        Ok(Self { url, _keeper: keeper })
    }
}
