//! Tests of circles: files of a crate that import each other, directly or through others. Such files are one piece, which a
//! reader has to understand at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::sources;

/// The most files of a circle.
const MOST: usize = 3;

type Imports = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

/// The path of the module that a file has, from its crate's root on.
fn module_of(path: &Path, folder: &Path) -> Vec<String> {
    let below = path.strip_prefix(folder).unwrap().with_extension("");
    let parts = below.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// The paths of modules and items that a text names by `crate::` or `super::`, from the crate's root on. Each path of a group
/// in braces is one.
fn paths_in(code: &str, own: &[String]) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            let (before, rest) = code.split_at(at);
            // Of `super::super::x` the first one counts.
            if before.ends_with("super::") || before.chars().next_back().is_some_and(is_name) {
                continue;
            }
            let mut rest = rest.trim_start_matches("crate::");
            let mut base = if start == "crate::" { Vec::new() } else { own.to_vec() };
            while let Some(further) = rest.strip_prefix("super::") {
                base.pop();
                rest = further;
            }
            let statement = rest.split(';').next().unwrap_or_default();
            let group = statement.split_once('{').filter(|(head, _)| head.is_empty() || head.ends_with("::"));
            let whole = rest.split(|letter| !is_name(letter) && letter != ':').next().unwrap_or_default();
            let (head, names) = match group {
                Some((head, names)) => (head, names.split([',', '{', '}']).collect()),
                None => ("", vec![whole]),
            };
            for name in names.into_iter().map(str::trim).filter(|name| !name.is_empty()) {
                let path = format!("{head}{name}");
                let parts = path.split("::").map(str::to_owned).filter(|part| !part.is_empty());
                paths.push(base.iter().cloned().chain(parts).collect());
            }
        }
    }
    paths
}

/// The files of a crate by their modules, and the files that each imports.
fn imports(crate_folder: &str) -> Imports {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(crate_folder);
    let files = sources(crate_folder).into_iter().map(|(path, text)| (module_of(&path, &folder), text));
    let is_test = |module: &[String]| module.iter().any(|part| part.contains("test"));
    let files: BTreeMap<Vec<String>, String> = files.filter(|(module, _)| !is_test(module)).collect();
    let import = |(module, text): (&Vec<String>, &String)| {
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let code: String = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let found = paths_in(&code, module).into_iter().filter_map(|path| {
            // A path ends in items, and begins with the module that has them.
            let file = (0..=path.len())
                .rev()
                .map(|parts| path[..parts].to_vec())
                .find(|path| files.contains_key(path))?;
            (file != *module && !file.is_empty()).then_some(file)
        });
        (module.clone(), found.collect())
    };
    files.iter().map(import).collect()
}

/// The files that a file imports, directly or through others.
fn reached(imports: &Imports, from: &[String]) -> BTreeSet<Vec<String>> {
    let (mut found, mut left) = (BTreeSet::new(), vec![from.to_vec()]);
    while let Some(file) = left.pop() {
        for next in imports.get(&file).into_iter().flatten() {
            if found.insert(next.clone()) {
                left.push(next.clone());
            }
        }
    }
    found
}

/// The largest circle.
fn largest_circle(imports: &Imports) -> BTreeSet<Vec<String>> {
    let reached: BTreeMap<_, _> = imports.keys().map(|file| (file, reached(imports, file))).collect();
    let circle = |file| -> BTreeSet<Vec<String>> {
        reached[file].iter().filter(|other| reached[*other].contains(file)).cloned().collect()
    };
    imports.keys().map(circle).max_by_key(BTreeSet::len).unwrap_or_default()
}

#[test]
fn a_crate_has_no_large_circle_of_files() {
    for name in ["dialects", "engine", "features", "platform", "providers", "wire"] {
        let circle = largest_circle(&imports(&format!("durable/{name}/src")));
        assert!(circle.len() <= MOST, "{name}: {circle:?}");
    }
}

#[test]
fn a_circle_is_found_through_groups_and_parents() {
    let own = |path: &str| -> Vec<String> { path.split("::").map(str::to_owned).collect() };
    let code = "use crate::a::{b, c::D};use super::e::F;fn f() { super::super::g::h() }";
    let found: BTreeSet<String> =
        paths_in(code, &own("x::y::z")).iter().map(|path| path.join("::")).collect();
    let expected = ["a::b", "a::c::D", "x::y::e::F", "x::g::h"].map(str::to_owned);
    assert_eq!(found, BTreeSet::from(expected));
    let file = |name: &str, others: &[&str]| (own(name), others.iter().map(|other| own(other)).collect());
    let imports = Imports::from([file("a", &["b"]), file("b", &["c"]), file("c", &["a"]), file("d", &["a"])]);
    assert_eq!(largest_circle(&imports).len(), 3);
}
