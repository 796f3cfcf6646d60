import { deepStrictEqual, equal } from "node:assert/strict";
import { parseClientHello } from "../../../src/network/egress/client-hello.ts";
import { pureTarget } from "../fuzz-target.ts";

const SEED = Buffer.from(
  "16030100440100004003030000000000000000000000000000000000000000000000000000000000000000000002130101000015000000080006000003612e6200",
  "hex",
);

/** The first bytes of TLS. What was read stays read when more bytes come, and no part of a hello is another one. */
export const clientHello = pureTarget({
  seeds: [SEED],
  words: [Buffer.from([0x16, 3, 1]), Buffer.from([0xfe, 0x0d]), Buffer.from([0, 0]), Buffer.from([0, 16]), "example.com"],
  run(input) {
    const whole = parseClientHello(input);
    if (whole.kind === "hello") deepStrictEqual(parseClientHello(Buffer.concat([input, Buffer.from("more")])), whole);
    for (let length = 0; length < Math.min(input.length, 600); length += 1 + (length >> 4)) {
      const part = parseClientHello(input.subarray(0, length));
      if (part.kind === "hello") deepStrictEqual(part, whole);
      if (part.kind === "other") equal(whole.kind, "other");
    }
  },
});
