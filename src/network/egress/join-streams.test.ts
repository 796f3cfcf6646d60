import { once } from "node:events";
import type { Socket } from "node:net";
import { connect, createServer } from "node:net";
import { Transform } from "node:stream";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { connectionPair } from "../../../test/support/connection-pair.ts";
import { openOrigin } from "../../../test/support/egress-lab.ts";
import type { FlowSummary } from "./flow.ts";
import { Flow } from "./flow.ts";
import type { JoinOptions } from "./join-streams.ts";
import { joinStreams } from "./join-streams.ts";
import { connectToOrigin } from "./origin-socket.ts";

const IDLE_MS = 1_000;
const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.on("error", () => undefined).destroy();
});

/** A program and an origin that are joined, with `isLent` over a connection as the gate makes it. */
async function joinPair({ isLent = false, ...filters }: Pick<JoinOptions, "toInside" | "toOutside"> & { readonly isLent?: boolean } = {}) {
  const [program, inside] = await connectionPair();
  const server = createServer({ allowHalfOpen: true });
  const listening = await openOrigin(server);
  const connected = once(server, "connection") as Promise<[Socket]>;
  const place = { host: "127.0.0.1", port: listening.port };
  const outside = isLent ? connectToOrigin(place.host, place.port) : connect({ ...place, allowHalfOpen: true });
  const [origin] = await connected;
  await once(outside, "connect");
  for (const socket of [program, inside, origin]) open.push(socket.on("error", () => undefined));
  for (const socket of [program, inside]) socket.allowHalfOpen = true;
  const ended: (FlowSummary | undefined)[] = [];
  const owner = {
    takeBytes: () => true,
    ended: (_flow: Flow, summary: FlowSummary | undefined) => void ended.push(summary),
    overdrawn: () => undefined,
  };
  const flow = new Flow(owner, { via: "connect", place: { host: "good.test", port: 443 } });
  joinStreams(flow, { inside, outside, idleMs: IDLE_MS, ...filters });
  return { program, inside, origin, outside, ended, [Symbol.asyncDispose]: () => listening[Symbol.asyncDispose]() };
}

async function readText(socket: Socket, length: number): Promise<string> {
  const chunks: Buffer[] = [];
  for (let size = 0; size < length;) {
    const [chunk] = (await once(socket, "data")) as [Buffer];
    chunks.push(chunk);
    size += chunk.length;
  }
  return Buffer.concat(chunks).toString();
}

const capitals = () => new Transform({ transform: (chunk: Buffer, _encoding, done) => done(null, chunk.toString().toUpperCase()) });
const closing = (socket: Socket) => new Promise<void>((resolve) => (socket.closed ? resolve() : socket.once("close", () => resolve())));

describe.each([true, false])("two streams, whose origin lends its reads: %s,", (isLent) => {
  it("carry bytes both ways, and count them", async () => {
    await using pair = await joinPair({ isLent });
    pair.program.write("hello");
    expect(await readText(pair.origin, 5)).toBe("hello");
    pair.origin.write("hi");
    expect(await readText(pair.program, 2)).toBe("hi");
    pair.program.end();
    await once(pair.origin.resume(), "end");
    pair.origin.end("later");
    expect(await readText(pair.program, 5)).toBe("later");
    await Promise.all([pair.inside, pair.outside].map(closing));
    expect(pair.ended).toMatchObject([{ verdict: "allowed", sentBytes: 5, receivedBytes: 7 }]);
  });

  it("carry what comes after the origin has ended its side", async () => {
    await using pair = await joinPair({ isLent });
    pair.origin.end("bye");
    expect(await readText(pair.program, 3)).toBe("bye");
    await once(pair.program.resume(), "end");
    pair.program.end("last");
    expect(await readText(pair.origin, 4)).toBe("last");
    await Promise.all([pair.inside, pair.outside].map(closing));
    expect(pair.ended).toHaveLength(1);
  });

  it.each(["program", "origin"] as const)("end together when the %s breaks off", async (side) => {
    await using pair = await joinPair({ isLent });
    pair[side].resetAndDestroy();
    await Promise.all([pair.inside, pair.outside].map(closing));
    expect(pair.ended).toHaveLength(1);
  });
});

it("pass bytes through the filter of each direction", async () => {
  await using pair = await joinPair({ toOutside: capitals(), toInside: capitals() });
  pair.program.write("hello");
  expect(await readText(pair.origin, 5)).toBe("HELLO");
  pair.origin.write("hi");
  expect(await readText(pair.program, 2)).toBe("HI");
});

it.each(["toOutside", "toInside"] as const)("end when the filter %s fails", async (name) => {
  const broken = new Transform({ transform: (_chunk, _encoding, done) => done(new Error("found")) });
  await using pair = await joinPair({ [name]: broken });
  (name === "toOutside" ? pair.program : pair.origin).write("x");
  await Promise.all([pair.inside, pair.outside].map(closing));
  expect(pair.ended).toHaveLength(1);
});

describe("idle streams", () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => vi.useRealTimers());

  it("end when no byte has moved for the time, in either direction", async () => {
    await using pair = await joinPair();
    for (const [from, to] of [
      [pair.program, pair.origin],
      [pair.origin, pair.program],
    ] as const) {
      vi.advanceTimersByTime(IDLE_MS - 1);
      from.write("x");
      await readText(to, 1);
    }
    vi.advanceTimersByTime(IDLE_MS - 1);
    expect([pair.inside.destroyed, pair.ended]).toEqual([false, []]);
    vi.advanceTimersByTime(1);
    await Promise.all([pair.inside, pair.outside].map(closing));
    expect([pair.ended.length, vi.getTimerCount()]).toEqual([1, 0]);
  });
});
