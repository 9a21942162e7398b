//! Writes a WAV with a tone for each word.

/// The samples of a second, of one byte each.
const RATE: u32 = 8_000;
/// The samples of a word's tone.
const WORD: u32 = RATE / 8;
/// The most tones: five seconds.
const MAX_WORDS: usize = 40;

pub(super) fn encode(text: &str) -> Vec<u8> {
    let samples: Vec<u8> = text.split_whitespace().take(MAX_WORDS).flat_map(tone).collect();
    let length = u32::try_from(samples.len()).unwrap_or_default();
    let mut wav = b"RIFF".to_vec();
    wav.extend_from_slice(&(length + 36).to_le_bytes());
    wav.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    wav.extend_from_slice(&RATE.to_le_bytes());
    // As many bytes as samples; a sample is a byte of eight bits.
    wav.extend_from_slice(&RATE.to_le_bytes());
    wav.extend_from_slice(b"\x01\0\x08\0data");
    wav.extend_from_slice(&length.to_le_bytes());
    wav.extend(samples);
    wav
}

/// A triangular wave, whose height says the letters of the word, and which fades.
fn tone(word: &str) -> impl Iterator<Item = u8> {
    let letters = word.bytes().fold(0_u32, |sum, letter| sum + u32::from(letter));
    let period = 12 + letters % 28;
    (0..WORD).map(move |sample| {
        let phase = sample % period * 256 / period;
        let wave = phase.min(255 - phase);
        let loudness = WORD - sample;
        (128 + wave * loudness / WORD - 64 * loudness / WORD) as u8
    })
}
