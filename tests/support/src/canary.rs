//! The secrets of the end-to-end deployments: only their configuration may contain these values. The tests search each
//! answer for them, and the end of a run searches all output and data of the instances.

use std::path::Path;
use std::{fs, io};

use memchr::memmem;

/// Too short and too plain to look like a credential: only code that knows the value can hide it.
pub const LLM_API_KEY: &str = "canary-llm-61c4e0";
/// See [`LLM_API_KEY`].
pub const OTHER_API_KEY: &str = "canary-other-92ab7d";
/// See [`LLM_API_KEY`].
pub const OPENAI_API_KEY: &str = "canary-responses-d05f13";
/// See [`LLM_API_KEY`].
pub const ANTHROPIC_API_KEY: &str = "canary-messages-4be8a2";
/// See [`LLM_API_KEY`].
pub const GEMINI_API_KEY: &str = "canary-gemini-70b3ce";
/// The bearer token of the fake MCP server `tools`.
pub const MCP_BEARER: &str = "canary-mcp-bearer-5c9a04";
/// The client's secret for the token endpoint of the fake MCP server `oauth`.
pub const MCP_CLIENT_SECRET: &str = "canary-mcp-client-83d1f6";
/// Its sign: `espalier` and the secret, in base64.
pub const MCP_BASIC: &str = "Basic ZXNwYWxpZXI6Y2FuYXJ5LW1jcC1jbGllbnQtODNkMWY2";
/// The client's secret for the token endpoints of identity providers.
pub const OIDC_CLIENT_SECRET: &str = "canary-oidc-client-19ce5b";
/// Its sign: `espalier` and the secret, in base64.
pub const OIDC_BASIC: &str = "Basic ZXNwYWxpZXI6Y2FuYXJ5LW9pZGMtY2xpZW50LTE5Y2U1Yg==";
/// The beginning of the tokens of that endpoint.
pub const MCP_TOKEN: &str = "canary-mcp-token-f27be1";
/// See [`LLM_API_KEY`].
pub const BRAVE_API_KEY: &str = "canary-brave-a7e31f";
/// The same at all instances, so that configuration alone keeps a user of `main` out of `closed`.
pub const SESSION_SECRET: &str = "canary-session-7c20b9-at-least-32-bytes";

/// The newer secret of the instance whose secret is being replaced.
pub const NEW_SESSION_SECRET: &str = "canary-session-e83d51-at-least-32-bytes";

/// Signs the tokens of steps at the main instance.
pub const WORKFLOW_SECRET: &str = "canary-workflow-1fb36d-at-least-32-bytes";

/// The beginning of each token of a step that this secret signs. The service hands such tokens to clients that carry out a
/// session, and stores none.
pub const STEP_TOKEN: &str = "ct1.c2fe225b.";

/// A secret by its name.
pub type Secret = (&'static str, String);

/// All of them. `admin_key`: the API key that the run was given.
pub fn secrets(admin_key: &str) -> Vec<Secret> {
    let fixed = [
        ("LLM_API_KEY", LLM_API_KEY),
        ("OTHER_API_KEY", OTHER_API_KEY),
        ("OPENAI_API_KEY", OPENAI_API_KEY),
        ("ANTHROPIC_API_KEY", ANTHROPIC_API_KEY),
        ("GEMINI_API_KEY", GEMINI_API_KEY),
        ("MCP_BEARER", MCP_BEARER),
        ("MCP_CLIENT_SECRET", MCP_CLIENT_SECRET),
        ("MCP_BASIC", MCP_BASIC),
        ("OIDC_CLIENT_SECRET", OIDC_CLIENT_SECRET),
        ("OIDC_BASIC", OIDC_BASIC),
        ("MCP_TOKEN", MCP_TOKEN),
        ("BRAVE_API_KEY", BRAVE_API_KEY),
        ("SESSION_SECRET", SESSION_SECRET),
        ("the new SESSION_SECRET", NEW_SESSION_SECRET),
        ("WORKFLOW_SECRET", WORKFLOW_SECRET),
        ("the admin's API key", admin_key),
    ];
    fixed
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (name, value.to_owned()))
        .collect()
}

/// All of them, and the tokens that clients get but nothing stores.
pub fn unstored(admin_key: &str) -> Vec<Secret> {
    let mut secrets = secrets(admin_key);
    secrets.push(("a step's token", STEP_TOKEN.to_owned()));
    secrets
}

/// The names of the secrets in these bytes.
pub fn found(bytes: &[u8], secrets: &[Secret]) -> Vec<&'static str> {
    let inside = secrets.iter().filter(|(_, value)| memmem::find(bytes, value.as_bytes()).is_some());
    inside.map(|(name, _)| *name).collect()
}

/// Which secrets are in a file, or in the files of a folder and of its folders: `NAME in PATH`.
pub fn found_in(path: &Path, secrets: &[Secret]) -> io::Result<Vec<String>> {
    if path.is_dir() {
        let mut all = Vec::new();
        for entry in fs::read_dir(path)? {
            all.extend(found_in(&entry?.path(), secrets)?);
        }
        return Ok(all);
    }
    let names = match fs::read(path) {
        Ok(bytes) => found(&bytes, secrets),
        // A journal that SQLite needs no more.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    Ok(names.iter().map(|name| format!("{name} in {}", path.display())).collect())
}

/// Searches bytes that arrive in pieces.
pub struct Watch {
    secrets: Vec<Secret>,
    tail: Vec<u8>,
}

impl Watch {
    /// For the secrets of this run.
    pub fn new() -> Self {
        let admin_key = std::env::var("ESPALIER_ADMIN_KEY").unwrap_or_default();
        Watch { secrets: secrets(&admin_key), tail: Vec::new() }
    }

    /// Fails if the bytes so far contain a secret.
    pub fn piece(&mut self, piece: &[u8]) {
        self.tail.extend_from_slice(piece);
        let names = found(&self.tail, &self.secrets);
        assert!(names.is_empty(), "the service gave {names:?} away");
        // A secret may begin here and end in the next piece.
        let longest = self.secrets.iter().map(|(_, value)| value.len()).max().unwrap_or(0);
        self.tail.drain(..self.tail.len().saturating_sub(longest));
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_searched_however_deep_they_lie() {
        let folder = std::env::temp_dir().join(crate::new_id());
        fs::create_dir_all(folder.join("a/b")).unwrap();
        fs::write(folder.join("clean"), "nothing").unwrap();
        let all = secrets("espk_x");
        assert!(found_in(&folder, &all).unwrap().is_empty());
        let row = [b"\0\xff", LLM_API_KEY.as_bytes(), b"\xff espk_x"].concat();
        fs::write(folder.join("a/b/row.sqlite"), row).unwrap();
        let path = folder.join("a/b/row.sqlite");
        let told = found_in(&folder, &all).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let names = ["LLM_API_KEY", "the admin's API key"];
        assert_eq!(told, names.map(|name| format!("{name} in {}", path.display())));
    }

    #[test]
    #[should_panic(expected = "SESSION_SECRET")]
    fn a_secret_in_two_pieces_is_found() {
        let mut watch = Watch::new();
        let (one, two) = SESSION_SECRET.split_at(9);
        watch.piece(&[&[b'x'; 5_000], one.as_bytes()].concat());
        watch.piece(two.as_bytes());
    }
}
