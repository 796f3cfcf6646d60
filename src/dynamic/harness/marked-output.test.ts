import { expect, it } from "vitest";
import { MarkedOutput } from "./marked-output.ts";

const MARK = "0123456789abcdef";

function read(text: string, size: number): { readonly text: string; readonly status: number | undefined } {
  let taken = "";
  const output = new MarkedOutput(MARK, (chunk) => (taken += chunk.toString()));
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) output.push(bytes.subarray(at, at + size));
  return { text: taken, status: output.status };
}

it.each([1, 2, 7, 16, 17, 1_000])("gives what stands before the mark, in pieces of %i bytes", (size) => {
  const text = `one ${MARK.slice(0, 9)} two ${MARK.slice(0, 15)}${MARK.slice(0, 3)}`;
  expect(read(`${text}${MARK} 00256left`, size)).toEqual({ text, status: 256 });
});

it("gives at once what cannot belong to the mark", () => {
  const taken: string[] = [];
  const output = new MarkedOutput(MARK, (chunk) => taken.push(chunk.toString()));
  for (const piece of ["a line\n", `the next ${MARK.slice(0, 5)}`, "no mark"]) output.push(Buffer.from(piece));
  expect(taken).toEqual(["a line\n", "the next ", `${MARK.slice(0, 5)}no mark`]);
});

it("has no status before all of it has come", () => {
  expect(read(`out${MARK} 0025`, 5)).toEqual({ text: "out", status: undefined });
});

it("takes what is no number for a success", () => {
  expect(read(`${MARK} abcde`, 4)).toEqual({ text: "", status: 0 });
});
