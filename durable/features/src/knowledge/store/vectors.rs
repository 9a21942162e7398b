//! The embeddings of chunks: a model of Workers AI makes the vectors, and Vectorize stores and compares them. This
//! needs both bindings and the variable `EMBEDDING_MODEL`; a deployment without them searches by words alone.
//! D1 has the chunks, and Vectorize their vectors and scopes. A vector without its chunk finds nothing, so a failed
//! deletion does no harm. Vectorize applies changes within seconds:
//! <https://developers.cloudflare.com/vectorize/reference/client-api/>.
//! The externs are our own, because worker has no type for Vectorize.

use std::time::Duration;

use futures::future::{Either, select};
use futures::pin_mut;
use js_sys::{Array, JSON, Promise, Reflect};
use serde::Deserialize;
use serde_json::json;
use wasm_bindgen::prelude::*;
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Delay, Env};

use crate::knowledge::chunks::Chunk;
use crate::knowledge::embeddings::MODEL;
use bindings::env::{AI, VECTORS, binding, is_bound, var};

use wire::store::StoreError;

/// The texts that a model embeds in one call: <https://developers.cloudflare.com/workers-ai/models/bge-m3/>.
const MAX_TEXTS: usize = 100;
/// Vectors per write or delete call; Vectorize allows 1 000.
pub const MAX_VECTORS: u32 = 500;
/// The most characters of a question that the model embeds.
const MAX_QUESTION_CHARS: usize = 2_000;
/// How long a search waits for Vectorize before it continues with words alone.
const PATIENCE: Duration = Duration::from_millis(700);
/// Minimum cosine similarity; the search drops weaker matches. 1 is the same direction.
const MIN_SIMILARITY: f64 = 0.4;

#[wasm_bindgen]
extern "C" {
    type Ai;
    #[wasm_bindgen(method, catch)]
    fn run(this: &Ai, model: &str, inputs: &JsValue) -> Result<Promise, JsValue>;

    type VectorIndex;
    #[wasm_bindgen(method, catch)]
    fn upsert(this: &VectorIndex, vectors: &Array) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn query(this: &VectorIndex, vector: &JsValue, options: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = deleteByIds)]
    fn delete_by_ids(this: &VectorIndex, ids: &Array) -> Result<Promise, JsValue>;
}

/// The embeddings of this deployment.
pub struct Vectors {
    ai: Ai,
    index: VectorIndex,
    model: String,
}

/// A chunk near a question.
pub struct Near {
    pub document_id: String,
    /// The number of the chunk in the document, from 1 on.
    pub place: u32,
    /// From [`MIN_SIMILARITY`] to 1.
    pub similarity: f64,
}

impl Vectors {
    /// None without the variable or the bindings (the health report names a missing binding).
    pub fn new(env: &Env) -> Option<Self> {
        let model = var(env, MODEL).filter(|model| !model.is_empty())?;
        let bound = is_bound(env, AI) && is_bound(env, VECTORS);
        let [ai, index] = [AI, VECTORS].map(|name| binding(env, name));
        bound.then(|| Vectors { ai: ai.unchecked_into(), index: index.unchecked_into(), model })
    }

    /// Embeds the chunks of a document and stores the vectors.
    pub async fn add(&self, scope: &str, document_id: &str, chunks: &[Chunk]) -> Result<(), StoreError> {
        for (call, some) in chunks.chunks(MAX_TEXTS).enumerate() {
            let texts: Vec<String> =
                some.iter().map(|Chunk { heading, text }| format!("{heading}\n{text}")).collect();
            let embedded = self.embedded(&texts).await?;
            let vectors = Array::new();
            for (at, values) in embedded.iter().enumerate() {
                let id = id(document_id, call * MAX_TEXTS + at + 1);
                let vector = parsed(&json!({ "id": id, "metadata": { "scope": scope } }))?;
                Reflect::set(&vector, &"values".into(), &values).map_err(failed)?;
                vectors.push(&vector);
            }
            settled(self.index.upsert(&vectors)).await?;
        }
        Ok(())
    }

    /// Deletes the vectors of documents, given their numbers of chunks.
    pub async fn remove(&self, documents: &[(String, u32)]) -> Result<(), StoreError> {
        let ids: Vec<String> = documents
            .iter()
            .flat_map(|(document, chunks)| (1..=*chunks).map(move |place| id(document, place as usize)))
            .collect();
        for some in ids.chunks(MAX_VECTORS as usize) {
            let list: Array = some.iter().map(|id| JsValue::from_str(id)).collect();
            settled(self.index.delete_by_ids(&list)).await?;
        }
        Ok(())
    }

    /// The chunks in these scopes nearest to a question, nearest first.
    pub async fn nearest(
        &self,
        scopes: &[String],
        question: &str,
        limit: u32,
    ) -> Result<Vec<Near>, StoreError> {
        let asking = self.asked(scopes, question, limit);
        let patience = Delay::from(PATIENCE);
        pin_mut!(asking, patience);
        match select(asking, patience).await {
            Either::Left((near, _)) => near,
            Either::Right(_) => Err(StoreError("the embeddings did not answer in time".to_owned())),
        }
    }

    async fn asked(&self, scopes: &[String], question: &str, limit: u32) -> Result<Vec<Near>, StoreError> {
        #[derive(Deserialize)]
        struct Found {
            matches: Vec<Match>,
        }
        #[derive(Deserialize)]
        struct Match {
            id: String,
            score: f64,
        }
        let question: String = question.chars().take(MAX_QUESTION_CHARS).collect();
        let vector = self.embedded(&[question]).await?.get(0);
        let filter = json!({ "scope": { "$in": scopes } });
        let options = parsed(&json!({ "topK": limit, "returnMetadata": "none", "filter": filter }))?;
        let found = settled(self.index.query(&vector, &options)).await?;
        let found = JSON::stringify(&found).map_err(failed)?.as_string().unwrap_or_default();
        let Found { matches } = wire::json::from_str(&found).map_err(|_| unreadable("the found vectors"))?;
        let near = matches.into_iter().filter(|found| found.score >= MIN_SIMILARITY).filter_map(|found| {
            let (document_id, place) = found.id.rsplit_once(':')?;
            let (document_id, place) = (document_id.to_owned(), place.parse().ok()?);
            Some(Near { document_id, place, similarity: found.score.min(1.0) })
        });
        Ok(near.collect())
    }

    /// One vector for each text.
    async fn embedded(&self, texts: &[String]) -> Result<Array, StoreError> {
        let answer = settled(self.ai.run(&self.model, &parsed(&json!({ "text": texts }))?)).await?;
        let data = Reflect::get(&answer, &"data".into()).map_err(failed)?;
        match data.dyn_into::<Array>() {
            Ok(vectors) if vectors.length() as usize == texts.len() => Ok(vectors),
            _ => Err(unreadable("the embeddings")),
        }
    }
}

/// The id of a chunk's vector, within Vectorize's limit of 64 bytes.
fn id(document_id: &str, place: usize) -> String {
    format!("{document_id}:{place}")
}

async fn settled(promise: Result<Promise, JsValue>) -> Result<JsValue, StoreError> {
    JsFuture::from(promise.map_err(failed)?).await.map_err(failed)
}

fn parsed(value: &serde_json::Value) -> Result<JsValue, StoreError> {
    JSON::parse(&value.to_string()).map(JsCast::unchecked_into).map_err(failed)
}

fn failed(error: JsValue) -> StoreError {
    let message = Reflect::get(&error, &"message".into()).unwrap_or_default();
    StoreError(format!("embeddings: {}", message.as_string().unwrap_or_default()))
}

fn unreadable(what: &str) -> StoreError {
    StoreError(format!("embeddings: {what} cannot be read"))
}
