//! Projects for tests.

use std::cell::{Cell, RefCell};

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};

use crate::projects::Projects;
use crate::projects::item::{Item, ItemKind};
use wire::store::StoreError;

/// Items in memory. A test can take the storage down, and let somebody else change the items.
#[derive(Default)]
pub struct InMemory {
    pub items: RefCell<Vec<Item>>,
    pub is_down: Cell<bool>,
    /// So many of the next changes come too late: somebody else has changed the item.
    pub races: Cell<u32>,
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

impl Projects for InMemory {
    fn scope(&self) -> &str {
        "s"
    }

    fn list(
        &self,
        kind: ItemKind,
        project_id: Option<&str>,
    ) -> LocalBoxFuture<'static, Result<Vec<Item>, StoreError>> {
        let is_it = |item: &&Item| item.kind == kind && item.project_id.as_deref() == project_id;
        self.answer(|| self.items.borrow().iter().filter(is_it).take(kind.most()).cloned().collect())
    }

    fn get(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<Option<Item>, StoreError>> {
        self.answer(|| self.items.borrow().iter().find(|item| item.kind == kind && item.id == id).cloned())
    }

    fn create(&self, items: Vec<Item>) -> LocalBoxFuture<'static, Result<(), StoreError>> {
        self.answer(|| {
            let mut known = self.items.borrow_mut();
            for item in items {
                if known.iter().all(|other| other.id != item.id) {
                    known.push(item);
                }
            }
        })
    }

    fn update(&self, item: Item, over: u32) -> LocalBoxFuture<'static, Result<bool, StoreError>> {
        self.answer(|| {
            let mut known = self.items.borrow_mut();
            if let Some(left) = self.races.get().checked_sub(1) {
                self.races.set(left);
                known.iter_mut().filter(|old| old.id == item.id).for_each(|old| old.version += 1);
            }
            let old = known.iter_mut().find(|old| old.id == item.id && old.version == over);
            old.map(|old| *old = item).is_some()
        })
    }

    fn delete(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<(), StoreError>> {
        self.answer(|| {
            let is_it =
                |item: &Item| (item.kind == kind && item.id == id) || item.project_id.as_deref() == Some(id);
            self.items.borrow_mut().retain(|item| !is_it(item));
        })
    }
}
