import { EventEmitter, once } from "node:events";
import { expect, it } from "vitest";
import { BelljarError } from "../../../../errors.ts";
import type { ExecExit } from "../../../../sandbox/sandbox.ts";
import { Broadcast } from "./broadcast.ts";
import type { Listener, Output } from "./broadcast.ts";

const never = new AbortController().signal;
const exit: ExecExit = { exitCode: 3, timedOut: false } as ExecExit;
const FULL = 524_288;

function output(bytes: number): Output {
  return { kind: "stdout", bytes: Buffer.alloc(bytes) };
}

/** What the process is told, in order. */
function open(stallMs?: number) {
  const told: string[] = [];
  const events = new EventEmitter();
  const tell = (what: string) => () => {
    told.push(what);
    events.emit(what);
  };
  const broadcast = new Broadcast({ pause: tell("pause"), resume: tell("resume") }, stallMs);
  return { broadcast, told, events };
}

async function takeAll(listener: Listener): Promise<number> {
  for (let bytes = 0; ;) {
    const next = await listener.take(never);
    if (next === undefined || !("kind" in next)) return bytes;
    bytes += next.bytes.length;
  }
}

it("gives each listener what comes from its time on, then how the process ended", async () => {
  const { broadcast } = open();
  const first = broadcast.listen();
  broadcast.send(output(1));
  const second = broadcast.listen();
  broadcast.send(output(2));
  broadcast.end({ exit });
  expect([await takeAll(first), await takeAll(second)]).toEqual([3, 2]);
  expect([await first.take(never), await first.take(never)], "the end stays").toEqual([exit, exit]);
});

it("tells the failure that ended the output, behind the output", async () => {
  const { broadcast } = open();
  const listener = broadcast.listen();
  broadcast.send(output(1));
  broadcast.end({ error: new BelljarError("SANDBOX_ENDED", "it has ended") });
  broadcast.end({ exit });
  expect(await listener.take(never)).toMatchObject({ kind: "stdout" });
  await expect(listener.take(never)).rejects.toMatchObject({ code: "SANDBOX_ENDED" });
});

it("has the process wait while a listener is full, and go on when that has taken some or has gone", async () => {
  const { broadcast, told } = open();
  const slow = broadcast.listen();
  broadcast.send(output(FULL - 1));
  expect(told).toEqual([]);
  broadcast.send(output(1));
  broadcast.send(output(1));
  expect(told).toEqual(["pause"]);
  await slow.take(never);
  expect(told).toEqual(["pause", "resume"]);
  broadcast.send(output(FULL));
  slow[Symbol.dispose]();
  expect([told, broadcast.size]).toEqual([["pause", "resume", "pause", "resume"], 0]);
});

it("drops a listener that stands still where others wait, and tells it so", async () => {
  const { broadcast, events } = open(1);
  const [slow, quick] = [broadcast.listen(), broadcast.listen()];
  const resumed = once(events, "resume");
  broadcast.send(output(FULL));
  await quick.take(never);
  await resumed;
  expect(broadcast.size).toBe(1);
  await expect(slow.take(never)).rejects.toMatchObject({ code: "SERVER_BUSY" });
  broadcast.send(output(5));
  broadcast.end({ exit });
  expect(await takeAll(quick)).toBe(5);
});

it("wakes one that waits when its client goes", async () => {
  const { broadcast } = open();
  const client = new AbortController();
  const taken = broadcast.listen().take(client.signal);
  client.abort();
  expect(await taken).toBeUndefined();
});
