import { describe, expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import type { ToolContent } from "./tool.ts";
import { dataResult, textResult } from "./tool-result.ts";
import { cutAtLine, errorResult, resultBytes, shapeResult, withNotice } from "./result.ts";

const limits = (textBytes: number) => ({ textBytes, dataBytes: 100, structureCharacters: 4 * textBytes });
const keep = (text: string): string => `uri:${text}`;

it("leaves a text that fits alone", () => {
  const result = textResult("abc");
  expect(shapeResult(result, limits(3), keep)).toEqual(result);
});

it("cuts a single long line between two characters", () => {
  expect(cutAtLine("€€€", 7)).toBe("€€");
  expect(cutAtLine("abc", 0)).toBe("");
});

it("keeps images and leaves out texts for which there is no room", () => {
  const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
  const shaped = shapeResult(
    { value: null, content: [{ type: "text", text: "12345678" }, image, { type: "text", text: "more" }] },
    limits(8),
    keep,
  );
  expect(shaped.content).toEqual([
    { type: "text", text: "12345678" },
    image,
    { type: "text", text: '[Cut: 8 of 12 bytes of text are shown. Read on with read_result {"uri":"uri:12345678more?offset=8"}]' },
  ]);
});

const LONG = "A".repeat(101);
const NOTE = /^\[Left out: \w+ of \d+ bytes; \d+ bytes were left in this result\]$/;

it.each([
  ["an image", { type: "image", data: LONG, mimeType: "image/png" }],
  ["audio", { type: "audio", data: LONG, mimeType: "audio/wav" }],
  ["a type that is long", { type: "audio", data: "A", mimeType: LONG }],
  ["embedded bytes", { type: "resource", resource: { uri: "a:b", blob: LONG } }],
  ["an embedded text", { type: "resource", resource: { uri: "a:b", text: LONG } }],
  ["a link", { type: "resource_link", uri: "a:b", name: LONG }],
] satisfies [string, ToolContent][])("leaves out %s for which there is no room, and says so", (_what, block) => {
  const { content } = shapeResult({ value: null, content: [block] }, limits(1_000), keep);
  expect(content).toEqual([{ type: "text", text: expect.stringMatching(NOTE) }]);
});

it("gives all data of a result one room", () => {
  const image = { type: "image" as const, data: "A".repeat(30), mimeType: "image/png" };
  const { content } = shapeResult({ value: null, content: [image, image] }, limits(1_000), keep);
  expect(content).toEqual([image, { type: "text", text: expect.stringMatching(NOTE) }]);
});

it("shows a model no longer text in a resource than beside it", () => {
  const block = { type: "resource" as const, resource: { uri: "a:b", text: "A".repeat(40) } };
  expect(shapeResult({ value: null, content: [block] }, limits(1_000), keep).content).toEqual([block]);
  expect(shapeResult({ value: null, content: [block] }, limits(20), keep).content[0]).toMatchObject({ type: "text" });
});

it("shows a thousand parts, and says how many there were", () => {
  const { content } = shapeResult({ value: null, content: Array(1_003).fill({ type: "text", text: "" }) }, limits(1_000), keep);
  expect(content).toHaveLength(1_001);
  expect(content.at(-1)).toEqual({ type: "text", text: "[Left out: 3 more parts]" });
});

it("bounds the value as the text, says so in it, and keeps the text once", () => {
  const kept: string[] = [];
  const shaped = shapeResult(textResult("1234\n5678\n"), limits(6), (text) => `uri${kept.push(text)}`);
  const note = '[Cut: 5 of 10 bytes of text are shown. Read on with read_result {"uri":"uri1?offset=5"}]';
  expect(shaped.content.at(-1)).toEqual({ type: "text", text: note });
  expect(shaped.value).toBe(`1234\n${note}`);
  expect(kept).toEqual(["1234\n5678\n"]);
  expect(shapeResult({ value: "€€€", content: [] }, limits(7), keep).value).toMatch(/^€€\n\[Cut: 6 of 9 bytes/);
  expect(() => shapeResult({ value: { rows: LONG }, content: [] }, limits(10), keep)).toThrowError(
    /RESULT_TOO_LARGE|more than 40 characters/,
  );
});

it("counts a number by its digits", () => {
  const numbers = (count: number) => ({ value: { numbers: Array<number>(count).fill(Math.PI) }, content: [] });
  expect(resultBytes(numbers(100))).toBeGreaterThan(JSON.stringify(numbers(100).value).length * 0.9);
  expect(shapeResult(numbers(1), limits(10), keep)).toEqual(numbers(1));
  expect(() => shapeResult(numbers(10), limits(10), keep)).toThrowError(/more than 40 characters/);
});

it("refuses data whose text is too long, as no part of JSON can be read, and keeps it", () => {
  const data = dataResult({ rows: ["1", "2"] });
  expect(shapeResult(data, { ...limits(100), textBytes: 18 }, keep)).toEqual(data);
  const refused = /more than 17 bytes: read it as JSON with read_result, uri uri:\{"rows":\["1","2"\]\}/;
  expect(() => shapeResult(data, { ...limits(100), textBytes: 17 }, keep)).toThrowError(refused);
});

describe("a notice", () => {
  const text = textResult("out");

  it("stands before a text, and as the first field of data", () => {
    expect(withNotice(["one", "two"], text)).toEqual({ ...text, content: [{ type: "text", text: "one\ntwo" }, ...text.content] });
    const { structured, content, value } = withNotice(["one"], dataResult({ rows: 1 }));
    expect(structured).toEqual({ note: "one", rows: 1 });
    expect([content, value]).toEqual([[{ type: "text", text: '{"note":"one","rows":1}' }], { rows: 1 }]);
  });

  it("leaves the rest of a result as it is", () => {
    expect(withNotice([], text)).toBe(text);
    const failed = errorResult(new BelljarError("FILE_NOT_FOUND", "gone"));
    expect(withNotice(["one"], failed)).toMatchObject({ isError: true, value: failed.value });
    expect(withNotice(["one"], { ...dataResult({}), isError: true })).toMatchObject({ isError: true });
  });
});

it("says of a failure whether the same call may succeed later", () => {
  expect(errorResult(new BelljarError("FILE_NOT_FOUND", "gone"))).toEqual({
    value: { code: "FILE_NOT_FOUND", message: "gone", retryable: false },
    content: [{ type: "text", text: "FILE_NOT_FOUND: gone" }],
    isError: true,
  });
});

it("says of a result that is too large that the call was made", () => {
  const large = { value: { rows: LONG }, content: [] };
  expect(() => shapeResult(large, limits(10), keep)).toThrowError(/do not make it again to see it; ask for less next time$/);
});

it("counts the content, the structure or the value, whichever holds most", () => {
  expect(resultBytes({ value: null, content: [] })).toBe(1);
  expect(resultBytes({ value: undefined, content: [] })).toBe(0);
  expect(
    resultBytes({
      value: "é",
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "éé" },
      ],
    }),
  ).toBe(5);
  expect(resultBytes({ value: "12345678", content: [{ type: "text", text: "a" }] })).toBe(8);
  expect(resultBytes({ value: { ab: [true, 12, null] }, content: [] })).toBe(1 + 2 + 1 + 3 + 1 + 2 + 1);
  const data = dataResult({ rows: "12345678" });
  expect(resultBytes({ ...data, content: [] })).toBe(1 + 4 + 8);
});

it("holds a structure to its characters, and one more is too many", () => {
  const data = (length: number) => ({ value: null, content: [], structured: { a: "x".repeat(length) } });
  expect(shapeResult(data(38), limits(10), keep)).toEqual(data(38));
  expect(() => shapeResult(data(39), limits(10), keep)).toThrowError(/more than 40 characters/);
});

it("cuts at the end of the last whole line", () => {
  expect([cutAtLine("ab\ncd\n", 6), cutAtLine("ab\ncd\n", 5), cutAtLine("ab\ncd\n", 3), cutAtLine("ab\ncd\n", 2)]).toEqual([
    "ab\ncd\n",
    "ab\n",
    "ab\n",
    "ab",
  ]);
  expect([cutAtLine("\nab", 1), cutAtLine("ab", -1)]).toEqual(["\n", ""]);
});

it("gives data that fits to the byte its place, and one more byte none", () => {
  const image = (length: number) => ({ type: "image" as const, data: "A".repeat(length), mimeType: "" });
  const own = "typedatamimeTypeimage".length + 1;
  const shown = (length: number) => shapeResult({ value: null, content: [image(length)] }, limits(1_000), keep).content[0]?.type;
  expect([shown(100 - own), shown(101 - own)]).toEqual(["image", "text"]);
});

it("shows all of a thousand parts", () => {
  const { content } = shapeResult({ value: null, content: Array(1_000).fill({ type: "text", text: "" }) }, limits(1_000), keep);
  expect(content).toHaveLength(1_000);
});
