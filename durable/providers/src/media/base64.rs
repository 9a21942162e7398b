//! Decodes base64 that arrives in pieces.

/// The symbols whose bytes are not complete yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Base64 {
    bits: u32,
    /// How many symbols `bits` has, at most three.
    symbols: u8,
    /// Whether the padding has begun, after which nothing may follow.
    is_padded: bool,
}

/// The text is no base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoBase64;

impl Base64 {
    /// Appends the bytes that this text completes. It may have line ends, and the alphabet of addresses.
    pub fn feed(&mut self, text: &[u8], bytes: &mut Vec<u8>) -> Result<(), NoBase64> {
        for byte in text {
            let value = match byte {
                b'\r' | b'\n' => continue,
                b'=' => {
                    self.is_padded = true;
                    continue;
                }
                _ if self.is_padded => return Err(NoBase64),
                b'A'..=b'Z' => byte - b'A',
                b'a'..=b'z' => byte - b'a' + 26,
                b'0'..=b'9' => byte - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                _ => return Err(NoBase64),
            };
            self.bits = (self.bits << 6) | u32::from(value);
            self.symbols += 1;
            if self.symbols == 4 {
                let [_, one, two, three] = self.bits.to_be_bytes();
                bytes.extend_from_slice(&[one, two, three]);
                (self.bits, self.symbols) = (0, 0);
            }
        }
        Ok(())
    }

    /// Ends the text, whose padding may be missing.
    pub fn finish(self, bytes: &mut Vec<u8>) -> Result<(), NoBase64> {
        match (self.symbols, (self.bits << 8).to_be_bytes()) {
            (0, _) => Ok(()),
            (2, _) => {
                bytes.push((self.bits >> 4) as u8);
                Ok(())
            }
            (3, _) => {
                bytes.extend_from_slice(&[(self.bits >> 10) as u8, (self.bits >> 2) as u8]);
                Ok(())
            }
            _ => Err(NoBase64),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::media::in_base64;

    use super::*;

    fn decoded(pieces: &[&[u8]]) -> Result<Vec<u8>, NoBase64> {
        let (mut decoder, mut bytes) = (Base64::default(), Vec::new());
        for piece in pieces {
            decoder.feed(piece, &mut bytes)?;
        }
        decoder.finish(&mut bytes)?;
        Ok(bytes)
    }

    #[test]
    fn texts_that_are_no_base64_are_refused() {
        assert_eq!(decoded(&[b"aGk="]).unwrap(), b"hi");
        assert_eq!(decoded(&[b"aGk"]).unwrap(), b"hi", "without padding");
        assert_eq!(decoded(&[b"aG\r\nk="]).unwrap(), b"hi", "with a line end");
        assert_eq!(decoded(&[b"-_8="]).unwrap(), decoded(&[b"+/8="]).unwrap());
        for wrong in ["a", "aGk=a", "a Gk", "aGk\u{e9}", "aGkaa", "aG\0k"] {
            assert_eq!(decoded(&[wrong.as_bytes()]), Err(NoBase64), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn bytes_come_back_whole_and_split(bytes in prop::collection::vec(any::<u8>(), 0..64), at in 0..90_usize) {
            let text = in_base64(&bytes);
            let (one, two) = text.as_bytes().split_at(at.min(text.len()));
            prop_assert_eq!(decoded(&[one, two]), Ok(bytes));
        }
    }
}
