//! Stored things, as several journeys make them, age them and look for them: past the service where it has no door.

use std::path::{Path, PathBuf};

use espalier_test_support::{Value, http, json};
use rusqlite::Connection;

use super::trip::{PATIENCE, SILENCE};
use super::{Answer, Trip};
use crate::check;
use crate::stream::{Next, Stream};

impl Trip {
    /// The answer to the request of a turn, which is repeated until the turn has ended.
    pub async fn whole_turn(&self, body: &Value) -> Result<String, String> {
        let is_whole = |answer: &Answer| answer.status != 200 || answer.text.contains("event: done\n");
        let ask = async || self.ask("POST", "/api/chat", &[], body).await.ok().filter(is_whole);
        let answer = self.until("a turn", ask).await?;
        match answer.status {
            200 => Ok(answer.text),
            status => Err(format!("a turn was answered with {status}: {}", answer.text)),
        }
    }

    /// Deletes something. Where the first answer was lost it is no longer there.
    pub async fn gone(&self, path: &str) -> Result<(), String> {
        let answer = self.ask("DELETE", path, &[], &json!(null)).await?;
        match answer.status {
            204 | 404 => Ok(()),
            status => Err(format!("DELETE {path} was answered with {status}: {}", answer.text)),
        }
    }

    /// Writes a file whose text is its mark.
    pub async fn file(&self, path: &str, mark: &str) -> Result<(), String> {
        let answer = self.ask("PUT", path, &[], &json!(mark)).await?;
        match answer.status {
            200 | 201 => Ok(()),
            status => Err(format!("PUT {path} was answered with {status}: {}", answer.text)),
        }
    }

    /// The user of this play, as the rows of D1 name them.
    pub async fn user_id(&self) -> Result<String, String> {
        let session = self.expect(200, "POST", "/api/session", &json!({})).await?;
        let user = session["user_id"].as_str().ok_or("a session without a user")?;
        Ok(format!("anonymous:{user}"))
    }

    /// A visit of the cron trigger, which a fault may cut off.
    pub async fn visit(&self) {
        let visit = http::try_send("GET", &self.clients.cron, &[], "");
        let _ = tokio::time::timeout(PATIENCE, visit).await;
    }

    /// Changes rows of D1: lets time pass, mostly.
    pub fn change(&self, sql: &str, values: &[&str]) -> Result<(), String> {
        self.world().database.rows(sql, values).map(drop)
    }

    /// The numbers of rows in tables of D1 for which a condition holds.
    pub fn counts(&self, tables: &[&str], condition: &str, value: &str) -> Result<Value, String> {
        let mut counts = json!({});
        for table in tables {
            let sql = format!("SELECT count(*) AS count FROM {table} WHERE {condition}");
            counts[table] = self.world().database.rows(&sql, &[value])?[0]["count"].clone();
        }
        Ok(counts)
    }

    /// Waits until R2 has so many objects with this mark in their keys or their texts.
    pub async fn in_r2(&self, count: usize, mark: &str) -> Result<(), String> {
        let look = async || (self.world().bucket.marked(mark) == count).then_some(());
        self.until(&format!("{count} objects in R2 with {mark}"), look).await
    }

    /// The database of the object that has a turn.
    pub fn object(&self, turn_id: &str) -> Result<PathBuf, String> {
        check::object_of(&self.clients.objects, turn_id)
    }

    /// Asks for a turn until it is parked. Returns the id of the call that its client has to carry out. The open stream of a
    /// parked turn would end five seconds later.
    pub async fn parked_turn(&self, body: &Value) -> Result<String, String> {
        let look = async || {
            let mut stream = Stream::new(self.user.send("POST", "/api/chat", &[], body).await?, 0);
            while let Next::Event(event) = stream.next(SILENCE).await {
                if event.data["awaits"] == "client" {
                    return Some(event.text("tool_call_id").to_owned());
                }
            }
            None
        };
        let call = self.until("a call for the client", look).await?;
        let object = self.object(body["turn_id"].as_str().unwrap_or_default())?;
        let look =
            async || (rows_of(&object, &["turns WHERE status = 'parked'"]) == Ok(vec![1])).then_some(());
        self.until("a parked turn", look).await?;
        Ok(call)
    }
}

/// Changes the database of an object that runs. Returns the number of changed rows.
pub fn change_object(file: &Path, sql: &str) -> Result<usize, String> {
    open(file)?.execute(sql, []).map_err(|error| format!("{sql}: {error}"))
}

/// The numbers of rows that an object has in some tables; none in one that it has not.
pub fn rows_of(file: &Path, tables: &[&str]) -> Result<Vec<u32>, String> {
    let object = open(file)?;
    let count = |table: &&str| {
        object.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap_or(0)
    };
    Ok(tables.iter().map(count).collect())
}

/// Now, in milliseconds since 1970.
pub fn now_ms() -> u64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_millis() as u64)
}

fn open(file: &Path) -> Result<Connection, String> {
    let object = Connection::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
    object.busy_timeout(PATIENCE).map_err(|error| error.to_string())?;
    Ok(object)
}
