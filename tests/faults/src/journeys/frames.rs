//! Streams of server-sent events that are not ours.

use espalier_test_support::Value;

use super::Trip;
use super::trip::SILENCE;

/// The frames of one connection.
pub struct Frames {
    pub status: u16,
    /// The data of each event.
    pub data: Vec<String>,
    /// Whether the body came to its end.
    pub is_whole: bool,
}

impl Frames {
    /// The frames that are JSON.
    pub fn values(&self) -> Vec<Value> {
        self.data.iter().filter_map(|data| serde_json::from_str(data).ok()).collect()
    }
}

impl Trip {
    /// The frames of one request; none where the connection failed before its answer.
    pub async fn frames(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &Value,
    ) -> Option<Frames> {
        let mut reply = self.user.send(method, path, headers, body).await?;
        let mut bytes = Vec::new();
        let is_whole = loop {
            match tokio::time::timeout(SILENCE, reply.read()).await {
                Ok(Ok(Some(piece))) => bytes.extend_from_slice(&piece),
                Ok(Ok(None)) => break true,
                Ok(Err(_)) | Err(_) => break false,
            }
        };
        let text = String::from_utf8_lossy(&bytes);
        // The text behind the last blank line is no whole frame.
        let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        let data = whole.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect();
        Some(Frames { status: reply.status, data, is_whole })
    }
}
