//! The embeddings of Workers AI, and Vectorize, in the protocols of their bindings, in this process. They outlive every
//! kill. They refuse, or lose their answer after they have written.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use hyper::Response;
use hyper::http::request::Parts;
use serde_json::{Value, json};

use crate::world::{Body, Moment, World, plain};

/// The header that the runtime's configuration gives to the requests of both bindings: D1 has the same paths.
pub const HEADER: &str = "x-vectors";
/// The numbers of an embedding.
const DIMENSIONS: usize = 8;

/// The vectors by their ids, each with its scope.
#[derive(Default)]
pub struct Index(Mutex<BTreeMap<String, (Vec<f64>, String)>>);

impl Index {
    /// The number of vectors of a document.
    pub fn of_document(&self, id: &str) -> usize {
        let index = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        index.keys().filter(|key| key.split(':').next() == Some(id)).count()
    }

    /// The ids of the documents that have vectors.
    pub fn documents(&self) -> BTreeSet<String> {
        let index = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        index.keys().filter_map(|key| key.split(':').next()).map(str::to_owned).collect()
    }
}

/// Answers one request of the bindings.
pub fn answer(world: &World, head: &Parts, body: &Bytes) -> Result<Response<Body>, io::Error> {
    if world.moment(Moment::VectorsAsked) {
        return Ok(plain(500, &json!({ "error": "scripted" })));
    }
    let text = String::from_utf8_lossy(body);
    let asked: Value = serde_json::from_str(&text).unwrap_or_default();
    let answer = match head.uri.path() {
        "/run" => {
            let texts = asked["inputs"]["text"].as_array().cloned().unwrap_or_default();
            let data: Vec<_> = texts.iter().filter_map(Value::as_str).map(embedded).collect();
            json!({ "shape": [data.len(), DIMENSIONS], "data": data })
        }
        path => carried_out(&world.index, path, &text, &asked),
    };
    match world.moment(Moment::VectorsDone) {
        true => Err(io::Error::other("scripted")),
        false => Ok(plain(200, &answer)),
    }
}

/// How often a text has bytes of each kind: texts with the same bytes are near.
fn embedded(text: &str) -> Vec<u32> {
    let mut values = vec![0; DIMENSIONS];
    for byte in text.bytes() {
        values[usize::from(byte) % DIMENSIONS] += 1;
    }
    values
}

fn carried_out(index: &Index, path: &str, text: &str, asked: &Value) -> Value {
    let mut index = index.0.lock().unwrap_or_else(PoisonError::into_inner);
    match path {
        // A JSON object a line.
        "/upsert" => {
            for vector in text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
                let id = vector["id"].as_str().unwrap_or_default().to_owned();
                let scope = vector["metadata"]["scope"].as_str().unwrap_or_default().to_owned();
                index.insert(id, (numbers(&vector["values"]), scope));
            }
        }
        "/deleteByIds" => {
            let ids = asked["ids"].as_array().into_iter().flatten();
            ids.filter_map(Value::as_str).for_each(|id| drop(index.remove(id)));
        }
        "/query" => {
            let scopes = asked["filter"]["scope"]["$in"].as_array().cloned().unwrap_or_default();
            let question = numbers(&asked["vector"]);
            let mut matches: Vec<(f64, &String)> = index
                .iter()
                .filter(|(_, (_, scope))| scopes.iter().any(|one| one == scope))
                .map(|(id, (values, _))| (cosine(values, &question), id))
                .collect();
            matches.sort_by(|one, other| other.0.total_cmp(&one.0));
            matches.truncate(asked["topK"].as_u64().unwrap_or(5) as usize);
            let matches: Vec<_> =
                matches.into_iter().map(|(score, id)| json!({ "id": id, "score": score })).collect();
            return json!({ "count": matches.len(), "matches": matches });
        }
        _ => {}
    }
    json!({ "mutationId": "m" })
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn cosine(one: &[f64], other: &[f64]) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    product(one, other) / (product(one, one) * product(other, other)).sqrt()
}
