//! The cursor of a list: the end of the previous page. It is opaque to clients, so its format may change.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use uuid::Uuid;
use wire::protocol::ApiError;

use crate::query::{self, Page};

/// The last item of a page. Lists are ordered newest first; the id breaks ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListCursor {
    pub at: u64,
    pub id: Uuid,
}

/// The place after which a page begins: the time and the id of the last item of the page before.
pub type After<'a> = Option<(u64, &'a str)>;

impl ListCursor {
    /// Reads the page of a list that a query asks for, with the cursor of the next one. `read` gets the number of rows to read,
    /// and the place after which they begin. It is one row more than asked for, which tells whether there is another page.
    pub async fn page<T, E: From<ApiError>>(
        query: &str,
        read: impl AsyncFnOnce(u32, After<'_>) -> Result<Vec<T>, E>,
        place: impl Fn(&T) -> (u64, &str),
    ) -> Result<(Vec<T>, Option<String>), E> {
        let Page { limit, cursor } = query::page(query)?;
        let cursor = cursor.as_deref().map(Self::decode).transpose()?;
        let after = cursor.map(|Self { at, id }| (at, id.to_string()));
        let after = after.as_ref().map(|(at, id)| (*at, id.as_str()));
        let mut rows = read(limit + 1, after).await?;
        let next = Self::truncate(&mut rows, limit, place);
        Ok((rows, next))
    }

    /// The text that the client gets.
    pub fn encode(self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(format!("{}.{}", self.at, self.id))
    }

    /// Reads the text that the client sends back.
    pub fn decode(text: &str) -> Result<Self, ApiError> {
        Self::read(text)
            .ok_or_else(|| ApiError::field("cursor", "expected the next_cursor of a page of this list"))
    }

    /// Drops the rows beyond the limit. The cursor of the next page, where it dropped any.
    fn truncate<T>(rows: &mut Vec<T>, limit: u32, place: impl Fn(&T) -> (u64, &str)) -> Option<String> {
        let more = rows.len() > limit as usize;
        rows.truncate(limit as usize);
        let (at, id) = place(rows.last().filter(|_| more)?);
        Some(ListCursor { at, id: Uuid::try_parse(id).ok()? }.encode())
    }

    fn read(text: &str) -> Option<Self> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (at, id) = std::str::from_utf8(&bytes).ok()?.split_once('.')?;
        Some(ListCursor { at: at.parse().ok()?, id: Uuid::try_parse(id).ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::{BASE64_URL_SAFE_NO_PAD, Engine, ListCursor};
    use uuid::Uuid;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        for at in [0, 1_763_000_000_000, u64::MAX] {
            let cursor = ListCursor { at, id: Uuid::from_u128(at.into()) };
            assert_eq!(ListCursor::decode(&cursor.encode()), Ok(cursor));
        }
    }

    #[test]
    fn a_page_says_where_the_next_begins() {
        let id = |at: u64| Uuid::from_u128(at.into()).to_string();
        for (count, limit, left, next) in
            [(0, 2, 0, None), (2, 2, 2, None), (3, 2, 2, Some(2)), (5, 4, 4, Some(4))]
        {
            let mut rows: Vec<(u64, String)> = (1..=count).map(|at| (at, id(at))).collect();
            let cursor = ListCursor::truncate(&mut rows, limit, |row| (row.0, &row.1));
            assert_eq!(rows.len(), left);
            let cursor = cursor.map(|cursor| ListCursor::decode(&cursor).unwrap());
            assert_eq!(cursor.map(|cursor| cursor.at), next);
            assert_eq!(cursor.map(|cursor| cursor.id.to_string()), next.map(id));
        }
    }

    #[test]
    fn other_cursors_are_refused_by_name() {
        let id = Uuid::nil();
        let encoded = [
            format!("12{id}"),
            format!("-1.{id}"),
            format!("1e9.{id}"),
            format!(".{id}"),
            "12.".to_owned(),
            "12.not-a-uuid".to_owned(),
            format!("99999999999999999999.{id}"),
            format!("12.{id}.{id}"),
        ]
        .map(|text| BASE64_URL_SAFE_NO_PAD.encode(text));
        let raw = ["", "x", "!!!!", "MTI", "%00", "' OR 1=1 --"].map(str::to_owned);
        for text in encoded.iter().chain(&raw) {
            let error = ListCursor::decode(text).unwrap_err();
            assert_eq!((error.code.as_str(), error.field.as_deref()), ("invalid_request", Some("cursor")));
        }
    }
}
