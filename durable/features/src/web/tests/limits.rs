//! Bodies without an end, servers without haste, pages with intent.

use super::*;

// A body that never ends is read as far as is told, or as far as is read at all.
#[test]
fn gigabytes_are_not_read() {
    for (piece, most, told) in [
        ("<p>hello", page::MAX_TOLD_BYTES * 2, "there is more: read on with from 40000"),
        ("<!-- never told", page::MAX_BODY_BYTES, "no more than 5242880 bytes of it are read"),
        ("<script>evil()", page::MAX_BODY_BYTES, "no more than 5242880 bytes of it are read"),
        ("\u{fffd}", page::MAX_TOLD_BYTES * 2, "there is more: read on with from"),
    ] {
        let block = piece.repeat(16_384 / piece.len());
        let web = web_of(html("").of([Piece::Endless(block.clone().into_bytes())]));
        let text = fetch(&web, &page("https://example.com/")).unwrap();
        let head = text.lines().next().unwrap();
        assert!(head.contains(told), "{piece}: {head}");
        // One read more, and what the resolver said.
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
    assert!(head("text/html", whole(page::MAX_BODY_BYTES)).ends_with("; that is all of it"));
    assert!(
        head("text/html", whole(page::MAX_BODY_BYTES + 1))
            .ends_with("no more than 5242880 bytes of it are read")
    );
    let told = |bytes: usize| head("text/plain", vec![b'x'; bytes]);
    assert!(told(page::MAX_TOLD_BYTES).ends_with("bytes 0 to 40000 of its text; that is all of it"));
    assert!(told(page::MAX_TOLD_BYTES + 1).ends_with("there is more: read on with from 40000"));
}

#[test]
fn slow_servers_and_broken_connections() {
    let hurried = |answer: Option<Answer>| {
        let web = FakeWeb::new(move |_| answer.clone());
        let outcome =
            run_on(&web, &config(&[]), Rc::new(Hurried), "fetch_page", &page("https://example.com/"));
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

/// Pages that are made to hurt: deep, wide, endless in one piece. A parser whose work grew with the square of any of
/// these would not come to an end here.
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
        // As it is read: in pieces, and no further than is told.
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
