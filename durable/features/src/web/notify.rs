//! A message to an address that a user chose. The guard judges the address as it judges those of the tools.

use std::rc::Rc;

use super::client::{Client, Patience, TooLate, USER_AGENT};
use super::{Config, WebPorts};
use engine::ports::{Clock, ToolError};
use wire::http::{HttpRequest, Unreachable};

/// Posts JSON. Follows no redirect: an address that has moved takes nothing. The error is for the operator.
pub async fn post(ports: &WebPorts, clock: &Rc<dyn Clock>, url: &str, body: Vec<u8>) -> Result<(), String> {
    let WebPorts { http, charsets, config, .. } = ports;
    let Config { guard, resolver, .. } = config.clone();
    let client = Client { http: Rc::clone(http), charsets: Rc::clone(charsets), guard, resolver };
    let mut patience = Patience::new(clock);
    let target = client.judge(url, &mut patience).await.map_err(|ToolError(why)| why)?;
    let headers =
        vec![("content-type", "application/json".to_owned()), ("user-agent", USER_AGENT.to_owned())];
    let request = HttpRequest::post(target.url.to_string(), headers, body);
    match patience.wait(http.send(request.into())).await {
        Ok(Ok(reply)) if (200..300).contains(&reply.status) => Ok(()),
        Ok(Ok(reply)) => Err(format!("the address answered with status {}", reply.status)),
        Ok(Err(Unreachable)) => Err("the address could not be reached".to_owned()),
        Err(TooLate) => Err("the address did not answer in time".to_owned()),
    }
}
