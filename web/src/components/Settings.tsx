// A person's choices about the page, and its keys.

import { useEffect, useRef } from "react";
import { AccountSetting } from "../account/AccountSetting";
import { en } from "../en";
import { features, type Feature } from "../feature";
import { InstructionsSetting } from "../instructions/InstructionsSetting";
import { NotificationsSetting } from "../notifications/NotificationsSetting";
import { settings as words } from "../settings/en";
import { page } from "../state/page";
import { choicesOf, DEFAULT_ROLE, setEnterSends, setModel, setShowsWork, setTheme, settings } from "../state/settings";
import { useStore } from "../state/store";
import type { ModelList } from "../wire";
import { ApprovalsSetting } from "./ApprovalsSetting";
import { AuditSetting } from "./AuditSetting";
import { CloseIcon } from "./Icons";
import { SessionsSetting } from "./SessionsSetting";
import { useBackdrop } from "./Side";
import { UsageSetting } from "./UsageSetting";
import "../styles/side.css";

const { acts, keyNames } = words;
/** Where Enter sends, and where it begins a line. */
const SENDING: Record<"send" | "line", readonly (readonly [string[], string])[]> = {
  send: [
    [[keyNames.enter], acts.send],
    [[keyNames.control, keyNames.enter], acts.sendNow],
    [[keyNames.shift, keyNames.enter], acts.newLine],
  ],
  line: [
    [[keyNames.control, keyNames.enter], acts.send],
    [[keyNames.control, keyNames.shift, keyNames.enter], acts.sendNow],
    [[keyNames.enter], acts.newLine],
  ],
};
const KEYS: readonly (readonly [string[], string])[] = [
  [["↑"], acts.editLast],
  [[keyNames.escape], acts.stop],
  [["/"], acts.write],
  [[keyNames.control, "K"], acts.search],
  [[keyNames.control, "F"], acts.find],
  [[keyNames.control, keyNames.shift, "O"], acts.newChat],
];

export function Settings({ onClose }: { onClose: () => void }) {
  const { model, offered } = useStore(settings);
  const { health } = useStore(page);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      data-testid="settings-dialog"
      aria-labelledby="settings-title"
      onClose={onClose}
      {...useBackdrop(onClose)}
    >
      <div className="dialog-box">
        <header className="dialog-head">
          <h2 id="settings-title">{en.settings.title}</h2>
          <button type="button" className="icon-button" onClick={onClose} title={en.common.close}>
            <CloseIcon />
            <span className="visually-hidden">{words.close}</span>
          </button>
        </header>
        <ThemeChoice />
        <EnterChoice />
        <WorkChoice />
        {offered && choicesOf(offered).length > 1 && <ModelChoice offered={offered} chosen={model} />}
        <InstructionsSetting />
        {features().map(({ name, setting }) => setting && <FeaturesSetting key={name} setting={setting} />)}
        <NotificationsSetting />
        <ApprovalsSetting />
        <SessionsSetting />
        <UsageSetting />
        <AuditSetting />
        <AccountSetting />
        <Keys />
        {health?.version && (
          <p className="dialog-foot">
            {words.version(health.version, health.model)}
          </p>
        )}
      </div>
    </dialog>
  );
}

function FeaturesSetting({ setting }: { setting: NonNullable<Feature["setting"]> }) {
  const Section = setting.use();
  return Section && <Section />;
}

/** One of several values, each with its words. */
function Choices<Value extends string>(props: {
  legend: string;
  name: string;
  words: Readonly<Record<Value, string>>;
  chosen: Value;
  choose: (value: Value) => void;
}) {
  const { legend, name, words, chosen, choose } = props;
  return (
    <fieldset className="setting">
      <legend>{legend}</legend>
      <div className="choices">
        {(Object.keys(words) as Value[]).map((each) => (
          <label key={each} className="choice">
            <input type="radio" name={name} value={each} checked={chosen === each} onChange={() => choose(each)} />
            <span>{words[each]}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function ThemeChoice() {
  const { theme } = useStore(settings);
  return <Choices legend={words.theme} name="theme" words={words.themes} chosen={theme} choose={setTheme} />;
}

function EnterChoice() {
  const chosen = useStore(settings).enterSends ? "send" : "line";
  const choose = (value: "send" | "line") => setEnterSends(value === "send");
  return <Choices legend={words.enter} name="enter" words={words.enterKeys} chosen={chosen} choose={choose} />;
}

function WorkChoice() {
  const { showsWork } = useStore(settings);
  return (
    <section className="setting">
      <h3>{words.work}</h3>
      <label className="choice">
        <input type="checkbox" data-testid="shows-work" checked={showsWork} onChange={(event) => setShowsWork(event.target.checked)} />
        <span>{words.workLabel}</span>
      </label>
    </section>
  );
}

function Keys() {
  const { enterSends } = useStore(settings);
  return (
    <section className="setting">
      <h3>{words.keys}</h3>
      <dl className="keys">
        {[...SENDING[enterSends ? "send" : "line"], ...KEYS].map(([keys, act]) => (
          <div key={act}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{act}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** Shown where the deployment offers more than one choice: a role, for which the operator chose models, or a model. */
function ModelChoice({ offered, chosen }: { offered: ModelList; chosen: string | null }) {
  const roles = Object.entries(offered.roles).filter(([role]) => role !== DEFAULT_ROLE);
  return (
    <section className="setting">
      <h3>
        <label htmlFor="model-choice">{words.model}</label>
      </h3>
      <select
        id="model-choice"
        data-testid="model-choice"
        value={chosen ?? ""}
        onChange={(event) => setModel(event.target.value || null)}
      >
        <option value="">{words.defaultModel}
          {firstOf(offered.roles[DEFAULT_ROLE])}</option>
        {roles.length > 0 && (
          <optgroup label={words.byRole}>
            {roles.map(([role, ids]) => (
              <option key={role} value={role}>
                {role}
                {firstOf(ids)}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label={words.byName}>
          {offered.models.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </optgroup>
      </select>
    </section>
  );
}

function firstOf(ids: string[] | undefined): string {
  return ids?.[0] ? ` (${ids[0]})` : "";
}
