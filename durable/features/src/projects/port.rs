//! The storage port of the project tools.

use futures::future::LocalBoxFuture;

use super::item::{Item, ItemKind};
use wire::store::StoreError;

/// The projects of one user, with their tasks and documents.
pub trait Projects {
    /// The thread's part in the ids of new items, because two threads may have operations of the same name.
    fn scope(&self) -> &str;
    /// The items of a kind, oldest first, optionally of one project; at most [`ItemKind::most`] items.
    fn list(
        &self,
        kind: ItemKind,
        project_id: Option<&str>,
    ) -> LocalBoxFuture<'static, Result<Vec<Item>, StoreError>>;
    /// The item of this kind and id, if it exists.
    fn get(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<Option<Item>, StoreError>>;
    /// Writes new items, all or none. An item whose id already exists stays, because the same operation wrote it.
    fn create(&self, items: Vec<Item>) -> LocalBoxFuture<'static, Result<(), StoreError>>;
    /// Replaces this version of an item. False if the version has changed.
    fn update(&self, item: Item, over: u32) -> LocalBoxFuture<'static, Result<bool, StoreError>>;
    /// Deletes an item, and the items of a project with it.
    fn delete(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<(), StoreError>>;
}
