// The panel in which a person reads, changes and deletes projects, their tasks and documents. The agent makes them.

import { useEffect } from "react";
import { Confirm, ConfirmLink } from "../../components/Confirm";
import { Disclosure } from "../../components/Disclosure";
import { COMPOSER_ID, focusNext } from "../../components/focus";
import { BackIcon, ChevronIcon, FileIcon, PencilIcon, TrashIcon } from "../../components/Icons";
import { Markdown } from "../../components/Markdown";
import { PagedList, Problem } from "../../components/PagedList";
import { Side } from "../../components/Side";
import { en } from "../../en";
import type { PanelProps } from "../../feature";
import { pathOfProject } from "../../instructions/api";
import { words as instructions } from "../../instructions/en";
import { InstructionsForm } from "../../instructions/InstructionsForm";
import { useStore } from "../../state/store";
import { subjects, type Subject } from "../../state/subject";
import { agoText } from "../../turn/measures";
import { MAX_LINE_CHARS, type DocumentDetail, type ProjectDetail, type ProjectEntry, type ProjectTask } from "../../wire.generated";
import { words as names } from "./en";
import { Editable } from "./panel/EditForm";
import { words } from "./panel/en";
import { projects } from "./projects";
import "./projects.css";

export { projects };

export function ProjectsPanel({ chat, onClose }: PanelProps) {
  const { projectId, documentId, project, document, problem } = useStore(projects.desk);
  useEffect(() => projects.show(), []);
  const title = document?.title ?? project?.name ?? names.title;
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
            <Page key={documentId} document={document} failed={problem !== null} />
          ) : (
            <Project project={project} failed={problem !== null} chat={chat} />
          )}
        </>
      )}
    </Side>
  );
}

/** The service's limits, in characters (docs/routes.md). */
const MAX_TEXT = 4_000;
const MAX_DOCUMENT = 30_000;

/** Goes on here after an act whose button is gone. */
function focusIn(selector: string): void {
  focusNext(() => window.document.querySelector<HTMLElement>(`[data-testid="projects"] ${selector}`));
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
        label={names.title}
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
  const { id, name, tasks, documents } = project;
  return (
    <>
      <About key={id} project={project} chat={chat} />
      <section>
        <h3>{words.tasks}</h3>
        {tasks.length === 0 && <p className="side-note">{words.noTasks}</p>}
        <ul aria-label={words.tasksOf(name)}>
          {tasks.map((task) => (
            <Task key={task.id} task={task} tasks={tasks} />
          ))}
        </ul>
      </section>
      <section>
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
      <section>
        <h3>{instructions.title}</h3>
        <Disclosure key={id} label={instructions.openOfProject}>
          <InstructionsForm path={pathOfProject(id)} note={instructions.noteOfProject} />
        </Disclosure>
      </section>
      <div className="side-foot">
        <ConfirmLink
          label={words.remove}
          question={words.removeQuestion}
          yes={en.common.delete}
          testId="project-delete"
          act={async () => {
            if (await projects.remove(null)) focusIn("[data-testid=project-new]");
          }}
        />
      </div>
    </>
  );
}

function About({ project: { id, name, description }, chat }: { project: ProjectDetail; chat: string }) {
  return (
    <Editable
      label={words.edit}
      fields={[
        { member: "name", label: words.name, value: name, max: MAX_LINE_CHARS },
        { member: "description", label: words.about, value: description, max: MAX_TEXT, rows: 3 },
      ]}
      save={(changed) => projects.change(null, changed)}
    >
      {(edit) => (
        <>
          {description && <p className="project-about" dir="auto">{description}</p>}
          <div className="project-acts">
            <button
              type="button"
              className="outline-button project-use"
              data-testid="project-use"
              onClick={() => talkAbout(chat, { type: "project", entity: { id, name } })}
            >
              {words.use}
            </button>
            <button type="button" className="link-button" data-testid="project-edit" {...edit}>
              {words.edit}
            </button>
          </div>
        </>
      )}
    </Editable>
  );
}

const MARKS: Record<ProjectTask["status"], string> = { open: "[ ]", in_progress: "[>]", done: "[x]" };

function Task({ task: { id, title, status, notes, blocked_by }, tasks }: { task: ProjectTask; tasks: readonly ProjectTask[] }) {
  const part = { kind: "tasks", id } as const;
  const before = tasks.filter(({ id, status }) => blocked_by.includes(id) && status !== "done");
  return (
    <Editable
      label={words.editPart(title)}
      fields={[
        { member: "title", label: words.title, value: title, max: MAX_LINE_CHARS },
        { member: "status", label: words.status, value: status, max: MAX_LINE_CHARS, choices: words.states },
        { member: "notes", label: words.notes, value: notes, max: MAX_TEXT, rows: 3 },
      ]}
      save={(changed) => projects.change(part, changed)}
      frame={(form) => <li className="task">{form}</li>}
    >
      {(edit) => (
        <li className="row task" data-testid="project-task" data-state={status}>
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
          <button type="button" className="icon-button small" data-testid="task-edit" title={words.editPart(title)} {...edit}>
            <PencilIcon />
            <span className="visually-hidden">{words.editPart(title)}</span>
          </button>
          <Confirm
            label={en.common.deletePart(title)}
            question={en.common.deleteQuestion(title)}
            yes={en.common.delete}
            testId="task-delete"
            act={async () => void (await projects.remove(part))}
          >
            <TrashIcon />
          </Confirm>
        </li>
      )}
    </Editable>
  );
}

function Page({ document, failed }: { document: DocumentDetail | null; failed: boolean }) {
  if (!document) return <Waiting failed={failed} />;
  const { id, title, content } = document;
  const part = { kind: "documents", id } as const;
  return (
    <Editable
      label={words.editDocument}
      fields={[
        { member: "title", label: words.title, value: title, max: MAX_LINE_CHARS },
        { member: "content", label: words.content, value: content, max: MAX_DOCUMENT, rows: 18 },
      ]}
      save={(changed) => projects.change(part, changed)}
    >
      {(edit) => (
        <>
          <article className="project-page" data-testid="project-page">
            <Markdown text={content} />
          </article>
          <div className="side-foot project-acts">
            <button type="button" className="link-button" data-testid="document-edit" {...edit}>
              {words.editDocument}
            </button>
            <ConfirmLink
              label={words.removeDocument}
              question={words.removeDocumentQuestion}
              yes={en.common.delete}
              testId="document-delete"
              act={async () => {
                if (await projects.remove(part)) focusIn(".back-button");
              }}
            />
          </div>
        </>
      )}
    </Editable>
  );
}

function Waiting({ failed }: { failed: boolean }) {
  return failed ? null : (
    <p className="side-note" role="status">
      {en.common.loading}
    </p>
  );
}
