//! The reader of pages: any split gives the same text, and a window of it is a piece of the whole.

#![no_main]

use features::reader::{PageFormat, Reader, Window};
use libfuzzer_sys::fuzz_target;

const ALL: usize = 1 << 24;

fn read(page: &str, length: usize, window: Window) -> Window {
    let mut reader = Reader::new(PageFormat::Html, "https://example.com/a/b?c=d", window);
    let mut rest = page;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(length));
        reader.feed(piece);
        rest = after;
    }
    reader.finish();
    reader.window
}

fuzz_target!(|data: &[u8]| {
    let Some((length, page)) = espalier_fuzz::split(data) else { return };
    let page = String::from_utf8_lossy(page);
    let whole = read(&page, ALL, Window::new(0, ALL)).text;
    assert_eq!(read(&page, length, Window::new(0, ALL)).text, whole);
    let part = read(&page, length, Window::new(length, 64));
    assert!(part.text.len() <= 64);
    assert!(whole.contains(&part.text) && part.is_full == (part.end() < whole.len()));
});
