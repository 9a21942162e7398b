//! Messages to addresses that users chose.

use futures::FutureExt;

use super::*;
use crate::web::post;
use wire::http::Method;

fn sent(web: &Rc<FakeWeb>, url: &str) -> Result<(), String> {
    let clock: Rc<dyn Clock> = Rc::new(FakeClock::at(0));
    let ports = ports(web, None, config(&[]));
    post(&ports, &clock, url, b"{}".to_vec()).now_or_never().expect("nothing in this web waits")
}

// W-102: whatever the address answers, the sender only learns whether it took the message.
#[test]
fn a_message_is_posted_once_and_only_a_success_counts() {
    let web = web_of(Answer::page("text/plain", ""));
    assert_eq!(sent(&web, "https://hook.example/a"), Ok(()));
    let asked = web.asked.borrow();
    let posts: Vec<_> = asked.iter().filter(|request| request.method == Method::Post).collect();
    assert_eq!(posts.len(), 1);
    assert_eq!(
        (posts[0].url.as_str(), posts[0].body.as_slice()),
        ("https://hook.example/a", b"{}".as_slice())
    );
    for answer in [
        Answer::page("text/plain", "").with(500),
        Answer::page("text/plain", "").with(404),
        Answer::redirect("https://other.example/b"),
        Answer::page("text/plain", "").with(0).of([Piece::Broken]),
    ] {
        let web = web_of(answer);
        assert!(sent(&web, "https://hook.example/a").is_err());
        assert_eq!(web.pages().len(), 1, "no redirect is followed");
    }
}

#[test]
fn a_private_address_takes_no_message() {
    for url in [
        "http://127.0.0.1/a",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://localhost/",
        "ftp://hook.example/a",
    ] {
        let web = web_of(Answer::page("text/plain", ""));
        assert!(sent(&web, url).is_err(), "{url}");
        assert!(web.pages().is_empty(), "{url}");
    }
}
