//! The members that have the user's time zone.

use serde_json::{Value, json};

use super::requests::{CHAT, RESPONSES, parsed, refused, turn, user};
use wire::protocol::ErrorCode;

// Issue 44
#[test]
fn a_time_zone_is_a_member_of_the_body_or_of_its_metadata() {
    let bodies = |members: Value| {
        let (mut chat, mut response) = (members.clone(), members);
        (chat["messages"], response["input"]) = (json!([user(&json!("Go"))]), json!("Go"));
        [(CHAT, chat), (RESPONSES, response)]
    };
    for (members, expected) in [
        (json!({ "time_zone": "Europe/Berlin" }), ("time_zone", Some("Europe/Berlin"))),
        (
            json!({ "metadata": { "time_zone": "Asia/Kolkata" } }),
            ("metadata.time_zone", Some("Asia/Kolkata")),
        ),
        (json!({ "time_zone": "a", "metadata": { "time_zone": "b" } }), ("time_zone", Some("a"))),
        (json!({ "time_zone": null, "metadata": null }), ("metadata.time_zone", None)),
        (json!({}), ("metadata.time_zone", None)),
    ] {
        for (api, body) in bodies(members.clone()) {
            let sent = parsed(api, &body);
            assert!(sent.ignored.is_empty(), "{body}");
            let member = sent.time_zone;
            assert_eq!((member, turn(sent).0.time_zone.as_deref()), expected, "{body}");
        }
    }
    let long = "x".repeat(65);
    for (members, field) in [
        (json!({ "time_zone": long }), "time_zone"),
        (json!({ "time_zone": 1 }), "time_zone"),
        (json!({ "metadata": { "time_zone": long } }), "metadata.time_zone"),
        (json!({ "metadata": { "time_zone": 1 } }), "metadata.time_zone"),
    ] {
        for (api, body) in bodies(members.clone()) {
            assert_eq!(refused(api, &body), (ErrorCode::InvalidRequest, field.to_owned()), "{body}");
        }
    }
}
