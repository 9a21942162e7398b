//! The replies of a model that count as a title, and those that do not. Issue 23, 9.

use proptest::prelude::{any, proptest};

use wire::title::TITLE_CHARS;

use crate::titles::reply::title;

#[test]
fn a_title_is_one_line_of_plain_text() {
    for (reply, expected) in [
        ("<title>Pear pruning</title>", "Pear pruning"),
        ("\n <title> Pear\n\tpruning </title> \n", "Pear pruning"),
        ("<title>\"Pear pruning.\"</title>", "Pear pruning"),
        ("<title>„Birnen schneiden“</title>", "Birnen schneiden"),
        ("<title>«Taille du poirier»</title>", "Taille du poirier"),
        ("<title>## Pear **pruning**</title>", "Pear pruning"),
        ("<title>- *Pear pruning*</title>", "Pear pruning"),
        ("<title>> `Pear` pruning</title>", "Pear pruning"),
        ("<title>_\"Pear\u{202e} pruning\"_</title>", "Pear pruning"),
        ("<title>Pear\u{0}\u{7}\u{9b}pruning\u{200b}</title>", "Pear pruning"),
        ("<title>C# and snake_case</title>", "C# and snake_case"),
        ("<title>#hashtags in 2026</title>", "#hashtags in 2026"),
        ("<title>Wait for it...</title>", "Wait for it..."),
        ("<title>The dog's \"tail\"</title>", "The dog's \"tail\""),
        ("<title>梨の剪定</title>", "梨の剪定"),
    ] {
        assert_eq!(title(reply).as_deref(), Some(expected), "{reply}");
    }
    for none in [
        "",
        "Pear pruning",
        "I am sorry, I cannot help with that.",
        "Here it is: <title>Pear pruning</title>",
        "<title>Pear pruning</title> Anything else?",
        "<title></title>",
        "<title> \u{200b} </title>",
        "<title>**</title>",
        "<title>...</title>",
        "<title>\"\"</title>",
        "<title>Pears",
        "<title>One</title><title>Two</title>",
        "<title><b>Pears</b></title>",
        "<title>[Pears](https://pears.example)</title>",
        "<title>Pears: https://pears.example</title>",
    ] {
        assert_eq!(title(none), None, "{none}");
    }
}

#[test]
fn a_title_is_as_long_as_one_from_a_first_message() {
    let marked = |chars: usize| format!("<title>{}</title>", "ä".repeat(chars));
    assert_eq!(title(&marked(TITLE_CHARS)), Some("ä".repeat(80)));
    assert_eq!(title(&marked(TITLE_CHARS + 1)), None);
}

proptest! {
    #[test]
    fn no_reply_makes_a_title_that_no_list_can_show(reply in any::<String>(), is_marked in any::<bool>()) {
        let reply = if is_marked { format!("<title>{reply}</title>") } else { reply };
        if let Some(title) = title(&reply) {
            assert!(!title.is_empty() && title.chars().count() <= TITLE_CHARS);
            assert_eq!(title.trim(), title);
            assert!(!title.chars().any(|c| c.is_control() || "<>`\u{202e}".contains(c)), "{title:?}");
        }
    }
}
