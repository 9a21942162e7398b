//! Whether a turn can have the shape of an answer that its request wants.

use engine::journal::AnswerShape;
use engine::profiles::Chain;
use engine::toolbelt::ToolSpec;
use wire::protocol::ApiError;

/// The shape of an answer, if the model can give one: it needs calls, and the tools that it must call.
pub fn possible<'a>(
    shape: &'a AnswerShape,
    chain: &Chain,
    tools: &[ToolSpec],
) -> Result<&'a AnswerShape, ApiError> {
    let first = &chain.first.choice;
    if !first.calls() {
        let detail = format!("the model {} makes no calls, so its answers have no shape", first.id());
        return Err(ApiError::field("model", detail));
    }
    match shape.calls.iter().find(|name| tools.iter().all(|tool| tool.name != **name)) {
        Some(_) => {
            Err(ApiError::field("must_call", "this deployment keeps the tools of clients from the model"))
        }
        None => Ok(shape),
    }
}
