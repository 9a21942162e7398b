// The composer's parts around its text: the menu of what a message can have, the chat's subject, its model and the attached files.

import { useRef } from "react";
import { en } from "../en";
import { features } from "../feature";
import type { Attachment } from "../state/drafts";
import { choicesOf, DEFAULT_ROLE, readsMedia, setModel, settings } from "../state/settings";
import { useStore } from "../state/store";
import { known, subjects, subjectText, subjectWords } from "../state/subject";
import { isImage } from "../turn/attachments";
import { focusComposer } from "./focus";
import { CheckIcon, ClipIcon, CloseIcon, FileIcon, FlagIcon, ModelIcon, PlusIcon } from "./Icons";
import { Menu } from "./Menu";
import { useShow } from "./Panels";

/** Removes a chip, whose button disappears with it. */
function drop(act: () => void): void {
  act();
  focusComposer();
}

export function SubjectChip({ chat }: { chat: string }) {
  const subject = known(useStore(subjects.store).byChat[chat]);
  if (!subject) return null;
  return (
    <ul className="composer-files" aria-label={en.composer.chosenMode}>
      <li data-testid="subject">
        <FlagIcon />
        <span dir="auto">{subjectText(subject)}</span>
        <button type="button" className="icon-button tiny" title={en.composer.noMode} onClick={() => drop(() => subjects.choose(chat, null))}>
          <CloseIcon />
          <span className="visually-hidden">{en.composer.noMode}</span>
        </button>
      </li>
    </ul>
  );
}

interface AddProps {
  chat: string;
  usable: boolean;
  take: (files: FileList | null) => Promise<void>;
  onChosen: () => void;
}

/** All that a message can have beside its words: files, the panels of features, and the mode of its chat. */
export function AddMenu({ chat, usable, take, onChosen }: AddProps) {
  const picker = useRef<HTMLInputElement>(null);
  const show = useShow();
  const types = en.attachments.types(readsMedia(useStore(settings)));
  const chosen = known(useStore(subjects.store).byChat[chat])?.type;
  // The features never change, so each drawing calls the same hooks.
  const own = features().flatMap(({ useMode }) => {
    const item = useMode?.(chat);
    return item ? { ...item, act: () => (item.act(), onChosen()) } : [];
  });
  const panels = features().flatMap(({ name, panel }) => {
    const button = panel?.composerButton;
    return button ? { label: button.label, icon: <panel.Icon />, testId: button.testId, act: () => show(name) } : [];
  });
  const modes = Object.entries(subjectWords()).map(([type, { name, about }]) => ({
    label: name,
    about,
    icon: type === chosen ? <CheckIcon /> : <span className="icon" />,
    checked: type === chosen,
    testId: `subject-${type}`,
    act: () => {
      subjects.choose(chat, type === chosen ? null : { type });
      onChosen();
    },
  }));
  const attach = { label: en.composer.attach, about: types, icon: <ClipIcon />, testId: "attach", act: () => picker.current?.click() };
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        data-testid="file-input"
        aria-label={en.composer.attach}
        onChange={(event) => {
          void take(event.target.files).then(() => {
            if (picker.current) picker.current.value = "";
          });
        }}
      />
      <Menu label={en.composer.add} className="composer-tool" testId="add" items={[...(usable ? [attach] : []), ...panels, ...own, ...modes]}>
        <PlusIcon />
      </Menu>
    </>
  );
}

/** Where the deployment offers a choice: roles, for which the operator chose models, and models. */
export function ModelMenu({ onChosen }: { onChosen: () => void }) {
  const { offered, model } = useStore(settings);
  if (!offered || choicesOf(offered).length < 2) return null;
  const item = (value: string | null, label: string) => ({
    label,
    testId: `model-${value ?? DEFAULT_ROLE}`,
    icon: value === model ? <CheckIcon /> : <span className="icon" />,
    checked: value === model,
    act: () => {
      setModel(value);
      onChosen();
    },
  });
  const roles = Object.entries(offered.roles).filter(([role]) => role !== DEFAULT_ROLE);
  return (
    <Menu
      label={en.composer.modelChosen(model)}
      className="composer-tool"
      labelled
      testId="choose-model"
      items={[
        item(null, en.composer.defaultModel(offered.roles[DEFAULT_ROLE]?.[0])),
        ...roles.map(([role, ids]) => item(role, en.composer.byRole(role, ids[0]))),
        ...offered.models.map(({ id }) => item(id, id)),
      ]}
    >
      <ModelIcon />
    </Menu>
  );
}

interface AttachedProps {
  attached: readonly Attachment[];
  onChange: (attached: Attachment[]) => void;
}

export function AttachedChips({ attached, onChange }: AttachedProps) {
  if (attached.length === 0) return null;
  return (
    <ul className="composer-files" aria-label={en.composer.attached}>
      {attached.map((file, index) => (
        <li key={index} data-testid="attached">
          {"data" in file && file.data !== null && isImage(file) ? <img src={file.data} alt="" /> : <FileIcon />}
          <span dir="auto">{file.name}</span>
          <button
            type="button"
            className="icon-button tiny"
            title={en.common.remove}
            onClick={() => drop(() => onChange(attached.filter((_, at) => at !== index)))}
          >
            <CloseIcon />
            <span className="visually-hidden">{en.common.removePart(file.name)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
