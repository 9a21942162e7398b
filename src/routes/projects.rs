//! The user's projects, for reading. The agent's tools create and change them.

use features::projects::item::{Body, Item, ItemKind, built_in};
use features::projects::store::D1Projects;
use features::projects::{Projects, ProjectsError};
use wire::protocol::{
    ApiError, DocumentDetail, DocumentEntry, ErrorCode, Owner, ProjectDetail, ProjectEntry, ProjectList,
    ProjectTask, TemplateEntry, TemplateList,
};

use crate::call::{Answer, Call};
use crate::problem::Failure;
use crate::reply::Reply;
use crate::router::ProjectsRoute;

/// Does what a route of projects is for.
pub async fn answer(call: &Call, owner: Owner, route: ProjectsRoute<'_>) -> Result<Answer, Failure> {
    let owner = &owner;
    match route {
        ProjectsRoute::Templates => templates(call, owner).await,
        ProjectsRoute::Projects => list(call, owner).await,
        ProjectsRoute::Project { project } => get(call, owner, project).await,
        ProjectsRoute::ProjectDocument { project, document } => {
            self::document(call, owner, project, document).await
        }
    }
}

/// `GET /api/templates`: the built-in ones, then the user's own.
async fn templates(call: &Call, owner: &Owner) -> Result<Answer, Failure> {
    let own = projects_of(call, owner).list(ItemKind::Template, None).await.map_err(unreachable)?;
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
async fn list(call: &Call, owner: &Owner) -> Result<Answer, Failure> {
    let projects = projects_of(call, owner).list(ItemKind::Project, None).await.map_err(unreachable)?;
    Ok(Reply::json(200, &ProjectList { projects: projects.iter().map(entry).collect() }).into())
}

/// `GET /api/projects/{id}`: with its tasks and the titles of its documents.
async fn get(call: &Call, owner: &Owner, id: &str) -> Result<Answer, Failure> {
    let projects = projects_of(call, owner);
    let project = projects.get(ItemKind::Project, id).await.map_err(unreachable)?.ok_or_else(not_found)?;
    let tasks = projects.list(ItemKind::Task, Some(id)).await.map_err(unreachable)?;
    let documents = projects.list(ItemKind::Document, Some(id)).await.map_err(unreachable)?;
    let task = |item: &Item| {
        let task = item.task()?;
        Some(ProjectTask {
            id: item.id.clone(),
            title: item.title.clone(),
            status: task.status,
            notes: task.notes.clone(),
            blocked_by: task.blocked_by.clone(),
            updated_at: item.updated_at,
        })
    };
    let document = |item: &Item| DocumentEntry {
        id: item.id.clone(),
        title: item.title.clone(),
        updated_at: item.updated_at,
    };
    let detail = ProjectDetail {
        project: entry(&project),
        tasks: tasks.iter().filter_map(task).collect(),
        documents: documents.iter().map(document).collect(),
    };
    Ok(Reply::json(200, &detail).into())
}

/// `GET /api/projects/{id}/documents/{document}`.
async fn document(call: &Call, owner: &Owner, id: &str, document: &str) -> Result<Answer, Failure> {
    let found = projects_of(call, owner).get(ItemKind::Document, document).await.map_err(unreachable)?;
    let found = found.filter(|item| item.project_id.as_deref() == Some(id)).ok_or_else(not_found)?;
    let Item { id, title, body, updated_at, .. } = found;
    let Body::Document { content } = body else { return Err(not_found().into()) };
    let entry = DocumentEntry { id, title, updated_at };
    Ok(Reply::json(200, &DocumentDetail { entry, content }).into())
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
    ApiError::new(ErrorCode::ProjectNotFound, "there is no such project or document")
}

fn unreachable(ProjectsError(error): ProjectsError) -> Failure {
    Failure::internal("reading projects")(error)
}
