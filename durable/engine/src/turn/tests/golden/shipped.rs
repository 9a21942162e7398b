//! The list of the golden journals (`journal/golden.digests`). A journal of the list is never changed, because code that
//! was deployed has written others like it, and an open turn may have one of them. The list only grows.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The way out for somebody whose change gives a journal another shape.
pub const ADVICE: &str = "a deploy may have written this journal, so it stays. Move it as it is to \
    src/journal/golden/FORMAT-DAY, with the day of the change, or make its scenario `former` and add one with a new name; \
    then run `make journals`, which writes the journals that are missing";

/// The list: a line for each journal, with its digest and its name.
pub fn list() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal/golden.digests")
}

/// Writes a journal that is not there. A journal that is there stays as it is.
pub fn add(journal: &Path, text: &str) {
    if !journal.exists() {
        fs::write(journal, text).unwrap();
    }
}

/// Adds the journals to the list that it lacks.
pub fn complete(list: &Path) {
    let missing = differences(list).into_iter().filter(|(_, count)| *count > 0);
    let mut list = fs::OpenOptions::new().create(true).append(true).open(list).unwrap();
    missing.for_each(|(line, _)| writeln!(list, "{line}").unwrap());
}

/// The line of a journal. It lacks the folder, because a journal may move.
fn line(journal: &Path, text: &str) -> String {
    format!("{:016x} {}", digest(text), journal.file_name().unwrap().display())
}

/// FNV-1a with 64 bits. The list guards against a slip, and not against an attacker.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The lines of journals that the list lacks, with 1, and those of the list that no journal has, with -1.
fn differences(list: &Path) -> BTreeMap<String, i32> {
    let mut lines = BTreeMap::new();
    for folder in fs::read_dir(list.with_extension("")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            *lines.entry(line(&path, &fs::read_to_string(&path).unwrap())).or_default() += 1;
        }
    }
    for listed in fs::read_to_string(list).unwrap_or_default().lines() {
        *lines.entry(listed.to_owned()).or_default() -= 1;
    }
    lines.retain(|_, count| *count != 0);
    lines
}

// Issue 46, 2: a rollback meets journals of every shape that was deployed.
#[test]
fn no_journal_of_the_list_was_changed_or_deleted() {
    let (gone, new): (Vec<_>, Vec<_>) = differences(&list()).into_iter().partition(|(_, count)| *count < 0);
    assert!(
        gone.is_empty(),
        "changed or deleted: {gone:#?}\n\
         `git log -- durable/engine/src/journal/golden` has them as they were: {ADVICE}"
    );
    assert!(new.is_empty(), "not in src/journal/golden.digests: {new:#?}\nmake journals");
}

#[test]
fn a_journal_that_is_there_is_not_written_again() {
    let root = std::env::temp_dir().join(format!("espalier-golden-{}", std::process::id()));
    let (list, older) = (root.join("golden.digests"), root.join("golden/2-2026-11-28/plain.late.jsonl"));
    let journal = root.join("golden/2/plain.late.jsonl");
    for path in [&journal, &older] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    let write = |text: &str| {
        add(&journal, text);
        complete(&list);
    };
    let counts = || differences(&list).into_values().collect::<Vec<_>>();
    write("first\n");
    write("second\n");
    assert_eq!(fs::read_to_string(&journal).unwrap(), "first\n");
    assert_eq!(counts(), [0; 0]);
    // It may move, and another one takes its place.
    fs::rename(&journal, &older).unwrap();
    write("second\n");
    assert_eq!(fs::read_to_string(&journal).unwrap(), "second\n");
    assert_eq!(counts(), [0; 0]);
    // A journal that somebody writes over is missed, also by a list that has its new text.
    fs::write(&older, "third\n").unwrap();
    assert_eq!(counts().into_iter().sum::<i32>(), 0);
    complete(&list);
    assert_eq!(counts(), [-1]);
    fs::remove_file(&journal).unwrap();
    assert_eq!(counts(), [-1, -1]);
    fs::remove_dir_all(root).unwrap();
}
