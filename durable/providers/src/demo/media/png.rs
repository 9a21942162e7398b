//! Writes a PNG of computed pixels (<https://www.w3.org/TR/png-3/>), without compression
//! (<https://www.rfc-editor.org/rfc/rfc1951>, "Non-compressed blocks").

/// The most bytes of a block without compression.
const BLOCK: usize = 0xffff;

/// A picture of this size. Its palette and its pattern depend on the seed.
pub(super) fn encode(width: u32, height: u32, seed: [u8; 32]) -> Vec<u8> {
    let [red, green, blue, twist, east, south, ..] = seed;
    let palette: Vec<u8> = (0..=u8::MAX)
        .flat_map(|level| [red, green, blue].map(|colour| level.wrapping_add(colour) ^ (colour >> 1)))
        .collect();
    let mut rows = Vec::new();
    for y in 0..height {
        // No filter.
        rows.push(0);
        rows.extend((0..width).map(|x| level(x, y, [twist, east, south])));
    }
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    // Eight bits each, which are a place in the palette.
    let head = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 3, 0, 0, 0]].concat();
    chunk(b"IHDR", &head, &mut png);
    chunk(b"PLTE", &palette, &mut png);
    chunk(b"IDAT", &stored(&rows), &mut png);
    chunk(b"IEND", &[], &mut png);
    png
}

/// Two waves that cross each other.
fn level(x: u32, y: u32, [twist, east, south]: [u8; 3]) -> u8 {
    let wave = |along: u32, slope: u8| {
        let phase = along.wrapping_mul(u32::from(slope % 7) + 1) % 512;
        phase.min(511 - phase)
    };
    let sum = wave(x.wrapping_add(y / 2), east) + wave(y.wrapping_add(x / 3), south);
    ((sum / 2) as u8) ^ (((x ^ y) as u8 & 0x0f) * (twist & 1))
}

fn chunk(kind: &[u8; 4], content: &[u8], png: &mut Vec<u8>) {
    let length = u32::try_from(content.len()).unwrap_or_default();
    png.extend_from_slice(&length.to_be_bytes());
    png.extend_from_slice(kind);
    png.extend_from_slice(content);
    let sum = crc(content, crc(kind, u32::MAX));
    png.extend_from_slice(&(!sum).to_be_bytes());
}

/// The checksum of a chunk so far (the page above, "CRC algorithm").
pub(super) fn crc(bytes: &[u8], sum: u32) -> u32 {
    bytes.iter().fold(sum, |sum, byte| {
        let half =
            |sum: u32| (0..4).fold(sum, |sum, _| (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()));
        half(half(sum ^ u32::from(*byte)))
    })
}

/// The bytes as a stream of zlib (<https://www.rfc-editor.org/rfc/rfc1950>) that stores them as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(BLOCK).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or_default();
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend_from_slice(&adler(bytes).to_be_bytes());
    stream
}

/// The checksum of a stream of zlib.
pub(super) fn adler(bytes: &[u8]) -> u32 {
    let (one, two) = bytes.iter().fold((1_u32, 0_u32), |(one, two), byte| {
        let one = (one + u32::from(*byte)) % 65_521;
        (one, (two + one) % 65_521)
    });
    (two << 16) | one
}
