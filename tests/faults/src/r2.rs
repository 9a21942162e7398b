//! R2 in the protocol of its binding, in this process. It outlives every kill. It refuses, answers late, or loses its
//! answer after it has written.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Response};
use serde_json::{Value, json};

use crate::rng::Rng;
use crate::world::{Body, Moment, World};

/// The objects by their keys, with the number of times that each was written.
#[derive(Default)]
pub struct Bucket {
    objects: Mutex<BTreeMap<String, (Bytes, u32)>>,
    requests: AtomicU64,
}

impl Bucket {
    /// The texts of the objects whose key has this in it.
    pub fn texts(&self, part: &str) -> Vec<String> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let found = objects.iter().filter(|(key, _)| key.contains(part));
        found.map(|(_, (bytes, _))| String::from_utf8_lossy(bytes).into_owned()).collect()
    }

    /// The number of objects with this mark in their key or their text.
    pub fn marked(&self, mark: &str) -> usize {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |text: &[u8]| text.windows(mark.len()).any(|window| window == mark.as_bytes());
        objects.iter().filter(|(key, (bytes, _))| key.contains(mark) || has(bytes)).count()
    }

    /// The number of objects, and of those that were written more than once.
    pub fn counts(&self) -> (usize, usize) {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        (objects.len(), objects.values().filter(|(_, times)| *times > 1).count())
    }
}

const REQUEST: &str = "cf-r2-request";
const METADATA_SIZE: &str = "cf-r2-metadata-size";

/// Whether a request with these headers comes from the binding.
pub fn is_asked(headers: &HeaderMap) -> bool {
    headers.contains_key(REQUEST) || headers.contains_key(METADATA_SIZE)
}

/// Answers one request of the binding.
pub async fn answer(world: &World, headers: &HeaderMap, body: &Bytes) -> Result<Response<Body>, io::Error> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let size = text(METADATA_SIZE).parse().unwrap_or(0).min(body.len());
    let asked: Value = match headers.contains_key(REQUEST) {
        true => serde_json::from_str(text(REQUEST))?,
        false => serde_json::from_slice(&body.slice(..size))?,
    };
    let value = body.slice(size..);
    let number = world.bucket.requests.fetch_add(1, Ordering::Relaxed);
    let mut rng = Rng::of(world.seed, &format!("r2 {number}"));
    let refused = world.moment(Moment::R2Asked);
    let fault = rng.chance(world.weather().r2).then(|| rng.range(0, 3));
    if refused || fault == Some(0) {
        world.ledger.r2("refused");
        return Ok(error(500, 10_001));
    }
    if fault == Some(1) {
        world.ledger.r2("late");
        tokio::time::sleep(Duration::from_millis(rng.range(100, 1_500))).await;
    }
    let answer = carried_out(&world.bucket, &asked, value);
    let lost = world.moment(Moment::R2Done);
    if lost || fault == Some(2) {
        world.ledger.r2("answer lost");
        return Err(io::Error::other("scripted"));
    }
    Ok(answer)
}

fn carried_out(bucket: &Bucket, asked: &Value, value: Bytes) -> Response<Body> {
    let mut objects = bucket.objects.lock().unwrap_or_else(PoisonError::into_inner);
    let key = asked["object"].as_str().unwrap_or_default();
    match asked["method"].as_str().unwrap_or_default() {
        "put" => {
            let (bytes, times) = objects.entry(key.to_owned()).or_default();
            (*bytes, *times) = (value, *times + 1);
            result(&about(key, bytes), None)
        }
        "delete" => {
            let keys = asked["objects"].as_array().cloned().unwrap_or_else(|| vec![asked["object"].clone()]);
            keys.iter().filter_map(Value::as_str).for_each(|key| drop(objects.remove(key)));
            result(&json!({}), None)
        }
        "head" | "get" => match objects.get(key) {
            Some((bytes, _)) => result(&about(key, bytes), (asked["method"] == "get").then_some(bytes)),
            None => error(404, 10_007),
        },
        "list" => {
            let (prefix, after) =
                (asked["prefix"].as_str().unwrap_or_default(), asked["startAfter"].as_str());
            let limit = asked["limit"].as_u64().unwrap_or(1_000) as usize;
            let mut found = objects
                .iter()
                .filter(|(key, _)| key.starts_with(prefix) && after.is_none_or(|after| key.as_str() > after));
            let page: Vec<Value> =
                found.by_ref().take(limit).map(|(key, (bytes, _))| about(key, bytes)).collect();
            let truncated = found.next().is_some();
            result(&json!({ "objects": page, "truncated": truncated, "delimitedPrefixes": [] }), None)
        }
        _ => error(500, 10_001),
    }
}

fn about(key: &str, bytes: &Bytes) -> Value {
    let etag = format!("{:016x}", bytes.len());
    json!({ "name": key, "version": etag, "size": bytes.len(), "etag": etag, "uploaded": 1_800_000_000_000_u64,
        "httpFields": {}, "customFields": [], "checksums": {} })
}

fn result(about: &Value, value: Option<&Bytes>) -> Response<Body> {
    let about = about.to_string();
    let size = about.len();
    let bytes = [about.as_bytes(), value.map_or(&[], |bytes| bytes.as_ref())].concat();
    respond(200, bytes, &[(METADATA_SIZE, size.to_string())])
}

fn error(status: u16, code: u32) -> Response<Body> {
    let told = json!({ "version": 0, "v4code": code, "message": "scripted" });
    respond(status, Vec::new(), &[("cf-r2-error", told.to_string())])
}

fn respond(status: u16, bytes: Vec<u8>, headers: &[(&'static str, String)]) -> Response<Body> {
    let full = Full::new(Bytes::from(bytes)).map_err(|never: std::convert::Infallible| match never {});
    let mut response = Response::new(BodyExt::boxed_unsync(full));
    *response.status_mut() =
        hyper::StatusCode::from_u16(status).unwrap_or(hyper::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        if let Ok(value) = hyper::header::HeaderValue::from_str(value) {
            response.headers_mut().insert(*name, value);
        }
    }
    response
}
