// Images and PDFs: attached, pasted, dropped, shown and sent again; refused where they are too large, too many, or the
// model reads none.

import { deflateSync, crc32 } from "node:zlib";
import { assert, assertEqual, byId, check, env, fakeLlm, quiet, send, settled, shot, visit } from "../harness.mjs";

/** The only model of the instance that reads images. */
const SEES = "other:fake-3";

/** A real PNG of one colour, or of noise, which does not compress. */
function png(width, height, noise = false) {
  const rows = Buffer.alloc(height * (1 + width * 3), 0x5a);
  if (noise) for (let at = 0, x = 1; at < rows.length; at += 1) rows[at] = (x = (x * 48_271) % 0x7fffffff) & 0xff;
  for (let row = 0; row < height; row += 1) rows[row * (1 + width * 3)] = 0;
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

const file = (name, buffer, mimeType = "image/png") => ({ name, mimeType, buffer });

/** Pastes or drops files, as the browser would hand them over. */
function handOver(page, kind, files) {
  return page.evaluate(
    ([kind, files]) => {
      const data = new DataTransfer();
      for (const { name, type, base64 } of files) {
        const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
        data.items.add(new File([bytes], name, { type }));
      }
      const options = { bubbles: true, cancelable: true };
      const event =
        kind === "paste" ? new ClipboardEvent(kind, { ...options, clipboardData: data }) : new DragEvent(kind, { ...options, dataTransfer: data });
      document.getElementById("composer").dispatchEvent(event);
    },
    [kind, files.map(({ name, mimeType, buffer }) => ({ name, type: mimeType, base64: buffer.toString("base64") }))],
  );
}

// Long: one visit, whose checks follow each other.
export async function media(browser) {
  const llm = fakeLlm();
  const { page, context, notes } = await visit(browser, env("ESPALIER_URL"));
  const attached = byId(page, "attached");
  const shown = byId(page, "medium");
  const pick = (...files) => byId(page, "file-input").setInputFiles(files);
  const warned = (words) => page.getByRole("alert").filter({ hasText: words }).waitFor();
  const clear = async () => {
    while ((await attached.count()) > 0) await attached.first().getByRole("button").click();
  };

  await check("the page refuses images for a model that reads none, with words that tell the next step", async () => {
    await pick(file("photo.png", png(8, 8)));
    await warned("“photo.png” cannot be read by this model. Choose another model.");
    assertEqual(await attached.count(), 0, "attached");
  });

  await check("attached, pasted and dropped images survive a reload before the message is sent", async () => {
    await byId(page, "settings").click();
    await byId(page, "model-choice").selectOption(SEES);
    await page.keyboard.press("Escape");
    await pick(file("picked.png", png(320, 200)));
    await attached.filter({ hasText: "picked.png" }).locator("img").waitFor();
    await handOver(page, "paste", [file("pasted.png", png(80, 80))]);
    await attached.filter({ hasText: "pasted.png" }).waitFor();
    await handOver(page, "drop", [file("paper.pdf", Buffer.from("%PDF-1.7\n"), "application/pdf"), file("notes.txt", Buffer.from("Pears."), "text/plain")]);
    await attached.filter({ hasText: "notes.txt" }).waitFor();
    await page.reload();
    await attached.nth(3).waitFor();
    assertEqual(await attached.locator("img").count(), 2, "the small pictures");
  });

  await check("files can be dropped anywhere, and the page says which it takes", async () => {
    const drag = (kind, init = {}) =>
      page.evaluate(
        ([kind, init]) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["Figs."], "figs.txt", { type: "text/plain" }));
          document.querySelector(".sidebar").dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer, ...init }));
        },
        [kind, init],
      );
    await drag("dragover");
    await byId(page, "drop-anywhere").filter({ hasText: "text files, images and PDFs" }).waitFor();
    await drag("dragleave");
    await byId(page, "drop-anywhere").waitFor({ state: "detached" });
    await drag("dragover");
    await drag("drop");
    await attached.filter({ hasText: "figs.txt" }).waitFor();
    assertEqual(await byId(page, "drop-anywhere").count(), 0, "the overlay");
    await attached.filter({ hasText: "figs.txt" }).getByRole("button").click();
  });

  await check("a long paste becomes a file, a short one stays text", async () => {
    const paste = (text) =>
      page.evaluate((text) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text/plain", text);
        return document.getElementById("composer").dispatchEvent(new ClipboardEvent("paste", { bubbles: true, cancelable: true, clipboardData }));
      }, text);
    assertEqual(await paste("short"), true, "the browser inserts it");
    assertEqual(await paste("A long line.\n".repeat(400)), false, "the browser inserts it");
    await attached.filter({ hasText: "Pasted text.txt" }).waitFor();
    await attached.filter({ hasText: "Pasted text.txt" }).getByRole("button").click();
    await attached.nth(4).waitFor({ state: "detached" });
  });

  await check("images are parts of the request, and the message shows them", async () => {
    await llm.script("", [{ text: "Two pictures and a paper." }]);
    await send(page, llm.says("What is this?"));
    await settled(page);
    const { content, model } = notes.chats.at(-1);
    const kinds = content.map((part) => [part.type, part.name ?? null, part.data?.split(",")[0] ?? null]);
    assertEqual(
      [model, kinds],
      [SEES, [["text", null, null], ["image", null, "data:image/png;base64"], ["image", null, "data:image/png;base64"], ["file", "paper.pdf", "data:application/pdf;base64"]]],
      "the request",
    );
    assert(content[0].text.includes("Attached file: notes.txt"), "the text file goes along as text");
    assertEqual(await shown.count(), 3, "shown");
    await shot(page, "media");
  });

  await check("a reload shows the images again", async () => {
    await page.reload();
    await settled(page);
    await shown.locator("img").nth(1).waitFor();
    const sizes = await shown.locator("img").evaluateAll((all) => all.map((each) => each.decode().then(() => [each.naturalWidth, each.naturalHeight])).reduce(async (sum, each) => [...(await sum), await each], []));
    assertEqual(sizes, [[320, 200], [80, 80]], "the pictures");
    assertEqual(await shown.nth(2).innerText(), "paper.pdf", "the paper");
    const words = await byId(page, "message-user").innerText();
    assert(!words.includes("[image/png"), `the marks stand for what is shown: ${words}`);
  });

  await check("asking again sends the same pictures, and an edited message keeps them", async () => {
    const [before] = notes.chats.slice(-1);
    await byId(page, "again").last().click();
    await settled(page);
    const { content, replaces_message_id } = notes.chats.at(-1);
    assert(replaces_message_id, "it takes the place of the other");
    assertEqual(content, before.content, "the parts");
    await llm.script("edited", [{ text: "Still two." }]);
    await byId(page, "edit").last().click();
    await byId(page, "edit-box").fill(llm.says("And now?", "edited"));
    await page.keyboard.press("Enter");
    await byId(page, "message-assistant").filter({ hasText: "Still two." }).waitFor();
    await settled(page);
    assertEqual(notes.chats.at(-1).content.slice(1), before.content.slice(1), "the parts of the edited message");
  });

  await check("a picture that is too large becomes smaller, and a PDF that is too large is refused", async () => {
    const large = png(1200, 900, true);
    assert(large.length > 600_000, `${large.length} bytes`);
    await pick(file("large.png", large), file("large.pdf", Buffer.concat([Buffer.from("%PDF-1.7\n"), Buffer.alloc(600_000)]), "application/pdf"));
    await warned("“large.pdf” is too large: the images and PDFs of a message can have 600 kB in total.");
    const small = await attached.locator("img").getAttribute("src");
    assert(small.startsWith("data:image/jpeg;base64,") && small.length < 800_050, `${small.length} characters`);
    await clear();
  });

  await check("a message takes eight pictures and refuses the ninth; a picture alone is a message", async () => {
    await pick(...Array.from({ length: 9 }, (_, index) => file(`p${index}.png`, png(8, 8))));
    await warned("“p8.png” is one too many: a message can have 8 images and PDFs.");
    assertEqual(await attached.count(), 8, "attached");
    await pick(file("broken.png", Buffer.from("no picture")));
    await warned("“broken.png” is one too many");
    await clear();
    await pick(file("odd.bmp", Buffer.from("no picture"), "image/bmp"));
    await warned("“odd.bmp” cannot be read.");
    await pick(file("alone.png", png(8, 8)));
    await attached.waitFor();
    await byId(page, "send").click();
    await byId(page, "message-user").nth(1).getByTestId("medium").waitFor();
    await settled(page);
    assertEqual(notes.chats.at(-1).content.map((part) => part.type), ["image"], "the parts");
  });
  await quiet("images", notes);
  await context.close();
}
