//! What the project tools need of a storage.

use futures::future::LocalBoxFuture;

use super::item::{Item, ItemKind};

/// The projects of one user, and what belongs to them.
pub trait Projects {
    /// What the ids of new items have in them, beside the operation: the thread, since turns of two may have one name.
    fn scope(&self) -> &str;
    /// The items of a kind, oldest first: of a project where one is named, at most [`ItemKind::most`] of them.
    fn list(
        &self,
        kind: ItemKind,
        project_id: Option<&str>,
    ) -> LocalBoxFuture<'static, Result<Vec<Item>, ProjectsError>>;
    /// The item of this id; none where there is none of this kind.
    fn get(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<Option<Item>, ProjectsError>>;
    /// Writes new items, all or none. One whose id is there already stays as it is: the same operation wrote it.
    fn create(&self, items: Vec<Item>) -> LocalBoxFuture<'static, Result<(), ProjectsError>>;
    /// Writes an item over this version of it. False where it is another one by now.
    fn update(&self, item: Item, over: u32) -> LocalBoxFuture<'static, Result<bool, ProjectsError>>;
    /// Deletes an item, and what belongs to it.
    fn delete(&self, kind: ItemKind, id: &str) -> LocalBoxFuture<'static, Result<(), ProjectsError>>;
}

/// The storage did not answer, or refused; the text is for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectsError(pub String);
