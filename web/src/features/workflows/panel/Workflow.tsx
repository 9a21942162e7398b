// One workflow: its goal, its steps, and the ways to start, change and delete it.

import { ConfirmLink } from "../../../components/Confirm";
import { Disclosure } from "../../../components/Disclosure";
import { focusNext } from "../../../components/focus";
import { PencilIcon } from "../../../components/Icons";
import type { WorkflowDetail, WorkflowStep } from "../../../wire.generated";
import { workflows } from "../workflows";
import { words } from "./en";
import { StartButtons } from "./Start";

interface Props {
  chat: string;
  workflow: WorkflowDetail;
  /** The version that was just saved. */
  saved: WorkflowDetail | null;
  onClose: () => void;
}

export function Workflow({ chat, workflow, saved, onClose }: Props) {
  const { definition, version, built_in: isBuiltIn, workflow_id: id, name } = workflow;
  return (
    <>
      <p className="side-note">{words.about(definition.steps.length, isBuiltIn ? words.builtIn : words.version(version))}</p>
      <p className="side-note" role="status" data-testid="workflow-saved">
        {saved !== null && words.saved(saved.version, saved.ignored ?? [])}
      </p>
      <StartButtons chat={chat} chosen={{ id, name }} onClose={onClose} />
      {definition.goal && (
        <section>
          <h3>{words.goal}</h3>
          <p className="workflow-text" dir="auto">{definition.goal}</p>
        </section>
      )}
      <section>
        <h3>{words.steps}</h3>
        <ol className="workflow-outline">
          {definition.steps.map((step) => (
            <Step key={step.id} step={step} />
          ))}
        </ol>
      </section>
      <div className="side-foot workflow-acts">
        <button type="button" className="outline-button" data-testid="workflow-edit" onClick={() => workflows.write()}>
          <PencilIcon />
          {words.edit}
        </button>
        {!isBuiltIn && (
          <ConfirmLink
            label={words.remove}
            question={words.removeQuestion}
            yes={words.discardYes}
            testId="workflow-delete"
            act={async () => {
              if (await workflows.remove()) focusNext(() => document.querySelector<HTMLElement>("[data-testid=workflow-new]"));
            }}
          />
        )}
      </div>
    </>
  );
}

function Step({ step }: { step: WorkflowStep }) {
  const { title, instructions } = step;
  const told = traits(step);
  return (
    <li>
      <span className="row-name" dir="auto">{title}</span>
      {told.length > 0 && <span className="row-more">{told.join(" · ")}</span>}
      <Disclosure label={words.instructions}>
        <p className="workflow-text" dir="auto">{instructions}</p>
      </Disclosure>
    </li>
  );
}

function traits({ type, output_mode, verifier, review, tools }: WorkflowStep): string[] {
  return [
    ...(type === "planned" ? [words.planned] : []),
    ...(review ? [words.reviewed] : []),
    ...(output_mode === "structured_output" ? [words.structured] : []),
    ...(verifier ? [words.verified] : []),
    ...(tools ? [tools.length === 0 ? words.noTools : tools.join(", ")] : []),
  ];
}
