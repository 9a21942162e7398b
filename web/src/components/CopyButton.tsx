import { useState } from "react";
import { en } from "../en";
import { CheckIcon, CopyIcon } from "./Icons";

const THANKS_MS = 1500;

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // The browser forbids copying: the reader can still select the text.
      return;
    }
    setCopied(true);
    setTimeout(() => setCopied(false), THANKS_MS);
  };
  return (
    <button type="button" className="icon-button small" data-testid="copy" title={en.common.copy(what)} onClick={copy}>
      {copied ? <CheckIcon /> : <CopyIcon />}
      <span className="visually-hidden" role="status">
        {copied ? en.common.copied : en.common.copy(what)}
      </span>
    </button>
  );
}
