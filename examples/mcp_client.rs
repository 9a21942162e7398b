//! Our MCP client as a command, for the client scenarios of `@modelcontextprotocol/conformance`. It opens a session
//! with the server at the given address, lists the server's tools and calls each of them, with the arguments that a scenario
//! names or with any that fit.
//!
//! ```text
//! conformance client --command target/debug/examples/mcp_client --scenario tools_call
//! ```
//!
//! Where the server wants a token, the command finds the token endpoint as an operator would find it, who configures it
//! by hand.

use std::error::Error;
use std::rc::Rc;
use std::time::Duration;

use engine::journal::{Answer, Asking};
use engine::ports::{Clock, Given, Input, Tool, ToolContext, ToolError, ToolReply};
use engine::versions::{Seen, Versions};
use espalier_test_support::http::try_send;
use features::mcp::config::McpServers;
use features::mcp::port::{McpPorts, Spawn};
use features::mcp::{Known, Servers};
use futures::future::LocalBoxFuture;
use futures::stream::unfold;
use futures::{FutureExt, StreamExt};
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use wire::http::{Http, HttpReply, HttpRequest, Method, Unreachable};
use wire::protocol::{ContextKind, FormQuestion, Owner};

type Problem = Box<dyn Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Problem> {
    tokio::task::LocalSet::new().run_until(run()).await
}

async fn run() -> Result<(), Problem> {
    let url = std::env::args().next_back().ok_or("which server?")?;
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let asked: Value = serde_json::from_str(&context).unwrap_or_default();
    let http = Rc::new(PlainHttp);
    let mut server = json!({"url": url});
    let secret = asked.get("client_secret").and_then(Value::as_str).map(str::to_owned);
    if secret.is_some() {
        let client_credentials = json!({
            "token_url": token_url(&http, &url).await?,
            "client_id": asked.get("client_id"),
            "client_secret_secret": "SECRET",
        });
        server = json!({"url": url, "auth": {"client_credentials": client_credentials}});
    }
    let configured = json!({"tested": server}).to_string();
    let servers = McpServers::from_env(|name| match name {
        "MCP_SERVERS" => Some(configured.clone()),
        "SECRET" => secret.clone(),
        _ => None,
    })?;
    let clock: Rc<dyn Clock> = Rc::new(TokioClock(Instant::now()));
    let ports =
        McpPorts { tasks: Rc::clone(&http) as _, http, clock: Rc::clone(&clock), known: Known::default() };
    let servers = Servers::new(servers, &ports);
    let [issuer, tenant, user] = ["key", "conformance", "tester"].map(str::to_owned);
    let listed = servers.listed(ContextKind::Thread, &Owner { issuer, tenant, user }).await;
    if let Some(missing) = listed.missing.first() {
        return Err(missing.why.as_ref().map_or_else(String::new, |why| why.explained("tested")).into());
    }
    for offer in &listed.offers {
        let Some(tool) = servers.tool(&offer.spec) else { continue };
        let context = ToolContext {
            clock: Rc::clone(&clock),
            operation_id: "conformance".into(),
            time_zone: None,
            workspace_root: None,
            seen: Rc::new(Seen::new(Rc::new(Versions::new()))),
            paid: Rc::default(),
        };
        let schema: Value = serde_json::from_str(offer.spec.input_schema.0.get())?;
        let calls = asked.get("toolCalls").and_then(Value::as_array).into_iter().flatten();
        let given = calls
            .into_iter()
            .find(|call| call.get("name").and_then(Value::as_str) == offer.spec.mcp_tool.as_deref());
        let arguments =
            given.and_then(|call| call.get("arguments").cloned()).unwrap_or_else(|| arguments(&schema));
        match called(tool.as_ref(), &arguments.to_string(), context).await {
            Ok(result) => eprintln!("{}: {result}", offer.spec.name),
            Err(ToolError(error)) => return Err(format!("{}: {error}", offer.spec.name).into()),
        }
    }
    drop(servers);
    // The connection ends its session in the background; this leaves it time to send the request.
    tokio::time::sleep(Duration::from_millis(100)).await;
    Ok(())
}

/// Calls a tool, and fills in each form that it asks for.
async fn called(tool: &dyn Tool, arguments: &str, context: ToolContext) -> Result<String, ToolError> {
    let mut given = None;
    loop {
        let input = Input { may_ask: true, given };
        match tool.converse(arguments, context.clone(), input).await {
            ToolReply::Ended(ended) => return ended,
            ToolReply::Asks(asking) => given = Some(filled(*asking)),
        }
    }
}

/// A form with any answers that fit.
fn filled(asking: Asking) -> Given {
    let answer =
        |question: &FormQuestion| (question.id.clone(), arguments(&Value::Object(question.schema.clone())));
    let content: Map<String, Value> = asking.form.questions.iter().map(answer).collect();
    let content = Value::Object(content).to_string();
    Given { asking, answer: Answer::Result { content, is_error: false } }
}

/// A value for each property that a schema requires.
fn arguments(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let value = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        let kind = schema.pointer(&format!("/properties/{name}/type")).and_then(Value::as_str);
        let value = match kind {
            Some("number" | "integer") => json!(2),
            Some("boolean") => json!(true),
            Some("object") => json!({}),
            Some("array") => json!([]),
            _ => json!("x"),
        };
        (name.to_owned(), value)
    };
    Value::Object(required.map(value).collect::<Map<String, Value>>())
}

/// The metadata of the server (RFC 9728) names its authorization server, whose metadata (RFC 8414) names the endpoint.
async fn token_url(http: &PlainHttp, url: &str) -> Result<String, Problem> {
    let (origin, path) =
        url.match_indices('/').nth(2).and_then(|(at, _)| url.split_at_checked(at)).unwrap_or((url, ""));
    let resource = http.document(format!("{origin}/.well-known/oauth-protected-resource{path}")).await?;
    let issuer = resource.pointer("/authorization_servers/0").and_then(Value::as_str).ok_or("no issuer")?;
    let issuer = http.document(format!("{issuer}/.well-known/oauth-authorization-server")).await?;
    Ok(issuer.get("token_endpoint").and_then(Value::as_str).ok_or("no token endpoint")?.to_owned())
}

struct PlainHttp;

impl PlainHttp {
    async fn document(&self, url: String) -> Result<Value, Problem> {
        let headers = vec![("accept", "application/json".to_owned())];
        let mut reply = self.send(Rc::new(HttpRequest::get(url, headers))).await.map_err(|_| "no answer")?;
        let mut body = Vec::new();
        while let Some(Ok(read)) = reply.body.next().await {
            body.extend(read);
        }
        Ok(serde_json::from_slice(&body)?)
    }
}

impl Http for PlainHttp {
    fn send(&self, request: Rc<HttpRequest>) -> LocalBoxFuture<'static, Result<HttpReply, Unreachable>> {
        sent(request).boxed_local()
    }
}

impl Spawn for PlainHttp {
    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        tokio::task::spawn_local(task);
    }
}

async fn sent(request: Rc<HttpRequest>) -> Result<HttpReply, Unreachable> {
    let method = match request.method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Delete => "DELETE",
    };
    let named = request.named.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let headers: Vec<(&str, &str)> =
        request.headers.iter().map(|(name, value)| (*name, value.as_str())).chain(named).collect();
    let reply =
        try_send(method, &request.url, &headers, request.body.clone()).await.map_err(|_| Unreachable)?;
    let status = reply.status;
    let named = ["content-type", "mcp-session-id", "www-authenticate"]
        .map(|name| (name.to_owned(), reply.header(name).to_owned()));
    let headers: Vec<_> = named.into_iter().filter(|(_, value)| !value.is_empty()).collect();
    let body = unfold(reply, |mut reply| async {
        let read = reply.read().await.map_err(|_| Unreachable).transpose()?;
        Some((read.map(|bytes| bytes.to_vec()), reply))
    });
    Ok(HttpReply { status, headers: headers.into(), body: body.boxed_local() })
}

struct TokioClock(Instant);

impl Clock for TokioClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        async move { tokio::time::sleep(Duration::from_millis(ms)).await }.boxed_local()
    }
}
