// Model text as markdown; as it was written for the moment in which what draws it is still on its way.

import { memo, useDeferredValue } from "react";
import { richText } from "../state/parts";

interface Props {
  text: string;
  /** More of it may come. */
  growing?: boolean;
}

export const Markdown = memo(function Markdown({ text, growing = false }: Props) {
  const RichText = richText.use();
  // While text streams in fast, typing and scrolling go before drawing every step of it.
  const drawn = useDeferredValue(text);
  return (
    <div className="prose" data-growing={growing}>
      {RichText ? <RichText text={drawn} growing={growing} /> : <p className="plain">{drawn}</p>}
    </div>
  );
});
