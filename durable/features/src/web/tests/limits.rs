//! Endless bodies, slow servers, hostile pages.

use super::*;

// The client reads an endless body up to the window's end or up to the limit of a body.
#[test]
fn endless_bodies_are_read_to_a_limit() {
    for (piece, most, told) in [
        ("<p>hello", page::MAX_TOLD_BYTES * 2, "there is more: read on with from 40000"),
        ("<!-- never told", page::MAX_BODY_BYTES, "but the limit is 5242880 bytes"),
        ("<script>evil()", page::MAX_BODY_BYTES, "but the limit is 5242880 bytes"),
        ("\u{fffd}", page::MAX_TOLD_BYTES * 2, "there is more: read on with from"),
    ] {
        let block = piece.repeat(16_384 / piece.len());
        let web = web_of(html("").of([Piece::Endless(block.clone().into_bytes())]));
        let text = fetch(&web, &page("https://example.com/")).unwrap();
        let head = text.lines().next().unwrap();
        assert!(head.contains(told), "{piece}: {head}");
        // One more read, and the resolver's reply.
        assert!(web.taken.get() <= most + 2 * block.len(), "{piece}: {}", web.taken.get());
        assert_eq!(web.open.get(), 0, "{piece}: the connection was closed");
    }
}

#[test]
fn the_limits_to_the_byte() {
    let head = |media: &'static str, body: Vec<u8>| {
        let pieces: Vec<Piece> = body.chunks(100_000).map(|piece| Piece::Bytes(piece.to_vec())).collect();
        let text = fetch(&web_of(Answer::page(media, "").of(pieces)), &page("https://example.com/")).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    let whole = |bytes: usize| [b"<!--", vec![b'x'; bytes - 8].as_slice(), b"-->x"].concat();
    assert_eq!(whole(9).len(), 9);
    assert!(head("text/html", whole(page::MAX_BODY_BYTES)).ends_with("; this is the end"));
    assert!(head("text/html", whole(page::MAX_BODY_BYTES + 1)).ends_with("but the limit is 5242880 bytes"));
    let told = |bytes: usize| head("text/plain", vec![b'x'; bytes]);
    assert!(told(page::MAX_TOLD_BYTES).ends_with("bytes 0 to 40000 of its text; this is the end"));
    assert!(told(page::MAX_TOLD_BYTES + 1).ends_with("there is more: read on with from 40000"));
}

#[test]
fn slow_servers_and_broken_connections() {
    let hurried = |answer: Option<Answer>| {
        let web = FakeWeb::new(move |_| answer.clone());
        let outcome = run_on(
            &web,
            &config(&[]),
            Rc::new(FakeClock::eager()),
            "fetch_page",
            &page("https://example.com/"),
        );
        assert_eq!(web.open.get(), 0);
        outcome
    };
    let hello = || Piece::Bytes(b"<p>hello".to_vec());
    assert_eq!(hurried(None).unwrap_err(), "https://example.com/ did not answer within 19 s");
    let silent = hurried(Some(html("").of([Piece::Silence]))).unwrap_err();
    assert_eq!(silent, "https://example.com/ did not answer in time");
    let slow = hurried(Some(html("").of([hello(), Piece::Silence]))).unwrap();
    assert!(
        slow.contains("; the page goes on, but its server was too slow\n") && slow.ends_with("hello"),
        "{slow}"
    );
    let broken = hurried(Some(html("").of([hello(), Piece::Broken]))).unwrap();
    assert!(
        broken.contains("; the page goes on, but the connection broke\n") && broken.ends_with("hello"),
        "{broken}"
    );
    let nothing = hurried(Some(html("").of([Piece::Broken]))).unwrap_err();
    assert_eq!(nothing, "https://example.com/ closed the connection without an answer");
}

/// Hostile pages: deep, wide, with one huge node. A parser with quadratic work would not finish here.
#[test]
fn hostile_pages() {
    let five = |piece: &str| piece.repeat(page::MAX_BODY_BYTES / piece.len());
    let attributes = format!("<a {}>", (0..200_000).map(|n| format!("a{n}=1 ")).collect::<String>());
    for (name, page) in [
        ("divs", format!("{}deep", "<div>".repeat(100_000))),
        ("<", five("<")),
        ("</", five("</")),
        ("<!", five("<!")),
        ("<a ", five("<a ")),
        ("ends", five("</div>")),
        ("lists", five("<ul><li>x")),
        ("quotes", five("<blockquote>x")),
        ("bold", five("<b>x")),
        ("bold paragraphs", five("<b><p>")),
        ("links", five("<a href=x>y")),
        ("tables", five("<table><tr><td>")),
        ("a row", format!("<table><tr>{}", five("<td>x"))),
        ("entities", five("&amp;")),
        ("half entities", five("&#")),
        ("ticks", five("`")),
        ("headings", five("<h1>x")),
        ("attributes", attributes),
        ("an attribute", format!("<a href=\"{}", five("x"))),
        ("nothing", five(" \n")),
        ("zero", five("\0")),
    ] {
        let url = format!("https://example.com/{}", "long/".repeat(400));
        // In pieces, up to the window's end.
        let mut reader = Reader::new(PageFormat::Html, &url, Window::new(0, page::MAX_TOLD_BYTES));
        for piece in page.as_bytes().chunks(16_384) {
            reader.feed(std::str::from_utf8(piece).unwrap());
            if reader.window.is_full {
                break;
            }
        }
        reader.finish();
        assert!(reader.window.text.len() <= page::MAX_TOLD_BYTES, "{name}");
    }
}
