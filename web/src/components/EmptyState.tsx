import { conversation } from "../state/page";
import { Logo } from "./Logo";

const EXAMPLES = [
  { label: "Answer", prompt: "What is an espalier?" },
  { label: "Use a tool", prompt: "What is 17 * 23?" },
  { label: "Use two at once", prompt: "What time is it, and what is 2^10?" },
  { label: "Divide the work", prompt: "Research apples, pears and figs, then compare them" },
];

export function EmptyState({ demo }: { demo: boolean }) {
  return (
    <div className="empty">
      <Logo className="logo empty-logo" />
      <h2>What shall we work out?</h2>
      <p className="empty-lead">
        Espalier is an agent that answers, uses tools, or divides the work into subtasks, as each
        question needs. It shows you every step.
      </p>
      <ul className="examples">
        {EXAMPLES.map(({ label, prompt }) => (
          <li key={label}>
            <button type="button" className="example" onClick={() => void conversation.send(prompt)}>
              <span className="example-label">{label}</span>
              <span>{prompt}</span>
            </button>
          </li>
        ))}
      </ul>
      {demo && (
        <p className="empty-demo">
          No model is configured. A small demo model answers by plain rules.
        </p>
      )}
    </div>
  );
}
