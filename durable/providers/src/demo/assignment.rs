//! What the demo model writes into a subtask's instructions, and reads out of them one level deeper.

/// Aspects that a nested research is cut into.
const ASPECTS: [&str; 2] = ["history", "uses"];

const SUBJECT: &str = "Research for the demo: ";
const PARTS: &str = "Look into, one subtask each: ";
const KEY: &str = "Keep what you find in the memory under: ";

/// A piece of research that one subtask does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub subject: String,
    /// Subtasks of the subtask; empty where it does the work itself.
    pub aspects: Vec<String>,
    /// Where the finding goes.
    pub key: String,
}

impl Assignment {
    /// The research of one topic. The first of several topics is cut into aspects, so that there is a nested level to
    /// see; for all of them it would be more than anybody wants to look at.
    pub fn of_topic(topic: &str, place: usize) -> Self {
        let aspects = if place == 0 { ASPECTS.map(String::from).to_vec() } else { vec![] };
        Assignment { subject: topic.into(), aspects, key: format!("research/{}", slug(topic)) }
    }

    /// The research of one aspect of this subject.
    pub fn of_aspect(&self, aspect: &str) -> Self {
        Assignment {
            subject: format!("the {aspect} of {}", self.subject),
            aspects: vec![],
            key: format!("{}/{}", self.key, slug(aspect)),
        }
    }

    pub fn title(&self) -> String {
        format!("Research {}", self.subject)
    }

    pub fn instructions(&self) -> String {
        let aspects = match self.aspects.as_slice() {
            [] => String::new(),
            aspects => format!("{PARTS}{}\n", aspects.join(", ")),
        };
        format!("{SUBJECT}{}\n{aspects}{KEY}{}", self.subject, self.key)
    }

    /// Reads instructions of this form; anything else is a question like any other.
    pub fn parse(instructions: &str) -> Option<Self> {
        let line = |prefix: &str| instructions.lines().find_map(|line| line.trim().strip_prefix(prefix));
        Some(Assignment {
            subject: line(SUBJECT)?.into(),
            aspects: line(PARTS)
                .map(|aspects| aspects.split(", ").map(String::from).collect())
                .unwrap_or_default(),
            key: line(KEY)?.into(),
        })
    }

    /// The demo's stand-in for a finding: something to calculate that depends on the subject.
    pub fn score(&self) -> String {
        let letters = self.subject.chars().filter(|c| c.is_alphanumeric()).count();
        let vowels = self.subject.chars().filter(|c| "aeiouAEIOU".contains(*c)).count();
        format!("{letters} * 10 + {vowels}")
    }
}

/// A text as a part of a memory key.
pub fn slug(text: &str) -> String {
    let dashed: String =
        text.chars().map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let words: Vec<&str> = dashed.split('-').filter(|word| !word.is_empty()).collect();
    words.join("-")
}
