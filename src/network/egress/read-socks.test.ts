import { afterEach, describe, expect, it } from "vitest";
import { connectionPair } from "../../../test/support/connection-pair.ts";
import { readUntil } from "../../../test/support/egress-lab.ts";
import type { Place } from "./refusal.ts";
import { Refusal } from "./refusal.ts";
import { readSocksRequest, SOCKS_ANSWER } from "./socks.ts";

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

const NAME = "good.test";
const GREETING = [5, 1, 0];
const toName = (name: string, port: readonly number[]): number[] => [5, 1, 0, 3, name.length, ...Buffer.from(name), ...port];
const hex = (text: string): string => Buffer.from(text, "latin1").toString("hex");

/** What the server reads of a client that sends this, in these pieces. */
async function ask(...pieces: readonly (readonly number[])[]) {
  const [client, server] = await connectionPair();
  for (const socket of [client, server]) open.push(() => void socket.on("error", () => {}).destroy());
  const read = readSocksRequest(server, 20_000);
  for (const piece of pieces) {
    client.write(Buffer.from(piece));
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { client, server, place: await read };
}

describe("a SOCKS request", () => {
  it.each<[what: string, request: readonly number[], place: Place]>([
    ["a name", toName(NAME, [1, 187]), { host: NAME, port: 443 }],
    ["a name in capitals", toName("GOOD.test", [0, 80]), { host: NAME, port: 80 }],
    ["a name of one character", toName("a", [255, 255]), { host: "a", port: 65_535 }],
    ["an IPv4 address", [5, 1, 0, 1, 1, 2, 3, 4, 0, 80], { host: "1.2.3.4", port: 80 }],
    [
      "an IPv6 address",
      [5, 1, 0, 4, 0x20, 1, 0xd, 0xb8, ...Array.from({ length: 11 }, () => 0), 0x1f, 0, 80],
      { host: "2001:db8::1f", port: 80 },
    ],
  ])("for %s is read in any pieces, and takes no byte behind it", async (_what, request, place) => {
    const all = [...GREETING, ...request, ...Buffer.from("ping")];
    for (const pieces of [[all], [GREETING, request, [...Buffer.from("ping")]], all.map((byte) => [byte])]) {
      const asked = await ask(...pieces);
      expect(asked.place).toEqual(place);
      expect(await readUntil(asked.server, "ping")).toBe("ping");
      expect(hex(await readUntil(asked.client, "\u0005\u0000"))).toBe("0500");
    }
  });

  it.each([
    ["no host", toName("", [0, 80])],
    ["no port", toName(NAME, [0, 0])],
    ["a host that is none", toName("a b", [0, 80])],
  ])("with %s is refused", async (_what, request) => {
    const { place } = await ask(GREETING, request);
    expect(place).toBeInstanceOf(Refusal);
    expect(place).toMatchObject({ reason: "bad-request" });
  });

  it.each<[what: string, answer: string, pieces: readonly (readonly number[])[]]>([
    ["of another version", "05ff", [[4, 1, 0, 80, 1, 1, 1, 1, 0]]],
    ["without a method", "05ff", [[5, 0]]],
    ["with a password", "05ff", [[5, 1, 2]]],
    ["whose second message has another version", "050005070001000000000000", [GREETING, [4, 1, 0, 1, 1, 1, 1, 1, 0, 80]]],
    ["to listen", "050005070001000000000000", [GREETING, [5, 2, 0, 1, 1, 1, 1, 1, 0, 80]]],
    ["for another kind of address", "050005080001000000000000", [GREETING, [5, 1, 0, 2, 1, 1, 1, 1, 0, 80]]],
  ])("%s is answered, and ended", async (_what, answer, pieces) => {
    const { client, place } = await ask(...pieces);
    expect(place).toBeUndefined();
    const chunks: Buffer[] = [];
    for await (const chunk of client) chunks.push(chunk as Buffer);
    expect(Buffer.concat(chunks).toString("hex")).toBe(answer);
  });
});

it("answers by the reply of the refusal", async () => {
  const [client, server] = await connectionPair();
  SOCKS_ANSWER.accept(server);
  SOCKS_ANSWER.refuse(server, new Refusal("connection-refused", "text"));
  const chunks: Buffer[] = [];
  for await (const chunk of client) chunks.push(chunk as Buffer);
  expect(Buffer.concat(chunks).toString("hex")).toBe("05000001000000000000" + "05050001000000000000");
});
