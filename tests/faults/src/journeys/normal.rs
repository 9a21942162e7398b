//! Makes outcomes of two plays comparable: ids and numbers by their places, no times, no strikes.

use std::collections::HashMap;

use espalier_test_support::Value;

/// The first instant, in seconds and in milliseconds, that counts as a time: 2020.
const TIMES: [f64; 2] = [1.577e9, 1.577e12];

/// The outcome with each id replaced by its place among the ids, `#NUMBER` of a marker by `#`, each time by `TIME`,
/// durations (members that end with `_ms`) left out, and no `[[faults:…]]`.
pub fn normal(outcome: &Value) -> Value {
    change(outcome, &mut HashMap::new())
}

fn change(value: &Value, ids: &mut HashMap<String, usize>) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !name.ends_with("_ms"));
            kept.map(|(name, value)| (name.clone(), change(value, ids))).collect()
        }
        Value::Array(items) => items.iter().map(|item| change(item, ids)).collect(),
        Value::Number(number) if number.as_f64().is_some_and(is_time) => "TIME".into(),
        Value::String(text) => text_of(text, ids).into(),
        other => other.clone(),
    }
}

fn is_time(number: f64) -> bool {
    (TIMES[0]..2.0 * TIMES[0]).contains(&number) || (TIMES[1]..2.0 * TIMES[1]).contains(&number)
}

fn text_of(text: &str, ids: &mut HashMap<String, usize>) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix(" [[faults:") {
            rest = after.split_once("]]").map_or("", |(_, rest)| rest);
        } else if let Some((id, after)) = id_at(rest) {
            let next = ids.len();
            made += &format!("<{}>", ids.entry(id.replace('-', "").to_lowercase()).or_insert(next));
            rest = after;
        } else if let Some(after) = rest.strip_prefix('#').filter(|after| after.starts_with(is_digit)) {
            made.push('#');
            rest = after.trim_start_matches(is_digit);
        } else if is_date(rest) {
            made += "TIME";
            rest = rest.trim_start_matches(|one| is_digit(one) || "-:T.Z".contains(one));
        } else {
            made.push(first);
            rest = rest.split_at(first.len_utf8()).1;
        }
    }
    made
}

fn is_digit(one: char) -> bool {
    one.is_ascii_digit()
}

/// A UUID at the beginning, with its dashes or without, and the rest.
fn id_at(text: &str) -> Option<(&str, &str)> {
    let dashed = |at: usize| [8, 13, 18, 23].contains(&at);
    let is_id = |id: &str, dashes: bool| {
        id.bytes().enumerate().all(|(at, byte)| match dashes && dashed(at) {
            true => byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
    };
    let (id, rest) = [(36, true), (32, false)]
        .into_iter()
        .find_map(|(length, dashes)| text.split_at_checked(length).filter(|(id, _)| is_id(id, dashes)))?;
    Some((id, rest))
}

/// Whether an ISO date with a time begins here.
fn is_date(text: &str) -> bool {
    text.get(..11).is_some_and(|date| {
        let shape: String = date.chars().map(|one| if is_digit(one) { '0' } else { one }).collect();
        shape == "0000-00-00T"
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::normal;

    #[test]
    fn two_plays_with_the_same_outcome_are_equal() {
        let outcome = |id: &str, number: u64, at: u64, strike: &str| {
            json!({
                "id": id, "resp": format!("resp_{}", id.replace('-', "")), "took_ms": at, "at": at,
                "text": format!("Go. [[fake:x#{number}]]{strike}"), "date": format!("20{}-01-02T03:04:05.678Z", at % 90 + 10),
            })
        };
        let one = outcome("01a2b3c4-0000-7000-8000-000000000001", 7, 1_796_000_000_000, "");
        let other =
            outcome("01A2B3C4-0000-7000-8000-0000000000FF", 123, 1_796_000_000_777, " [[faults:kill@3]]");
        assert_eq!(normal(&one), normal(&other));
        let expected = json!({
            "id": "<0>", "resp": "resp_<0>", "at": "TIME", "text": "Go. [[fake:x#]]", "date": "TIME",
        });
        assert_eq!(normal(&one)["id"], expected["id"]);
        assert_eq!(normal(&one), expected);
        assert_ne!(normal(&json!([1])), normal(&json!([2])), "small numbers stay");
    }
}
