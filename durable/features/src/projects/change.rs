//! Changes that a person makes on the page: the rules, and the steps over the port. The agent's tools keep the same
//! rules.

use wire::protocol::{DocumentChange, ProjectChange, TaskChange, TaskStatus};
use wire::store::StoreError;

use super::Projects;
use super::item::{Body, Item, ItemKind, blockers};

/// How often a change is retried after a concurrent change.
pub(super) const ATTEMPTS: u32 = 3;

/// The operation of an item that a person wrote last. No call of the agent has this name.
const BY_PERSON: &str = "person";

/// A change of one item.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    Project(ProjectChange),
    Task(TaskChange),
    Document(DocumentChange),
}

/// An item, as a path names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    pub kind: ItemKind,
    /// The project around a task or a document.
    pub project_id: Option<&'a str>,
    pub id: &'a str,
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unchanged {
    NotFound,
    /// The state of the project does not allow it; the text is for the person.
    Conflict(String),
    Unreachable(StoreError),
}

impl From<StoreError> for Unchanged {
    fn from(error: StoreError) -> Self {
        Unchanged::Unreachable(error)
    }
}

impl Change {
    /// Whether the rule needs the other items of the project.
    fn needs_others(&self) -> bool {
        match self {
            Change::Project(_) => false,
            Change::Task(change) => change.status == Some(TaskStatus::Done),
            Change::Document(change) => change.title.is_some(),
        }
    }

    /// The item after the change; `all` has the items of its kind in its project.
    fn applied(&self, mut item: Item, all: &[Item]) -> Result<Item, String> {
        let Item { id, title, body, .. } = &mut item;
        match (self, body) {
            (Change::Project(change), Body::Project { description, .. }) => {
                change.name.iter().for_each(|name| title.clone_from(name));
                change.description.iter().for_each(|text| description.clone_from(text));
            }
            (Change::Task(change), Body::Task(task)) => {
                change.title.iter().for_each(|text| title.clone_from(text));
                change.notes.iter().for_each(|notes| task.notes.clone_from(notes));
                task.status = change.status.unwrap_or(task.status);
                let open = blockers(task, all);
                if change.status == Some(TaskStatus::Done) && !open.is_empty() {
                    let open: Vec<&str> = open.iter().map(|item| item.title.as_str()).collect();
                    return Err(format!("This task waits for: {}", open.join(", ")));
                }
            }
            (Change::Document(change), Body::Document { content }) => {
                // The agent knows documents by their titles.
                let taken = |new: &String| all.iter().any(|other| other.id != *id && other.title == *new);
                if change.title.as_ref().is_some_and(taken) {
                    return Err("Another document of this project has this title.".to_owned());
                }
                change.title.iter().for_each(|text| title.clone_from(text));
                change.content.iter().for_each(|text| content.clone_from(text));
            }
            _ => return Err("This is of another kind.".to_owned()),
        }
        Ok(item)
    }
}

/// The item, if it is the user's and stands in the named project.
pub async fn found(projects: &dyn Projects, place: Place<'_>) -> Result<Item, Unchanged> {
    let found = projects.get(place.kind, place.id).await?;
    found.filter(|item| item.project_id.as_deref() == place.project_id).ok_or(Unchanged::NotFound)
}

/// Changes an item. A member that the change leaves out stays as it is, also if the agent changes it at the same time.
pub async fn change(
    projects: &dyn Projects,
    place: Place<'_>,
    change: &Change,
    now: u64,
) -> Result<Item, Unchanged> {
    for _ in 0..ATTEMPTS {
        let item = found(projects, place).await?;
        let all = match change.needs_others() {
            true => projects.list(place.kind, place.project_id).await?,
            false => Vec::new(),
        };
        let over = item.version;
        let mut item = change.applied(item, &all).map_err(Unchanged::Conflict)?;
        item.version = over.saturating_add(1);
        BY_PERSON.clone_into(&mut item.operation);
        item.updated_at = now;
        if projects.update(item.clone(), over).await? {
            return Ok(item);
        }
    }
    Err(Unchanged::Conflict("It changed at the same time. Try again.".to_owned()))
}

/// Deletes an item; a project with its tasks and documents.
pub async fn delete(projects: &dyn Projects, place: Place<'_>) -> Result<(), Unchanged> {
    found(projects, place).await?;
    Ok(projects.delete(place.kind, place.id).await?)
}
