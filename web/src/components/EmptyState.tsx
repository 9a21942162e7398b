import { en } from "../en";
import { features, type Example } from "../feature";
import { conversation } from "../state/page";
import { focusComposer } from "./focus";
import { Logo } from "./Logo";

function ask(prompt: string): void {
  // The composer of a new chat keeps the reader's text.
  void conversation.send(prompt, null, [], false);
  focusComposer();
}

function ExampleItem({ label, prompt, before }: Omit<Example, "before"> & Partial<Example>) {
  return (
    <li>
      <button
        type="button"
        className="example"
        onClick={() => {
          before?.();
          ask(prompt);
        }}
      >
        <span className="example-label">{label}</span>
        <span>{prompt}</span>
      </button>
    </li>
  );
}

export function EmptyState({ demo }: { demo: boolean }) {
  // The features never change, so each drawing calls the same hooks.
  const own = features().flatMap(({ useExample }) => useExample?.() ?? []);
  return (
    <div className="empty">
      <Logo className="logo empty-logo" />
      <h2>{en.empty.title}</h2>
      <p className="empty-lead">{en.empty.lead}</p>
      <ul className="examples">
        {en.empty.examples.map((example) => (
          <ExampleItem key={example.label} {...example} />
        ))}
        {own.map((example) => (
          <ExampleItem key={example.label} {...example} />
        ))}
      </ul>
      {demo && (
        <p className="empty-demo">{en.empty.demo}</p>
      )}
    </div>
  );
}
