// ‹ 2/3 ›: leads from one version of a message or an answer to its neighbours.

import { use } from "react";
import { en } from "../en";
import type { Picker } from "../turn/versions";
import { focusNext } from "./focus";
import { BackIcon, ChevronIcon } from "./Icons";
import { ChooseVersion, type VersionsOf } from "./VersionPicker";

interface Props {
  picker: Picker;
  type: VersionsOf;
}

export function VersionButtons({ picker, type }: Props) {
  const choose = use(ChooseVersion);
  const { place, count, previous, next } = picker;
  const go = async (turnId: string, way: "previous" | "next") => {
    await choose?.(turnId);
    // The button is drawn anew with its exchange. At an end of the row the other one is left.
    focusNext(() => {
      const box = document.querySelector(`[data-turn-id="${turnId}"] [data-versions="${type}"]`);
      const other = way === "next" ? "previous" : "next";
      return box?.querySelector<HTMLElement>(`[data-way="${way}"]:enabled`) ?? box?.querySelector<HTMLElement>(`[data-way="${other}"]`);
    });
  };
  const button = (turnId: string | null, way: "previous" | "next") => (
    <button
      type="button"
      className="icon-button small"
      data-way={way}
      disabled={turnId === null || choose === null}
      title={en.versions[way]}
      onClick={() => turnId !== null && void go(turnId, way)}
    >
      {way === "previous" ? <BackIcon /> : <ChevronIcon />}
      <span className="visually-hidden">{en.versions[way]}</span>
    </button>
  );
  return (
    <div className="versions" role="group" aria-label={en.versions[type]} data-versions={type} data-testid={`versions-${type}`}>
      {button(previous, "previous")}
      <span>
        <span aria-hidden="true">{en.versions.place(place, count)}</span>
        <span className="visually-hidden">{en.versions.spoken(place, count)}</span>
      </span>
      {button(next, "next")}
    </div>
  );
}
