// A model's text as markdown, or as plain text until the code that draws markdown has come.

import { memo, useDeferredValue } from "react";
import { richText } from "../state/parts";

interface Props {
  text: string;
  /** More of it may come. */
  growing?: boolean;
}

export const Markdown = memo(function Markdown({ text, growing = false }: Props) {
  const RichText = richText.use();
  // While text streams in fast, typing and scrolling go before drawing each step.
  const drawn = useDeferredValue(text);
  return (
    <div className="prose" data-growing={growing}>
      {RichText ? <RichText text={drawn} growing={growing} /> : <p className="plain" dir="auto">{drawn}</p>}
    </div>
  );
});
