//! Pages that need their scripts: Cloudflare's browsers read them for us.

use serde::Deserialize;
use serde_json::{Value, json};

use super::client::{Client, Patience, Silence, whole};
use super::guard::{PRIVATE_ENDS, PRIVATE_NAMES, Target};
use super::page::{MAX_BODY_BYTES, MAX_TOLD_BYTES, tell};
use crate::reader::Window;
use crate::web::Browser;
use engine::ports::ToolError;

/// How long the browser waits for a page: less than the client waits for the browser.
const PAGE_MS: u64 = 15_000;

/// The addresses that a page may not request inside the browser, as a regular expression: numeric hosts, single words,
/// and the names that the guard refuses. The browser of `wrangler dev` runs in the developer's network.
fn private_hosts() -> String {
    let names = [&PRIVATE_ENDS[..], &PRIVATE_NAMES[..]].concat().join("|").replace('.', r"\.");
    format!(
        r"^[a-z]+://([^/?#]*@)?([^/?#.:]+|[0-9.]+|\[[^\]]*\]|([^/?#:]+\.)?({names}))\.?(:[0-9]*)?([/?#]|$)"
    )
}

#[derive(Deserialize)]
struct Rendered {
    success: bool,
    result: Option<String>,
}

/// Returns the page's text. The browser follows redirects, except to [`private_hosts`].
pub async fn render(
    browser: &dyn Browser,
    client: &Client,
    url: &str,
    from: usize,
    mut patience: Patience,
) -> Result<String, ToolError> {
    let target = client.judge(url, &mut patience).await?;
    let asked = whole(browser.markdown(&options(&target)), MAX_BODY_BYTES, &mut patience).await;
    let failed = |why: &str| Err(ToolError(format!("{} was not rendered: {why}", target.url)));
    let (status, body) = match asked {
        Ok(answer) => answer,
        Err(Silence::TooLate) => return failed("it took too long; try without render"),
        Err(Silence::TooLarge) => return failed("it is too large"),
        Err(Silence::Unreachable) => return failed("the browser could not be reached; try without render"),
    };
    let rendered = wire::json::from_slice::<Rendered>(&body).ok().filter(|rendered| rendered.success);
    match (status, rendered.and_then(|rendered| rendered.result)) {
        (200..300, Some(markdown)) => {
            let mut window = Window::new(from, MAX_TOLD_BYTES);
            window.push(&markdown);
            let tail = match window.is_full {
                true => format!("there is more: read on with from {}", window.end()),
                false => "this is the end".to_owned(),
            };
            tell(&format!("{} (rendered)", target.url), &tail, from, &window)
        }
        (401 | 403, _) => failed("the browser takes no requests of this deployment; go on without render"),
        (429, _) => failed("the browser is busy; try again later, or without render"),
        _ => failed("the browser could not load it; try without render"),
    }
}

fn options(target: &Target) -> Value {
    // The pages of a private host that the operator named may request other private hosts.
    let refused: Vec<String> = target.resolve.iter().map(|_| private_hosts()).collect();
    json!({
        "url": target.url.as_str(),
        "gotoOptions": {"waitUntil": "networkidle2", "timeout": PAGE_MS},
        "rejectRequestPattern": refused,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{PRIVATE_ENDS, PRIVATE_NAMES, private_hosts};

    // The browser uses JavaScript's regular expressions, as JSON Schema does.
    #[test]
    fn pages_may_not_request_private_hosts() {
        let pattern =
            jsonschema::validator_for(&json!({"type": "string", "pattern": private_hosts()})).unwrap();
        // Each name that the guard refuses, and names below it.
        for name in PRIVATE_ENDS.iter().chain(&PRIVATE_NAMES) {
            for host in [(*name).to_owned(), format!("10.0.0.1.{name}."), format!("u:p@wiki.{name}:8443")] {
                assert!(pattern.is_valid(&json!(format!("https://{host}/x"))), "{host}");
            }
        }
        for refused in [
            "http://127.0.0.1/",
            "http://127.0.0.1:8787/x",
            "http://169.254.169.254/latest",
            "http://u:p@10.0.0.1/",
            "http://[::1]:80/",
            "http://[::ffff:7f00:1]/",
            "http://localhost:3000",
            "ws://localhost/",
            "http://localhost./",
            "http://a.localhost/",
            "http://nas.local:5000/x",
            "http://metadata.google.internal/",
            "http://router/",
            "http://wiki.corp/",
            "http://10.0.0.1.nip.io/",
            "https://app.localtest.me:3000",
        ] {
            assert!(pattern.is_valid(&json!(refused)), "{refused}");
        }
        for asked in [
            "https://example.com/",
            "https://example.com:443/a?b=http://localhost/",
            "https://www.example.co.uk",
            "https://local.example.com/x#y",
            "https://corp.example.com/",
            "https://notlvh.me/",
            "https://nip.io.example.com/",
            "https://a.nip-io.example/",
            "https://1.example.com/",
            "https://example.com/@10.0.0.1/",
            "data:text/css,a",
        ] {
            assert!(!pattern.is_valid(&json!(asked)), "{asked}");
        }
    }
}
