//! Files for tests.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};

use crate::files::{FileInfo, FileRead, Files, OnlyIf, Written};
use wire::store::StoreError;

/// A storage in memory. A test can make it lose the response of a write.
#[derive(Default)]
pub struct InMemory {
    pub files: RefCell<BTreeMap<String, (FileInfo, Vec<u8>)>>,
    written: Cell<u64>,
    /// The storage is down.
    pub is_down: Cell<bool>,
    /// It goes down after so many writes.
    pub down_after: Cell<Option<u32>>,
    /// A file that somebody else writes just before the next write of it.
    pub meanwhile: RefCell<Option<(String, &'static str)>>,
}

impl InMemory {
    /// Writes a file from outside of a turn.
    pub fn put(&self, key: &str, body: impl Into<Vec<u8>>) {
        self.store(key, body.into(), None);
    }

    /// The content of a file.
    pub fn text(&self, key: &str) -> Option<String> {
        self.files.borrow().get(key).map(|(_, body)| String::from_utf8(body.clone()).unwrap())
    }

    fn store(&self, key: &str, body: Vec<u8>, operation: Option<String>) -> String {
        self.written.set(self.written.get() + 1);
        let version = format!("v{}", self.written.get());
        let bytes = body.len() as u64;
        let info = FileInfo {
            key: key.to_owned(),
            bytes,
            version: version.clone(),
            operation,
            updated_at: self.written.get(),
        };
        self.files.borrow_mut().insert(key.to_owned(), (info, body));
        version
    }

    fn answer<T: 'static>(&self, answer: T) -> LocalBoxFuture<'static, Result<T, StoreError>> {
        ready(if self.is_down.get() { Err(StoreError("down".to_owned())) } else { Ok(answer) }).boxed_local()
    }
}

impl Files for InMemory {
    fn read(
        &self,
        key: &str,
        max_bytes: usize,
    ) -> LocalBoxFuture<'static, Result<Option<FileRead>, StoreError>> {
        let found = self.files.borrow().get(key).cloned();
        self.answer(found.map(|(info, body)| (info, (body.len() <= max_bytes).then_some(body))))
    }

    fn write(
        &self,
        key: &str,
        body: Vec<u8>,
        only_if: OnlyIf,
        operation: &str,
    ) -> LocalBoxFuture<'static, Result<Written, StoreError>> {
        if self.is_down.get() {
            return self.answer(Written::Refused(None));
        }
        if let Some((_, body)) = self.meanwhile.borrow_mut().take_if(|(other, _)| other == key) {
            self.put(key, body);
        }
        let found = self.files.borrow().get(key).map(|(info, _)| info.clone());
        let holds = match &only_if {
            OnlyIf::Absent => found.is_none(),
            OnlyIf::Version(version) => found.as_ref().is_some_and(|info| info.version == *version),
            OnlyIf::Always => true,
        };
        let written = self.answer(match holds {
            true => Written::Version(self.store(key, body, Some(operation.to_owned()))),
            false => Written::Refused(found),
        });
        if let Some(left) = self.down_after.take() {
            self.down_after.set(left.checked_sub(1).filter(|left| *left > 0));
            self.is_down.set(left <= 1);
        }
        written
    }

    fn delete(&self, keys: Vec<String>) -> LocalBoxFuture<'static, Result<(), StoreError>> {
        if !self.is_down.get() {
            self.files.borrow_mut().retain(|key, _| !keys.contains(key));
        }
        self.answer(())
    }

    fn list(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<FileInfo>, StoreError>> {
        let files = self.files.borrow();
        let infos = files.values().map(|(info, _)| info.clone());
        self.answer(infos.filter(|info| info.key.starts_with(prefix)).take(1_000).collect())
    }

    fn folders(&self, prefix: &str) -> LocalBoxFuture<'static, Result<Vec<String>, StoreError>> {
        let files = self.files.borrow();
        let folder = |key: &String| Some(key.strip_prefix(prefix)?.split_once('/')?.0.to_owned());
        self.answer(files.keys().filter_map(folder).collect::<BTreeSet<_>>().into_iter().collect())
    }
}
