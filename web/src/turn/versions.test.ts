// The pickers of versions. Issue 19, item 2.

import { describe, expect, it } from "vitest";
import type { TurnVersion } from "../wire";
import { answerPicker, questionPicker, versionsOf, withVersion } from "./versions";

const version = (turn_id: string, question_of = turn_id, parent_turn_id: string | null = "0", on_path = false): TurnVersion => ({
  turn_id,
  parent_turn_id,
  question_of,
  on_path,
});

describe("pickers", () => {
  // Asked, asked again, edited, the edited message asked again.
  const versions = [version("1"), version("2", "1"), version("3"), version("4", "3")];

  it("lead through messages and through the answers to one", () => {
    expect(questionPicker("2", versions)).toEqual({ place: 1, count: 2, previous: null, next: "4" });
    expect(questionPicker("3", versions)).toEqual({ place: 2, count: 2, previous: "2", next: null });
    expect(answerPicker("1", versions)).toEqual({ place: 1, count: 2, previous: null, next: "2" });
    expect(answerPicker("4", versions)).toEqual({ place: 2, count: 2, previous: "3", next: null });
  });

  it("stand only where there is a choice", () => {
    expect(questionPicker("1", versions.slice(0, 2))).toBeNull();
    expect(answerPicker("1", [version("1"), version("3")])).toBeNull();
    expect(questionPicker("1", [])).toBeNull();
    expect(answerPicker("unknown", versions)).toBeNull();
  });

  it("belong to the versions that follow the same turn", () => {
    const others = [version("7", "7", "5"), version("8", "8", null)];
    expect(versionsOf("2", [...versions, ...others])).toEqual(versions);
    expect(versionsOf("9", versions)).toEqual([]);
  });
});

describe("a version that begins", () => {
  it("stands beside the turn that it was made from", () => {
    const first = withVersion("2", true, { turnId: "1", versions: [] }, "0");
    expect(first).toEqual([version("1"), version("2", "1", "0", true)]);
    const edited = withVersion("3", false, { turnId: "2", versions: first }, "0");
    expect(edited).toEqual([version("1"), version("2", "1"), version("3", "3", "0", true)]);
    expect(questionPicker("3", edited)).toMatchObject({ place: 2, count: 2, previous: "2" });
  });
});
