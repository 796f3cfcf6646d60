import { expect, it } from "vitest";
import { parseMetadata } from "./file-metadata.ts";

it("reads the labels of a file from the headers, and nothing else", () => {
  expect(parseMetadata({ "x-metadata-a-b": "v w", "x-metadata": "no", "x-other": "no", "x-metadata-e": "" })).toEqual({
    "a-b": "v w",
    e: "",
  });
});

it.each([
  [{ "x-metadata-": "v" }, "a key has"],
  [{ [`x-metadata-${"k".repeat(247)}`]: "v" }, "a key has"],
  [{ "x-metadata-k": "ü" }, "printable"],
  [{ "x-metadata-k": "a\tb" }, "printable"],
  [{ "x-metadata-k": "v".repeat(4_096) }, "together"],
])("refuses %j", (headers, why) => {
  expect(() => parseMetadata(headers)).toThrow(
    expect.objectContaining({ code: "ARGUMENTS_INVALID", message: expect.stringContaining(why) }) as Error,
  );
});

it("takes labels up to their bounds", () => {
  const headers = { [`x-metadata-${"k".repeat(246)}`]: "v".repeat(4_096 - 246) };
  expect(Object.values(parseMetadata(headers))).toEqual(["v".repeat(3_850)]);
});
