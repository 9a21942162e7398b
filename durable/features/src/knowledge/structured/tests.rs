//! Tables and JSON as chunks. Issue 44.

use std::cell::Cell;

use proptest::prelude::*;
use serde_json::{Value, json};
use wire::pace::{STRETCH, at_once, no_pause};
use wire::protocol::ErrorCode;

use super::*;

fn of_csv(text: &str) -> Vec<Chunk> {
    at_once(csv(text, &Pace::new(&no_pause))).unwrap().unwrap()
}

fn of_json(text: &str) -> Vec<Chunk> {
    at_once(json(text, &Pace::new(&no_pause))).unwrap().unwrap()
}

fn chunk(heading: &str, text: &str) -> Chunk {
    Chunk { heading: heading.to_owned(), text: text.to_owned() }
}

#[test]
fn a_table_is_divided_between_its_rows_and_each_chunk_has_the_names() {
    let small = "name;note\r\n\"Ada\";\"two\r\nlines; \"\"quoted\"\"\"\r\n\r\nBob; 5\" pipe\r\n";
    assert_eq!(
        of_csv(small),
        [chunk("", "name;note\n\"Ada\";\"two\nlines; \"\"quoted\"\"\"\nBob; 5\" pipe")]
    );
    let rows: Vec<String> = (0..100).map(|n| format!("{n},\"{} \n {n}\"", "word ".repeat(8))).collect();
    let chunks = of_csv(&format!("number,words\n{}\n", rows.join("\n")));
    assert_eq!(chunks.len(), 4);
    let mut found = Vec::new();
    for Chunk { heading, text } in &chunks {
        assert!(heading.is_empty() && text.chars().count() <= MAX_CHUNK_CHARS);
        let (head, rest) = text.split_once('\n').unwrap();
        assert_eq!(head, "number,words");
        found.push(rest);
    }
    assert_eq!(found.join("\n"), rows.join("\n"), "each row once, and whole");
}

#[test]
fn a_row_or_names_that_are_too_long_are_cut() {
    let long = "word ".repeat(1_000);
    let chunks = of_csv(&format!("a,b\n1,2\n3,\"{long}\"\n4,5"));
    assert_eq!(chunks.first(), Some(&chunk("", "a,b\n1,2")));
    assert_eq!(chunks.last(), Some(&chunk("", "a,b\n4,5")));
    assert!(chunks.len() > 5 && chunks.iter().all(|chunk| chunk.text.starts_with("a,b\n")));
    let wide = of_csv(&format!("{}\n1,2", "name,".repeat(400)));
    assert_eq!(wide, [chunk("", &format!("{}\n1,2", "name,".repeat(100)))]);
    // A quote that nobody closes takes the rest along.
    assert_eq!(of_csv("a\n\"b\nc"), [chunk("", "a\n\"b\nc")]);
    assert_eq!(of_csv("only,names\n"), [chunk("", "only,names")]);
    for empty in ["", "\n \n", "\0"] {
        assert_eq!(of_csv(empty), []);
    }
    // Old programs end a row so, and Excel reads a line about the separator.
    assert_eq!(of_csv("name,age\rBob,1\rEve,2"), [chunk("", "name,age\nBob,1\nEve,2")]);
    assert_eq!(of_csv("sep=;\r\nname;age\r\nBob;1\r\n"), [chunk("", "name;age\nBob;1")]);
}

#[test]
fn json_is_lines_of_values_with_their_names() {
    let text = json!({
        "city": "M\u{fc}nchen", "open": true, "none": null, "price": 1.50, "tags": ["a", "b\nc"], "empty": {}, "list": [ ],
        "people": [{"name": "Ada", "at": {"x": 1}}, [2]],
    });
    let told = "city: München\nempty: {}\nlist: []\nnone: null\nopen: true\n\
        people:\n [0]:\n  at:\n   x: 1\n  name: Ada\n [1]:\n  [0]: 2\nprice: 1.5\ntags:\n [0]: a\n [1]: b\nc";
    for text in [text.to_string(), format!("{text:#}"), format!("\t{text}\n")] {
        let mut lines: Vec<Chunk> = of_json(&text);
        // The order of the members is that of the document.
        lines[0].text = sorted(&lines[0].text);
        assert_eq!(lines, [chunk("", &sorted(told))]);
    }
    assert_eq!(
        of_json("{\"b\": \"M\\u00fcnchen \\ud83d\\ude00 \\ud83d\\u0000\", \"a\": \"\\\"{[,\\\\\"}"),
        [chunk("", "b: München 😀 \u{fffd}\na: \"{[,\\")]
    );
    for (text, told) in
        [("\"word\"", "word"), (" 7 ", "7"), ("[[], 1]", "[0]: []\n[1]: 1"), ("{}", "{}"), ("[ ]", "[]")]
    {
        assert_eq!(of_json(text), [chunk("", told)], "{text}");
    }
    assert_eq!(of_json("\"\""), []);
}

fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn long_json_is_divided_between_its_items_and_names_the_path() {
    let person = |n: usize| json!({"name": format!("Person {n}"), "note": "word ".repeat(60)});
    let people: Vec<Value> = (0..12).map(person).collect();
    let chunks = of_json(&json!({"staff": {"people": people}}).to_string());
    assert!(chunks.iter().all(|chunk| chunk.text.chars().count() <= MAX_CHUNK_CHARS));
    assert_eq!(
        chunks.iter().map(|chunk| chunk.heading.as_str()).collect::<Vec<_>>(),
        ["", "staff > people", "staff > people"]
    );
    for (chunk, first) in chunks.iter().zip([
        "staff:\n people:\n  [0]:\n   name: Person 0\n",
        "[4]:\n name: Person 4\n",
        "[8]:\n",
    ]) {
        assert!(chunk.text.starts_with(first), "{}", chunk.text);
    }
    // A text that needs several chunks.
    let chunks = of_json(&json!([{"bio": "This is a sentence. ".repeat(200)}, 1]).to_string());
    let long = chunks.iter().filter(|chunk| chunk.heading == "[0] > bio").count();
    assert!(long > 2 && chunks[1].text.starts_with("bio: This is"), "{chunks:?}");
    assert_eq!(chunks.last(), Some(&chunk("", "[1]: 1")));
}

// A chunk that begins inside a value has nothing of the values after it.
#[test]
fn each_chunk_stands_under_the_path_to_all_its_values() {
    let member = |n: usize| (format!("m{n}"), json!("word ".repeat(40)));
    let record = |count: usize| Value::Object((0..count).map(member).collect());
    let chunks = of_json(&json!({"items": [record(9), record(4), record(9)]}).to_string());
    for Chunk { heading, text } in &chunks {
        let is_inside = heading.starts_with("items > [");
        assert!(!(is_inside && text.contains("]:")), "{heading}: {text}");
    }
    let headings: Vec<&str> = chunks.iter().map(|chunk| chunk.heading.as_str()).collect();
    assert!(headings.contains(&"items > [0]") && headings.contains(&"items"), "{headings:?}");
}

#[test]
fn json_that_is_none_is_refused_with_its_place() {
    for (text, place) in [
        ("{\"a\": 1,\n \"b\": }", "line 2, column 7"),
        ("[1, 2", "line 1, column 5"),
        ("", "line 1, column 0"),
        ("{} {}", "line 1, column 4"),
        ("name,city\nAda,London", "line 1, column 2"),
    ] {
        let refused = at_once(json(text, &Pace::new(&no_pause))).unwrap().unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequest);
        assert_eq!(refused.detail, format!("the document is not JSON from {place} on"), "{text}");
    }
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let read =
        |depth| at_once(json(&nested(depth), &Pace::new(&no_pause))).unwrap().map(|chunks| chunks.len());
    assert_eq!(read(65), Ok(1), "the innermost is empty, and opens nothing");
    assert!(read(66).unwrap_err().detail.contains("deeper than 64 levels"));
    assert!(read(300_000).is_err());
}

// Documents of 1 MiB that make most chunks, and most work.
#[test]
fn the_number_of_chunks_and_the_work_are_bounded() {
    let mebibyte = 1 << 20;
    let repeated = |before: &str, text: &str, after: &str| {
        let count = (mebibyte - before.len() - after.len()) / text.len();
        [before, &text.repeat(count), after].concat()
    };
    let zigzag = format!("{}1{},", "[".repeat(60), "]".repeat(60));
    let wide = format!("{}\n", "name,".repeat(100));
    for (is_json, text) in [
        (true, repeated("[", "[1],", "1]")),
        (true, repeated("[", &zigzag, "1]")),
        (true, repeated("[\"", "\\u00fc", "\"]")),
        (true, repeated("{", "\"\":\"\",", "\"\":1}")),
        (true, repeated("[", &format!("1,\"{}\",", "x".repeat(1_480)), "1]")),
        (false, repeated("a\n", "1\n", "")),
        (false, repeated("a\n", " \n", "1")),
        (false, repeated(&wide, &format!("1\n{}\n", "x".repeat(998)), "")),
    ] {
        let pauses = Cell::new(0);
        let pause = || {
            pauses.set(pauses.get() + 1);
            no_pause()
        };
        let pace = Pace::new(&pause);
        let read = if is_json { at_once(json(&text, &pace)) } else { at_once(csv(&text, &pace)) };
        let chunks = read.unwrap().unwrap();
        assert!(chunks.len() <= MAX_SECTIONED, "{} of {:?}", chunks.len(), text.get(..40));
        assert!(pauses.get() >= mebibyte * 2 / STRETCH, "{} pauses of {:?}", pauses.get(), text.get(..40));
        assert!(chunks.iter().all(|chunk| chunk.text.chars().count() <= MAX_CHUNK_CHARS));
    }
}

// A user's room counts the bytes of documents, so what is stored for one is no multiple of them.
#[test]
fn names_that_are_repeated_too_often_leave_the_chunks() {
    let names = "漢".repeat(500);
    let of_rows = |row: &str| format!("{names}\n{}", format!("{row}\n").repeat(50));
    let numbers = format!("[{}1]", "1,".repeat(5_000));
    for (text, chunks) in [
        (of_rows(&"x".repeat(501)), of_csv(&of_rows(&"x".repeat(501)))),
        (numbers.clone(), of_json(&numbers)),
    ] {
        let stored: usize = chunks.iter().map(|chunk| chunk.heading.len() + chunk.text.len()).sum();
        assert!(stored <= text.len() * 2 + MAX_CHUNK_CHARS, "{stored} of {}", text.len());
        let words: usize = chunks.iter().map(|chunk| chunk.text.matches(['x', '1']).count()).sum();
        assert!(words >= text.matches(['x', '1']).count(), "nothing is lost: pieces of a text overlap");
    }
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zäß漢\u{1f600}\"\\\\{}\\[\\],:\n ]{0,60}".prop_map(Value::from),
        "[a-z ]{1500,4000}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 200, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Value::from),
            prop::collection::vec(("[a-z\" ]{0,12}", inner), 0..12)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn letters(text: &str) -> usize {
    text.chars().filter(|c| "äß漢\u{1f600}".contains(*c)).count()
}

proptest! {
    // For any document: each chunk has text within the limit, no letter is lost, and the division ends.
    #[test]
    fn no_chunk_of_json_is_too_long_and_no_letter_is_lost(value in values(), is_pretty in any::<bool>()) {
        let text = if is_pretty { format!("{value:#}") } else { value.to_string() };
        let chunks = of_json(&text);
        for chunk in &chunks {
            prop_assert!(chunk.text.chars().count() <= MAX_CHUNK_CHARS && !chunk.text.trim().is_empty());
            prop_assert!(chunk.heading.chars().count() <= MAX_HEADING_CHARS);
        }
        prop_assert_eq!(chunks.iter().map(|chunk| letters(&chunk.text)).sum::<usize>(), letters(&text));
    }

    #[test]
    fn no_chunk_of_a_table_is_too_long_and_no_letter_is_lost(
        rows in prop::collection::vec("[a-zäß漢,;\"\n ]{0,200}|[a-zä, ]{1400,3000}", 0..40),
    ) {
        let text = format!("names\n{}", rows.join("\n"));
        let chunks = of_csv(&text);
        for chunk in &chunks {
            prop_assert!(chunk.text.chars().count() <= MAX_CHUNK_CHARS && chunk.text.starts_with("names"));
        }
        prop_assert_eq!(chunks.iter().map(|chunk| letters(&chunk.text)).sum::<usize>(), letters(&text));
    }
}
