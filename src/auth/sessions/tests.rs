use rusqlite::{OptionalExtension, params};
use wire::protocol::Owner;

use super::statements::{IS_OPEN, end_of_visit};
use super::{ID_CHARS, Kept, MAX_AGENT_CHARS, MAX_KEPT, id_of, is_id, short_agent, visit_of, visitor_hash};
use crate::account::kinds::tests::migrated;
use crate::account::store::{HOUR_MS, MAX_ENDED};

#[test]
fn a_visitor_has_one_row() {
    let (one, other) = (visitor_hash("0190a0a0"), visitor_hash("0190a0a1"));
    assert_eq!(one, visitor_hash("0190a0a0"));
    assert_ne!(id_of(&one), id_of(&other));
    assert_eq!((one.len(), id_of(&one).len()), (64, ID_CHARS));
    assert!(is_id(id_of(&one)));
}

// An issuer of tokens may give a user any name, a visitor's too: the session is the visitor's alone.
#[test]
fn a_visit_is_the_visitors_alone() {
    let of = |issuer: &str| {
        visit_of(&Owner {
            issuer: issuer.to_owned(),
            tenant: "public".to_owned(),
            user: "0190a0a0".to_owned(),
        })
    };
    assert_eq!(of("anonymous"), visitor_hash("0190a0a0"));
    assert_eq!((of("key"), of("https://issuer.example")), (String::new(), String::new()));
}

#[test]
fn other_texts_are_no_ids() {
    let whole = "0f".repeat(16);
    assert!(is_id(&whole));
    let short = "0".repeat(31);
    for other in [
        "",
        &short,
        &"0".repeat(33),
        &whole.to_uppercase(),
        &format!("{short}g"),
        &format!("{}é", "0".repeat(30)),
    ] {
        assert!(!is_id(other), "{other}");
    }
}

#[test]
fn an_agent_is_its_browser_and_its_system() {
    let windows = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";
    let phone =
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)";
    for (header, short) in [
        (windows.to_owned(), "Chrome, Windows"),
        (format!("{windows} Edg/142.0.0.0"), "Edge, Windows"),
        (format!("{windows} OPR/125.0.0.0"), "Opera, Windows"),
        (format!("{phone} Version/18.6 Mobile/15E148 Safari/604.1"), "Safari, iPhone"),
        (format!("{phone} CriOS/142.0 Mobile/15E148 Safari/604.1"), "Chrome, iPhone"),
        (
            "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0".to_owned(),
            "Firefox, Linux",
        ),
        (
            "Mozilla/5.0 (Android 16; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0".to_owned(),
            "Firefox, Android",
        ),
        ("Mozilla/5.0 (Linux; Android 10; K)".to_owned(), "Android"),
        ("curl/8.17.0".to_owned(), "curl"),
        ("node".to_owned(), "node"),
        ("<b>me</b> and my token".to_owned(), "<b>me<"),
        ("ä\u{0}\u{202e}x".to_owned(), "x"),
        (String::new(), ""),
    ] {
        assert_eq!(short_agent(&header), short, "{header}");
    }
}

#[test]
fn an_agent_has_forty_characters() {
    for (length, kept) in [(MAX_AGENT_CHARS, MAX_AGENT_CHARS), (MAX_AGENT_CHARS + 1, MAX_AGENT_CHARS)] {
        assert_eq!(short_agent(&"x".repeat(length)).len(), kept, "{length}");
    }
    let all = super::BROWSERS
        .iter()
        .flat_map(|(_, browser)| super::SYSTEMS.map(|(_, system)| browser.len() + 2 + system.len()));
    assert!(all.max() <= Some(MAX_AGENT_CHARS));
}

#[test]
fn the_oldest_known_row_makes_room() {
    let mut kept = Kept::new();
    assert!(kept.insert("0") && !kept.insert("0"));
    for n in 1..MAX_KEPT {
        assert!(kept.insert(&n.to_string()));
    }
    assert!(!kept.insert("0"), "it is full, and the oldest is in it");
    assert!(kept.insert("one more"));
    assert!(kept.insert("0"), "the oldest went");
    kept.remove("one more");
    assert!(kept.insert("one more"));
    assert_eq!(kept.0.len(), MAX_KEPT);
}

// Issue 42, M1: a visit stores nothing, so nothing bounded the rows of those that ended.
#[test]
fn visits_that_stored_nothing_end_thirty_times_an_hour_in_a_network_and_the_others_always() {
    let database = migrated();
    let end = |hash: &str, now: i64| {
        let values = params![hash, format!("anonymous:{hash}"), now, now + 9, "mark"];
        database.query_row(&end_of_visit(), values, |_| Ok(())).optional().unwrap().is_some()
    };
    let is_open = |hash: &str| {
        // The condition has the digest as its ninth parameter.
        let sql = format!("SELECT {IS_OPEN} WHERE ?8 IS NULL");
        let values: [Option<&str>; 9] = [None, None, None, None, None, None, None, None, Some(hash)];
        database.query_row(&sql, values, |row| row.get::<_, bool>(0)).unwrap()
    };
    assert!((0..MAX_ENDED).all(|number| !is_open(&number.to_string()) && end(&number.to_string(), 1)));
    assert!(!end("beyond", 2));
    assert!(end("0", 3), "a repetition");
    let row = "INSERT INTO sessions (hash, key_prefix, user_id, created_at, expires_at) VALUES ('kept', '', 'anonymous:kept', 1, 9)";
    database.execute(row, []).unwrap();
    assert!(is_open("kept") && end("kept", 4) && !is_open("kept"));
    assert!(end("beyond", 2 + HOUR_MS as i64), "an hour later");
}
