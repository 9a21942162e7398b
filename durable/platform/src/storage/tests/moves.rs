//! The messages that come to a path or leave it, as D1 hears of them.

use serde_json::{Value, json};

use super::outgoing::{outbox, owner, present};
use crate::storage::outgoing::{News, Outgoing, statements};

/// Issue 19, item 2: D1 has each message, and whether it is on the path when the news leave.
#[test]
fn a_message_beside_the_path_is_told_and_marked() {
    let here = present(&["m1", "m2"], &["m1", "m2"]);
    let told: Vec<_> = outbox().into_iter().map(|out| out.told_now(&here)).collect();
    let batch = statements(&told).unwrap();
    let messages = batch.iter().find(|each| each.sql.contains("INTO messages")).unwrap();
    let rows: Value = serde_json::from_str(&messages.rows).unwrap();
    assert!(rows.as_array().unwrap().iter().all(|row| row[12] == json!(1)), "{rows}");

    let ids: Vec<String> = (0..2_001).map(|id| format!("m{id}")).collect();
    let news: Vec<News> = News::path_changed(&ids).collect();
    let lengths = news.iter().map(|news| match news {
        News::PathChanged { messages, .. } => messages.len(),
        other => panic!("{other:?}"),
    });
    assert_eq!(lengths.collect::<Vec<_>>(), [1_000, 1_000, 1]);
    assert_eq!(News::path_changed(&[]).count(), 1, "memories follow a path that moves no message");

    let few = ["m1".to_owned(), "m3".to_owned()];
    let changed = News::path_changed(&few).map(|news| Outgoing::new(&owner(), "thread", news));
    let told: Vec<_> = changed.map(|out| out.told_now(&here)).collect();
    assert_eq!(told[0].message_ids().collect::<Vec<_>>(), few);
    let [statement] = &statements(&told).unwrap()[..] else { panic!() };
    assert!(statement.sql.trim().starts_with("UPDATE messages SET beside"));
    let expected = r#"[["tenant","anonymous:user","m1",1],["tenant","anonymous:user","m3",0]]"#;
    assert_eq!(statement.rows, expected);
    assert!(matches!(&told[0].news, News::PathChanged { path, .. } if path == "[[1,9]]"));
    assert_eq!(told.into_iter().find_map(Outgoing::without_content), None);
}
