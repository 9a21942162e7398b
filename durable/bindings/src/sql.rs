//! The text of a statement about the rows of one owner.

use std::ops::Deref;

use wire::store::StoreError;

/// A statement that names its owner: the tenant is `?1` and the user is `?2`. There is none that does not, so
/// [`Owned`](crate::d1::Owned) reads and writes rows of its owner alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedSql<'a>(&'a str);

impl OwnedSql<'static> {
    /// For [`owned!`](crate::owned) alone, which calls it while the code is compiled.
    pub const fn literal(sql: &'static str) -> Self {
        assert!(names_owner(sql), "the statement does not name its owner: tenant = ?1 AND user_id = ?2");
        OwnedSql(sql)
    }
}

impl<'a> OwnedSql<'a> {
    /// A text that is made of parts.
    pub fn composed(sql: &'a str) -> Result<Self, StoreError> {
        match names_owner(sql) {
            true => Ok(OwnedSql(sql)),
            false => Err(StoreError(format!("the statement does not name its owner: {sql}"))),
        }
    }
}

impl Deref for OwnedSql<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

/// A text that is known when the code is compiled. One that does not name its owner does not compile.
#[macro_export]
macro_rules! owned {
    ($sql:expr) => {
        const { $crate::sql::OwnedSql::literal($sql) }
    };
}

/// Whether a statement is limited to the owner, or writes a row of the owner.
const fn names_owner(sql: &str) -> bool {
    let sql = sql.as_bytes();
    contains(sql, b"tenant = ?1") && contains(sql, b"user_id = ?2")
        || contains(sql, b"(tenant, user_id, ") && contains(sql, b"SELECT ?1, ?2, ")
}

const fn contains(mut text: &[u8], part: &[u8]) -> bool {
    loop {
        if begins(text, part) {
            return true;
        }
        text = match text.split_first() {
            Some((_, rest)) => rest,
            None => return false,
        };
    }
}

const fn begins(text: &[u8], part: &[u8]) -> bool {
    match (text.split_first(), part.split_first()) {
        (_, None) => true,
        (Some((letter, text)), Some((wanted, part))) if *letter == *wanted => begins(text, part),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::OwnedSql;

    // Issue 47, 1
    #[test]
    fn a_statement_about_an_owners_rows_names_the_owner() {
        for sql in [
            "DELETE FROM a WHERE tenant = ?1 AND user_id = ?2",
            "SELECT 1 FROM a x WHERE x.tenant = ?1 AND x.user_id = ?2 AND x.id = ?3",
            "INSERT INTO a (tenant, user_id, id) SELECT ?1, ?2, ?3",
        ] {
            assert_eq!(OwnedSql::composed(sql).as_deref(), Ok(sql));
        }
        for sql in [
            "",
            "DELETE FROM a WHERE tenant = ?1",
            "DELETE FROM a WHERE user_id = ?2",
            "DELETE FROM a WHERE tenant = ?2 AND user_id = ?3",
            "INSERT INTO a (tenant, user_id, id) SELECT ?2, ?1, ?3",
            "INSERT INTO a (user_id, tenant, id) SELECT ?1, ?2, ?3",
        ] {
            assert!(OwnedSql::composed(sql).is_err(), "{sql}");
        }
        const KNOWN: OwnedSql = owned!("SELECT 1 FROM a WHERE tenant = ?1 AND user_id = ?2");
        assert_eq!(OwnedSql::composed(&KNOWN), Ok(KNOWN));
    }
}
