//! The limits of a request's head: its address, and all its headers together. The platform bounds them too, but at the
//! edge and locally at different sizes. These limits are below both, and are checked before anything else.

use wire::protocol::{ApiError, ErrorCode};

/// The longest address in bytes. Cloudflare accepts as much at its edge, and the longest path of a file fits with every
/// byte escaped.
pub const MAX_URL_BYTES: usize = 16 << 10;

/// The most bytes of all names and values of headers: room for four of the longest tokens. Browsers send a few hundred
/// bytes, and Cloudflare adds as many.
pub const MAX_HEADER_BYTES: usize = 32 << 10;

/// Refuses a head beyond the limits. It stops reading headers at the limit.
pub fn bounded(url: &str, headers: impl IntoIterator<Item = (String, String)>) -> Result<(), ApiError> {
    if url.len() > MAX_URL_BYTES {
        let detail = format!("the address is longer than {MAX_URL_BYTES} bytes");
        return Err(ApiError::new(ErrorCode::UriTooLong, detail));
    }
    let mut left = MAX_HEADER_BYTES;
    for (name, value) in headers {
        left = left.checked_sub(name.len() + value.len()).ok_or_else(|| {
            let detail = format!("the headers are larger than {MAX_HEADER_BYTES} bytes together");
            ApiError::new(ErrorCode::HeadersTooLarge, detail)
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MAX_HEADER_BYTES, MAX_URL_BYTES, bounded};

    fn header(bytes: usize) -> (String, String) {
        ("name".to_owned(), "v".repeat(bytes - 4))
    }

    #[test]
    fn an_address_is_bounded() {
        let url = |bytes: usize| bounded(&"u".repeat(bytes), []).map_err(|error| error.code.as_str());
        assert_eq!(url(MAX_URL_BYTES), Ok(()));
        assert_eq!(url(MAX_URL_BYTES + 1), Err("uri_too_long"));
    }

    #[test]
    fn headers_are_bounded_together() {
        let sent = |sizes: &[usize]| {
            bounded("/", sizes.iter().map(|bytes| header(*bytes))).map_err(|error| error.code.as_str())
        };
        assert_eq!(sent(&[]), Ok(()));
        assert_eq!(sent(&[MAX_HEADER_BYTES]), Ok(()));
        assert_eq!(sent(&[MAX_HEADER_BYTES + 1]), Err("headers_too_large"));
        assert_eq!(sent(&[MAX_HEADER_BYTES - 10, 10]), Ok(()));
        assert_eq!(sent(&[MAX_HEADER_BYTES - 10, 11]), Err("headers_too_large"));
        assert_eq!(sent(&[8; MAX_HEADER_BYTES / 8]), Ok(()));
        assert_eq!(sent(&[8; MAX_HEADER_BYTES / 8 + 1]), Err("headers_too_large"));
    }

    #[test]
    fn reading_stops_at_the_limit() {
        let mut read = 0;
        let endless = std::iter::repeat_with(|| {
            read += 1;
            header(1024)
        });
        assert!(bounded("/", endless).is_err());
        assert_eq!(read, MAX_HEADER_BYTES / 1024 + 1);
    }
}
