// The workspace of the open chat.

import { useEffect } from "react";
import { Confirm } from "../../components/Confirm";
import { DropZone } from "../../components/DropZone";
import { FileIcon, SaveIcon, TrashIcon } from "../../components/Icons";
import { Problem } from "../../components/PagedList";
import { Side } from "../../components/Side";
import { en } from "../../en";
import type { PanelProps } from "../../feature";
import { useStore } from "../../state/store";
import { agoText, bytesText } from "../../turn/measures";
import type { FileEntry } from "../../wire.generated";
import { words as names } from "./en";
import { words } from "./panel/en";
import { FilePreview } from "./FilePreview";
import { Deleted } from "./Versions";
import { workspace, type Upload } from "./workspace";
import "./files.css";

export { workspace };

export function FilesPanel({ threadId, onClose }: PanelProps) {
  const { opened } = useStore(workspace.store);
  useEffect(() => workspace.show(threadId), [threadId]);
  useEffect(() => () => workspace.show(null), []);
  return (
    <Side title={opened?.file.path ?? names.title} testId="files" onClose={onClose}>
      {opened ? <FilePreview opened={opened} /> : <List threadId={threadId} />}
    </Side>
  );
}

function List({ threadId }: { threadId: string | null }) {
  const { phase, files, uploads, problem } = useStore(workspace.store);
  return (
    <>
      <p className="side-lead">{words.lead}</p>
      {threadId === null ? (
        <p className="side-note">{words.noChat}</p>
      ) : (
        <>
          <DropZone label={words.add} hint={words.drop} testId="upload" onFiles={(list) => workspace.upload(list)}>
            {uploads.length > 0 && (
              <ul className="uploads" aria-label={words.uploads}>
                {uploads.map((upload) => (
                  <UploadRow key={upload.path} upload={upload} />
                ))}
              </ul>
            )}
          </DropZone>
          <Problem words={problem} onRetry={() => void workspace.load()} />
          <ul aria-label={names.title} aria-busy={phase === "loading"}>
            {files.map((file) => (
              <FileRow key={file.path} file={file} />
            ))}
          </ul>
          <p className="side-note" role="status" data-testid="files-sum">
            {phase === "loading" && en.common.loading}
            {phase === "ready" && sumOf(files)}
          </p>
          <Deleted files={files} />
        </>
      )}
    </>
  );
}

function sumOf(files: readonly FileEntry[]): string {
  if (files.length === 0) return words.none;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  return words.sum(files.length, bytesText(bytes));
}

function FileRow({ file }: { file: FileEntry }) {
  const { path, bytes, updated_at } = file;
  const at = path.lastIndexOf("/") + 1;
  return (
    <li className="row" data-testid="file" data-path={path}>
      <FileIcon />
      <button type="button" className="row-words file-open" data-testid="file-open" onClick={() => void workspace.open(file)}>
        <span className="visually-hidden">{words.open("")}</span>
        <span className="row-name" title={path} dir="auto">
          {at > 0 && <span className="row-folder">{path.slice(0, at)}</span>}
          {path.slice(at)}
        </span>
        <span className="row-more">
          {bytesText(bytes)} · {agoText(updated_at, Date.now())}
        </span>
      </button>
      <button
        type="button"
        className="icon-button small"
        data-testid="file-download"
        title={words.download}
        onClick={() => void workspace.download(file)}
      >
        <SaveIcon />
        <span className="visually-hidden">{words.downloadPart(path)}</span>
      </button>
      <Confirm
        label={en.common.deletePart(path)}
        question={en.common.deleteQuestion(path.slice(at))}
        yes={en.common.delete}
        testId="file-delete"
        act={() => workspace.remove(file)}
      >
        <TrashIcon />
      </Confirm>
    </li>
  );
}

function UploadRow({ upload }: { upload: Upload }) {
  const { path, state, words: why } = upload;
  const held = state === "there" || state === "refused";
  return (
    <li className="upload" data-testid="upload-row" data-state={state}>
      {!held && <span className="spinner" aria-hidden="true" />}
      <p role={held ? "alert" : undefined}>
        <span className="upload-name">{path}</span> {held ? why : words.sending}
      </p>
      {held && (
        <div className="upload-acts">
          {state === "there" && (
            <button type="button" className="link-button" data-testid="upload-replace" onClick={() => void workspace.replace(upload)}>
              {words.replace}
            </button>
          )}
          <button type="button" className="link-button" onClick={() => workspace.dismiss(upload)}>
            {state === "there" ? words.keepIt : en.common.dismiss}
          </button>
        </div>
      )}
    </li>
  );
}
