// A formula. Its source is shown until the code that draws formulas has come, and where that cannot draw it.

import { memo, useMemo } from "react";
import { part } from "../state/parts";
import { MAX_FORMULA_CHARS } from "./blocks";

const formulas = part(() => import("./mathml").then((module) => module.mathml));

interface Props {
  tex: string;
  /** With its marks. */
  source: string;
  display: boolean;
}

export const Formula = memo(function Formula({ tex, source, display }: Props) {
  const draw = formulas.use();
  const drawn = useMemo(() => (draw && tex.length <= MAX_FORMULA_CHARS ? draw(tex, display) : null), [draw, tex, display]);
  if (drawn === null) {
    return (
      <code data-testid="formula-source" dir="ltr">
        {source}
      </code>
    );
  }
  return (
    <span className="formula" data-testid="formula" data-display={display} dir="ltr" tabIndex={display ? 0 : undefined}>
      {drawn}
    </span>
  );
});
