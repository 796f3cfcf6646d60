import { expect, it } from "vitest";
import { cutAtLine, shapeResult } from "./result.ts";

const keep = (text: string): string => `uri:${text}`;

it("leaves a text that fits alone", () => {
  const result = { content: [{ type: "text" as const, text: "abc" }] };
  expect(shapeResult(result, 3, keep)).toBe(result);
});

it("cuts a single long line between two characters", () => {
  expect(cutAtLine("€€€", 7)).toBe("€€");
  expect(cutAtLine("abc", 0)).toBe("");
});

it("keeps images and leaves out texts for which there is no room", () => {
  const image = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
  const shaped = shapeResult({ content: [{ type: "text", text: "12345678" }, image, { type: "text", text: "more" }] }, 8, keep);
  expect(shaped.content).toEqual([
    { type: "text", text: "12345678" },
    image,
    { type: "text", text: "[Cut: 8 of 12 bytes of text are shown. Read on with read_result, or at uri:12345678more?offset=8]" },
  ]);
});
