// One file of the workspace, to read.

import { BackIcon, SaveIcon } from "../../components/Icons";
import { Markdown } from "../../components/Markdown";
import { Problem } from "../../components/PagedList";
import { en } from "../../en";
import { useStore } from "../../state/store";
import { agoText } from "../../turn/measures";
import { words } from "./panel/en";
import type { Preview } from "./preview";
import { Versions } from "./Versions";
import { workspace, type Opened } from "./workspace";

export function FilePreview({ opened }: { opened: Opened }) {
  const { file, version, preview, problem } = opened;
  const { files } = useStore(workspace.store);
  const present = files.find(({ path }) => path === file.path);
  return (
    <>
      <div className="preview-head">
        <button type="button" className="back-button" data-testid="files-back" autoFocus onClick={() => void workspace.open(null)}>
          <BackIcon />
          {words.all}
        </button>
        <button type="button" className="icon-button small" title={words.download} onClick={() => void workspace.download(file, version)}>
          <SaveIcon />
          <span className="visually-hidden">{words.downloadPart(file.path)}</span>
        </button>
      </div>
      {version && (
        <p className="side-note" data-testid="version-note">
          {words.atVersion(agoText(version.replaced_at, Date.now()))}{" "}
          {present && (
            <button type="button" className="link-button" data-testid="version-present" onClick={() => void workspace.open(present)}>
              {words.present}
            </button>
          )}
        </p>
      )}
      <Problem words={problem} onRetry={() => void workspace.open(file, version)} />
      {preview === null ? (
        problem === null && (
          <p className="side-note" role="status">
            {en.common.loading}
          </p>
        )
      ) : (
        <div className="preview" data-testid="preview" data-kind={preview.kind}>
          <Body preview={preview} name={file.path} />
        </div>
      )}
      <Versions file={file} />
    </>
  );
}

function Body({ preview, name }: { preview: Preview; name: string }) {
  if (preview.kind === "image") return <img src={preview.data} alt={name} />;
  if (preview.kind === "none") return <p className="side-note">{words.noPreview}</p>;
  return (
    <>
      {preview.kind === "markdown" ? (
        <Markdown text={preview.text} />
      ) : (
        <pre tabIndex={0} dir="auto">
          {preview.text}
        </pre>
      )}
      {preview.cut && <p className="side-note">{words.cut}</p>}
    </>
  );
}
