// The foot of a form: why nothing was saved, and the button that saves.

import type { ReactNode } from "react";
import "./form.css";

interface Props {
  problem: string | null;
  save: string;
  canSave: boolean;
  testId: string;
  /** What stands beside the button. */
  children: ReactNode;
}

export function FormFoot({ problem, save, canSave, testId, children }: Props) {
  return (
    <>
      {problem !== null && (
        <p className="side-problem" role="alert">
          {problem}
        </p>
      )}
      <div className="form-foot">
        <button type="submit" className="primary-button small" data-testid={testId} disabled={!canSave}>
          {save}
        </button>
        {children}
      </div>
    </>
  );
}
