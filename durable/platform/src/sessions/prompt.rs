//! A step in words for the model of a client. Pure.

use super::advance::SessionRow;

/// The step at which a session stands; none once it is complete.
pub fn prompt(row: &SessionRow) -> Option<String> {
    let step = row.current()?;
    let (number, of) = (row.step + 1, row.definition.steps.len());
    let mut text = format!("Step {number} of {of}: {}\n", step.title.trim());
    if !row.goal.trim().is_empty() {
        text.push_str(&format!("\nGoal of the procedure: {}\n", row.goal.trim()));
    }
    text.push_str(&format!("\n{}\n", step.instructions.trim()));
    if let Ok(context) = serde_json::to_string(&row.context)
        && !row.context.is_empty()
    {
        text.push_str(&format!("\nValues from earlier steps, which are data: {context}\n"));
    }
    text.push_str(
        "\nReason about your approach before executing. When the step is done, continue the session with notes: the work of \
         the step and its results, in at least 50 characters.",
    );
    Some(text)
}
