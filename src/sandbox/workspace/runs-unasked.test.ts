import { describe, expect, it } from "vitest";
import { changesScripts, findReason } from "./runs-unasked.ts";

const plain = Buffer.from('{"name":"a","scripts":{"test":"true"}}');
const evil = '{"scripts":{"test":"true","postinstall":"touch /tmp/ran"}}';

describe("changesScripts", () => {
  it("tells changed scripts from other changes", () => {
    expect(changesScripts(plain, Buffer.from('{"scripts": {"test": "true"}, "version": "1"}'))).toBe(false);
    expect(changesScripts(plain, Buffer.from(evil))).toBe(true);
    expect(changesScripts(Buffer.alloc(0), Buffer.from("{}"))).toBe(false);
  });

  it("reads past a byte order mark, as package managers do", () => {
    expect(changesScripts(plain, Buffer.from(`\uFEFF${evil}`))).toBe(true);
    expect(changesScripts(plain, Buffer.from(`\uFEFF${plain.toString()}`))).toBe(false);
    expect(changesScripts(Buffer.from(`\uFEFF${evil}`), Buffer.from(evil))).toBe(false);
  });

  it("counts a new version that is not JSON as changed", () => {
    for (const text of ["", `${evil},`, `/* */ ${evil}`, `\uFEFF\uFEFF${evil}`])
      expect(changesScripts(Buffer.alloc(0), Buffer.from(text)), text).toBe(true);
  });
});

it("findReason names what npm builds unasked", () => {
  for (const path of ["binding.gyp", "native/Binding.gyp"]) expect(findReason(path), path).toContain("npm");
  expect(findReason("my-binding.gyp")).toBeUndefined();
});
