//! A definition as its author wrote it. It may have the names that the members have elsewhere, and members that nothing
//! here reads.

use serde_json::{Map, Value};

use super::{MAX_DEFINITION_BYTES, WorkflowDefinition};
use crate::protocol::request::{read, read_body};
use crate::protocol::{ApiError, ErrorCode};

/// The most ignored members that an answer lists.
const MAX_IGNORED: usize = 50;

const DEFINITION: [&str; 5] = ["name", "goal", "steps", "stuck", "notify"];
const STEP: [&str; 10] = [
    "id",
    "title",
    "instructions",
    "type",
    "stepType",
    "output_mode",
    "outputMode",
    "tools",
    "verifier",
    "review",
];
const VERIFIER: [&str; 3] = ["model", "threshold", "instructions"];
const NOTIFY: [&str; 1] = ["url"];

/// A definition to save, and the paths of the members that have no effect.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenDefinition {
    pub definition: WorkflowDefinition,
    /// At most 50, such as `steps[0].author`.
    pub ignored: Vec<String>,
}

impl WrittenDefinition {
    /// Reads and checks a body. The error names the first offending member by its path. Stored definitions are read
    /// leniently, without this.
    pub fn parse(body: &[u8]) -> Result<WrittenDefinition, ApiError> {
        if body.len() > MAX_DEFINITION_BYTES {
            let detail = format!("a definition has at most {MAX_DEFINITION_BYTES} bytes");
            return Err(ApiError::new(ErrorCode::BodyTooLarge, detail));
        }
        let mut members: Map<String, Value> = read(body)?;
        let mut reading = Reading::default();
        reading.definition(&mut members)?;
        let definition = read_body::<WorkflowDefinition>(Value::Object(members).to_string().as_bytes())
            .and_then(WorkflowDefinition::checked);
        let Reading { ignored, renamed } = reading;
        match definition {
            Ok(definition) => Ok(WrittenDefinition { definition, ignored }),
            Err(error) => {
                Err(renamed.iter().fold(error, |error, (ours, theirs)| error.renamed(ours, theirs)))
            }
        }
    }
}

impl WorkflowDefinition {
    /// The same without the list.
    pub fn parse(body: &[u8]) -> Result<WorkflowDefinition, ApiError> {
        WrittenDefinition::parse(body).map(|written| written.definition)
    }
}

#[derive(Default)]
struct Reading {
    ignored: Vec<String>,
    /// The paths of members by our names, and those of the body.
    renamed: Vec<(String, String)>,
}

impl Reading {
    fn definition(&mut self, members: &mut Map<String, Value>) -> Result<(), ApiError> {
        self.rename("", members, &["description"], "goal");
        self.ignore("", members, &DEFINITION);
        if let Some(Value::Object(notify)) = members.get("notify") {
            self.ignore("notify.", notify, &NOTIFY);
        }
        let steps = members.get_mut("steps").and_then(Value::as_array_mut);
        for (at, step) in steps.into_iter().flatten().enumerate() {
            let Value::Object(step) = step else { continue };
            let path = format!("steps[{at}].");
            self.rename(&path, step, &["prompt", "description"], "instructions");
            self.ignore(&path, step, &STEP);
            let Some(Value::Object(verifier)) = step.get_mut("verifier") else { continue };
            let path = format!("{path}verifier.");
            self.rename(&path, verifier, &["systemPrompt", "system_prompt", "prompt"], "instructions");
            // A judge that its author meant to be stricter must not judge without it.
            if let Some(unknown) = verifier.keys().find(|name| !VERIFIER.contains(&name.as_str())) {
                let detail = format!("a verifier has {}", VERIFIER.join(", "));
                return Err(ApiError::field(format!("{path}{unknown}"), detail));
            }
        }
        Ok(())
    }

    /// Gives a member our name, where there is none of ours.
    fn rename(&mut self, path: &str, members: &mut Map<String, Value>, theirs: &[&str], ours: &str) {
        if members.contains_key(ours) {
            return;
        }
        if let Some((theirs, value)) = theirs.iter().find_map(|name| Some((name, members.remove(*name)?))) {
            members.insert(ours.to_owned(), value);
            self.renamed.push((format!("{path}{ours}"), format!("{path}{theirs}")));
        }
    }

    fn ignore(&mut self, path: &str, members: &Map<String, Value>, known: &[&str]) {
        let unknown = members.keys().filter(|name| !known.contains(&name.as_str()));
        let room = MAX_IGNORED.saturating_sub(self.ignored.len());
        self.ignored.extend(unknown.take(room).map(|name| format!("{path}{name}")));
    }
}
