//! Documents with embeddings: added, found by meaning and deleted. No document stays without its vectors, and where the
//! vectors cannot be deleted the document stays until they can.

use espalier_test_support::{Value, json};

use super::{Journey, Trip, Work};

pub struct Documents;

impl Journey for Documents {
    fn name(&self) -> &'static str {
        "documents"
    }

    fn play<'a>(&'a self, trip: &'a Trip) -> Work<'a, Result<Value, String>> {
        Box::pin(play(trip))
    }

    fn vars(&self, _world: &str) -> Vec<(&'static str, String)> {
        vec![("EMBEDDING_MODEL", "fake-embeddings".to_owned())]
    }
}

async fn play(trip: &Trip) -> Result<Value, String> {
    let cars = collection(trip, "Cars").await?;
    let [first, second] = [document(trip, &cars, "one").await?, document(trip, &cars, "two").await?];
    let vectors = || [&first, &second].map(|id| trip.world().index.of_document(id));
    let found = async || {
        // The service goes on with the words alone where the embeddings fail, so a client asks again.
        let path = format!("/api/collections/{cars}/search?q=xylem");
        trip.until("a document of the same meaning", async || {
            let results = trip.get(&path).await.ok()?["results"].clone();
            results.as_array().is_some_and(|results| !results.is_empty()).then_some(results)
        })
        .await
    };
    let both = (vectors(), found().await?);
    trip.gone(&format!("/api/collections/{cars}/documents/{first}")).await?;
    let one = (vectors(), found().await?);
    trip.gone(&format!("/api/collections/{cars}")).await?;
    for id in trip.world().index.documents() {
        if trip.counts(&["documents"], "id = ?1", &id)?["documents"] == 0 {
            return Err(format!("no row names the vectors of the document {id}"));
        }
    }
    let rows = trip.counts(&["collections"], "id = ?1", &cars)?;
    let rows_of = trip.counts(&["documents", "chunks"], "collection_id = ?1", &cars)?;
    Ok(json!([both.0, both.1, one.0, one.1, vectors(), rows, rows_of]))
}

/// A collection of this name: where the answer was lost, a client finds it in the list.
pub async fn collection(trip: &Trip, name: &str) -> Result<String, String> {
    made(trip, "/api/collections", "", "collections", (&json!({ "name": name }), name)).await
}

/// A document of this name in a collection.
pub async fn document(trip: &Trip, collection: &str, name: &str) -> Result<String, String> {
    let path = format!("/api/collections/{collection}/documents");
    let body = json!({ "about": format!("The automobile {name} needs gasoline.") });
    made(trip, &path, &format!("?name={name}"), "documents", (&body, name)).await
}

/// The id of a thing of this name, which exists once: a request whose answer was lost is not repeated before the list says
/// that the thing is not there.
async fn made(
    trip: &Trip,
    path: &str,
    query: &str,
    list: &str,
    (body, name): (&Value, &str),
) -> Result<String, String> {
    let make = async || {
        let things = trip.get(path).await.ok()?;
        let things = things[list].as_array()?;
        if let Some(there) = things.iter().find(|thing| thing["name"] == name) {
            return Some(there["id"].as_str()?.to_owned());
        }
        trip.once("POST", &format!("{path}{query}"), &[], body).await;
        None
    };
    trip.until(&format!("{name} in {path}"), make).await
}
