//! The audit log: who did what in a tenant, and when. The Worker writes a deed in one batch with the deed itself, so there is
//! none without a row: where the row cannot be written, the deed is refused. The row has the condition that there is something
//! to do, so a request about something that is not there leaves none. A deed outside of D1 has no batch: it gets its row once
//! its object is found, and before it is done. The deeds within a thread come from its object's outbox
//! (`platform::storage::outgoing`). No statement changes a row.

pub mod statements;
#[cfg(target_arch = "wasm32")]
pub mod store;

use uuid::Uuid;
use wire::protocol::{AuditAction, Owner};
use wire::signing::{Keyring, Use};

use crate::router::Row;

const ADDRESSES: Use =
    Use { begin: "", purpose: b"espalier audit address v1\0", key_id: b"espalier audit address key id\0" };
/// Under which a secret of another use makes a key.
const LABEL: &[u8] = b"espalier audit address key v1\0";

/// A deed of a user.
#[derive(Clone, Debug)]
pub struct Deed<'a> {
    pub owner: &'a Owner,
    pub action: AuditAction,
    /// The id of its object.
    pub target: &'a str,
    pub detail: Option<&'a str>,
    /// The HMAC of the client's address.
    pub address: Option<&'a str>,
}

/// The target of a request that deletes data for good: its path without `/api/`. The ids that the service made stand in it.
/// The place of a name that a user chose stays `{}`, because an erasure leaves the log.
pub fn deletion(row: &Row, path: &str) -> Option<String> {
    if !row.deletes {
        return None;
    }
    let pattern = row.path.strip_prefix("/api/")?;
    let given = path.strip_prefix("/api/")?.split('/');
    let segments = pattern.split('/').zip(given).map(|(wanted, given)| match Uuid::try_parse(given) {
        Ok(id) if wanted == "{}" => id.to_string(),
        _ => wanted.to_owned(),
    });
    Some(segments.collect::<Vec<_>>().join("/"))
}

/// The key by which the log recognises an address without having it.
#[derive(Clone, Debug)]
pub struct AddressMarks(Box<Keyring>);

impl AddressMarks {
    /// Derives the key from `SESSION_SECRET`, or else from `WORKFLOW_SECRET`. Without either the log has no addresses: a
    /// digest without a secret would not hide them, since there are few addresses.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let names = ["SESSION_SECRET", "WORKFLOW_SECRET"];
        let keys = names
            .into_iter()
            .filter_map(var)
            .find_map(|secrets| Keyring::derived(&secrets, LABEL, ADDRESSES));
        keys.map(Box::new).map(AddressMarks)
    }

    /// The mark of an address.
    pub fn mark(&self, address: &str) -> String {
        self.0.mark(address.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::{AddressMarks, deletion};
    use crate::router::{Method, table};

    fn marks(name: &'static str) -> Option<AddressMarks> {
        AddressMarks::from_env(|of| (of == name).then(|| "s".repeat(32)))
    }

    // Issue 23
    #[test]
    fn an_address_is_recognised_by_the_deployments_secret_and_hidden() {
        let marks_of_session = marks("SESSION_SECRET").unwrap();
        let mark = marks_of_session.mark("192.0.2.7");
        assert_eq!(mark, marks("WORKFLOW_SECRET").unwrap().mark("192.0.2.7"), "the same secret");
        assert_ne!(mark, marks_of_session.mark("192.0.2.8"));
        assert!(!mark.contains("192.0.2.7"));
        assert!(marks("OTHER").is_none());
        assert!(AddressMarks::from_env(|_| Some("short".to_owned())).is_none());
    }

    #[test]
    fn the_target_of_a_deletion_has_ids_and_no_names() {
        let id = "0199e3a5-7a4c-7c1e-8a55-6f0d6f1d2b3c";
        let target = |method, pattern: &str, path: &str| {
            let row = table().find(|row| row.method == method && row.path == pattern).unwrap();
            deletion(row, path)
        };
        let of = |pattern: &str, path: &str| target(Method::Delete, pattern, path).unwrap();
        assert_eq!(of("/api/memories", "/api/memories"), "memories");
        assert_eq!(of("/api/memories/{}", &format!("/api/memories/{id}")), format!("memories/{id}"));
        assert_eq!(of("/api/workspaces/{}", "/api/workspaces/secret"), "workspaces/{}");
        let path = format!("/api/threads/{id}/files/a/secret/{id}.md");
        assert_eq!(of("/api/threads/{}/files/{*}", &path), format!("threads/{id}/files/{{*}}"));
        assert_eq!(target(Method::Delete, "/api/threads/{}", &format!("/api/threads/{id}")), None);
        assert_eq!(target(Method::Get, "/api/memories", "/api/memories"), None);
    }

    /// The log is append-only for the code: every statement about its table adds to it or reads it.
    #[test]
    fn no_statement_changes_the_log() {
        let crate_root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut folders = vec![crate_root.join("src"), crate_root.join("durable")];
        let (mut adds, mut deletes) = (0, Vec::new());
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                if path.extension().is_none_or(|extension| extension != "rs")
                    || path.ends_with("audit.rs") && path.starts_with(crate_root.join("src"))
                {
                    continue;
                }
                // One space for each run of white space: a statement may stand in several lines.
                let text = std::fs::read_to_string(&path).unwrap().replace("\\\n", " ");
                let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
                for (at, _) in text.match_indices(" audit ").chain(text.match_indices(" audit\"")) {
                    let before = text.get(..at).unwrap().rsplit(' ').next().unwrap().trim_start_matches('"');
                    let verb = text.get(..at).unwrap().rsplit(' ').nth(1).unwrap_or_default();
                    match (verb.trim_start_matches('"'), before) {
                        (_, "update" | "replace") | ("replace", "into") | ("or", "into") => {
                            panic!("{}", path.display())
                        }
                        ("insert", "into") => adds += 1,
                        ("delete", "from") => deletes.push(path.clone()),
                        _ => {}
                    }
                }
                assert!(
                    !text.contains("update audit set") && !text.contains("drop table audit"),
                    "{}",
                    path.display()
                );
            }
        }
        assert!(adds >= 2, "the scan no longer finds the statements");
        assert_eq!(deletes, [crate_root.join("src/retention/store.rs")], "the retention alone deletes");
    }
}
