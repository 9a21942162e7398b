//! The rules of names, each once. The checks, the JSON Schemas and the page's constants take them from here.

use super::ApiError;

/// A rule of names that stand in URLs and keys: they have a–z, 0–9, `-` and `_`, and at least one of these.
#[derive(Clone, Copy, Debug)]
pub struct NameRule {
    /// The most characters, each of which is a byte.
    pub max: usize,
    first: First,
}

/// The characters with which a name may begin.
#[derive(Clone, Copy, Debug)]
enum First {
    Letter,
    LetterOrDigit,
    Any,
}

/// The name of an agent or a hook: people and models read it in front of each of its words.
pub const AGENT_NAME: NameRule = NameRule { max: 32, first: First::Letter };
/// The id of a workflow, a segment of a URL.
pub const WORKFLOW_ID: NameRule = NameRule { max: 64, first: First::LetterOrDigit };
/// The name of a workspace that a user chooses, a segment of a URL and of a key.
pub const WORKSPACE_NAME: NameRule = NameRule { max: 64, first: First::Any };

impl NameRule {
    /// Whether the rule allows a name.
    pub fn allows(self, name: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_one = |byte: u8| is_plain(byte) || byte == b'-' || byte == b'_';
        let begins = |byte: u8| match self.first {
            First::Letter => byte.is_ascii_lowercase(),
            First::LetterOrDigit => is_plain(byte),
            First::Any => is_one(byte),
        };
        name.bytes().next().is_some_and(begins) && name.len() <= self.max && name.bytes().all(is_one)
    }

    /// The rule as a pattern, without the limit of the length.
    #[cfg(any(test, feature = "openapi"))]
    pub const fn pattern(self) -> &'static str {
        match self.first {
            First::Letter => "^[a-z][a-z0-9_-]*$",
            First::LetterOrDigit => "^[a-z0-9][a-z0-9_-]*$",
            First::Any => "^[a-z0-9_-]+$",
        }
    }

    /// The rule of a name with a beginning of its own as a pattern, with the limit of the length.
    #[cfg(any(test, feature = "openapi"))]
    pub fn whole_pattern(self) -> String {
        self.pattern().replace('*', &format!("{{0,{}}}", self.max - 1))
    }
}

/// The longest line that names a collection, a document, a project or a task, in characters.
pub const MAX_LINE_CHARS: usize = 200;

/// The rule of a line as a pattern, without the limit of its length.
#[cfg(feature = "openapi")]
pub const LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";

/// A name of one line, without the white space around it.
pub fn line(field: &str, text: &str) -> Result<String, ApiError> {
    let text = text.trim();
    if text.is_empty() || text.chars().nth(MAX_LINE_CHARS).is_some() || text.contains(char::is_control) {
        return Err(ApiError::field(field, format!("expected one line of 1 to {MAX_LINE_CHARS} characters")));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Issue 47, 4. A-034
    #[test]
    fn each_rule_has_its_letters_and_its_length() {
        for (rule, good, bad) in [
            (AGENT_NAME, ["a", "critic-2", "tax_advisor"], ["2nd", "-a", "Critic"]),
            (WORKFLOW_ID, ["a", "2nd", "release_1-a"], ["-a", "_a", "Release"]),
            (WORKSPACE_NAME, ["-", "2nd", "_notes"], ["Notes", "a.b", "é"]),
        ] {
            good.iter().for_each(|name| assert!(rule.allows(name), "{name}"));
            bad.iter().for_each(|name| assert!(!rule.allows(name), "{name}"));
            ["", "a b", "a\n", "ä"].iter().for_each(|name| assert!(!rule.allows(name), "{name:?}"));
            assert!(rule.allows(&"a".repeat(rule.max)) && !rule.allows(&"a".repeat(rule.max + 1)));
        }
        assert_eq!(AGENT_NAME.whole_pattern(), "^[a-z][a-z0-9_-]{0,31}$");
    }

    // Issue 47, 4: texts for people and models repeat a rule in words.
    #[test]
    fn the_words_of_a_rule_have_its_numbers() {
        let max = AGENT_NAME.max;
        let (plain, begun) =
            (format!("a-z, 0-9, _ and -, {max} at most"), format!("letters, digits, - and _, at most {max}"));
        for (text, words, times) in [
            (include_str!("../../../engine/src/agents/tools.json"), &plain, 2),
            (include_str!("../../../engine/src/hooks/tools.json"), &begun, 1),
            (include_str!("../../../../docs/hooks.md"), &begun, 1),
            (
                include_str!("../../../../docs/agents.md"),
                &AGENT_NAME.whole_pattern().replace(['^', '$'], ""),
                1,
            ),
        ] {
            assert_eq!(text.replace('`', "").matches(words.as_str()).count(), times, "{words}");
        }
    }
}
