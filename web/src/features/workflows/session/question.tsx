// The question whether the work of a step passes, or whether its plan may run. The approvals' own route answers it.

import { Clamp } from "../../../components/Clamp";
import { Markdown } from "../../../components/Markdown";
import type { OwnQuestion } from "../../../feature";
import { visibly } from "../../../turn/approval";
import type { Approval } from "../../../turn/view";
import { listOf, textOf, type Members } from "./arguments";
import { words } from "./en";
import "./session.css";

const { review } = words;

export function questionOf({ args }: Approval): OwnQuestion {
  const title = visibly(textOf(args, "title", "step"));
  const plan = listOf(args, "plan");
  if (plan.length > 0) {
    return {
      ask: review.plan(title),
      body: (
        <>
          <p>{review.planEffect}</p>
          <Plan actions={plan} />
        </>
      ),
      choices: review.planChoices,
      decided: review.planDecided,
    };
  }
  const why = words.reasons[textOf(args, "reason")];
  const notes = textOf(args, "notes");
  return {
    ask: review.work(title),
    body: (
      <>
        <p>
          {why && `${why} `}
          {review.workEffect}
        </p>
        <p className="tool-label">{review.onlyNotes}</p>
        {notes.trim() === "" ? (
          <p className="tool-none">{review.noNotes}</p>
        ) : (
          <Clamp growing={false}>
            <Markdown text={notes} />
          </Clamp>
        )}
      </>
    ),
    choices: review.workChoices,
    decided: review.workDecided,
  };
}

/** The calls of a plan with all of their arguments: the reader allows exactly these. */
export function Plan({ actions }: { actions: readonly unknown[] }) {
  if (actions.length === 0) return null;
  return (
    <ol className="workflow-plan" aria-label={review.actions} data-testid="workflow-plan">
      {(actions as Members[]).map((action, index) => {
        const expected = textOf(action, "expected_outcome");
        return (
          <li key={index}>
            <code>{visibly(textOf(action, "action"))}</code>
            <pre tabIndex={0} dir="ltr">
              {visibly(JSON.stringify(action["args"] ?? {}, null, 2))}
            </pre>
            {expected !== "" && <p dir="auto">{review.expected(expected)}</p>}
          </li>
        );
      })}
    </ol>
  );
}
