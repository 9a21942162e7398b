// A model's text as markdown, or as plain text until the code that draws markdown has come.

import { memo, useDeferredValue, useMemo } from "react";
import { richText } from "../state/parts";

interface Props {
  text: string;
  /** More of it may come. */
  growing?: boolean;
}

export const Markdown = memo(function Markdown({ text, growing = false }: Props) {
  const RichText = richText.use();
  // While text streams in fast, typing and scrolling go before drawing each step. Both are deferred together: otherwise
  // the text without its last part would be drawn as a whole one.
  const newest = useMemo(() => ({ text, growing }), [text, growing]);
  const drawn = useDeferredValue(newest);
  return (
    <div className="prose" data-growing={drawn.growing}>
      {RichText ? <RichText {...drawn} /> : <p className="plain" dir="auto">{drawn.text}</p>}
    </div>
  );
});
