// The panel in which a person reads projects, their tasks and documents. The agent makes and changes them.

import { useEffect } from "react";
import { COMPOSER_ID } from "../../components/focus";
import { BackIcon, ChevronIcon, FileIcon } from "../../components/Icons";
import { Markdown } from "../../components/Markdown";
import { PagedList, Problem } from "../../components/PagedList";
import { Side } from "../../components/Side";
import { en } from "../../en";
import type { PanelProps } from "../../feature";
import { useStore } from "../../state/store";
import { subjects, type Subject } from "../../state/subject";
import { agoText } from "../../turn/measures";
import type { DocumentDetail, ProjectDetail, ProjectEntry, ProjectTask } from "../../wire.generated";
import { words } from "./en";
import { projects } from "./projects";
import "./projects.css";

export { projects };

export function ProjectsPanel({ chat, onClose }: PanelProps) {
  const { projectId, documentId, project, document, problem } = useStore(projects.desk);
  useEffect(() => projects.show(), []);
  const title = document?.title ?? project?.name ?? words.title;
  return (
    <Side title={title} testId="projects" onClose={onClose}>
      {projectId === null ? (
        <All chat={chat} />
      ) : (
        <>
          <button type="button" className="back-button" data-testid="projects-back" autoFocus onClick={() => void projects.open(null)}>
            <BackIcon />
            {documentId === null ? words.all : (project?.name ?? words.one)}
          </button>
          <Problem words={problem} onRetry={() => void projects.load()} />
          {documentId !== null ? (
            <Page document={document} failed={problem !== null} />
          ) : (
            <Project project={project} failed={problem !== null} chat={chat} />
          )}
        </>
      )}
    </Side>
  );
}

/** The next message of this chat is about a project. */
function talkAbout(chat: string, subject: Subject): void {
  subjects.choose(chat, subject);
  window.document.getElementById(COMPOSER_ID)?.focus();
}

function All({ chat }: { chat: string }) {
  return (
    <>
      <p className="side-lead">{words.lead}</p>
      <button
        type="button"
        className="outline-button project-use"
        data-testid="project-new"
        title={words.createAbout}
        onClick={() => talkAbout(chat, { type: "project_create" })}
      >
        {words.create}
      </button>
      <PagedList
        list={projects.all}
        label={words.title}
        none={words.none}
        row={(project) => <ProjectRow key={project.id} project={project} />}
      />
    </>
  );
}

function ProjectRow({ project: { id, name, description, updated_at } }: { project: ProjectEntry }) {
  return (
    <li className="row">
      <button type="button" className="row-open" data-testid="project" onClick={() => void projects.open(id)}>
        <span className="row-words">
          <span className="row-name" dir="auto">{name}</span>
          {description && <span className="row-more" dir="auto">{description}</span>}
          <span className="row-more">{agoText(updated_at, Date.now())}</span>
        </span>
        <ChevronIcon />
      </button>
    </li>
  );
}

function Project({ project, failed, chat }: { project: ProjectDetail | null; failed: boolean; chat: string }) {
  if (!project) return <Waiting failed={failed} />;
  const { id, name, description, tasks, documents } = project;
  return (
    <>
      {description && <p className="project-about" dir="auto">{description}</p>}
      <button
        type="button"
        className="outline-button project-use"
        data-testid="project-use"
        onClick={() => talkAbout(chat, { type: "project", entity: { id, name } })}
      >
        {words.use}
      </button>
      <section className="project-part">
        <h3>{words.tasks}</h3>
        {tasks.length === 0 && <p className="side-note">{words.noTasks}</p>}
        <ul aria-label={words.tasksOf(name)}>
          {tasks.map((task) => (
            <Task key={task.id} task={task} tasks={tasks} />
          ))}
        </ul>
      </section>
      <section className="project-part">
        <h3>{words.documents}</h3>
        {documents.length === 0 && <p className="side-note">{words.noDocuments}</p>}
        <ul aria-label={words.documentsOf(name)}>
          {documents.map(({ id, title, updated_at }) => (
            <li key={id} className="row">
              <button type="button" className="row-open" data-testid="project-document" onClick={() => void projects.open(id)}>
                <FileIcon />
                <span className="row-words">
                  <span className="row-name" dir="auto">{title}</span>
                  <span className="row-more">{agoText(updated_at, Date.now())}</span>
                </span>
                <ChevronIcon />
              </button>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

const MARKS: Record<ProjectTask["status"], string> = { open: "[ ]", in_progress: "[>]", done: "[x]" };

function Task({ task: { title, status, notes, blocked_by }, tasks }: { task: ProjectTask; tasks: readonly ProjectTask[] }) {
  const before = tasks.filter(({ id, status }) => blocked_by.includes(id) && status !== "done");
  return (
    <li className="task" data-testid="project-task" data-state={status}>
      <span className="task-mark" aria-hidden="true">
        {MARKS[status]}
      </span>
      <div className="row-words">
        <span className="row-name">
          <span className="visually-hidden">{words.states[status]}: </span>
          <bdi>{title}</bdi>
        </span>
        {status !== "done" && before.length > 0 && <span className="row-more">{words.waitsFor(before.map((each) => each.title).join(", "))}</span>}
        {notes && <span className="row-more task-notes" dir="auto">{notes}</span>}
      </div>
    </li>
  );
}

function Page({ document, failed }: { document: DocumentDetail | null; failed: boolean }) {
  if (!document) return <Waiting failed={failed} />;
  return (
    <article className="project-page" data-testid="project-page">
      <Markdown text={document.content} />
    </article>
  );
}

function Waiting({ failed }: { failed: boolean }) {
  return failed ? null : (
    <p className="side-note" role="status">
      {en.common.loading}
    </p>
  );
}
