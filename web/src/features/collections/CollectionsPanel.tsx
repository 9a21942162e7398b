// The panel in which a person creates, fills and deletes collections, and chooses them for the open chat.

import { useEffect, useState } from "react";
import { Confirm, ConfirmLink } from "../../components/Confirm";
import { Disclosure } from "../../components/Disclosure";
import { DropZone } from "../../components/DropZone";
import { BackIcon, ChevronIcon, FileIcon, TrashIcon } from "../../components/Icons";
import { PagedList } from "../../components/PagedList";
import { Side } from "../../components/Side";
import { en } from "../../en";
import type { PanelProps } from "../../feature";
import { useStore } from "../../state/store";
import { bytesText } from "../../turn/measures";
import { MAX_DESCRIPTION_CHARS, MAX_LINE_CHARS, type Collection } from "../../wire.generated";
import { chosen, MAX_CHOSEN } from "./chosen";
import { accepted, collections } from "./collections";
import "../../components/form.css";
import "./collections.css";
import { words as names } from "./en";
import { words } from "./panel/en";

export function CollectionsPanel({ chat, onClose }: PanelProps) {
  const { open } = useStore(collections.shelf);
  useEffect(() => {
    collections.forget();
    void collections.all.load();
  }, []);
  return (
    <Side title={open ? open.name : names.title} testId="collections" onClose={onClose}>
      {open ? <Documents collection={open} /> : <All chat={chat} />}
    </Side>
  );
}

function All({ chat }: { chat: string }) {
  const { phase } = useStore(collections.all.store);
  const full = (useStore(chosen.store).byChat[chat] ?? []).length >= MAX_CHOSEN;
  return (
    <>
      <p className="side-lead">{words.lead}</p>
      <PagedList
        list={collections.all}
        label={names.title}
        none={words.none}
        note={full && words.full(MAX_CHOSEN)}
        row={(collection) => <CollectionRow key={collection.id} collection={collection} chat={chat} />}
      />
      {phase === "ready" && (
        <Disclosure label={words.create}>
          <NewCollection />
        </Disclosure>
      )}
    </>
  );
}

function CollectionRow({ collection, chat }: { collection: Collection; chat: string }) {
  const { id, name, description, documents, bytes } = collection;
  const here = useStore(chosen.store).byChat[chat] ?? [];
  const used = here.some((each) => each.id === id);
  return (
    <li className="row" data-testid="collection" data-collection-id={id}>
      <label className="row-choice">
        <input
          type="checkbox"
          data-testid="collection-use"
          checked={used}
          disabled={!used && here.length >= MAX_CHOSEN}
          onChange={() => chosen.choose(chat, used ? here.filter((each) => each.id !== id) : [...here, { id, name }])}
        />
        <span className="row-words">
          <span className="row-name" dir="auto">{name}</span>
          {description && <span className="row-more" dir="auto">{description}</span>}
          <span className="row-more">
            {words.size(documents, bytesText(bytes))}
          </span>
          <span className="visually-hidden">{words.use}</span>
        </span>
      </label>
      <button
        type="button"
        className="icon-button small"
        data-testid="collection-open"
        title={words.open}
        onClick={() => collections.open(collection)}
      >
        <ChevronIcon />
        <span className="visually-hidden">{words.openPart(name)}</span>
      </button>
    </li>
  );
}

function NewCollection() {
  const [name, setName] = useState("");
  const [description, setDescription] = useState("");
  const [busy, setBusy] = useState(false);
  return (
    <form
      className="form new-collection"
      onSubmit={async (event) => {
        event.preventDefault();
        if (name.trim() === "" || busy) return;
        setBusy(true);
        if (await collections.create(name, description)) {
          setName("");
          setDescription("");
        }
        setBusy(false);
      }}
    >
      <label>
        {words.name}
        <input data-testid="collection-name" required maxLength={MAX_LINE_CHARS} value={name} onChange={(event) => setName(event.target.value)} />
      </label>
      <label>
        {words.about}
        <input data-testid="collection-about" maxLength={MAX_DESCRIPTION_CHARS} value={description} onChange={(event) => setDescription(event.target.value)} />
      </label>
      <button type="submit" className="primary-button small" data-testid="collection-create" disabled={busy || name.trim() === ""}>
        {words.createNow}
      </button>
    </form>
  );
}

function Documents({ collection }: { collection: Collection }) {
  return (
    <>
      <button type="button" className="back-button" data-testid="collections-back" autoFocus onClick={() => collections.open(null)}>
        <BackIcon />
        {words.all}
      </button>
      {collection.description && <p className="side-note" dir="auto">{collection.description}</p>}
      <AddDocuments />
      <PagedList
        list={collections.documents}
        label={words.documents(collection.name)}
        none={words.noDocuments}
        row={(document) => (
          <li key={document.id} className="row" data-testid="document">
            <FileIcon />
            <div className="row-words">
              <span className="row-name" dir="auto">{document.name}</span>
              <span className="row-more">{bytesText(document.bytes)}</span>
            </div>
            <Confirm
              label={en.common.deletePart(document.name)}
              question={en.common.deleteQuestion(document.name)}
              yes={en.common.delete}
              testId="document-delete"
              act={() => collections.drop(document)}
            >
              <TrashIcon />
            </Confirm>
          </li>
        )}
      />
      <div className="side-foot">
        <ConfirmLink
          label={words.remove}
          question={words.removeQuestion}
          yes={en.common.delete}
          testId="collection-delete"
          act={() => collections.remove(collection)}
        />
      </div>
    </>
  );
}

function AddDocuments() {
  const { sending, refused, readsPdfs } = useStore(collections.shelf);
  return (
    <>
      <DropZone
        label={words.add}
        hint={words.types(readsPdfs)}
        accept={accepted(readsPdfs)}
        testId="add-documents"
        onFiles={(files) => void collections.add(files)}
      >
        <p className="side-note" role="status">
          {sending > 0 && words.sending(sending)}
        </p>
      </DropZone>
      {refused.length > 0 && (
        <div className="side-problem" role="alert" data-testid="documents-refused">
          {refused.map((why) => (
            <p key={why}>{why}</p>
          ))}
        </div>
      )}
    </>
  );
}
