// Takes files: by a button, or dropped onto it.

import { useRef, useState, type ReactNode } from "react";
import { PlusIcon } from "./Icons";

interface Props {
  label: string;
  hint: string;
  accept?: string;
  testId: string;
  onFiles: (files: File[]) => void;
  children?: ReactNode;
}

export function DropZone({ label, hint, accept, testId, onFiles, children }: Props) {
  const picker = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  return (
    <div
      className="drop-zone"
      data-over={over}
      data-testid={`${testId}-zone`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...event.dataTransfer.files]);
      }}
    >
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        accept={accept}
        data-testid={`${testId}-input`}
        aria-label={label}
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
      <div className="drop-row">
        <button type="button" className="outline-button" data-testid={testId} onClick={() => picker.current?.click()}>
          <PlusIcon />
          {label}
        </button>
        <span>{hint}</span>
      </div>
      {children}
    </div>
  );
}
