//! One tool of a server, carried out there.

use std::rc::Rc;

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::connection::{Connection, Reply};
use super::content::{Contents, ListPage, MAX_TOLD_BYTES, Prompt, ToolResult, cut};
use super::error::McpError;
use super::error::parsed;
use super::modern;
use super::offer::Reading;
use crate::marks::{IS_DATA, unmarked, verbatim};
use engine::journal::Asking;
use engine::ports::{Input, Tool, ToolContext, ToolError, ToolReply};
use engine::toolbelt::ToolSpec;

/// The mark around the answer of a server.
const RESULT: &str = "mcp_result";

pub struct McpTool {
    spec: ToolSpec,
    connection: Rc<Connection>,
    what: What,
}

#[derive(Clone)]
enum What {
    /// A tool of the server, by the server's own name for it.
    Call(String),
    Read(Reading),
}

impl McpTool {
    /// The tool of a declaration; none for an unknown name.
    pub fn new(spec: &ToolSpec, connection: &Rc<Connection>) -> Option<Self> {
        let what = match &spec.mcp_tool {
            Some(name) => What::Call(name.clone()),
            None => What::Read(Reading::of(&connection.server.name, &spec.name)?),
        };
        // A declaration that former code froze does not say what the tool reads.
        let reads = match what {
            What::Read(reading) => reading.reads(),
            What::Call(_) => None,
        };
        let spec = ToolSpec { reads, ..spec.clone() };
        Some(McpTool { spec, connection: Rc::clone(connection), what })
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn content(&self, result: &str) -> Result<String, ToolError> {
        let told = unmarked(RESULT, result);
        let text = told.as_deref().and_then(Contents::text).map(str::to_owned);
        text.ok_or_else(|| ToolError("the resource is no text, or too long for one result".to_owned()))
    }

    /// Runs it for nobody who could fill in a form.
    fn run(
        &self,
        arguments: &str,
        context: ToolContext,
    ) -> LocalBoxFuture<'static, Result<String, ToolError>> {
        let running = self.converse(arguments, context, Input::default());
        running
            .map(|reply| match reply {
                ToolReply::Ended(result) => result,
                ToolReply::Asks(_) => Err(ToolError("the server asks for input".to_owned())),
            })
            .boxed_local()
    }

    /// The engine has checked the arguments against the schema.
    fn converse(&self, arguments: &str, _: ToolContext, input: Input) -> LocalBoxFuture<'static, ToolReply> {
        let (connection, what) = (Rc::clone(&self.connection), self.what.clone());
        let schema = self.spec.schema_as_given().to_owned();
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        // Rewrites the arguments in the form that a person approves: a duplicate member or a number beyond a double
        // could otherwise mean something else to the server.
        let arguments = wire::json::from_str::<Value>(arguments).and_then(|value| to_raw_value(&value));
        async move {
            let failed = |problem: String| ToolReply::Ended(Err(ToolError(problem)));
            let arguments = match arguments {
                Ok(arguments) => arguments,
                Err(error) => return failed(format!("invalid arguments: {error}")),
            };
            let hidden = |text| cut(connection.hidden(text), MAX_TOLD_BYTES);
            let server = &connection.server.name;
            match carried_out(&connection, &what, &schema, &arguments, &input).await {
                Ok(Said::Asks(asking)) => ToolReply::Asks(asking),
                Ok(Said::Text(said, is_error)) => {
                    let marked = verbatim(RESULT, ("server", server), &hidden(said));
                    let told = format!("{IS_DATA}\n{marked}");
                    ToolReply::Ended(if is_error { Err(ToolError(told)) } else { Ok(told) })
                }
                Err(failure) => failed(hidden(failure.explained(server))),
            }
        }
        .boxed_local()
    }
}

/// The answer of a server: a text, which may tell of an error, or a question.
enum Said {
    Text(String, bool),
    Asks(Box<Asking>),
}

async fn carried_out(
    connection: &Connection,
    what: &What,
    schema: &str,
    arguments: &RawValue,
    input: &Input,
) -> Result<Said, McpError> {
    let reading = match what {
        What::Call(name) => {
            let named = modern::of_arguments(schema, arguments);
            let result: ToolResult = match connection.called(name, named, arguments, input).await? {
                Reply::Result(result) => parsed(&result)?,
                Reply::Asks(asking) => return Ok(Said::Asks(asking)),
            };
            if let Some(schema) = connection.ports.known.output_schema(&connection.server.name, name) {
                result.check(schema)?;
            }
            return Ok(Said::Text(result.as_text(), result.is_error));
        }
        What::Read(reading) => reading,
    };
    let told = match reading {
        Reading::ListResources => {
            let resources: ListPage = parsed(&connection.call("resources/list", &arguments).await?)?;
            let templates = connection.call("resources/templates/list", &json!({})).await;
            // Many servers have no templates and refuse the request.
            let templates =
                templates.and_then(|page| parsed::<ListPage>(&page)).ok().filter(ListPage::has_some);
            let more = templates.map(|page| format!("\nTemplates of addresses:\n{}", page.as_text()));
            resources.as_text() + &more.unwrap_or_default()
        }
        Reading::ReadResource => {
            parsed::<Contents>(&connection.call("resources/read", &arguments).await?)?.as_text()
        }
        Reading::ListPrompts => {
            parsed::<ListPage>(&connection.call("prompts/list", &arguments).await?)?.as_text()
        }
        Reading::GetPrompt => parsed::<Prompt>(&connection.call("prompts/get", &arguments).await?)?.as_text(),
    };
    Ok(Said::Text(told, false))
}
