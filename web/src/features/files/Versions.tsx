// The earlier versions of files: of the one that is open, and of those that are deleted.

import { useEffect, useId } from "react";
import { Confirm } from "../../components/Confirm";
import { useStore } from "../../state/store";
import { agoText, bytesText } from "../../turn/measures";
import type { FileEntry, FileVersion } from "../../wire.generated";
import { words } from "./panel/en";
import { workspace } from "./workspace";

/** The service's word for a content that a person has sent. */
const UPLOAD = "upload";

export function Versions({ file }: { file: FileEntry }) {
  const { versions } = useStore(workspace.store);
  const heading = useId();
  useEffect(() => void workspace.loadVersions(), [file.path, file.version]);
  const own = (versions ?? []).filter(({ path }) => path === file.path);
  if (own.length === 0) return null;
  return (
    <section className="versions" data-testid="file-versions" aria-labelledby={heading}>
      <h3 id={heading}>{words.earlier}</h3>
      <Rows versions={own} />
    </section>
  );
}

export function Deleted({ files }: { files: readonly FileEntry[] }) {
  const { versions } = useStore(workspace.store);
  const there = new Set(files.map(({ path }) => path));
  // The first version of a path is its last content.
  const gone = new Map<string, FileVersion>();
  for (const version of versions ?? []) {
    if (!there.has(version.path) && !gone.has(version.path)) gone.set(version.path, version);
  }
  return (
    <details
      className="deleted"
      data-testid="files-deleted"
      onToggle={({ currentTarget }) => {
        if (currentTarget.open) void workspace.loadVersions();
      }}
    >
      <summary>{words.deleted}</summary>
      {versions !== null && gone.size === 0 && <p className="side-note">{words.noDeleted}</p>}
      {gone.size > 0 && <Rows versions={[...gone.values()]} named />}
    </details>
  );
}

function Rows({ versions, named = false }: { versions: readonly FileVersion[]; named?: boolean }) {
  return (
    <ul aria-label={named ? words.deleted : words.earlier}>
      {versions.map((version) => (
        <Row key={`${version.path}:${version.id}`} version={version} named={named} />
      ))}
    </ul>
  );
}

function Row({ version, named }: { version: FileVersion; named: boolean }) {
  const { path, bytes, replaced_at, written_by } = version;
  const name = path.split("/").at(-1) ?? path;
  const replaced = words.replaced(agoText(replaced_at, Date.now()));
  const by = written_by === null ? "" : written_by === UPLOAD ? words.writtenByYou : words.written;
  return (
    <li className="row" data-testid="file-version" data-path={path}>
      <button type="button" className="row-words file-open" data-testid="version-open" onClick={() => void workspace.openVersion(version)}>
        <span className="visually-hidden">{words.openVersion} </span>
        <span className="row-name" dir="auto">
          {named ? path : replaced}
        </span>
        <span className="row-more">{[bytesText(bytes), by, named ? replaced : ""].filter(Boolean).join(" · ")}</span>
      </button>
      <Confirm
        label={words.restore}
        question={words.restoreQuestion(name)}
        yes={words.restore}
        className="quiet-button"
        testId="version-restore"
        act={() => workspace.restore(version)}
      />
    </li>
  );
}
