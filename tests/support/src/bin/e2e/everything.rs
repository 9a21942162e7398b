//! `@modelcontextprotocol/server-everything`: an MCP server that we did not write.

use std::fs::File;
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use espalier_test_support::http;
use tokio::process::{Child, Command};

use crate::instance::KEEPER;
use crate::{logs, path_with_tools};

const SERVER: &str = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";

/// Makes the server, which would listen on every interface, listen on this machine alone.
const ON_LOOPBACK: &str = "data:text/javascript,import{Server}from'node:net';const l=Server.prototype.listen;\
    Server.prototype.listen=function(port,...rest){return l.call(this,port,'127.0.0.1',...rest)}";

/// The longest start that we wait for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The running server. It ends with its standard input.
pub struct Everything {
    pub url: String,
    _keeper: Child,
}

impl Everything {
    /// Starts it and waits until it answers.
    pub async fn start(root: &Path) -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let path = logs().join("everything.log");
        let log = File::create(&path).map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper", "node", "--import", ON_LOOPBACK, SERVER, "streamableHttp"])
            .current_dir(root)
            // One of its tools returns its environment.
            .env_clear()
            .env("PATH", path_with_tools(root))
            .env("PORT", port.to_string())
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(|error| format!("server-everything: {error}"))?;
        let url = format!("http://127.0.0.1:{port}/mcp");
        let answered = tokio::time::timeout(PATIENCE, async {
            while http::try_send("GET", &url, &[], "").await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        answered
            .await
            .map_err(|_| format!("server-everything: no answer for {PATIENCE:?}, see {}", path.display()))?;
        Ok(Self { url, _keeper: keeper })
    }
}
