//! Workflows for tests.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};

use crate::workflows::{Stored, Workflows};
use wire::protocol::{MAX_WORKFLOWS, WorkflowDefinition};
use wire::store::StoreError;

/// Workflows in memory. A test can take the storage down.
#[derive(Default)]
pub struct InMemory {
    pub stored: RefCell<BTreeMap<String, Stored>>,
    pub is_down: Cell<bool>,
}

impl InMemory {
    fn answer<T: 'static>(
        &self,
        answer: impl FnOnce() -> T,
    ) -> LocalBoxFuture<'static, Result<T, StoreError>> {
        ready(if self.is_down.get() { Err(StoreError("down".to_owned())) } else { Ok(answer()) })
            .boxed_local()
    }
}

impl Workflows for InMemory {
    fn list(&self) -> LocalBoxFuture<'static, Result<Vec<Stored>, StoreError>> {
        self.answer(|| self.stored.borrow().values().cloned().collect())
    }

    fn get(&self, id: &str) -> LocalBoxFuture<'static, Result<Option<Stored>, StoreError>> {
        self.answer(|| self.stored.borrow().get(id).cloned())
    }

    fn put(
        &self,
        id: &str,
        definition: WorkflowDefinition,
        now: u64,
    ) -> LocalBoxFuture<'static, Result<Option<Stored>, StoreError>> {
        self.answer(|| {
            let mut stored = self.stored.borrow_mut();
            let before = stored.get(id).cloned();
            if before.is_none() && stored.len() >= MAX_WORKFLOWS {
                return None;
            }
            let version = match &before {
                Some(before) if before.definition == definition => return Some(before.clone()),
                Some(before) => before.version + 1,
                None => 1,
            };
            let row = Stored { id: id.to_owned(), version, definition, updated_at: now };
            stored.insert(id.to_owned(), row.clone());
            Some(row)
        })
    }

    fn delete(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, StoreError>> {
        self.answer(|| self.stored.borrow_mut().remove(id).is_some())
    }
}
