// Texts and files that a person pastes.

import { expect, it } from "vitest";
import { FOLDED_CHARS, pastedFiles } from "./pasted";

const clipboard = (text: string, files: File[] = []) => ({ files: files as unknown as FileList, getData: () => text });

it("folds a long text into a file, and leaves a shorter one to the box", async () => {
  expect(pastedFiles(clipboard("x".repeat(FOLDED_CHARS - 1)), [])).toEqual([]);
  const [file] = pastedFiles(clipboard("x".repeat(FOLDED_CHARS)), []);
  expect([file?.name, (await file?.text())?.length]).toEqual(["Pasted text.txt", FOLDED_CHARS]);
});

it("gives each long text a name of its own", () => {
  const before = ["Pasted text.txt", "Pasted text 2.txt"].map((name) => ({ name, text: "" }));
  expect(pastedFiles(clipboard("x".repeat(FOLDED_CHARS)), before)[0]?.name).toBe("Pasted text 3.txt");
});

it("takes the files of a clipboard that has both", () => {
  const picture = new File(["x"], "a.png", { type: "image/png" });
  expect(pastedFiles(clipboard("x".repeat(FOLDED_CHARS), [picture]), [])).toEqual([picture]);
});
