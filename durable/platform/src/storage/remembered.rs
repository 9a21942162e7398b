//! The rows that memory remembers. An object is the only writer of its SQLite, so rows that it has read stay true until a
//! statement changes their table. This reads in the text of each statement which table that is. Pure.

use std::cell::RefCell;

/// The most values of rows that are remembered: more of them are read again each time.
pub const MAX_VALUES: usize = 256;

/// The rows that a statement changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'q> {
    Nothing,
    /// The rows of this table.
    Rows(&'q str),
    /// Tables, or more than one; or nobody knows.
    All,
}

/// Reads which rows a statement changes.
pub fn change(query: &str) -> Change<'_> {
    let mut words = query.split_ascii_whitespace();
    let first = words.next().unwrap_or_default();
    let found = match first {
        "SELECT" | "PRAGMA" => return Change::Nothing,
        "WITH" if !query.split_ascii_whitespace().any(is_write) => return Change::Nothing,
        "INSERT" => words.find(|word| *word == "INTO").and_then(|_| words.next()),
        "UPDATE" => words.next(),
        "DELETE" => words.find(|word| *word == "FROM").and_then(|_| words.next()),
        _ => None,
    };
    match found.and_then(|table| table.split('(').next()) {
        Some(table) if !query.contains(';') => Change::Rows(table),
        _ => Change::All,
    }
}

fn is_write(word: &str) -> bool {
    matches!(word, "INSERT" | "UPDATE" | "DELETE" | "REPLACE")
}

/// Whether a statement reads a table.
fn reads(query: &str, table: &str) -> bool {
    let mut words = query.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_');
    words.any(|word| word == table)
}

/// The rows of statements without parameters, as memory has them.
pub struct Remembered<R>(RefCell<Vec<(&'static str, R)>>);

impl<R> Default for Remembered<R> {
    fn default() -> Self {
        Remembered(RefCell::default())
    }
}

impl<R: Clone> Remembered<R> {
    /// The rows of a statement, unless something changed them since they were kept.
    pub fn get(&self, query: &'static str) -> Option<R> {
        self.0.borrow().iter().find(|(kept, _)| *kept == query).map(|(_, rows)| rows.clone())
    }

    pub fn keep(&self, query: &'static str, rows: R) {
        self.0.borrow_mut().push((query, rows));
    }

    /// A statement runs.
    pub fn run(&self, query: &str) {
        match change(query) {
            Change::Nothing => {}
            Change::Rows(table) => self.0.borrow_mut().retain(|(kept, _)| !reads(kept, table)),
            Change::All => self.forget(),
        }
    }

    /// Forgets all: a transaction was taken back.
    pub fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_says_what_it_changes() {
        let table = [
            ("SELECT 1 FROM meta", Change::Nothing),
            ("\nSELECT newest FROM turns", Change::Nothing),
            ("PRAGMA table_info(meta)", Change::Nothing),
            ("WITH path AS (SELECT 1) SELECT * FROM path", Change::Nothing),
            ("WITH old AS (SELECT 1) DELETE FROM events", Change::All),
            ("INSERT INTO turns (turn_id) VALUES (?1)", Change::Rows("turns")),
            ("INSERT OR IGNORE INTO turns(turn_id) VALUES (?1)", Change::Rows("turns")),
            (
                "INSERT INTO timers (reason) VALUES (?1)\n ON CONFLICT DO UPDATE SET a = 1",
                Change::Rows("timers"),
            ),
            ("UPDATE meta SET title = ?1", Change::Rows("meta")),
            ("DELETE FROM outbox WHERE id = ?1", Change::Rows("outbox")),
            ("DELETE FROM messages; DELETE FROM meta;", Change::All),
            ("CREATE TABLE IF NOT EXISTS plans (id TEXT)", Change::All),
            ("ALTER TABLE meta ADD COLUMN a", Change::All),
            ("REPLACE INTO meta (a) VALUES (1)", Change::All),
            ("", Change::All),
        ];
        for (query, expected) in table {
            assert_eq!(change(query), expected, "{query}");
        }
    }

    // Each statement of the object that changes rows or tables says so in a form that `change` reads.
    #[test]
    fn each_statement_of_the_storage_is_understood() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/storage");
        let (mut seen, mut folders) = (0, vec![folder]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let source = std::fs::read_to_string(&path).unwrap();
                for (at, _) in source.match_indices('"') {
                    let text = source.get(at + 1..).unwrap().split('"').next().unwrap();
                    let first = text.split_ascii_whitespace().next().unwrap_or_default();
                    let is_write = matches!(first, "INSERT" | "UPDATE" | "DELETE") && text.trim() != first;
                    if !is_write || text.contains('{') {
                        continue;
                    }
                    seen += 1;
                    let understood = match change(text) {
                        Change::Rows(table) => {
                            table.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
                        }
                        Change::All => text.contains(';'),
                        Change::Nothing => false,
                    };
                    assert!(understood, "{}: {text}", path.display());
                }
            }
        }
        assert!(seen > 30, "{seen}");
    }

    #[test]
    fn rows_are_remembered_until_their_table_changes() {
        const META: &str = "SELECT title FROM meta";
        const BOTH: &str =
            "SELECT newest, (SELECT path_seq FROM meta) FROM (SELECT max(seq_first) FROM turns)";
        let remembered = Remembered::default();
        let keep = || {
            remembered.forget();
            remembered.keep(META, 1);
            remembered.keep(BOTH, 2);
        };
        let has = |query: &str| {
            keep();
            remembered.run(query);
            (remembered.get(META), remembered.get(BOTH))
        };
        assert_eq!(has("SELECT 1 FROM meta"), (Some(1), Some(2)));
        assert_eq!(has("DELETE FROM timers"), (Some(1), Some(2)));
        assert_eq!(has("UPDATE turns SET status = 'done'"), (Some(1), None));
        assert_eq!(has("UPDATE meta SET title = ?1"), (None, None));
        assert_eq!(has("CREATE TABLE plans (id TEXT)"), (None, None));
    }
}
