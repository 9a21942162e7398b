//! The tokens of steps: `ct1.KEY.PAYLOAD.MAC`. A token proves that its holder was given the step that the session stands
//! at. The payload is session, step and nonce (16 + 4 + 16 bytes, big-endian). Nothing stores a token: a row has the nonce
//! and the id of the key, from which the service makes the token when it hands it out.

use uuid::Uuid;
use wire::protocol::hex;
use wire::signing::{Keyring, Use};

/// The use of the keys, in both modes.
const STEPS: Use =
    Use { begin: "ct1.", purpose: b"espalier workflow step v1\0", key_id: b"espalier workflow key id\0" };
/// Under which the secret of sessions makes a key, where there is no secret of workflows.
const LABEL: &[u8] = b"espalier workflow key v1\0";

/// A random number that stands in the token of one step of one session, and in no other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nonce(pub [u8; 16]);

impl Nonce {
    /// The number as a row has it.
    pub fn text(self) -> String {
        hex(&self.0)
    }

    /// The number of this text.
    pub fn read(text: &str) -> Option<Nonce> {
        let is_one = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u128::from_str_radix(text, 16).ok().filter(|_| is_one)?;
        Some(Nonce(value.to_be_bytes()))
    }
}

// A nonce is half of a token.
impl std::fmt::Debug for Nonce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Nonce")
    }
}

/// The content of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    pub session: Uuid,
    pub step: u32,
    pub nonce: Nonce,
}

/// The keys of tokens.
#[derive(Clone, Debug)]
pub struct Tokens {
    keys: Keyring,
    /// Whether the keys outlive this memory. Clients get tokens only then.
    lasting: bool,
}

impl Tokens {
    /// Reads `WORKFLOW_SECRET`, or else derives keys from `SESSION_SECRET`. Without either the key is made of `random`: it
    /// serves within this memory, so the turns of the service need no secret.
    pub fn from_env(var: impl Fn(&str) -> Option<String>, random: [u8; 32]) -> Result<Self, String> {
        let given = |name: &str| var(name).filter(|value| !value.trim().is_empty());
        if let Some(secrets) = given("WORKFLOW_SECRET") {
            let keys = Keyring::from_secrets(&secrets, STEPS).ok_or_else(malformed)?;
            return Ok(Tokens { keys, lasting: true });
        }
        let derived = given("SESSION_SECRET").and_then(|secrets| Keyring::derived(&secrets, LABEL, STEPS));
        match derived {
            Some(keys) => Ok(Tokens { keys, lasting: true }),
            None => {
                let keys = Keyring::from_bytes(&random, STEPS).ok_or_else(malformed)?;
                Ok(Tokens { keys, lasting: false })
            }
        }
    }

    /// Whether clients may carry out sessions.
    pub fn are_lasting(&self) -> bool {
        self.lasting
    }

    /// The id of the key that signs.
    pub fn key_id(&self) -> &str {
        self.keys.id()
    }

    /// The token of a claim, by the key with this id where it is still there.
    pub fn make(&self, claim: Claim, key_id: &str) -> String {
        let mut payload = claim.session.into_bytes().to_vec();
        payload.extend(claim.step.to_be_bytes());
        payload.extend(claim.nonce.0);
        self.keys.sign_by(key_id, &payload)
    }

    /// The claim of a token; none if no key here signed it.
    pub fn read(&self, token: &str) -> Option<Claim> {
        let payload = self.keys.verify(token)?;
        let (session, rest) = payload.split_first_chunk::<16>()?;
        let (step, nonce) = rest.split_first_chunk::<4>()?;
        let nonce = Nonce(nonce.try_into().ok()?);
        Some(Claim { session: Uuid::from_bytes(*session), step: u32::from_be_bytes(*step), nonce })
    }
}

fn malformed() -> String {
    "The variable WORKFLOW_SECRET is malformed: give one secret of at least 32 bytes, or up to eight with commas between \
     them."
        .to_owned()
}
