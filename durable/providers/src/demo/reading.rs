//! How the demo model understands a question: it searches for words, so its answers are predictable.

use engine::journal::LocalTime;

/// The most topics of a comparison and calculations of a reply: the number of calls that a round runs at the same time.
const MAX_CALLS: usize = 8;

/// The most questions in a summary.
const MAX_QUESTIONS: usize = 20;

/// A topic is cut here: it becomes a title.
const MAX_TOPIC_CHARS: usize = 60;

/// The number in "count to …", limited by the time of a turn.
pub fn count_to(question: &str) -> Option<u64> {
    let lower = question.to_ascii_lowercase();
    let (_, rest) = lower.split_once("count ")?;
    let (_, rest) = rest.split_once("to ")?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().map(|n: u64| n.clamp(1, 500))
}

/// Whether a system prompt asks for a summary of a conversation.
pub fn asks_to_summarise(system: &str) -> bool {
    let lower = system.to_ascii_lowercase();
    ["you summarise", "you summarize"].iter().any(|words| lower.starts_with(words))
}

/// The title of a conversation whose title a system prompt wants: the first words of the user's message, which stands
/// between marks.
pub fn to_name(system: &str, question: &str) -> Option<String> {
    let (_, said) =
        question.split_once("<message from=\"user\">").filter(|_| system.starts_with("You name a"))?;
    let (said, _) = said.split_once("</message>")?;
    let words: Vec<&str> = said.split_whitespace().take(5).collect();
    Some(format!("Demo: {}", words.join(" ")))
}

/// The user's messages among lines of the form `user: "…"`, and the items of a summary before them.
pub fn questions(messages: &str) -> Vec<String> {
    let asked = |line: &str| {
        let line = line.trim();
        let quoted = line.strip_prefix("user: ").and_then(|text| wire::json::from_str::<String>(text).ok());
        quoted
            .or_else(|| line.strip_prefix("- ").map(str::to_owned))
            .filter(|text| !text.trim().is_empty() && !text.starts_with(LocalTime::MARK))
    };
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut questions: Vec<String> = messages.lines().filter_map(asked).map(words).collect();
    // The newest ones, where there are many.
    questions.drain(..questions.len().saturating_sub(MAX_QUESTIONS));
    questions
}

pub fn asks_for_espaliers(question: &str) -> bool {
    let lower = question.to_ascii_lowercase();
    lower.contains("espalier")
        && ["what is", "what's", "what are", "explain", "define", "about"]
            .iter()
            .any(|ask| lower.contains(ask))
}

pub fn asks_the_time(question: &str) -> bool {
    let lower = question.to_ascii_lowercase();
    [
        "what time",
        "time is it",
        "current time",
        "what date",
        "which date",
        "today's date",
        "what day is",
        "which day is",
    ]
    .iter()
    .any(|words| lower.contains(words))
}

pub fn asks_for_the_memory(question: &str) -> bool {
    let lower = question.to_ascii_lowercase();
    lower.contains("memory") && ["list", "show", "what"].iter().any(|word| lower.contains(word))
}

/// The text after "remember".
pub fn to_remember(question: &str) -> Option<String> {
    let at = question.to_ascii_lowercase().find("remember")?;
    let (before, rest) = (question.get(..at)?, question.get(at + "remember".len()..)?);
    // "Do you remember …" asks.
    if before.to_ascii_lowercase().trim_end().ends_with("you") || !rest.starts_with([' ', ':']) {
        return None;
    }
    let rest = rest.trim_start_matches([' ', ':']);
    let rest = rest.strip_prefix("that ").unwrap_or(rest).trim();
    let rest = rest.trim_end_matches(['.', '!']);
    (!rest.is_empty()).then(|| rest.to_string())
}

/// The subject of "have two critics discuss A"; none in any other question.
pub fn to_discuss(question: &str) -> Option<String> {
    // The same length as the original, so a position in the one is a position in the other.
    let lower = question.to_ascii_lowercase();
    let critics = lower.find("critics")?;
    let verb = lower.get(critics..)?.find("discuss ")? + "discuss ".len();
    let subject = cut(question.get(critics + verb..)?);
    (!subject.is_empty()).then_some(subject)
}

/// The first line of a text as a subject, without its marks and as long as a title.
pub fn cut(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let subject = line.trim().trim_end_matches(['.', '?', '!']).trim_matches(['"', '*']).trim();
    subject.chars().take(MAX_TOPIC_CHARS).collect()
}

/// The topics of "research A, B and C, then compare them" or "compare A with B"; empty for any other question.
pub fn topics(question: &str) -> Vec<String> {
    // The same length as the original, so positions in the one are positions in the other.
    let lower = question.to_ascii_lowercase();
    let after = |verb: &str| lower.find(verb).map(|at| at + verb.len());
    let (from, at_least) = match (after("research "), after("compare ")) {
        (Some(from), _) => (from, 1),
        (None, Some(from)) => (from, 2),
        (None, None) => return vec![],
    };
    let ends = [", then", " then ", " and compare", ", compare", "; ", ". ", "? ", "! ", ": ", "\n"];
    let rest = lower.get(from..).unwrap_or_default();
    let length = ends.iter().filter_map(|end| rest.find(end)).min().unwrap_or(rest.len());
    let Some(list) = question.get(from..from + length) else { return vec![] };
    let mut topics = vec![list];
    for separator in [",", " and ", " with ", " versus ", " vs. ", " vs ", " or ", "&"] {
        topics = topics.into_iter().flat_map(|topic| topic.split(separator)).collect();
    }
    let mut topics: Vec<String> = topics
        .into_iter()
        .map(|topic| topic.trim().trim_start_matches("and ").trim_matches(['.', '?', '!', '"', '*']).trim())
        .filter(|topic| !topic.is_empty())
        .map(|topic| topic.chars().take(MAX_TOPIC_CHARS).collect())
        .collect();
    topics.truncate(MAX_CALLS);
    if topics.len() < at_least { vec![] } else { topics }
}

/// The calculations in a question, as `calculate` takes them.
pub fn expressions(question: &str) -> Vec<String> {
    let mut text = format!(" {} ", question.to_lowercase());
    for (words, sign) in [
        ("×", "*"),
        ("÷", "/"),
        ("−", "-"),
        (" plus ", " + "),
        (" minus ", " - "),
        (" times ", " * "),
        (" multiplied by ", " * "),
        (" divided by ", " / "),
        (" to the power of ", " ^ "),
    ] {
        text = text.replace(words, sign);
    }
    let mut found = vec![];
    let mut run = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '0'..='9' | '+' | '-' | '*' | '/' | '^' | '%' | '(' | ')' | ' ' => run.push(c),
            '.' if rest.peek().is_some_and(char::is_ascii_digit) => run.push('.'),
            // "17 x 23"
            'x' if run.trim_end().ends_with(|c: char| c.is_ascii_digit())
                && rest.peek().is_some_and(|c| *c == ' ' || c.is_ascii_digit()) =>
            {
                run.push('*');
            }
            'a'..='z' => {
                let mut word = String::from(c);
                while let Some(letter) = rest.next_if(char::is_ascii_alphanumeric) {
                    word.push(letter);
                }
                let function = ["sqrt", "abs", "exp", "ln", "sin", "cos", "tan"].contains(&&*word);
                if function && rest.peek() == Some(&'(') {
                    run.push_str(&word);
                } else {
                    found.extend(expression(&std::mem::take(&mut run)));
                }
            }
            _ => found.extend(expression(&std::mem::take(&mut run))),
        }
    }
    found.extend(expression(&run));
    found.truncate(MAX_CALLS);
    found
}

/// A run of digits and signs, if it is something to calculate.
fn expression(run: &str) -> Option<String> {
    let signs = ['+', '-', '*', '/', '^', '%'];
    let run = run.trim().trim_end_matches(|c| signs.contains(&c) || c == '(' || c == ' ');
    let run = run.trim_start_matches(|c| ['+', '*', '/', '^', '%', ')', ' '].contains(&c));
    let mut depth = 0;
    for c in run.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth < 0 {
            return None;
        }
    }
    let function = run.contains(|c: char| c.is_ascii_alphabetic());
    let binary = run.trim_start_matches('-').contains(signs);
    let parts: Vec<&str> = run.split('-').collect();
    let date = matches!(parts.as_slice(), [year, _, _] if year.len() == 4 && !run.contains(' '));
    let words: Vec<&str> = run.split_whitespace().collect();
    (depth == 0 && (binary || function) && !date).then(|| words.join(" "))
}
