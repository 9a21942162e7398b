// The section of the settings with all data of this person: its download and its end.

import { ConfirmLink } from "../components/Confirm";
import { Disclosure } from "../components/Disclosure";
import { useStore } from "../state/store";
import { bytesText } from "../turn/measures";
import { eraseWords, words } from "./en";
import { eraseAll, erasing } from "./erasure";
import { cancelDownload, download, downloadAll } from "./export";

export function AccountSetting() {
  return (
    <section className="setting" data-testid="account">
      <h3>{words.title}</h3>
      <Disclosure label={words.open}>
        <Everything />
      </Disclosure>
      <Disclosure label={eraseWords.open}>
        <Erasure />
      </Disclosure>
    </section>
  );
}

function Everything() {
  const { state, lines, bytes, unreadable, error } = useStore(download);
  const running = state === "running";
  return (
    <>
      <p className="side-note">{words.note}</p>
      <div className="row">
        <button type="button" className="quiet-button" data-testid="export" disabled={running} onClick={() => void downloadAll()}>
          {state === "failed" ? words.goOn : words.download}
        </button>
        {(running || state === "failed") && (
          <button type="button" className="link-button" data-testid="export-cancel" onClick={cancelDownload}>
            {words.cancel}
          </button>
        )}
      </div>
      <p role="status">
        {state === "done" && words.done(lines)} {unreadable > 0 && words.unreadable(unreadable)}
        {(running || state === "failed") && words.progress(lines, bytesText(bytes))}
      </p>
      {error && <p className="side-problem" role="alert">{error}</p>}
    </>
  );
}

function Erasure() {
  const { error } = useStore(erasing);
  return (
    <>
      <p className="side-note">{eraseWords.note}</p>
      <ConfirmLink
        label={eraseWords.erase}
        question={eraseWords.question}
        testId="erase"
        act={eraseAll}
      />
      {error && <p className="side-problem" role="alert">{error}</p>}
    </>
  );
}
