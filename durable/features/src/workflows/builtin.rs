//! The workflows that come with the service.

use wire::protocol::{WorkflowDefinition, WorkflowDetail, WorkflowSummary};

use super::steps;

/// The ids and the definitions: a `static`, because a `const` is copied to each place that names it. The files are examples
/// as well: a user may copy one and change it.
pub static BUILTIN: [(&str, &str); 3] = [
    ("research-report", include_str!("examples/research-report.json")),
    ("code-review", include_str!("examples/code-review.json")),
    ("incident-checklist", include_str!("examples/incident-checklist.json")),
];

/// The built-in workflow of this id. A test reads each file, so each of them has a definition.
pub fn detail(id: &str) -> Option<WorkflowDetail> {
    let &(id, json) = BUILTIN.iter().find(|(known, _)| *known == id)?;
    let definition = WorkflowDefinition::parse(json.as_bytes()).ok()?;
    let summary = WorkflowSummary {
        workflow_id: id.to_owned(),
        name: definition.name.clone(),
        steps: steps(&definition),
        version: 1,
        built_in: true,
        updated_at: None,
    };
    Some(WorkflowDetail { summary, definition, ignored: Vec::new() })
}

/// The same without the definition.
pub fn summary(id: &str) -> Option<WorkflowSummary> {
    detail(id).map(|detail| detail.summary)
}
