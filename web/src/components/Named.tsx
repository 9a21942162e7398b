// A sentence about a tool, whose name looks like code.

export function Named({ name, children: sentence }: { name: string; children: string }) {
  const at = sentence.indexOf(name);
  if (at === -1) return sentence;
  return (
    <>
      {sentence.slice(0, at)}
      <code>{name}</code>
      {sentence.slice(at + name.length)}
    </>
  );
}
