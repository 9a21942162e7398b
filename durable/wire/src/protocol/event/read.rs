//! Reads events: those of the log, and in tests those of a stream.

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::value::RawValue;

use super::{Numbered, Seq};

impl<'de> Deserialize<'de> for Numbered {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Number {
            seq: Seq,
            turn_id: String,
        }
        let json = Box::<RawValue>::deserialize(from)?;
        let Number { seq, turn_id } = crate::json::from_str(json.get()).map_err(D::Error::custom)?;
        Ok(Numbered { seq, turn_id, event: crate::json::from_str(json.get()).map_err(D::Error::custom)? })
    }
}

#[cfg(test)]
mod tests;
