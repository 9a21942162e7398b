//! Pages that need their scripts: Cloudflare's browsers, over their REST API, read them for us. Pure but for the client.
//!
//! <https://developers.cloudflare.com/api/resources/browser_rendering/subresources/markdown/methods/create/>

use serde::Deserialize;
use serde_json::json;

use super::client::{Client, Patience, Silence};
use super::page::{MAX_BODY_BYTES, MAX_TOLD_BYTES, tell};
use super::reader::Window;
use crate::ports::{ToolError, WebRequest};
use crate::providers::Secret;

/// How long the browser waits for a page; less than we wait for it.
const PAGE_MS: u64 = 15_000;

/// The deployment's account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Browser {
    /// Of the endpoint.
    pub url: String,
    pub token: Secret,
}

#[derive(Deserialize)]
struct Rendered {
    success: bool,
    result: Option<String>,
}

impl Browser {
    /// The page's text. Where it redirects, the browser goes by itself: it runs outside of any network of ours.
    pub async fn render(
        &self,
        client: &Client,
        url: &str,
        from: usize,
        mut patience: Patience,
    ) -> Result<String, ToolError> {
        let url = client.judge(url, &mut patience).await?;
        let asked = client.ask(self.request(url.as_str()), MAX_BODY_BYTES, &mut patience).await;
        let failed = |why: &str| Err(ToolError(format!("{url} was not rendered: {why}")));
        let (status, body) = match asked {
            Ok(answer) => answer,
            Err(Silence::TooLate) => return failed("it took too long; try without render"),
            Err(Silence::TooLarge) => return failed("it is too large"),
            Err(Silence::Unreachable) => {
                return failed("the browser could not be reached; try without render");
            }
        };
        let rendered = serde_json::from_slice::<Rendered>(&body).ok().filter(|rendered| rendered.success);
        match (status, rendered.and_then(|rendered| rendered.result)) {
            (200..300, Some(markdown)) => {
                let mut window = Window::new(from, MAX_TOLD_BYTES);
                window.push(&markdown);
                let tail = match window.is_full {
                    true => format!("there is more: read on with from {}", window.end()),
                    false => "that is all of it".to_owned(),
                };
                tell(&format!("{url} (rendered)"), &tail, from, &window)
            }
            (401 | 403, _) => {
                failed("the browser takes no requests of this deployment; go on without render")
            }
            (429, _) => failed("the browser is busy; try again later, or without render"),
            _ => failed("the browser could not load it; try without render"),
        }
    }

    fn request(&self, url: &str) -> WebRequest {
        let body = json!({"url": url, "gotoOptions": {"waitUntil": "networkidle2", "timeout": PAGE_MS}});
        let headers = vec![
            ("authorization", format!("Bearer {}", self.token.reveal())),
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json".to_owned()),
        ];
        WebRequest { url: self.url.clone(), headers, body: Some(body.to_string().into_bytes()) }
    }
}
