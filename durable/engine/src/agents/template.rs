//! Templates: plain texts that become an agent's instructions. A head between two lines `---` may name the MCP servers whose
//! tools the agent gets (`mcp: a, b`), the tools that it may not use (`deny: a, b`), and the call that answers in its place
//! (`code: a`).
//!
//! Some are built in. The others are files of the workspace and resources of MCP servers, which a call of its own reads.

use serde_json::json;

use super::code;
use crate::ports::ToolError;
use crate::toolbelt::Reads;
use crate::turn::composite::Running;
use crate::turn::{self, Halt, Source};

/// A template as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Template {
    pub(super) instructions: String,
    pub(super) servers: Vec<String>,
    pub(super) denied: Vec<String>,
    /// The call that answers in the agent's place; none: a model answers.
    pub(super) code: Option<String>,
}

/// The templates that every deployment has.
const BUILTIN: [(&str, &str); 4] = [
    ("advocate", include_str!("templates/advocate.md")),
    ("critic", include_str!("templates/critic.md")),
    ("keeper", include_str!("templates/keeper.md")),
    ("websearch", include_str!("templates/websearch.md")),
];

/// The text of a template that every deployment has.
pub fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}

/// The beginnings of the names of templates that are files of the workspace, and of those that are resources of an MCP
/// server.
const WORKSPACE: &str = "workspace:";
const MCP: &str = "mcp:";

/// The template of this name. The model reads an error.
pub(super) async fn named(call: &Running<'_>, name: &str) -> Result<Result<Template, ToolError>, Halt> {
    if let Some(text) = builtin(name) {
        return Ok(read(text));
    }
    let source = match source(name) {
        Ok(source) => source,
        Err(refusal) => return Ok(Err(refusal)),
    };
    Ok(turn::read(call, &source).await?.and_then(|text| read(&text)))
}

/// The place of a template that is not built in.
fn source(name: &str) -> Result<Source<'_>, ToolError> {
    let what = format!("the template {name:?}");
    if let Some(path) = name.strip_prefix(WORKSPACE) {
        let arguments = json!({ "path": path });
        return Ok(Source { what, reads: Reads::WorkspaceFile, server: None, arguments });
    }
    let Some(address) = name.strip_prefix(MCP) else {
        return Err(ToolError(format!("there is no template {name:?}")));
    };
    let (server, uri) =
        address.split_once(':').ok_or_else(|| ToolError("expected mcp:SERVER:URI".to_owned()))?;
    Ok(Source { what, reads: Reads::McpResource, server: Some(server), arguments: json!({ "uri": uri }) })
}

/// The line above and below the head.
const EDGE: &str = "---";
/// The most names in a line of the head: an agent has no more tools than its turn, which has fewer.
const MAX_NAMES: usize = 100;

/// Reads a template; the model reads the error.
pub(super) fn read(text: &str) -> Result<Template, ToolError> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let head = text.strip_prefix(EDGE).and_then(|rest| rest.strip_prefix(['\n', '\r']));
    let Some(head) = head else {
        return Ok(Template { instructions: filled(text)?, ..Template::default() });
    };
    let (mut template, mut lines) = (Template::default(), head.lines());
    loop {
        let line = lines.next().map(str::trim).ok_or_else(|| bad("its head has no end"))?;
        if line == EDGE {
            break;
        }
        match line.split_once(':').map(|(name, names)| (name.trim(), names)) {
            Some(("mcp", names)) => template.servers = listed(names),
            Some(("deny", names)) => template.denied = listed(names),
            Some(("code", name)) => template.code = Some(call_named(name.trim())?),
            // A template of another program may say more, which means nothing here.
            _ => {}
        }
    }
    template.instructions = filled(lines.collect::<Vec<_>>().join("\n").trim())?;
    Ok(template)
}

fn listed(names: &str) -> Vec<String> {
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.take(MAX_NAMES).map(str::to_owned).collect()
}

/// The call of this name, if it can answer in an agent's place.
fn call_named(name: &str) -> Result<String, ToolError> {
    match code::answers(name) {
        true => Ok(name.to_owned()),
        false => Err(bad(&format!("there is no agent of code {name:?}"))),
    }
}

fn filled(text: &str) -> Result<String, ToolError> {
    if text.is_empty() { Err(bad("it has no instructions")) } else { Ok(text.to_owned()) }
}

fn bad(problem: &str) -> ToolError {
    ToolError(format!("the template cannot be used: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    // A-024 A-035
    #[test]
    fn each_template_of_ours_can_be_used() {
        for (name, _) in BUILTIN {
            assert!(read(builtin(name).unwrap()).is_ok(), "{name}");
            assert!(
                super::super::task::spec().input_schema.0.get().contains(name),
                "{name} is told to models"
            );
        }
        assert_eq!(builtin("nobody"), None);
    }

    // A-024 A-088 A-103 A-106
    #[test]
    fn a_template_is_plain_text_with_a_head_if_it_needs_one() {
        let read = |text: &str| super::read(text).map_err(|ToolError(problem)| problem);
        let plain = |text: &str| Template { instructions: text.to_owned(), ..Template::default() };
        assert_eq!(read("  Be brief.\n"), Ok(plain("Be brief.")));
        assert_eq!(read("--- no head\ntext"), Ok(plain("--- no head\ntext")));
        let whole = read(
            "---\nmcp: library, shop\ncolour: red\ndeny: task , discuss,\n---\n\nBe brief.\n--- \nAnd kind.",
        );
        assert_eq!(
            whole,
            Ok(Template {
                instructions: "Be brief.\n--- \nAnd kind.".to_owned(),
                servers: vec!["library".to_owned(), "shop".to_owned()],
                denied: vec!["task".to_owned(), "discuss".to_owned()],
                code: None,
            })
        );
        let code = read("---\ncode: websearch\n---\nSearch.").unwrap();
        assert_eq!(code, Template { code: Some("websearch".to_owned()), ..plain("Search.") });
        assert!(
            read("---\ncode: write\n---\nx").unwrap_err().contains("there is no agent of code \"write\"")
        );
        assert!(read(" \n").unwrap_err().contains("no instructions"));
        assert!(read("---\ndeny: a\n---\n").unwrap_err().contains("no instructions"));
        assert!(read("---\ndeny: a\n").unwrap_err().contains("no end"));
        let many = format!("---\ndeny: {}\n---\nx", "a,".repeat(MAX_NAMES + 1));
        assert_eq!(read(&many).unwrap().denied.len(), MAX_NAMES);
    }
}
