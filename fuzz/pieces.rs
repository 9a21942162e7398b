//! Foreign bytes as the network brings them: in pieces.

/// The input's first byte gives the length of the pieces into which the rest is divided.
pub fn split(data: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = data.split_first()?;
    Some((usize::from(*first) % 32 + 1, rest))
}
