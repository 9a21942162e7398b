//! The user's projects. The agent's tools create them; a person reads, changes and deletes them.

use bindings::d1::text;
use features::projects::Projects;
use features::projects::change::{self, Change, Place, Unchanged};
use features::projects::item::{Body, Item, ItemKind, built_in};
use features::projects::statements::THERE;
use features::projects::store::D1Projects;
use wire::protocol::{
    ApiError, DocumentChange, DocumentDetail, DocumentEntry, ErrorCode, Owner, ProjectChange, ProjectDetail,
    ProjectEntry, ProjectList, ProjectTask, TaskChange, TemplateEntry, TemplateList,
};
use wire::store::StoreError;

use super::audit;
use crate::audit::store::Where;
use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::reply::Reply;

/// `GET /api/templates`: the built-in ones, then the user's own.
pub async fn templates(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let own = projects_of(call, &owner).list(ItemKind::Template, None).await.map_err(unreachable)?;
    let entry = |Item { id, title, body, .. }: Item| match body {
        Body::Template { description, tasks } => {
            let tasks = tasks.into_iter().map(|task| task.title).collect();
            Some(TemplateEntry { id, name: title, description, tasks })
        }
        _ => None,
    };
    let templates = built_in().into_iter().chain(own).filter_map(entry).collect();
    Ok(Reply::json(200, &TemplateList { templates }).into())
}

/// `GET /api/projects`.
pub async fn list(call: &Call, owner: Owner) -> Result<Answer, Failure> {
    let projects = projects_of(call, &owner).list(ItemKind::Project, None).await.map_err(unreachable)?;
    Ok(Reply::json(200, &ProjectList { projects: projects.iter().map(entry).collect() }).into())
}

/// `GET /api/projects/{id}`: with its tasks and the titles of its documents.
pub async fn get(call: &Call, owner: Owner, id: &str) -> Result<Answer, Failure> {
    let projects = projects_of(call, &owner);
    let project = projects.get(ItemKind::Project, id).await.map_err(unreachable)?.ok_or_else(not_found)?;
    let tasks = projects.list(ItemKind::Task, Some(id)).await.map_err(unreachable)?;
    let documents = projects.list(ItemKind::Document, Some(id)).await.map_err(unreachable)?;
    let document = |item: &Item| DocumentEntry {
        id: item.id.clone(),
        title: item.title.clone(),
        updated_at: item.updated_at,
    };
    let detail = ProjectDetail {
        project: entry(&project),
        tasks: tasks.iter().filter_map(self::task).collect(),
        documents: documents.iter().map(document).collect(),
    };
    Ok(Reply::json(200, &detail).into())
}

/// `PATCH /api/projects/{id}`.
pub async fn change_project(
    call: &Call,
    owner: Owner,
    project: &str,
    body: &[u8],
) -> Result<Answer, Failure> {
    let to = Change::Project(ProjectChange::parse(body)?);
    Ok(Reply::json(200, &entry(&changed(call, &owner, whole(project), to).await?)).into())
}

/// `PATCH …/tasks/{task_id}`.
pub async fn change_task(
    call: &Call,
    owner: Owner,
    place: Place<'_>,
    body: &[u8],
) -> Result<Answer, Failure> {
    let item = changed(call, &owner, place, Change::Task(TaskChange::parse(body)?)).await?;
    Ok(Reply::json(200, &task(&item).ok_or_else(not_found)?).into())
}

/// `GET …/documents/{document_id}`.
pub async fn document(call: &Call, owner: Owner, place: Place<'_>) -> Result<Answer, Failure> {
    let found = change::found(&projects_of(call, &owner), place).await.map_err(refused)?;
    Ok(Reply::json(200, &detail(found)?).into())
}

/// `PATCH …/documents/{document_id}`.
pub async fn change_document(
    call: &Call,
    owner: Owner,
    place: Place<'_>,
    body: &[u8],
) -> Result<Answer, Failure> {
    let to = Change::Document(DocumentChange::parse(body)?);
    Ok(Reply::json(200, &detail(changed(call, &owner, place, to).await?)?).into())
}

async fn changed(call: &Call, owner: &Owner, place: Place<'_>, to: Change) -> Result<Item, Failure> {
    change::change(&projects_of(call, owner), place, &to, call.now).await.map_err(refused)
}

/// Deletes a project with its parts, or a part of one.
pub async fn delete(call: &Call, owner: Owner, place: Place<'_>) -> Result<Answer, Failure> {
    let values = vec![text(place.kind.as_str()), text(place.id)];
    let log = audit::deletion(call, &owner, Where { condition: THERE, values })?;
    change::delete(&projects_of(call, &owner).logging(log), place).await.map_err(refused)?;
    Ok(Reply::empty().into())
}

/// The place of a project.
pub const fn whole(id: &str) -> Place<'_> {
    Place { kind: ItemKind::Project, project_id: None, id }
}

/// The place of a task of a project.
pub const fn task_of<'a>(project: &'a str, id: &'a str) -> Place<'a> {
    Place { kind: ItemKind::Task, project_id: Some(project), id }
}

/// The place of a document of a project.
pub const fn document_of<'a>(project: &'a str, id: &'a str) -> Place<'a> {
    Place { kind: ItemKind::Document, project_id: Some(project), id }
}

fn task(item: &Item) -> Option<ProjectTask> {
    let task = item.task()?;
    Some(ProjectTask {
        id: item.id.clone(),
        title: item.title.clone(),
        status: task.status,
        notes: task.notes.clone(),
        blocked_by: task.blocked_by.clone(),
        updated_at: item.updated_at,
    })
}

fn detail(Item { id, title, body, updated_at, .. }: Item) -> Result<DocumentDetail, ApiError> {
    let Body::Document { content } = body else { return Err(not_found()) };
    Ok(DocumentDetail { entry: DocumentEntry { id, title, updated_at }, content })
}

fn entry(item: &Item) -> ProjectEntry {
    let (description, template_id) = match &item.body {
        Body::Project { description, template_id } => (description.clone(), template_id.clone()),
        _ => Default::default(),
    };
    ProjectEntry {
        id: item.id.clone(),
        name: item.title.clone(),
        description,
        template_id,
        created_at: item.created_at,
        updated_at: item.updated_at,
    }
}

fn projects_of(call: &Call, owner: &Owner) -> D1Projects {
    D1Projects::new(&call.env, owner, None)
}

fn not_found() -> ApiError {
    ApiError::new(ErrorCode::ProjectNotFound, "there is no such project, task or document")
}

fn unreachable(error: StoreError) -> Failure {
    Failure::internal("reading projects")(error)
}

fn refused(why: Unchanged) -> Failure {
    match why {
        Unchanged::NotFound => not_found().into(),
        Unchanged::Conflict(why) => ApiError::new(ErrorCode::ProjectConflict, why).into(),
        Unchanged::Unreachable(error) => unreachable(error),
    }
}
