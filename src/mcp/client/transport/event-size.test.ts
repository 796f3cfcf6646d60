import { expect, it } from "vitest";
import { BelljarError } from "../../../errors.ts";
import { EventSize } from "./event-size.ts";
import { MESSAGE_MAX_BYTES } from "./message-lines.ts";

const newSize = (): EventSize => new EventSize(() => new BelljarError("RESULT_TOO_LARGE", "too large"));
const VALUES = `data: [${"[],".repeat(120_000)}0]`;

it.each(["\n\n", "\r\n\r\n", "\r\r", "\n\r\n"])("counts each event alone that ends with %j, wherever the bytes are cut", (end) => {
  const bytes = Buffer.from(`${VALUES}${end}`.repeat(3));
  for (const piece of [bytes.length, 4_099, 1]) {
    const size = newSize();
    let tokens = 0;
    for (let at = 0; at < bytes.length; at += piece) tokens += size.add(bytes.subarray(at, at + piece));
    expect(tokens).toBe(3 * (3 * 120_000 + 2 + 25));
  }
});

it.each([
  ["values on one line", `${VALUES}${VALUES}`],
  ["values on two lines", `${VALUES}\n${VALUES}\r\n`],
  ["values behind a line that ends in a text", `: "\n${VALUES},${VALUES}`],
  ["bytes", "x".repeat(MESSAGE_MAX_BYTES + 1)],
])("refuses an event of too many %s", (_what, text) => {
  expect(() => newSize().add(Buffer.from(text))).toThrow("too large");
});
