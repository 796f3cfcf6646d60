import { expect, it } from "vitest";
import { integer, oid } from "./der.ts";

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

it.each([
  [[0], "020100"],
  [[0, 0, 1], "020101"],
  [[0x7f], "02017f"],
  [[0x80], "02020080"],
  [[0, 0xff, 1], "020300ff01"],
])("writes %j as the shortest integer that is not negative", (bytes, written) => {
  expect(hex(integer(Uint8Array.from(bytes)))).toBe(written);
});

it("writes an object identifier", () => {
  expect(hex(oid("1.2.840.10045.2.1"))).toBe("06072a8648ce3d0201");
});
