import { randomBytes, randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { BelljarError } from "../errors.ts";
import { LINE_MAX_BYTES, parseAuditLine, serialiseFields, toHead, toLine } from "./audit-line.ts";

const MAC = "0123456789abcdef".repeat(4);

function lineOf(fields: Readonly<Record<string, unknown>>, sequence = 1): Buffer {
  const text = serialiseFields({ at: "2026-01-01T00:00:00.000Z", kind: "call", ...fields });
  return Buffer.from(toLine(toHead(sequence, text), MAC)).subarray(0, -1);
}

it("reads what was written", () => {
  const fields = { tool: "a\u2028\u202e\ud800\u{e0041} ü", mac: "none of the line", nested: { mac: [1] } };
  expect(parseAuditLine(lineOf(fields, 7))).toMatchObject({ sequence: 7, kind: "call", mac: MAC, fields });
});

it("cuts long texts until the line has an allowed length", () => {
  const line = lineOf({ tool: "\u2028".repeat(100_000), arguments: "x".repeat(1_000_000) });
  expect(line.length).toBeLessThan(LINE_MAX_BYTES);
  expect(parseAuditLine(line).fields["tool"]).toBe("\u2028".repeat(1_000));
});

const WHOLE = lineOf({ tool: "a" });
const withText = (change: (text: string) => string): Buffer => Buffer.from(change(WHOLE.toString()));

it.each([
  ["nothing", Buffer.alloc(0)],
  ["a newline more", withText((text) => `${text}\n`)],
  ["no MAC", withText((text) => text.replace(/,"mac".*/, "}"))],
  ["a MAC in capitals", withText((text) => text.replace(MAC, MAC.toUpperCase()))],
  ["a field behind the MAC", withText((text) => text.replace(/\}$/, ',"x":1}'))],
  ["a space more", withText((text) => text.replace(/\}$/, " }"))],
  ["a list", withText((text) => `[${text}]`)],
  ["two objects", withText((text) => text + text)],
  ["a sequence of 0", withText((text) => text.replace('"sequence":1', '"sequence":0'))],
  ["a sequence that is no whole number", withText((text) => text.replace('"sequence":1', '"sequence":1.5'))],
  ["no kind", withText((text) => text.replace('"kind"', '"kin"'))],
  ["invalid UTF-8", Buffer.concat([WHOLE.subarray(0, 20), Buffer.from([0xff]), WHOLE.subarray(20)])],
  ["a byte order mark", Buffer.concat([Buffer.from("\ufeff"), WHOLE])],
  ["deep nesting", withText((text) => text.replace('"tool":"a"', `"tool":${"[".repeat(30_000)}${"]".repeat(30_000)}x`))],
  ["too many bytes", withText((text) => text.replace('"a"', `"${"a".repeat(LINE_MAX_BYTES)}"`))],
])("refuses %s", (_what, bytes) => {
  expect(() => parseAuditLine(bytes)).toThrowError(expect.objectContaining({ code: "AUDIT_DAMAGED" }));
});

/** Returns the error, unless it is a foreseen failure. */
function faultOf(bytes: Buffer): unknown {
  try {
    parseAuditLine(bytes);
    return undefined;
  } catch (error) {
    return error instanceof BelljarError ? undefined : error;
  }
}

it("throws no other error, whatever the bytes are", () => {
  for (let round = 0; round < 5_000; round += 1) {
    const bytes = Buffer.from(WHOLE);
    for (let change = randomInt(1, 5); change > 0; change -= 1) bytes.writeUInt8(randomInt(256), randomInt(bytes.length));
    const part = round % 10 === 0 ? randomBytes(randomInt(300)) : bytes.subarray(round % 3 === 0 ? randomInt(bytes.length) : 0);
    expect(faultOf(part), part.toString("hex")).toBeUndefined();
  }
});
