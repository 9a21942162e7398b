//! The addresses that the guard accepts and refuses.

use serde::Deserialize;

use super::*;
use wire::http::Method;

#[derive(Deserialize)]
struct Address {
    url: String,
    told: Option<String>,
}

#[derive(Deserialize)]
struct Chain {
    hops: Vec<String>,
    told: Option<String>,
}

#[test]
fn the_corpus_of_addresses() {
    let cases: Vec<Address> = serde_json::from_str(include_str!("../addresses.json")).unwrap();
    assert!(cases.iter().filter(|case| case.told.is_some()).count() >= 60);
    for Address { url, told } in cases {
        let web = web_of(html("hello"));
        let outcome = fetch(&web, &page(&url));
        match (told, outcome) {
            (Some(told), Err(refusal)) => {
                assert!(refusal.contains(&told) && refusal.contains("is refused"), "{url:?}: {refusal}");
                assert!(web.asked.borrow().is_empty(), "{url:?}: nothing was asked");
            }
            (None, Ok(text)) => assert!(text.ends_with("hello"), "{url:?}: {text}"),
            (told, outcome) => panic!("{url:?}: {told:?}, but {outcome:?}"),
        }
    }
}

#[test]
fn the_corpus_of_chains() {
    let cases: Vec<Chain> = serde_json::from_str(include_str!("../chains.json")).unwrap();
    for Chain { hops, told } in cases {
        let (first, rest) = hops.split_first().unwrap();
        let (steps, asked) = (rest.to_vec(), std::cell::Cell::new(0));
        let web = FakeWeb::new(move |_| {
            let step = asked.replace(asked.get() + 1);
            Some(steps.get(step).map_or_else(|| html("the end"), |to| Answer::redirect(to)))
        });
        let outcome = fetch(&web, &page(first));
        match (told, outcome) {
            (Some(told), Err(refusal)) => {
                assert!(refusal.contains(&told), "{hops:?}: {refusal}");
                assert!(web.pages().len() < hops.len(), "{hops:?}: the last one was not asked");
            }
            (None, Ok(text)) => {
                assert!(text.ends_with("the end"), "{hops:?}: {text}");
                assert_eq!(web.pages().len(), hops.len());
                // The client resolved each name before it connected.
                assert!(web.asked.borrow().len() == 3 * hops.len());
            }
            (told, outcome) => panic!("{hops:?}: {told:?}, but {outcome:?}"),
        }
        assert_eq!(web.open.get(), 0, "{hops:?}: no connection is left open");
    }
}

#[test]
fn requests_name_the_client_and_carry_no_credentials() {
    let web = web_of(Answer::redirect("https://b.example.com/"));
    fetch(&web, &page("https://a.example.com/")).unwrap_err();
    for request in web.asked.borrow().iter().filter(|request| !request.url.starts_with(testing::RESOLVER)) {
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["user-agent", "accept"]);
        assert!(
            request.headers[0].1.starts_with("Espalier/")
                && request.method == Method::Get
                && request.body.is_empty()
        );
    }
}

#[test]
fn the_operator_may_name_private_hosts_by_their_ports() {
    let allowed = [("FETCH_ALLOW", "127.0.0.1:8080, wiki.internal:80,[::1]:8443")];
    for (url, is_allowed) in [
        ("http://127.0.0.1:8080/x", true),
        ("http://0x7f.1:8080/", true),
        ("http://wiki.internal/", true),
        ("https://[::1]:8443/", true),
        ("http://127.0.0.1/", false),
        ("http://127.0.0.1:8081/", false),
        ("https://wiki.internal/", false),
        ("http://wiki.internal.example.com:8080/", false),
        ("http://[::2]:8443/", false),
        ("http://user@127.0.0.1:8080/", false),
        ("ftp://127.0.0.1:8080/", false),
    ] {
        let web = web_of(html("hello"));
        let outcome = run_on(&web, &config(&allowed), Rc::new(FakeClock::at(0)), "fetch_page", &page(url));
        assert_eq!(outcome.is_ok(), is_allowed, "{url}: {outcome:?}");
        // Such a host has no public address.
        assert_eq!(web.asked.borrow().len(), usize::from(is_allowed), "{url}");
    }
    for wrong in ["127.0.0.1", "http://127.0.0.1:80", "a:b", "a:80/x", "u@a:80", ":80", "a:99999", "a b:80"] {
        assert!(Guard::allowing(wrong).unwrap_err().contains("HOST:PORT"), "{wrong}");
    }
    let most: Vec<String> = (1..=33).map(|port| format!("a:{port}")).collect();
    assert!(Guard::allowing(&most[..32].join(",")).is_ok() && Guard::allowing(&most.join(",")).is_err());
}

#[test]
fn names_are_resolved_unless_the_operator_does_without() {
    for (name, told) in [
        ("large.example.com", "could not be resolved"),
        ("refused.example.com", "could not be resolved"),
        ("silent.example.com", "could not be resolved"),
    ] {
        let web = web_of(html("hello"));
        let refusal = run_on(
            &web,
            &config(&[]),
            Rc::new(FakeClock::eager()),
            "fetch_page",
            &page(&format!("https://{name}/")),
        )
        .unwrap_err();
        assert!(refusal.contains(told) && web.pages().is_empty(), "{name}: {refusal}");
        assert_eq!(web.open.get(), 0, "{name}");
    }
    let (web, off) = (web_of(html("hello")), [("FETCH_RESOLVER", "off")]);
    run_on(
        &web,
        &config(&off),
        Rc::new(FakeClock::at(0)),
        "fetch_page",
        &page("https://rebound.example.com/"),
    )
    .unwrap();
    assert_eq!(web.asked.borrow().len(), 1);
}

// Long: a table of addresses.
#[test]
fn public_addresses_are_recognised() {
    for (address, public) in [
        ("1.1.1.1", true),
        ("9.255.255.255", true),
        ("11.0.0.0", true),
        ("100.63.255.255", true),
        ("100.128.0.0", true),
        ("172.15.255.255", true),
        ("172.32.0.0", true),
        ("192.0.1.0", true),
        ("192.167.255.255", true),
        ("198.17.255.255", true),
        ("198.20.0.0", true),
        ("223.255.255.255", true),
        ("169.253.255.255", true),
        ("0.1.2.3", false),
        ("10.255.255.255", false),
        ("100.64.0.0", false),
        ("100.127.255.255", false),
        ("127.255.255.255", false),
        ("169.254.0.0", false),
        ("172.16.0.0", false),
        ("172.31.255.255", false),
        ("192.0.0.8", false),
        ("192.0.2.1", false),
        ("192.88.99.1", false),
        ("192.168.255.255", false),
        ("198.18.0.0", false),
        ("198.19.255.255", false),
        ("198.51.100.1", false),
        ("203.0.113.1", false),
        ("224.0.0.0", false),
        ("240.0.0.0", false),
        ("255.255.255.255", false),
        ("2606:4700::1111", true),
        ("2a00:1450::1", true),
        ("2001:4860::8888", true),
        ("2001:200::1", true),
        ("::", false),
        ("::1", false),
        ("::ffff:1.1.1.1", false),
        ("::7f00:1", false),
        ("64:ff9b::101:101", false),
        ("64:ff9b:1::1", false),
        ("100::1", false),
        ("2001::1", false),
        ("2001:1ff::1", false),
        ("2001:db8::1", false),
        ("2002:101:101::", false),
        ("3fff:fff::1", false),
        ("3fff:1000::1", true),
        ("5f00::1", false),
        ("fc00::1", false),
        ("fdff::1", false),
        ("fe80::1", false),
        ("fec0::1", false),
        ("ff02::1", false),
    ] {
        assert_eq!(is_public(address.parse().unwrap()), public, "{address}");
    }
}
