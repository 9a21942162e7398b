//! The earlier versions of files: what calls and people replace or delete.

use super::*;
use crate::files::history::{Version, delete, list, read, write};
use crate::files::{OnlyIf, Written};
use wire::store::StoreError;

const ROOT: &str = "threads/t/";

fn now<T>(work: impl Future<Output = T>) -> T {
    work.now_or_never().expect("the storage answers at once")
}

fn versions(files: &InMemory) -> Vec<Version> {
    now(list(files, ROOT)).unwrap()
}

/// The path, the content and the writer of each version, the newest first.
fn kept(files: &InMemory) -> Vec<(String, String, Option<String>)> {
    let content = |version: &Version| {
        let (_, body) = now(read(files, ROOT, &version.path, &version.id)).unwrap().unwrap();
        String::from_utf8(body.unwrap()).unwrap()
    };
    let kept = versions(files).into_iter();
    kept.map(|version| (version.path.clone(), content(&version), version.written_by)).collect()
}

fn version(path: &str, content: &str, writer: Option<&str>) -> (String, String, Option<String>) {
    (path.to_owned(), content.to_owned(), writer.map(str::to_owned))
}

// Issue 19, item 2.
#[test]
fn what_a_call_replaces_or_deletes_is_kept() {
    let mut level = Level::new();
    level.files.put("threads/t/b", "by a person");
    level.write("a", "one").unwrap();
    assert_eq!(kept(&level.files), [], "a new file replaces nothing");
    level.write("a", "one").unwrap();
    assert_eq!(kept(&level.files), [], "the same content replaces nothing");
    level.write("a", "two").unwrap();
    level.edit("a", "two", "three").unwrap();
    level.read("b").unwrap();
    level.delete("b").unwrap();
    assert_eq!(
        kept(&level.files),
        [
            version("b", "by a person", None),
            version("a", "two", Some("call_3")),
            version("a", "one", Some("call_2"))
        ]
    );
    let first = versions(&level.files).pop().unwrap();
    assert!(first.written_at < first.replaced_at && first.bytes == 3, "{first:?}");
    assert_eq!(level.call("list_files", json!({})), ok("a (5 bytes)"), "versions are no files");
    // A version of one file is none of another.
    assert_eq!(now(read(&*level.files, ROOT, "b", &first.id)), Ok(None));
    assert_eq!(now(read(&*level.files, ROOT, "a", "../a")), Ok(None));
    assert_eq!(now(read(&*level.files, "threads/u/", "a", &first.id)), Ok(None));
}

#[test]
fn a_refused_write_keeps_nothing() {
    let mut level = Level::new();
    level.files.put("threads/t/a", "one");
    refused(level.write("a", "blind"), "you have not read it");
    level.read("a").unwrap();
    level.files.put("threads/t/a", "another's");
    refused(level.write("a", "late"), "has changed");
    refused(level.delete("a"), "has changed");
    assert_eq!(kept(&level.files), []);
}

// A run that dies after the copy, or after the write, is repeated by another one.
#[test]
fn a_crash_between_copy_and_write_loses_and_doubles_nothing() {
    for (writes, content) in [(1, "one"), (2, "two")] {
        let mut level = Level::new();
        level.write("a", "one").unwrap();
        let before = Rc::clone(&level.versions);
        level.files.down_after.set(Some(writes));
        let ended = level.call("write_file", json!({"path": "a", "content": "two"}));
        assert_eq!(ended.is_err(), writes == 1, "{ended:?}");
        level.files.is_down.set(false);
        assert_eq!(level.files.text("threads/t/a").unwrap(), content, "after {writes} writes");
        level.versions = before;
        assert_eq!(
            level.again("write_file", json!({"path": "a", "content": "two"})),
            ok("wrote 3 bytes to \"a\"")
        );
        assert_eq!(level.files.text("threads/t/a").unwrap(), "two");
        assert_eq!(kept(&level.files), [version("a", "one", Some("call_1"))]);
    }
}

// A file whose content cannot be copied is not replaced.
#[test]
fn a_storage_that_fails_replaces_and_deletes_nothing() {
    let files = InMemory::default();
    files.put("threads/t/a", "one");
    let found = now(files.read("threads/t/a", 100)).unwrap().unwrap();
    files.is_down.set(true);
    let failed = Err(StoreError("down".to_owned()));
    assert_eq!(now(write(&files, ROOT, "a", b"two".to_vec(), OnlyIf::Always, "upload")), failed);
    assert_eq!(now(delete(&files, ROOT, "a", found)), Err(StoreError("down".to_owned())));
    assert_eq!(files.text("threads/t/a").unwrap(), "one");
}

// A write without a condition, or over any version: each content between both is kept.
#[test]
fn a_content_that_comes_in_between_is_kept_as_well() {
    for only_if in [OnlyIf::Always, OnlyIf::Version("*".to_owned())] {
        let files = InMemory::default();
        files.put("threads/t/a", "one");
        files.meanwhile.replace(Some(("threads/t/a".to_owned(), "two")));
        let written = now(write(&files, ROOT, "a", b"three".to_vec(), only_if, "upload")).unwrap();
        assert!(matches!(written, Written::Version(_)), "{written:?}");
        assert_eq!(files.text("threads/t/a").unwrap(), "three");
        assert_eq!(kept(&files), [version("a", "two", None), version("a", "one", None)]);
    }
    // A condition that does not hold writes nothing.
    let files = InMemory::default();
    files.put("threads/t/a", "one");
    files.meanwhile.replace(Some(("threads/t/a".to_owned(), "two")));
    let only_if = OnlyIf::Version("v1".to_owned());
    let written = now(write(&files, ROOT, "a", b"three".to_vec(), only_if, "upload")).unwrap();
    assert!(matches!(written, Written::Refused(Some(_))), "{written:?}");
    assert_eq!(files.text("threads/t/a").unwrap(), "two");
    // Without a file there is nothing to keep.
    let any = OnlyIf::Version("*".to_owned());
    assert_eq!(now(write(&files, ROOT, "b", b"x".to_vec(), any, "upload")), Ok(Written::Refused(None)));
    assert!(matches!(
        now(write(&files, ROOT, "c", b"x".to_vec(), OnlyIf::Always, "upload")),
        Ok(Written::Version(_))
    ));
}
