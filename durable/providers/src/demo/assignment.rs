//! The instructions of a demo subtask: the demo model writes them and reads them one level deeper.

/// Aspects that a nested research is cut into.
const ASPECTS: [&str; 2] = ["history", "uses"];

const SUBJECT: &str = "Research for the demo: ";
const PARTS: &str = "Look into, one subtask each: ";
const KEY: &str = "Keep what you find in the memory under: ";

/// The research of one subtask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    pub subject: String,
    /// The parts for further subtasks; empty if the subtask does the work itself.
    pub aspects: Vec<String>,
    /// The memory key of the finding.
    pub key: String,
}

impl Assignment {
    /// The research of one topic. The demo divides only the first of several topics into aspects: this shows a nested
    /// level without crowding the page.
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

    /// Reads instructions of this form. The demo treats any other text as a question.
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
