// The size of the upload, and the share of each crate in the wasm.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { BUILD } from "./workers.mjs";

export function sizes() {
  return [`${BUILD}/index_bg.wasm`, `${BUILD}/index.js`].map((path) => {
    const bytes = readFileSync(path);
    // GNU's gzip: the zlib of Node compresses up to 1 % worse, and differently from version to version.
    const gzip = execFileSync("gzip", ["-9", "-n", "-c", path], { maxBuffer: bytes.length }).length;
    return { path, bytes: bytes.length, gzip };
  });
}

// Bytes of code by crate, from the linker's output before wasm-bindgen and wasm-opt (which shrink it by about a
// quarter, and drop the names). An instance of a generic function counts for the crate that defines the function.
// Null if that build is not there or has no names.
export function codeByCrate(path = "target/named/wasm32-unknown-unknown/release/espalier.wasm") {
  if (!existsSync(path)) return null;
  const { bodies, names, imports } = parse(readFileSync(path));
  if (names.size === 0) return null;
  const crates = new Map();
  bodies.forEach((size, i) => {
    const name = names.get(imports + i) ?? "";
    if (/WasmDescribe|_describe_|8describe17h/.test(name)) return; // tells wasm-bindgen of a signature, and goes
    const crate = crateOf(name);
    crates.set(crate, (crates.get(crate) ?? 0) + size);
  });
  return [...crates].sort((a, b) => b[1] - a[1]);
}

// Symbols are mangled the old way (`_ZN` and components with their lengths) or the new (`_R…C<len><crate>…`).
// `<&mut serde_json::Deserializer<R> as serde::Deserializer>::visit` belongs to serde_json; where the type is a
// parameter, `<T as serde::Expected>`, to the trait's crate.
function crateOf(symbol) {
  const v0 = /^_R.*?C(?:s[0-9A-Za-z]*_)?(\d+)_?([A-Za-z_]\w*)/.exec(symbol);
  if (v0) return v0[2].slice(0, Number(v0[1]));
  const old = /^_ZN(\d+)(.*)$/.exec(symbol);
  if (!old) return "(exports and intrinsics)";
  const escapes = { LT: "<", GT: ">", RF: "&", BP: "*", C: ",", LP: "(", RP: ")", u20: " ", u5b: "[", u5d: "]" };
  const first = old[2]
    .slice(0, Number(old[1]))
    .replace(/\$(\w+?)\$/g, (_, name) => escapes[name] ?? "")
    .replaceAll("..", "::");
  if (!first.includes("<")) return first;
  return /([a-z_]\w*)::/.exec(first.replace(/^_/, ""))?.[1] ?? "(other)";
}

function parse(bytes) {
  let at = 8;
  const leb = () => {
    for (let value = 0, shift = 0; ; shift += 7) {
      const byte = bytes[at++];
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
  };
  const text = () => {
    const length = leb();
    at += length;
    return bytes.toString("utf8", at - length, at);
  };
  const bodies = [];
  const names = new Map();
  let imports = 0;
  while (at < bytes.length) {
    const id = bytes[at++];
    const end = leb() + at;
    if (id === 2) imports = countFunctionImports(leb, text, () => bytes[at++]);
    if (id === 10) {
      for (let left = leb(); left > 0; left--) {
        const size = leb();
        bodies.push(size);
        at += size;
      }
    }
    if (id === 0 && text() === "name") {
      while (at < end) {
        const kind = bytes[at++];
        const stop = leb() + at;
        if (kind === 1) for (let left = leb(); left > 0; left--) names.set(leb(), text());
        at = stop;
      }
    }
    at = end;
  }
  return { bodies, names, imports };
}

function countFunctionImports(leb, text, byte) {
  let functions = 0;
  for (let left = leb(); left > 0; left--) {
    text();
    text();
    const kind = byte();
    if (kind === 0) {
      leb();
      functions++;
    } else if (kind === 3) {
      byte();
      byte();
    } else {
      if (kind === 1) byte();
      const limits = byte();
      leb();
      if (limits & 1) leb();
    }
  }
  return functions;
}
