// A person's choices about the page, and its keys.

import { useEffect, useRef } from "react";
import { features, type Feature } from "../feature";
import { page } from "../state/page";
import { choicesOf, DEFAULT_ROLE, setModel, setTheme, settings, THEMES, type Theme } from "../state/settings";
import { useStore } from "../state/store";
import type { ModelList } from "../wire";
import { ApprovalsSetting } from "./ApprovalsSetting";
import { CloseIcon } from "./Icons";
import { UsageSetting } from "./UsageSetting";
import "../styles/side.css";

const THEME_WORDS: Record<Theme, string> = { system: "As the system", light: "Light", dark: "Dark" };

const KEYS: readonly (readonly [string[], string])[] = [
  [["Enter"], "Send"],
  [["Shift", "Enter"], "New line"],
  [["↑"], "Edit the last message (in an empty box)"],
  [["Esc"], "Stop the answer"],
  [["/"], "Write"],
  [["Ctrl", "K"], "Search chats"],
  [["Ctrl", "Shift", "O"], "New chat"],
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
      onClick={(event) => {
        // A click on the backdrop has the dialog itself as its target.
        if (event.target === dialog.current) onClose();
      }}
    >
      <div className="dialog-box">
        <header className="dialog-head">
          <h2 id="settings-title">Settings</h2>
          <button type="button" className="icon-button" onClick={onClose} title="Close">
            <CloseIcon />
            <span className="visually-hidden">Close the settings</span>
          </button>
        </header>
        <ThemeChoice />
        {offered && choicesOf(offered).length > 1 && <ModelChoice offered={offered} chosen={model} />}
        {features().map(({ name, setting }) => setting && <FeaturesSetting key={name} setting={setting} />)}
        <ApprovalsSetting />
        <UsageSetting />
        <Keys />
        {health?.version && (
          <p className="dialog-foot">
            Espalier {health.version}
            {health.model && `, answered by ${health.model}`}
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

function ThemeChoice() {
  const { theme } = useStore(settings);
  return (
    <fieldset className="setting">
      <legend>Theme</legend>
      <div className="choices">
        {THEMES.map((each) => (
          <label key={each} className="choice">
            <input type="radio" name="theme" value={each} checked={theme === each} onChange={() => setTheme(each)} />
            <span>{THEME_WORDS[each]}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function Keys() {
  return (
    <section className="setting">
      <h3>Keys</h3>
      <dl className="keys">
        {KEYS.map(([keys, act]) => (
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
        <label htmlFor="model-choice">Model</label>
      </h3>
      <select
        id="model-choice"
        data-testid="model-choice"
        value={chosen ?? ""}
        onChange={(event) => setModel(event.target.value || null)}
      >
        <option value="">The service’s choice{firstOf(offered.roles[DEFAULT_ROLE])}</option>
        {roles.length > 0 && (
          <optgroup label="By role">
            {roles.map(([role, ids]) => (
              <option key={role} value={role}>
                {role}
                {firstOf(ids)}
              </option>
            ))}
          </optgroup>
        )}
        <optgroup label="By name">
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
