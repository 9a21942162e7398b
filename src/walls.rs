//! Tests of the walls, read from the sources: which crate and which room may import which, and where SQL may stand.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

mod circles;
mod sql;

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
    assert!(sources.len() > 5, "{folder} has been moved");
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

// Issue 46, L8: a number becomes a parameter of SQL in two files, which keep it within JavaScript's integers.
#[test]
fn numbers_reach_sql_in_two_places() {
    let sources = [sources("src"), sources("durable")].concat();
    let named = |sign: &str| -> BTreeSet<String> {
        let places = sources.iter().filter(|(_, text)| text.contains(sign));
        places.map(|(path, _)| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    };
    assert_eq!(named(concat!(".ex", "ec(")), BTreeSet::from(["sql.rs".to_owned()]));
    // `sql.rs` has the time of the alarm, which is no parameter.
    let floats = named(concat!("JsValue::from_", "f64"));
    assert_eq!(floats, BTreeSet::from(["d1.rs".to_owned(), "sql.rs".to_owned()]));
}

#[test]
fn one_reader_reads_json() {
    for (path, text) in [sources("src"), sources("durable")].concat() {
        let place = path.to_string_lossy();
        let is_reader = place.ends_with("wire/src/json.rs") || place.ends_with("wire/src/tagged.rs");
        let is_test = ["test", "benches", "transcripts"].iter().any(|word| place.contains(word));
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for sign in [concat!("serde_json::", "from_"), concat!("serde_json::", "Deserializer")] {
            assert!(is_reader || is_test || !code.contains(sign), "{place} has {sign}: use wire::json");
        }
    }
}

#[test]
fn only_stores_have_sql() {
    const VERBS: [&str; 4] = ["SELECT ", "INSERT ", "UPDATE ", "DELETE FROM "];
    for (path, text) in sources("src") {
        let may = ["store.rs", "statements.rs", "walls.rs", "walls/sql.rs", "tests.rs"];
        let may = may.iter().any(|name| path.ends_with(name));
        assert!(may || !VERBS.iter().any(|verb| text.contains(verb)), "{} has SQL", path.display());
    }
}

/// The crates below `durable`, and the crates among them that each may import. The compiler refuses any other import;
/// this list keeps a new arrow from being added without a word.
const CRATES: [(&str, &[&str]); 7] = [
    ("bindings", &["wire"]),
    ("wire", &[]),
    ("dialects", &["wire"]),
    ("engine", &["wire"]),
    ("providers", &["engine", "wire"]),
    ("features", &["bindings", "engine", "wire"]),
    ("platform", &["bindings", "dialects", "engine", "features", "providers", "wire"]),
];

/// The names in the manifest's tables of normal dependencies.
fn dependencies(name: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("durable/{name}/Cargo.toml"));
    let manifest: toml::Table = fs::read_to_string(path).unwrap().parse().unwrap();
    let of_targets = manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten();
    let tables = of_targets.filter_map(|(_, target)| target.get("dependencies"));
    let tables = tables.chain(manifest.get("dependencies")).filter_map(toml::Value::as_table);
    tables.flat_map(|table| table.keys().cloned()).collect()
}

#[test]
fn imports_between_crates_run_one_way() {
    for (name, expected) in CRATES {
        let all = dependencies(name);
        let mut ours: Vec<&str> = CRATES
            .iter()
            .map(|(other, _)| *other)
            .filter(|other| all.iter().any(|name| name == other))
            .collect();
        ours.sort_unstable();
        assert_eq!(ours, expected, "{name}");
    }
    let folders = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("durable")).unwrap();
    assert_eq!(folders.count(), CRATES.len(), "a crate below durable/ is missing in the list");
}

#[test]
fn only_the_platform_and_the_stores_know_the_platform() {
    const PLATFORM: [&str; 3] = ["worker", "js-sys", "wasm-bindgen"];
    for (name, _) in CRATES {
        let knows = dependencies(name).iter().any(|name| PLATFORM.contains(&name.as_str()));
        assert_eq!(knows, ["bindings", "features", "platform"].contains(&name), "{name}");
    }
    for (path, text) in sources("durable/features/src") {
        let names = PLATFORM.map(|name| name.replace('-', "_"));
        let names = names.iter().any(|name| text.contains(&format!("{name}::")));
        let is_store = path.components().any(|part| part.as_os_str().to_string_lossy().starts_with("store"));
        assert!(!names || is_store, "{} names the platform", path.display());
    }
}

/// The rooms of the engine from the ground up: a room imports rooms before it alone. `plan` has two files of plain data,
/// which the journal and the record hold; they stand below the loop as rooms of their own.
const ENGINE: [&str; 22] = [
    "versions",
    "memory",
    "plan::rules",
    "plan::ledger",
    "profiles",
    "budget",
    "toolbelt",
    "journal",
    "own",
    "marks",
    "ports",
    "record",
    "turn",
    "calls",
    "hooks",
    "plan",
    "agents",
    "workflow",
    "compose",
    "offer",
    "prompt",
    "testing",
];

/// The height of a room of the engine, by the first parts of its path.
fn height(parts: &[String]) -> usize {
    let known = |name: &str| ENGINE.iter().position(|room| *room == name);
    let whole = parts.first().zip(parts.get(1)).and_then(|(room, file)| known(&format!("{room}::{file}")));
    whole.or_else(|| known(parts.first()?)).unwrap_or_else(|| panic!("{parts:?} is in no list"))
}

/// The paths that a file of a crate imports by `crate::`, as far as they are written in lower case; tests are not read.
fn paths_in(text: &str) -> Vec<Vec<String>> {
    let code = ["mod tests {", "pub mod tests {"]
        .into_iter()
        .fold(text, |text, tests| text.split(&format!("#[cfg(test)]\n{tests}")).next().unwrap_or_default());
    let is_in_name = |letter: &char| letter.is_ascii_lowercase() || *letter == '_';
    let named = |part: &str| part.chars().take_while(is_in_name).collect::<String>();
    code.split("crate::")
        .skip(1)
        .map(|path| path.split("::").map(named).take_while(|name| !name.is_empty()).take(2).collect())
        .collect()
}

/// The rooms of a crate that a file imports by `crate::`.
fn rooms_in(text: &str) -> Vec<String> {
    paths_in(text).into_iter().filter_map(|path| path.into_iter().next()).collect()
}

/// The first room below `src` that a file of a crate belongs to; none for tests.
fn room_of(path: &Path, folder: &str) -> Option<String> {
    let below = path.strip_prefix(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    let is_test = below.components().any(|part| part.as_os_str().to_string_lossy().contains("tests"));
    let first = below.components().next().unwrap().as_os_str().to_string_lossy();
    Some(first.trim_end_matches(".rs").to_owned()).filter(|room| !is_test && room != "lib")
}

#[test]
fn the_rooms_of_the_engine_import_one_way() {
    const SRC: &str = "durable/engine/src";
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(SRC);
    for (path, text) in sources(SRC) {
        if room_of(&path, SRC).is_none() {
            continue;
        }
        let below = path.strip_prefix(&src).unwrap().with_extension("");
        let own: Vec<String> =
            below.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        for import in paths_in(&text) {
            assert!(height(&import) <= height(&own), "{} imports {import:?}", path.display());
        }
    }
}

/// The modules of a room that each of them imports by `super::`. `mod.rs` is not one of them.
fn imports_within(room: &str) -> BTreeMap<String, BTreeSet<String>> {
    let files = sources(room);
    let modules = files.iter().filter_map(|(path, _)| room_of(path, room));
    let modules: BTreeSet<String> = modules.filter(|name| name != "mod").collect();
    let mut imports = BTreeMap::<String, BTreeSet<String>>::new();
    for (path, text) in &files {
        let Some(module) = room_of(path, room).filter(|name| name != "mod") else { continue };
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let named = code.split("super::").skip(1).flat_map(|rest| match rest.strip_prefix('{') {
            Some(group) => group.split('}').next().unwrap_or_default().split(',').collect(),
            None => vec![rest],
        });
        let is_letter = |letter: &char| letter.is_ascii_lowercase() || *letter == '_';
        let named = named.map(|name| name.trim().chars().take_while(is_letter).collect::<String>());
        let named = named.filter(|name| *name != module && modules.contains(name));
        imports.entry(module.clone()).or_default().extend(named);
    }
    imports
}

#[test]
fn the_modules_of_the_loop_and_of_plans_import_in_no_circle() {
    for (room, module, import) in [("turn", "drive", "round"), ("plan", "create", "review")] {
        let mut left = imports_within(&format!("durable/engine/src/{room}"));
        assert!(left.len() > 10 && left[module].contains(import), "{room} has been moved: {left:?}");
        // A module that imports none of the others left stands at the bottom.
        while !left.is_empty() {
            let bottom: Vec<String> = left
                .iter()
                .filter(|(_, imports)| imports.iter().all(|name| !left.contains_key(name)))
                .map(|(name, _)| name.clone())
                .collect();
            assert!(!bottom.is_empty(), "these import each other: {left:?}");
            bottom.iter().for_each(|name| drop(left.remove(name)));
        }
    }
}

#[test]
fn the_loop_names_no_call() {
    const CALLS: [&str; 10] = [
        "run_subtask",
        "finish_subtask",
        "\"memory_",
        "agent_create_plan",
        "plan_step",
        "route_request",
        "\"task\"",
        "\"discuss\"",
        "\"terminate\"",
        "agent_reply",
    ];
    for (path, text) in [sources("durable/engine/src/turn"), sources("durable/engine/src/record")].concat() {
        let is_test = path.components().any(|part| part.as_os_str().to_string_lossy().contains("tests"));
        let mut code = text.lines().filter(|line| !is_test && !line.trim_start().starts_with("//"));
        let named = code.find(|line| CALLS.iter().any(|call| line.contains(call)));
        assert_eq!(named, None, "{} names a call", path.display());
    }
}

// Issue 42, M2: policy, hooks, a person, budget and journal stand before a tool in one place, so nothing else may run one.
#[test]
fn the_engine_runs_tools_in_one_place() {
    for (path, text) in sources("durable/engine/src") {
        let place = path.to_string_lossy();
        if place.contains("/tests") || place.contains("/testing/") || place.ends_with("src/ports.rs") {
            continue;
        }
        // A tool does not run without its context.
        for sign in ["ToolContext {", ".converse("] {
            assert_eq!(text.contains(sign), place.ends_with("turn/round.rs"), "{place}: {sign}");
        }
    }
}

/// The modules that features share: marks around foreign text, and the reader of HTML.
const SHARED: [&str; 2] = ["marks", "reader"];

#[test]
fn no_feature_imports_another() {
    for (path, text) in sources("durable/features/src") {
        let Some(room) = room_of(&path, "durable/features/src") else { continue };
        for import in rooms_in(&text) {
            let may = import == room || SHARED.contains(&import.as_str());
            assert!(may, "{} imports {import}", path.display());
        }
    }
}
