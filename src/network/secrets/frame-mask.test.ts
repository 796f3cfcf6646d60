import { describe, expect, it } from "vitest";
import { createPlaceholder } from "./placeholder.ts";
import { createResponseMask } from "./response-mask.ts";

const VALUE = "sk-planted-0123456789abcdef";
const MASKED = VALUE.length;

/** One frame of a server, with this first byte. */
function frame(content: string | Buffer, first = 0x81): Buffer {
  const bytes = Buffer.from(content);
  const { length } = bytes;
  if (length < 126) return Buffer.concat([Buffer.from([first, length]), bytes]);
  const head =
    length < 65_536
      ? Buffer.from([first, 126, length >> 8, length & 255])
      : Buffer.from([first, 127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255]);
  return Buffer.concat([head, bytes]);
}

/** All that comes out, or the error. */
async function mask(...chunks: readonly Buffer[]): Promise<Buffer> {
  const stream = createResponseMask([{ value: VALUE, placeholder: createPlaceholder() }]).upgraded();
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const bytewise = (bytes: Buffer): readonly Buffer[] => [...bytes].map((byte) => Buffer.from([byte]));

describe("frames without a value", () => {
  it.each([0, 1, 125, 126, 127, 65_535, 65_536])("of %i bytes pass unchanged", async (length) => {
    const bytes = Buffer.concat([frame("x".repeat(length)), frame(Buffer.alloc(length, 1), 0x82), frame("bye", 0x88)]);
    expect(await mask(bytes)).toEqual(bytes);
    expect(await mask(...bytewise(bytes.subarray(0, 300)), bytes.subarray(300))).toEqual(bytes);
  });

  it("pass if a message has many, with pings between", async () => {
    const bytes = Buffer.concat([
      frame("a", 0x01),
      frame("ping", 0x89),
      frame("", 0x00),
      frame("b", 0x00),
      frame("pong", 0x8a),
      frame("c", 0x80),
    ]);
    expect(await mask(bytes)).toEqual(bytes);
    expect(await mask(...bytewise(bytes))).toEqual(bytes);
  });

  it("pass with a control frame of 125 bytes", async () => {
    const bytes = frame("x".repeat(125), 0x89);
    expect(await mask(bytes)).toEqual(bytes);
  });
});

describe("a value is masked, and every frame keeps its length,", () => {
  const contentOf = (bytes: Buffer): string => bytes.toString("latin1");

  it("in one frame", async () => {
    const out = await mask(frame(`key ${VALUE}.`));
    expect(out).toHaveLength(frame(`key ${VALUE}.`).length);
    expect([...out.subarray(0, 2)]).toEqual([0x81, MASKED + 5]);
    expect(contentOf(out)).not.toContain("planted");
    expect(contentOf(out)).toMatch(/key .*\.$/);
  });

  it("at each place where a message is cut into two frames, with another one between", async () => {
    for (let cut = 0; cut <= MASKED; cut += 1) {
      const [head, tail] = [frame(VALUE.slice(0, cut), 0x01), frame(VALUE.slice(cut), 0x80)];
      const ping = frame("ping", 0x89);
      const out = await mask(Buffer.concat([head, ping, tail, frame("after")]));
      expect(out).toHaveLength(head.length + ping.length + tail.length + 7);
      expect([out[0], out[1]], String(cut)).toEqual([0x01, cut]);
      expect(out.subarray(2 + cut, 8 + cut)).toEqual(ping);
      expect([out[8 + cut], out[9 + cut]]).toEqual([0x80, MASKED - cut]);
      expect(contentOf(out)).not.toMatch(/plan|nted-|sk-p/);
      expect(contentOf(out).endsWith("after")).toBe(true);
    }
  });

  it("in a control frame", async () => {
    const out = await mask(frame(VALUE, 0x89), frame("a"));
    expect(contentOf(out)).not.toContain("planted");
    expect(out).toHaveLength(2 + MASKED + 3);
  });

  it("but not over the end of a message", async () => {
    const bytes = Buffer.concat([frame(VALUE.slice(0, 14)), frame(VALUE.slice(14))]);
    expect(await mask(bytes)).toEqual(bytes);
  });
});

describe("the stream breaks", () => {
  it.each([
    ["a compressed frame", Buffer.from([0xc1, 0]), "compresses"],
    ["another extension", Buffer.from([0x91, 0]), "compresses"],
    ["a masked frame", Buffer.from([0x81, 0x80, 1, 2, 3, 4]), "masks its frames"],
    ["an unknown kind of content", Buffer.from([0x83, 0]), "sends invalid frames"],
    ["an unknown kind of control", Buffer.from([0x8b, 0]), "sends invalid frames"],
    ["a control frame in parts", Buffer.from([0x09, 0]), "sends invalid frames"],
    ["a control frame of 126 bytes", Buffer.from([0x89, 126, 0, 126]), "sends invalid frames"],
    ["a frame that never ends", Buffer.from([0x82, 127, 0x00, 0x20, 0, 0, 0, 0, 0, 0]), "has no end"],
  ])("at %s", async (_what, bytes, why) => {
    await expect(mask(bytes)).rejects.toMatchObject({ code: "NOT_SUPPORTED", message: expect.stringContaining(why) as string });
  });

  it("at a message in too many frames whose bytes are held back", async () => {
    const held = [frame("sk-plan", 0x01), ...Array.from({ length: 600 }, () => frame("", 0x00))];
    await expect(mask(Buffer.concat(held))).rejects.toMatchObject({ message: expect.stringContaining("too many frames") as string });
    const few = [frame("sk-plan", 0x01), ...Array.from({ length: 500 }, () => frame("", 0x00)), frame("x", 0x80)];
    expect(await mask(Buffer.concat(few))).toEqual(Buffer.concat(few));
  });
});
