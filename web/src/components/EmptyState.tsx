import { en } from "../en";
import { conversation } from "../state/page";
import { focusComposer } from "./focus";
import { Logo } from "./Logo";

function ask(prompt: string): void {
  void conversation.send(prompt);
  focusComposer();
}

export function EmptyState({ demo }: { demo: boolean }) {
  return (
    <div className="empty">
      <Logo className="logo empty-logo" />
      <h2>{en.empty.title}</h2>
      <p className="empty-lead">{en.empty.lead}</p>
      <ul className="examples">
        {en.empty.examples.map(({ label, prompt }) => (
          <li key={label}>
            <button type="button" className="example" onClick={() => ask(prompt)}>
              <span className="example-label">{label}</span>
              <span>{prompt}</span>
            </button>
          </li>
        ))}
      </ul>
      {demo && (
        <p className="empty-demo">{en.empty.demo}</p>
      )}
    </div>
  );
}
