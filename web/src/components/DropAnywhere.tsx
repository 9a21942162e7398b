// Files can be dropped anywhere on the page: they are attached to the message. A panel that takes files itself keeps those
// that are dropped on it.

import { useEffect, useState } from "react";
import { en } from "../en";
import { readsMedia, settings } from "../state/settings";
import { useStore } from "../state/store";

interface Props {
  take: (files: FileList) => Promise<void>;
}

function isTaken(event: DragEvent): boolean {
  const files = event.dataTransfer?.types.includes("Files") ?? false;
  return files && document.querySelector("dialog:modal") === null && !(event.target as Element).closest?.("dialog");
}

export function DropAnywhere({ take }: Props) {
  const [over, setOver] = useState(false);
  const reads = readsMedia(useStore(settings));
  useEffect(() => {
    const onOver = (event: DragEvent) => setOver(isTaken(event));
    const onLeave = (event: DragEvent) => {
      // The pointer has left the window.
      if (event.relatedTarget === null) setOver(false);
    };
    const onDrop = (event: DragEvent) => {
      setOver(false);
      if (isTaken(event) && event.dataTransfer) void take(event.dataTransfer.files);
    };
    window.addEventListener("dragover", onOver);
    window.addEventListener("dragleave", onLeave);
    window.addEventListener("drop", onDrop);
    return () => {
      window.removeEventListener("dragover", onOver);
      window.removeEventListener("dragleave", onLeave);
      window.removeEventListener("drop", onDrop);
    };
  }, [take]);
  if (!over) return null;
  return (
    <div className="drop-anywhere" data-testid="drop-anywhere">
      <p>{en.attachments.drop(en.attachments.types(reads))}</p>
    </div>
  );
}
