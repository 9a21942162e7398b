//! The servers of a deployment, as one run of a turn has them.

use std::collections::BTreeMap;
use std::rc::Rc;

use futures::future::join_all;

use super::config::McpServers;
use super::connection::Connection;
use super::error::McpError;
use super::error::parsed;
use super::offer::{Offer, Offers, ToolPage};
use super::port::McpPorts;
use super::tool::McpTool;
use engine::ports::{Tool, Tools};
use engine::toolbelt::{ToolRules, ToolSpec};
use wire::protocol::{ContextKind, Owner};

/// How long a turn waits for the lists of all servers.
const LISTING_MS: u64 = 3_000;
/// The most pages of a list.
const MAX_PAGES: usize = 20;
/// The most tools of all servers: OpenAI takes 128 in all, ours included.
const MAX_TOOLS: usize = 128;

/// The servers. A connection opens with its first request.
pub struct Servers {
    configured: McpServers,
    connections: BTreeMap<String, Rc<Connection>>,
}

/// The offers of a context's servers.
#[derive(Default)]
pub struct Listed {
    pub offers: Vec<Offer>,
    pub missing: Vec<Missing>,
    /// Why some tools are left out, for the operator.
    pub left_out: Vec<String>,
}

/// A server whose tools are missing in this turn.
#[derive(Debug)]
pub struct Missing {
    pub server: String,
    /// None if an earlier listing has failed recently.
    pub why: Option<McpError>,
}

impl Listed {
    /// The note about missing servers for the model.
    pub fn note(&self) -> String {
        let names: Vec<&str> = self.missing.iter().map(|missing| missing.server.as_str()).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!(
                "\nThe tools of these servers are not available at the moment; say so if they are needed: {}.",
                names.join(", ")
            ),
        }
    }
}

impl Servers {
    pub fn new(configured: McpServers, ports: &McpPorts) -> Self {
        let connection = |(name, server): (&String, &Rc<_>)| {
            (name.clone(), Connection::new(Rc::clone(server), ports.clone()))
        };
        Servers { connections: configured.0.iter().map(connection).collect(), configured }
    }

    /// Lists the tools of a user in a context. Never fails, and takes about three seconds at most.
    pub async fn listed(&self, context: ContextKind, owner: &Owner) -> Listed {
        let allowed = self.configured.allowed(context, owner);
        let connections = self.connections.iter().filter(|(name, _)| allowed.contains(*name));
        let all = join_all(connections.map(|(_, connection)| listing(connection))).await;
        let mut listed = Listed::default();
        for (server, offers, left_out) in all {
            let log = |why: String| format!("the MCP server {server}: {why}");
            listed.left_out.extend(left_out.into_iter().map(log));
            match offers {
                Ok(offers) => {
                    let room = MAX_TOOLS.saturating_sub(listed.offers.len());
                    if offers.len() > room {
                        let why = format!(
                            "{} tools are beyond the {MAX_TOOLS} of all servers",
                            offers.len() - room
                        );
                        listed.left_out.push(log(why));
                    }
                    listed.offers.extend(offers.iter().take(room).cloned());
                }
                Err(why) => listed.missing.push(Missing { server, why }),
            }
        }
        listed
    }

    /// The tool of a declaration, from this configuration or from the start of the turn.
    pub fn tool(&self, spec: &ToolSpec) -> Option<Rc<dyn Tool>> {
        let connection = self.connections.get(spec.mcp_server.as_ref()?)?;
        McpTool::new(spec, connection).map(|tool| Rc::new(tool) as Rc<dyn Tool>)
    }

    /// The tools of a deployment, and those of its servers.
    pub fn with(self: &Rc<Self>, tools: Rc<dyn Tools>, offers: &[Offer]) -> Rc<dyn Tools> {
        if self.connections.is_empty() {
            return tools;
        }
        let mut all = tools.all().to_vec();
        all.extend(offers.iter().filter_map(|offer| self.tool(&offer.spec)));
        Rc::new(WithServers { all, servers: Rc::clone(self), tools })
    }

    /// Adds approvals to the operator's rules: a tool that may change something asks a person, unless a rule about this
    /// tool exists. A rule about a tool overrides one about its class. By `readOnlyHint` a server can remove this
    /// question, but no rule.
    pub fn rules(&self, mut rules: ToolRules, offers: &[Offer]) -> ToolRules {
        for Offer { spec, asks, .. } in offers {
            let server = spec.mcp_server.as_ref().and_then(|name| self.configured.0.get(name));
            let own = spec.mcp_tool.as_deref().or_else(|| spec.name.rsplit("__").next());
            let words = server.zip(own).and_then(|(server, tool)| server.tools.get(tool));
            match words.and_then(|words| words.rule) {
                Some(rule) => rules.unless_said(&spec.name, rule),
                None if *asks => rules.at_least_ask(spec),
                None => {}
            }
        }
        rules
    }

    /// The names of the servers that a user may have in a context.
    pub fn allowed(&self, context: ContextKind, owner: &Owner) -> std::collections::BTreeSet<String> {
        self.configured.allowed(context, owner)
    }
}

struct WithServers {
    all: Vec<Rc<dyn Tool>>,
    servers: Rc<Servers>,
    tools: Rc<dyn Tools>,
}

impl Tools for WithServers {
    fn all(&self) -> &[Rc<dyn Tool>] {
        &self.all
    }

    fn find(&self, spec: &ToolSpec) -> Option<Rc<dyn Tool>> {
        if spec.mcp_server.is_some() { self.servers.tool(spec) } else { self.tools.find(spec) }
    }
}

type Listing = (String, Result<Rc<[Offer]>, Option<McpError>>, Vec<String>);

async fn listing(connection: &Connection) -> Listing {
    let (name, ports) = (connection.server.name.clone(), &connection.ports);
    if let Some(known) = ports.known.offers(&name, ports.clock.now_ms()) {
        return (name, known.ok_or(None), Vec::new());
    }
    let asked = ports.within(LISTING_MS, offers(connection)).await;
    let asked = asked.unwrap_or(Err(McpError::Silent(LISTING_MS, None)));
    let (offers, left_out) = match asked {
        Ok(Offers { offers, left_out, .. }) => (Ok(Rc::<[Offer]>::from(offers)), left_out),
        Err(why) => (Err(Some(why)), Vec::new()),
    };
    ports.known.listed(&name, offers.as_ref().ok().cloned(), ports.clock.now_ms());
    (name, offers, left_out)
}

async fn offers(connection: &Connection) -> Result<Offers, McpError> {
    let session = connection.opened().await?;
    let mut offers = Offers::default();
    let mut cursor: Option<String> = None;
    for page in 0.. {
        if session.capabilities.tools.is_none() {
            break;
        }
        if page == MAX_PAGES {
            offers.left_out.push(format!("the tools beyond {MAX_PAGES} pages of its list"));
            break;
        }
        let params =
            cursor.map_or_else(|| serde_json::json!({}), |cursor| serde_json::json!({"cursor": cursor}));
        let page: ToolPage = parsed(&connection.call("tools/list", &params).await?)?;
        page.tools.iter().for_each(|tool| offers.take(&connection.server, tool));
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    offers.take_reading(&connection.server, &session.capabilities);
    // The model reads the descriptions of a server's tools, so they must not contain our secrets.
    for offer in &mut offers.offers {
        offer.spec.description = connection.hidden(std::mem::take(&mut offer.spec.description));
    }
    Ok(offers)
}
