import { Duplex } from "node:stream";
import { createGuest } from "../../../src/runtime/guest/create-guest.ts";
import type { Guest } from "../../../src/runtime/guest/guest.ts";
import { encodeFields } from "../../../src/protocol/fields.ts";
import { encodeFrame } from "../../../src/protocol/frames.ts";
import { FRAME } from "../../../src/protocol/wire.ts";
import { pureTarget } from "../fuzz-target.ts";
import { codeOf } from "./refused.ts";

type Call = (guest: Guest, signal: AbortSignal) => Promise<unknown>;

const CALLS: readonly Call[] = [
  (guest, signal) => guest.run({ argv: ["true"], signal }),
  (guest, signal) => guest.files.stat("/x", { signal }),
  (guest, signal) => guest.files.read("/x", { signal, maxBytes: 1_024 }),
  (guest, signal) => takeAll(guest.files.list("/x", { signal })),
  (guest, signal) => guest.files.write("/x", "text", { signal }),
  (guest, signal) => guest.files.listXattrs("/x", { signal }),
  (guest, signal) => guest.processes(signal),
  (guest, signal) => guest.usage(signal),
  (guest, signal) => guest.ping(signal),
  async (guest, signal) => takeAll(await guest.files.watch("/x", { signal })),
  async (guest, signal) => (await guest.dial(80, signal)).destroy(),
];

const reply = encodeFrame(FRAME.REPLY, 0, encodeFields([["SIZE", 5], ["MODE", 0o644], ["PATH", "x"]])); // prettier-ignore

/** A guest that was taken over: the first byte chooses what it is asked, the rest is all that it says. Every call settles, with an error of the table. */
export const guestAnswers = pureTarget({
  seeds: CALLS.flatMap((_call, index) => [
    Buffer.concat([Buffer.from([index]), reply, encodeFrame(FRAME.END, 0)]),
    Buffer.concat([
      Buffer.from([index]),
      encodeFrame(FRAME.STARTED, 0),
      encodeFrame(FRAME.DATA, 1, Buffer.from("out")),
      encodeFrame(FRAME.EXIT, 0, Buffer.alloc(36)),
    ]),
    Buffer.concat([Buffer.from([index]), encodeFrame(FRAME.ERROR, 0, Buffer.from([0, 3, 0, 0, 110, 111]))]),
  ]),
  words: Object.values(FRAME).map((type) => Buffer.from([type, 0, 0, 0, 0, 0, 0, 0])),
  async run(input) {
    const call = CALLS[(input[0] ?? 0) % CALLS.length];
    await call?.(lyingGuest(input.subarray(1)), new AbortController().signal).catch(codeOf);
  },
});

/** Reads the request and answers with these bytes. */
function lyingGuest(answer: Buffer): Guest {
  return createGuest(async () => {
    const stream: Duplex = new Duplex({
      read() {},
      write(_chunk, _encoding, done) {
        if (!stream.readableEnded && !stream.destroyed) {
          stream.push(answer);
          stream.push(null);
        }
        done();
      },
    });
    return stream;
  });
}

async function takeAll(rows: AsyncIterable<unknown>): Promise<void> {
  for await (const row of rows) void row;
}
