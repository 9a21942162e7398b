//! The signed state of a turn, which a client of MCP sends with a person's decision: `rs1.KEY.PAYLOAD.MAC`. It names
//! thread and turn, so a repeated `chat` starts no second turn, and nothing is stored for it. It holds for its user and
//! its message alone. The payload is thread, turn and end (16 + 16 + 8 bytes, big-endian), then 16 bytes of a digest over
//! user and message.

use sha2::{Digest, Sha256};
use uuid::Uuid;
use wire::protocol::Owner;
use wire::signing::{Keyring, Use};

const STATES: Use =
    Use { begin: "rs1.", purpose: b"espalier turn state v1\0", key_id: b"espalier turn state key id\0" };
/// Under which a secret of another use makes a key.
const LABEL: &[u8] = b"espalier turn state key v1\0";
/// Two days: a call waits at most one for a person, and its turn may have run before.
const LIFETIME_MS: u64 = 2 * 24 * 3_600_000;

/// The keys of states.
#[derive(Clone, Debug)]
pub struct TurnStates(Box<Keyring>);

impl TurnStates {
    /// Derives keys from `SESSION_SECRET`, or else from `WORKFLOW_SECRET`. Without either there are no states: then no
    /// client is asked, and each learns where a person decides.
    pub fn from_env(var: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let names = ["SESSION_SECRET", "WORKFLOW_SECRET"];
        let keys =
            names.into_iter().filter_map(var).find_map(|secrets| Keyring::derived(&secrets, LABEL, STATES));
        keys.map(Box::new).map(TurnStates)
    }

    /// The state of a turn that this message starts.
    pub fn make(&self, owner: &Owner, thread: Uuid, turn: Uuid, message: &str, now: u64) -> String {
        let mut payload = [thread.into_bytes(), turn.into_bytes()].concat();
        payload.extend(now.saturating_add(LIFETIME_MS).to_be_bytes());
        payload.extend(message_digest(owner, thread, message));
        self.0.sign(&payload)
    }

    /// The thread and the turn of a state; none if it is not of this user and this message, or over.
    pub fn read(&self, state: &str, owner: &Owner, message: &str, now: u64) -> Option<(Uuid, Uuid)> {
        let payload = self.0.verify(state)?;
        let (thread, rest) = payload.split_first_chunk::<16>()?;
        let (turn, rest) = rest.split_first_chunk::<16>()?;
        let (end, digest) = rest.split_first_chunk::<8>()?;
        let (thread, turn) = (Uuid::from_bytes(*thread), Uuid::from_bytes(*turn));
        let is_valid = now < u64::from_be_bytes(*end) && digest == message_digest(owner, thread, message);
        is_valid.then_some((thread, turn))
    }
}

/// The digest of user and message. The name of the user's thread stands for the user.
fn message_digest(owner: &Owner, thread: Uuid, message: &str) -> Vec<u8> {
    let digest = Sha256::new().chain_update(owner.object_name(thread)).chain_update(message).finalize();
    digest.into_iter().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(name: &'static str) -> Option<TurnStates> {
        TurnStates::from_env(|of| (of == name).then(|| "s".repeat(32)))
    }

    fn owner(user: &str) -> Owner {
        Owner { issuer: "key".to_owned(), tenant: "t".to_owned(), user: user.to_owned() }
    }

    // Issue 22
    #[test]
    fn a_state_is_of_its_user_its_message_and_its_time() {
        let states = states("SESSION_SECRET").unwrap();
        let (thread, turn) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let state = states.make(&owner("a"), thread, turn, "Hello", 1_000);
        let read = |state: &str, user, message, now| states.read(state, &owner(user), message, now);
        assert_eq!(read(&state, "a", "Hello", 1_000), Some((thread, turn)));
        assert_eq!(read(&state, "a", "Hello", 999 + LIFETIME_MS), Some((thread, turn)));
        assert_eq!(read(&state, "a", "Hello", 1_000 + LIFETIME_MS), None, "it is over");
        assert_eq!(read(&state, "b", "Hello", 1_000), None, "of another user");
        assert_eq!(read(&state, "a", "hello", 1_000), None, "of another message");
        let cut: String = state.chars().skip(1).collect();
        for wrong in ["", "rs1.", &cut, &format!("{state}A")] {
            assert_eq!(read(wrong, "a", "Hello", 1_000), None, "{wrong}");
        }
    }

    #[test]
    fn a_deployment_without_a_secret_has_no_states() {
        assert!(states("OTHER").is_none());
        assert!(TurnStates::from_env(|_| Some("short".to_owned())).is_none());
        let (one, other) = (states("SESSION_SECRET").unwrap(), states("WORKFLOW_SECRET").unwrap());
        let state = one.make(&owner("a"), Uuid::nil(), Uuid::nil(), "", 0);
        assert!(other.read(&state, &owner("a"), "", 0).is_some(), "the same secret makes the same keys");
    }
}
