import { en } from "../en";
import type { Notice } from "../turn/status";

interface Props {
  notice: Notice;
  onRetry: (() => void) | null;
}

export function TurnNotice({ notice, onRetry }: Props) {
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
      {onRetry && (
        <button type="button" className="link-button" onClick={onRetry}>
          {en.answer.retry}
        </button>
      )}
    </div>
  );
}
