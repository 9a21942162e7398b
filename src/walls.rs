//! Where things may stand, read from the sources: the database is opened in one place, and routes have no SQL.

use std::fs;
use std::path::{Path, PathBuf};

/// The Rust sources below a folder of the repository.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut sources = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                sources.push((path, text));
            }
        }
    }
    assert!(sources.len() > 10, "{folder} has been moved");
    sources
}

#[test]
fn the_database_is_opened_in_one_place() {
    let sources = [sources("src"), sources("durable")].concat();
    for sign in [concat!("\"D", "B\""), concat!(".d", "1(")] {
        let places = sources.iter().flat_map(|(path, text)| text.matches(sign).map(move |_| path));
        let places: Vec<_> = places.collect();
        assert_eq!(places.len(), 1, "{sign}: {places:?}");
        assert!(places[0].ends_with("d1.rs"), "{sign}: {places:?}");
    }
}

#[test]
fn only_stores_have_sql() {
    const VERBS: [&str; 4] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE FROM "];
    for (path, text) in sources("src") {
        let may = path.ends_with("store.rs") || path.ends_with("walls.rs");
        assert!(may || !VERBS.iter().any(|verb| text.contains(verb)), "{} has SQL", path.display());
    }
}
