// The panel in which a person reads projects, their tasks and documents. The agent makes and changes them.

import { useEffect } from "react";
import { COMPOSER_ID } from "../../components/Composer";
import { BackIcon, ChevronIcon, FileIcon } from "../../components/Icons";
import { Markdown } from "../../components/Markdown";
import { PagedList, Problem } from "../../components/PagedList";
import { Side } from "../../components/Side";
import type { PanelProps } from "../../feature";
import { useStore } from "../../state/store";
import { subjects } from "../../state/subject";
import { agoText } from "../../turn/measures";
import type { DocumentDetail, ProjectDetail, ProjectEntry, ProjectTask } from "../../wire.generated";
import { projects } from "./projects";
import "./projects.css";

export { projects };

export function ProjectsPanel({ chat, onClose }: PanelProps) {
  const { projectId, documentId, project, document, problem } = useStore(projects.desk);
  useEffect(() => projects.show(), []);
  const title = document?.title ?? project?.name ?? "Projects";
  return (
    <Side title={title} testId="projects" onClose={onClose}>
      {projectId === null ? (
        <All />
      ) : (
        <>
          <button type="button" className="back-button" data-testid="projects-back" autoFocus onClick={() => void projects.open(null)}>
            <BackIcon />
            {documentId === null ? "All projects" : (project?.name ?? "The project")}
          </button>
          <Problem words={problem} />
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

function All() {
  return (
    <>
      <p className="side-lead">Your projects, which Espalier keeps. To make a new one, choose “A new project” for a chat and ask for it.</p>
      <PagedList
        list={projects.all}
        label="Projects"
        none="There are no projects yet."
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
          <span className="row-name">{name}</span>
          {description && <span className="row-more">{description}</span>}
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
      {description && <p className="project-about">{description}</p>}
      <button
        type="button"
        className="outline-button project-use"
        data-testid="project-use"
        onClick={() => {
          subjects.choose(chat, { type: "project", entity: { id, name } });
          window.document.getElementById(COMPOSER_ID)?.focus();
        }}
      >
        Talk about it in this chat
      </button>
      <section className="project-part">
        <h3>Tasks</h3>
        {tasks.length === 0 && <p className="side-note">It has no tasks.</p>}
        <ul aria-label={`Tasks of ${name}`}>
          {tasks.map((task) => (
            <Task key={task.id} task={task} tasks={tasks} />
          ))}
        </ul>
      </section>
      <section className="project-part">
        <h3>Documents</h3>
        {documents.length === 0 && <p className="side-note">It has no documents.</p>}
        <ul aria-label={`Documents of ${name}`}>
          {documents.map(({ id, title, updated_at }) => (
            <li key={id} className="row">
              <button type="button" className="row-open" data-testid="project-document" onClick={() => void projects.open(id)}>
                <FileIcon />
                <span className="row-words">
                  <span className="row-name">{title}</span>
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

const TASKS: Record<ProjectTask["status"], readonly [words: string, mark: string]> = {
  open: ["open", "[ ]"],
  in_progress: ["in progress", "[>]"],
  done: ["done", "[x]"],
};

function Task({ task: { title, status, notes, blocked_by }, tasks }: { task: ProjectTask; tasks: readonly ProjectTask[] }) {
  const [words, mark] = TASKS[status];
  const before = tasks.filter(({ id, status }) => blocked_by.includes(id) && status !== "done");
  return (
    <li className="task" data-testid="project-task" data-state={status}>
      <span className="task-mark" aria-hidden="true">
        {mark}
      </span>
      <div className="row-words">
        <span className="row-name">
          <span className="visually-hidden">{words}: </span>
          {title}
        </span>
        {status !== "done" && before.length > 0 && <span className="row-more">waits for {before.map((each) => each.title).join(", ")}</span>}
        {notes && <span className="row-more task-notes">{notes}</span>}
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
      Loading…
    </p>
  );
}
