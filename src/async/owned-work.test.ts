import { expect, it } from "vitest";
import { OwnedWork } from "./owned-work.ts";

/** Ends when it is aborted, a turn of the loop later. */
async function untilAborted(signal: AbortSignal, ended: (name: string) => void): Promise<void> {
  await new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true })));
  await new Promise((resolve) => setImmediate(resolve));
  ended("work");
  throw signal.reason;
}

it("is aborted, and waited for, when its owner is disposed", async () => {
  const order: string[] = [];
  const owner = new OwnedWork();
  const work = owner.run(new AbortController().signal, (signal) => untilAborted(signal, (name) => order.push(name)));
  const rejected = expect(work).rejects.toThrow("being closed");
  await owner[Symbol.asyncDispose]();
  order.push("owner");
  await rejected;
  expect(order).toEqual(["work", "owner"]);
});

it("does not begin once its owner is disposed", async () => {
  const owner = new OwnedWork();
  await owner[Symbol.asyncDispose]();
  let hasBegun = false;
  const work = owner.run(new AbortController().signal, async () => void (hasBegun = true));
  await expect(work).rejects.toThrow("being closed");
  expect(hasBegun).toBe(false);
});

it("is aborted with its caller's reason", async () => {
  await using owner = new OwnedWork();
  const caller = new AbortController();
  const work = owner.run(caller.signal, (signal) => untilAborted(signal, () => undefined));
  const reason = new Error("gone");
  caller.abort(reason);
  await expect(work).rejects.toBe(reason);
  await expect(owner.run(caller.signal, (signal) => untilAborted(signal, () => undefined))).rejects.toBe(reason);
});

it("answers as the work does", async () => {
  await using owner = new OwnedWork();
  await expect(owner.run(new AbortController().signal, async () => 7)).resolves.toBe(7);
});
