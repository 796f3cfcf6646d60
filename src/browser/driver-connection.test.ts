import { once } from "node:events";
import { PassThrough, type Duplex } from "node:stream";
import * as z from "zod";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { connectionPair } from "../../test/support/connection-pair.ts";
import { BelljarError } from "../errors.ts";
import type { ExecExit, KeptProcess } from "../sandbox/sandbox.ts";
import { defineAction } from "./actions/action.ts";
import { DriverConnection } from "./driver-connection.ts";
import { FrameReader, toFrame } from "./frames.ts";
import type { DriverMessage, ServerMessage } from "./wire.ts";

const IDLE_MS = 1_000;
const ECHO = defineAction({ name: "echo", args: z.string(), value: z.string().max(10) });
const READY: DriverMessage = { type: "ready", version: "1" };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** The connection, and a driver that says what the test has it say. */
async function openDriver(isPaused = () => false) {
  const [near, far] = await connectionPair();
  let end: (exit: ExecExit) => void = () => undefined;
  const exited = new Promise<ExecExit>((resolve) => (end = resolve));
  const kill = (): void => {
    far.destroy();
    end({ exitCode: undefined, signal: "SIGKILL", timedOut: false, durationMs: 0, cpuMs: 0, memoryPeakBytes: 0 });
  };
  const process: KeptProcess = {
    pid: 1,
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    channels: [near],
    kill,
    resize: () => undefined,
    exited,
    wasCut: false,
    detach: () => undefined,
    async [Symbol.asyncDispose]() {
      near.destroy();
    },
  };
  const connection = new DriverConnection(process, { idleMs: IDLE_MS, isPaused, clear: () => Promise.resolve() });
  connection.ready.catch(() => undefined);
  const call = (args: string, signal = new AbortController().signal): Promise<string> =>
    connection.call(ECHO, { args, session: "test", timeoutMs: 40_000, signal }).then(
      ({ value }) => value,
      (error: unknown) => (error instanceof BelljarError ? error.code : String(error)),
    );
  return {
    connection,
    far,
    call,
    say: (...messages: readonly DriverMessage[]) => far.write(Buffer.concat(messages.map(framed))),
    async [Symbol.asyncDispose]() {
      kill();
      await connection.gone;
    },
  };
}

function framed(message: DriverMessage): Buffer {
  return toFrame("message", Buffer.from(JSON.stringify(message)));
}

/** What the driver is told next. */
async function hear(far: Duplex): Promise<ServerMessage> {
  const reader = new FrameReader();
  for (;;) {
    const [chunk] = (await once(far, "data")) as [Buffer];
    for (const { bytes } of reader.push(chunk)) return JSON.parse(bytes.toString()) as ServerMessage;
  }
}

const answer = (id: number, value: unknown = "done"): DriverMessage => ({ type: "answer", id, value });

it("does not end while a call is answered, after two were answered at once", async () => {
  await using driver = await openDriver();
  driver.say(READY);
  await driver.connection.ready;
  const both = Promise.all([driver.call("a"), driver.call("b")]);
  driver.say(answer(1), answer(2));
  expect(await both).toEqual(["done", "done"]);
  const third = driver.call("c");
  await vi.advanceTimersByTimeAsync(2 * IDLE_MS);
  driver.say(answer(3));
  expect(await third).toBe("done");
});

it("ends when it has started and nobody calls", async () => {
  await using driver = await openDriver();
  driver.say(READY);
  await driver.connection.ready;
  const heard = hear(driver.far);
  await vi.advanceTimersByTimeAsync(IDLE_MS);
  expect(await heard).toEqual({ type: "end" });
});

it("is ended when it starts twice", async () => {
  await using driver = await openDriver();
  driver.say(READY, READY);
  await driver.connection.gone;
  expect(await driver.call("a")).toBe("BROWSER_FAILED");
});

it("refuses calls beyond what a driver has not read, and ends one that answers them all the same", async () => {
  await using driver = await openDriver();
  driver.say(READY);
  await driver.connection.ready;
  driver.far.pause();
  const calls: Promise<string>[] = [];
  const refused = vi.fn();
  while (refused.mock.calls.length === 0 && calls.length < 60) {
    const call = driver.call("x".repeat(1_000_000));
    calls.push(call);
    void call.then(refused);
    await new Promise(setImmediate);
  }
  expect(await calls.at(-1)).toBe("PROCESS_LIMIT");
  const asked = calls.slice(0, -1);
  driver.say(...asked.map((_, at) => answer(at + 1)));
  expect(new Set(await Promise.all(asked))).toEqual(new Set(["done"]));
  expect(await driver.call("a")).toBe("BROWSER_FAILED");
});

it("is not late while its sandbox is paused", async () => {
  let isPaused = true;
  await using driver = await openDriver(() => isPaused);
  driver.say(READY);
  await driver.connection.ready;
  const [first, second] = [driver.call("a"), driver.call("b")];
  await vi.advanceTimersByTimeAsync(100_000);
  driver.say(answer(1));
  expect(await first).toBe("done");
  isPaused = false;
  await vi.advanceTimersByTimeAsync(50_000);
  expect(await second).toBe("BROWSER_FAILED");
});

it("refuses an answer that is too large and goes on, and ends for one of another form", async () => {
  await using driver = await openDriver();
  driver.say(READY);
  await driver.connection.ready;
  const calls = ["a", "b", "c"].map((args) => driver.call(args));
  driver.say(answer(1, "x".repeat(11)), answer(2), answer(3, 4));
  expect(await Promise.all(calls)).toEqual(["RESULT_TOO_LARGE", "done", "BROWSER_FAILED"]);
  expect(await driver.call("d")).toBe("BROWSER_FAILED");
});
