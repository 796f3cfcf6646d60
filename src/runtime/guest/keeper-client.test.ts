import { Duplex } from "node:stream";
import { expect, it } from "vitest";
import type { Head } from "../../protocol/head.ts";
import { encodeFields, type Field } from "../../protocol/fields.ts";
import { encodeFrame } from "../../protocol/frames.ts";
import { HeadDecoder } from "../../protocol/head.ts";
import { FRAME, DEADLINE_ACTION, OPERATION } from "../../protocol/wire.ts";
import { createKeeperClient, parseReason, type KeeperClient } from "./keeper-client.ts";

const STATUS: readonly Field[] = [
  ["PHASE", 2],
  ["DEADLINE_MS", 1_800_000_000_000],
  ["MEMORY", 1],
  ["MEMORY_PEAK", 2],
  ["CPU_US", 3],
  ["PROCESSES_COUNT", 4],
  ["OOM_KILLS", 5],
  ["ACTION", 1],
];

/** A keeper that answers each request with a REPLY, and records the requests. */
function keeper(answer: readonly Field[]): { readonly client: KeeperClient; readonly asked: Head[] } {
  const asked: Head[] = [];
  const client = createKeeperClient(async () => {
    const decoder = new HeadDecoder();
    const stream: Duplex = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        const whole = decoder.push(chunk);
        if (whole) asked.push(whole.head);
        if (whole) stream.push(encodeFrame(FRAME.REPLY, 0, encodeFields(answer)));
        done();
      },
    });
    return stream;
  });
  return { client, asked };
}

const signal = (): AbortSignal => AbortSignal.timeout(5_000);

it("reads a status", async () => {
  const usage = await keeper(STATUS).client.status(signal());
  expect(usage).toEqual({
    memoryBytes: 1,
    memoryPeakBytes: 2,
    cpuUs: 3,
    processes: 4,
    oomKills: 5,
    phase: "paused",
    deadlineAction: "kill",
    deadline: new Date(1_800_000_000_000),
  });
});

it("reads why a sandbox is paused, and what it took before", async () => {
  const paused: readonly Field[] = [...STATUS, ["REASON", "idle"], ["MEMORY_AWAKE", 9]];
  expect(await keeper(paused).client.status(signal())).toMatchObject({ pauseReason: "idle", memoryAwakeBytes: 9 });
  const unknown: readonly Field[] = [...STATUS, ["REASON", "lazy"], ["MEMORY_AWAKE", 9]];
  await expect(keeper(unknown).client.status(signal())).rejects.toMatchObject({ code: "GUEST_PROTOCOL" });
});

it("sets the idle time, and removes it with 0", async () => {
  const { client, asked } = keeper([]);
  await client.sleepAfter(1_500, signal());
  await client.sleepAfter(undefined, signal());
  const said = asked.map((head) => [head.operation, head.fields.number("IDLE_MS")]);
  expect(said).toEqual([
    [OPERATION.KEEPER_SLEEP, 1_500],
    [OPERATION.KEEPER_SLEEP, 0],
  ]);
});

it("sets the deadline, and removes it with 0", async () => {
  const { client, asked } = keeper([]);
  await client.extend(new Date(1_900_000_000_000), "stop", signal());
  await client.extend(undefined, undefined, signal());
  expect(asked.map((head) => [head.operation, head.fields.number("DEADLINE_MS"), head.fields.number("ACTION")])).toEqual([
    [OPERATION.KEEPER_EXTEND, 1_900_000_000_000, DEADLINE_ACTION.STOP],
    [OPERATION.KEEPER_EXTEND, 0, undefined],
  ]);
});

it("kills with a reason, and reads the reason of an end", async () => {
  const { client, asked } = keeper([["REASON", "deadline"]]);
  await client.kill("killed", signal());
  expect(asked[0]?.fields.text("REASON")).toBe("killed");
  expect((await client.wait(signal())).reason).toBe("deadline");
});

it("refuses an unknown reason, an unknown phase and an unknown action", async () => {
  await expect(keeper([...STATUS.slice(0, -1), ["ACTION", 9]]).client.status(signal())).rejects.toMatchObject({ code: "GUEST_PROTOCOL" });
  expect(() => parseReason("because")).toThrow(expect.objectContaining({ code: "GUEST_PROTOCOL" }));
  await expect(keeper([...STATUS.slice(1), ["PHASE", 9]]).client.status(signal())).rejects.toMatchObject({ code: "GUEST_PROTOCOL" });
});
