//! A request to an identity provider: bounded in time and size, and never redirected.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use futures::future::{Either, select};
use worker::{AbortController, AbortSignal, Delay, Fetch, Request, RequestInit, RequestRedirect};

use crate::body::BoundedBody;

/// How long a provider may take. The caller waits meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);

/// The status and the body of an answer of at most so many bytes.
pub async fn fetched(url: &str, mut init: RequestInit, most: usize) -> worker::Result<(u16, Vec<u8>)> {
    // A redirect would let another server answer in place of the configured one.
    init.with_redirect(RequestRedirect::Manual);
    let request = Request::new_with_init(url, &init)?;
    let abort = AbortController::default();
    let signal = abort.signal();
    match select(pin!(read(request, &signal, most)), pin!(Delay::from(PATIENCE))).await {
        Either::Left((read, _)) => read,
        Either::Right(_) => {
            abort.abort();
            Err("no answer in time".into())
        }
    }
}

async fn read(request: Request, signal: &AbortSignal, most: usize) -> worker::Result<(u16, Vec<u8>)> {
    let mut response = Fetch::Request(request).send_with_signal(signal).await?;
    let too_large = |_| format!("more than {most} bytes");
    let mut body = BoundedBody::declared(most, None).map_err(too_large)?;
    let mut pieces = response.stream()?;
    while let Some(piece) = pieces.next().await {
        body.push(piece?, 0).map_err(too_large)?;
    }
    Ok((response.status_code(), body.into_bytes()))
}
