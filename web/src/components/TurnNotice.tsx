import { en } from "../en";
import type { Notice } from "../turn/status";

interface Props {
  notice: Notice;
  onRetry: (() => void) | null;
  /** Goes on from a turn that a limit ended. */
  onContinue: (() => void) | null;
}

export function TurnNotice({ notice, onRetry, onContinue }: Props) {
  return (
    <div
      className="turn-notice"
      data-testid="turn-error"
      data-code={notice.code}
      data-tone={notice.tone}
    >
      <p>
        <strong>{notice.title}</strong> <bdi>{notice.text}</bdi>
      </p>
      {onContinue && (
        <button type="button" className="primary-button small" data-testid="continue" onClick={onContinue}>
          {en.answer.goOn}
        </button>
      )}
      {onRetry && (
        <button type="button" className="link-button" onClick={onRetry}>
          {en.answer.retry}
        </button>
      )}
    </div>
  );
}
