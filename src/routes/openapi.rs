//! The description of the API. `make openapi` writes it to `web/public`, and each deployment has it among its assets:
//! within the module it would be 16 kB of every upload, and each isolate would load its 200 kB.

use worker::Fetcher;

use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::reply::Reply;

/// The binding of the assets (wrangler.toml).
const ASSETS: &str = "ASSETS";
/// The binding reads the path alone.
const FILE: &str = "https://assets/openapi.json";
const JSON: &str = "application/json";

pub async fn description(call: &Call) -> Result<Answer, Failure> {
    let failed = |error: worker::Error| Failure::internal("reading the API's description")(error);
    let assets: Fetcher = call.env.assets(ASSETS).map_err(failed)?;
    let mut file = assets.fetch(FILE, None).await.map_err(failed)?;
    // Where the file is missing, the assets answer with the page.
    let kind = file.headers().get("content-type").map_err(failed)?.unwrap_or_default();
    if file.status_code() != 200 || !kind.starts_with(JSON) {
        return Err(failed(format!("the assets answer {} {kind}", file.status_code()).into()));
    }
    Ok(Reply::bytes(200, JSON, file.bytes().await.map_err(failed)?).into())
}
