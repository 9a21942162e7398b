//! The owner of data, and the ids and folders that come of them.
//!
//! An object's name is a SHA-256 over the length-prefixed issuer, tenant, user and thread id. Another user's thread id
//! names another, empty object, so no check can be forgotten. The object also keeps its owner in `meta` and compares
//! it. A read of an object that was never written to creates nothing. In D1 each key begins with `tenant, user_id`,
//! where `user_id` is `issuer:user` and an issuer has no colon.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// The issuer of visitors, who have neither a key nor a token.
pub const ANONYMOUS: &str = "anonymous";

/// The owner of data. Clients choose their ids, so an id identifies data only together with its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The issuer that vouches for the user: `anonymous`, `key`, or a JWT issuer's configured name. It contains no
    /// colon.
    pub issuer: String,
    pub tenant: String,
    /// The issuer's own name of the user.
    pub user: String,
}

impl Owner {
    /// The `user_id` of D1's keys: unambiguous, because an issuer contains no colon.
    pub fn user_id(&self) -> String {
        format!("{}:{}", self.issuer, self.user)
    }

    /// The name of a thread's object: a digest over length-prefixed parts, so any two owners have different names,
    /// whatever ids they choose.
    pub fn object_name(&self, thread_id: Uuid) -> String {
        hex(&self.digest(&["thread", &thread_id.to_string()]))
    }

    /// The prefix of the keys of all files of a thread.
    pub fn workspace_root(&self, thread_id: Uuid) -> String {
        format!("{THREADS}{}/", self.object_name(thread_id))
    }

    /// The prefix of the keys of all records of a thread.
    pub fn records_root(&self, thread_id: Uuid) -> String {
        format!("{RECORDS}{}/", self.object_name(thread_id))
    }

    /// The prefix of the keys of the user's named workspaces, one folder each.
    pub fn workspaces_root(&self) -> String {
        format!("{WORKSPACES}{}/", hex(&self.digest(&["workspaces"])))
    }

    /// The thread of a request that names none. A blind retry of the same turn gets the same thread.
    pub fn derived_thread(&self, turn_id: Uuid) -> Uuid {
        self.derived(&["derived thread", &turn_id.to_string()])
    }

    /// The thread of a session that a client carries out. Who knows the session's id has the thread's.
    pub fn session_thread(&self, session_id: Uuid) -> Uuid {
        self.derived(&["session thread", &session_id.to_string()])
    }

    /// The thread that a client of a dialect calls by this name.
    pub fn dialect_thread(&self, dialect: &str, name: &str) -> Uuid {
        self.derived(&["dialect thread", dialect, name])
    }

    /// The turn of a client's message in a thread. The same message again gets the same turn.
    pub fn dialect_turn(&self, thread_id: Uuid, id: &str, message: &str) -> Uuid {
        self.derived(&["dialect turn", &thread_id.to_string(), id, message])
    }

    /// The word that limits a search in an index of all users to this user.
    pub fn token(&self) -> String {
        self.token_of(&[])
    }

    /// The same word for one item of this user.
    pub fn token_of(&self, rest: &[&str]) -> String {
        hex(self.digest(&[&["indexed"], rest].concat()).get(..16).unwrap_or_default())
    }

    /// The id of the memory that a call writes. A repeated call gets the same id. Call ids are unique within a thread.
    pub fn memory_id(&self, thread_id: &str, operation_id: &str) -> Uuid {
        self.derived(&["memory", thread_id, operation_id])
    }

    fn derived(&self, rest: &[&str]) -> Uuid {
        let mut bytes = [0_u8; 16];
        for (to, from) in bytes.iter_mut().zip(self.digest(rest)) {
            *to = from;
        }
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }

    fn digest(&self, rest: &[&str]) -> [u8; 32] {
        digest([self.issuer.as_str(), &self.tenant, &self.user].into_iter().chain(rest.iter().copied()))
    }
}

/// The prefixes of the keys of all files of threads, of all records, and of all files in named workspaces.
const THREADS: &str = "threads/";
const RECORDS: &str = "records/";
const WORKSPACES: &str = "workspaces/";
/// All of them.
pub const FOLDERS: [&str; 3] = [THREADS, RECORDS, WORKSPACES];

/// The most bytes of a key of R2 (https://developers.cloudflare.com/r2/platform/limits/, "Object key length").
const MAX_KEY_BYTES: usize = 1_024;

/// The key of an object of R2: the prefix of its folder, and its name there. None where R2 refuses a key of this length,
/// so that there can be no such object. Every key comes from here.
pub fn r2_key(folder: &str, name: &str) -> Option<String> {
    (folder.len() + name.len() <= MAX_KEY_BYTES).then(|| format!("{folder}{name}"))
}

/// The folder of all named workspaces of the user, found from one of them. None for a thread's own workspace.
pub fn workspaces_beside(root: &str) -> Option<&str> {
    let owners = root.strip_prefix(WORKSPACES)?;
    let end = owners.find('/')? + 1;
    root.get(..WORKSPACES.len() + end)
}

/// The name of the object that keeps a tenant's quotas. It digests two parts and a thread's name digests five, so the
/// two never collide.
pub fn quota_object_name(tenant: &str) -> String {
    hex(&digest(["quota", tenant].into_iter()))
}

fn digest<'a>(parts: impl Iterator<Item = &'a str>) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().into()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // N-103
    #[test]
    fn a_key_has_as_many_bytes_as_r2_takes() {
        let fits = "ä".repeat((MAX_KEY_BYTES - 4) / 2);
        assert_eq!(r2_key("a/b/", &fits), Some(format!("a/b/{fits}")));
        assert_eq!(r2_key("a/bc/", &fits), None);
    }
}
