//! New ids.

use uuid::{Builder, Uuid};

/// A UUIDv7, with the platform's randomness. Ids are ordered by time to the millisecond.
pub fn uuid_v7(now_ms: u64) -> Result<Uuid, getrandom::Error> {
    let mut random = [0_u8; 10];
    getrandom::fill(&mut random)?;
    Ok(Builder::from_unix_timestamp_millis(now_ms, &random).into_uuid())
}

#[cfg(test)]
mod tests {
    use super::uuid_v7;

    #[test]
    fn ids_carry_their_time_and_differ() {
        let (first, second) = (uuid_v7(1_700_000_000_000).unwrap(), uuid_v7(1_700_000_000_000).unwrap());
        assert_ne!(first, second);
        assert_eq!(first.get_version_num(), 7);
        assert!(first.to_string().starts_with("018bcfe5-6800-7"));
    }
}
