import { expect, it } from "vitest";
import { BelljarError } from "../../../errors.ts";
import { EventStream } from "./event-stream.ts";
import { MESSAGE_MAX_BYTES } from "./message-lines.ts";

const tooLarge = () => new BelljarError("RESULT_TOO_LARGE", "too large");
const BYTES = Buffer.from(
  ': hello\n\nevent: message\nid: 7\ndata: {"a":"é"}\n\nretry: 1\r\ndata:one\r\ndata: two\r\n\r\ndata:\n\ndata: cut',
);
const EVENTS = ['{"a":"é"}', "one\ntwo", ""];

it("gives the same events wherever the bytes are cut", () => {
  for (let size = 1; size <= BYTES.length; size += 1) {
    const events = new EventStream(tooLarge);
    const found: string[] = [];
    for (let at = 0; at < BYTES.length; at += size) found.push(...events.read(BYTES.subarray(at, at + size)));
    expect(found).toEqual(EVENTS);
  }
});

it("refuses an event that is too large, as one line and as many, and takes many small ones", () => {
  const megabyte = Buffer.from(`data: ${"x".repeat(1_048_576)}`);
  const small = new EventStream(tooLarge);
  for (let count = 0; count < 20; count += 1) expect([...small.read(Buffer.concat([megabyte, Buffer.from("\n\n")]))]).toHaveLength(1);
  for (const end of ["", "\n"]) {
    const events = new EventStream(tooLarge);
    const feed = (): void => {
      for (let bytes = 0; bytes <= MESSAGE_MAX_BYTES; bytes += megabyte.length) {
        const found = [...events.read(Buffer.concat([megabyte, Buffer.from(end)]))];
        expect(found).toEqual([]);
      }
    };
    expect(feed).toThrow("too large");
  }
});

it("refuses an event of very many values, and takes many of few", () => {
  const values = Buffer.from("data: [[],[],[],[]]\n");
  const small = new EventStream(tooLarge);
  for (let count = 0; count < 50_000; count += 1) expect([...small.read(Buffer.concat([values, Buffer.from("\n")]))]).toHaveLength(1);
  const large = new EventStream(tooLarge);
  expect(() => {
    for (let count = 0; count < 50_000; count += 1) large.read(values).next();
  }).toThrow("too large");
});
