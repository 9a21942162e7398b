//! Memories of one user in memory, for tests. A test can take the storage down.

use std::cell::{Cell, RefCell};

use futures::FutureExt;
use futures::future::{LocalBoxFuture, ready};

use crate::knowledge::{Memories, Remembered};
use wire::protocol::Memory;
use wire::store::StoreError;

#[derive(Default)]
pub struct InMemory {
    pub rows: RefCell<Vec<Memory>>,
    pub is_down: Cell<bool>,
    pub most: Cell<Option<usize>>,
}

impl InMemory {
    fn answer<T: 'static>(
        &self,
        answer: impl FnOnce() -> T,
    ) -> LocalBoxFuture<'static, Result<T, StoreError>> {
        let answer = match self.is_down.get() {
            true => Err(StoreError("D1: no such table: memories".to_owned())),
            false => Ok(answer()),
        };
        ready(answer).boxed_local()
    }
}

impl Memories for InMemory {
    fn remember(
        &self,
        content: &str,
        operation: &str,
        now_ms: u64,
    ) -> LocalBoxFuture<'static, Result<Remembered, StoreError>> {
        self.answer(|| {
            let mut rows = self.rows.borrow_mut();
            if let Some(known) = rows.iter().find(|row| row.content == content) {
                return match known.id == operation {
                    true => Remembered::Stored(known.id.clone()),
                    false => Remembered::Known(known.id.clone()),
                };
            }
            if self.most.get().is_some_and(|most| rows.len() >= most) {
                return Remembered::Full;
            }
            let (id, content) = (operation.to_owned(), content.to_owned());
            rows.push(Memory { id: id.clone(), content, created_at: now_ms, updated_at: now_ms });
            Remembered::Stored(id)
        })
    }

    fn recall(
        &self,
        question: Option<&str>,
        limit: u32,
    ) -> LocalBoxFuture<'static, Result<Vec<Memory>, StoreError>> {
        self.answer(|| {
            let has = |row: &&Memory| {
                question.is_none_or(|question| question.split(' ').any(|word| row.content.contains(word)))
            };
            self.rows.borrow().iter().rev().filter(has).take(limit as usize).cloned().collect()
        })
    }

    fn forget(&self, id: &str) -> LocalBoxFuture<'static, Result<bool, StoreError>> {
        self.answer(|| {
            let mut rows = self.rows.borrow_mut();
            let before = rows.len();
            rows.retain(|row| row.id != id);
            rows.len() < before
        })
    }
}
