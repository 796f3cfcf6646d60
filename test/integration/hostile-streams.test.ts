import { Readable } from "node:stream";
import type { Transform } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createResponseMask } from "../../src/network/secrets/response-mask.ts";

const VALUES = ["sk-3f+Ab/c9=Z", "ghp_0123456789abcdef", `pass"word\\<&>'`, "AKIA/5é8+Qz", "xoxb-77-88-99-aZ"];
const PLACEHOLDER = `belljar_secret_${"a".repeat(26)}`;
const TOKENS = [
  "&#",
  "&#x",
  "%5C",
  "%25",
  "\\x",
  "\\u00",
  "\\",
  "%",
  "&amp;",
  "=",
  "s",
  "k",
  "-",
  "0",
  "1",
  "2",
  "3",
  "5",
  "6",
  "7",
  ";",
  "x",
  "u",
];

/** The same each time, and in no order. */
function escapeTokens(length: number): Buffer {
  const parts: string[] = [];
  for (let state = 1, size = 0; size < length; size += parts.at(-1)?.length ?? 1) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    parts.push(TOKENS[(state >> 8) % TOKENS.length] ?? "");
  }
  return Buffer.from(parts.join("").slice(0, length));
}

/** The most processor time, in milliseconds, between two turns of the loop until these streams have passed on the bytes. */
async function longestHold(streams: readonly Transform[], bytes: Buffer): Promise<number> {
  let isDone = false;
  const passed = Promise.all(streams.map((stream) => buffer(Readable.from([bytes]).pipe(stream)))).then(() => (isDone = true));
  let most = 0;
  for (let before = process.cpuUsage(); !isDone; before = process.cpuUsage()) {
    // oxlint-disable-next-line no-await-in-loop
    await nextTurn();
    const { user, system } = process.cpuUsage(before);
    most = Math.max(most, (user + system) / 1000);
  }
  await passed;
  return most;
}

function openMask(values = VALUES) {
  return createResponseMask(values.map((value) => ({ value, placeholder: PLACEHOLDER })));
}

describe("hostile contents", () => {
  const contents = escapeTokens(262_144);

  it("in a body do not hold the loop", async () => {
    expect(await longestHold([openMask().body()], contents)).toBeLessThan(200);
  });

  it("in a WebSocket do not hold the loop", async () => {
    const frame = Buffer.concat([Buffer.of(0x82, 127, 0, 0, 0, 0, 0, 4, 0, 0), contents]);
    expect(await longestHold([openMask().upgraded()], frame)).toBeLessThan(200);
  });

  it("among starts of many values that begin alike do not hold the loop", async () => {
    const values = Array.from({ length: 64 }, (_, index) => `sk-project-key-${String(index).padStart(3, "0")}-${"z".repeat(10)}`);
    const starts = contents.subarray(0, 16_384).toString().replaceAll(";", "sk-project-key-0");
    expect(await longestHold([openMask(values).body()], Buffer.from(starts))).toBeLessThan(200);
  });

  it("in many answers at once do not hold the loop", async () => {
    const streams = Array.from({ length: 20 }, () => openMask().body());
    expect(await longestHold(streams, contents.subarray(0, 16_384))).toBeLessThan(200);
  });
});
